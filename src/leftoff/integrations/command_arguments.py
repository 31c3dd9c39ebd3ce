"""Checks of values that are passed on another program's command line."""

from __future__ import annotations

from leftoff.errors import UsageError
from leftoff.handover.review import is_valid_session_id


def argument(name: str, value: str) -> str:
    """Returns the value if the program cannot take it for an option.

    Raises:
        UsageError: it begins with "-" or holds a non-printable character.
    """
    if value.startswith("-") or not value.isprintable():
        raise UsageError(f"{name} {value!r}: must not begin with '-' or hold line breaks")
    return value


def session_argument(value: str) -> str:
    """The value; `UsageError` if it is no session id."""
    if not is_valid_session_id(value):
        raise UsageError("a session id is letters, digits, '.', '_' and '-'")
    return value
