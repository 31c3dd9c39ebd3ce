"""Measures of the memory of projects: `python -m benchmarks.memory FOLDER...`."""
