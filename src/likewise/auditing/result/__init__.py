"""The audit itself: its record, notes, text and comparisons."""
