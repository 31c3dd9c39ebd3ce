"""Formats for leftoff: conversations that four benchmarks publish as data sets."""
