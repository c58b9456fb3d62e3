"""What an audit of the command line is computed from, and what is added to it."""
