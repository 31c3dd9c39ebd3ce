"""Text utilities: sanitising, truncation, sentence splitting."""

from leftoff.text.markdown import in_code, prose, sentence_at, sentences
from leftoff.text.sanitize import clean
from leftoff.text.truncation import graphemes, one_line, short, truncate, whole

__all__ = [
    "clean",
    "graphemes",
    "in_code",
    "one_line",
    "prose",
    "sentence_at",
    "sentences",
    "short",
    "truncate",
    "whole",
]
