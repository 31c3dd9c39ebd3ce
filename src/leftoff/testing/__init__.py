"""Contract tests for people who extend leftoff."""

from leftoff.testing.checks import (
    check_any_input,
    check_extractor,
    check_format,
    check_prefix,
    check_reader,
    check_redactor,
)
from leftoff.testing.stores import check_store

__all__ = [
    "check_any_input",
    "check_extractor",
    "check_format",
    "check_prefix",
    "check_reader",
    "check_redactor",
    "check_store",
]
