"""Contract tests for people who extend leftoff."""

from typing import NoReturn

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


def __getattr__(name: str) -> NoReturn:
    if name == "recordings":  # until version 0.2
        raise ImportError(
            "leftoff.testing.recordings was removed; the source archive of leftoff has it as"
            " tests/strategies/recordings.py"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
