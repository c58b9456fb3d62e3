"""What likewise answered before it was rebuilt, and how any later state differs from that: see README.md."""
