"""Contract tests for people who extend leftoff."""

from __future__ import annotations

from leftoff.testing.checks import (
    check_any_input,
    check_extractor,
    check_format,
    check_prefix,
    check_reader,
    check_redactor,
    check_store,
    recordings,
)

__all__ = [
    "check_any_input",
    "check_extractor",
    "check_format",
    "check_prefix",
    "check_reader",
    "check_redactor",
    "check_store",
    "recordings",
]
