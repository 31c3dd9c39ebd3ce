"""Incremental reading: only what was added to a growing file."""
