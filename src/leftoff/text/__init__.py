"""Text utilities: sanitising, truncation, sentence splitting."""

from leftoff.text.markdown import prose, sentences
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line, short, truncate, whole

__all__ = ["clean", "one_line", "prose", "sentences", "short", "truncate", "whole"]
