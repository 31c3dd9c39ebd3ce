"""What happened to which file: every call in order, and the net result."""
