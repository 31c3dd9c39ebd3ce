"""Other programs and libraries that leftoff works with; loaded on first use."""
