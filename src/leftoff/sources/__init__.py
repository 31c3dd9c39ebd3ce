"""Finding and opening recordings."""
