"""What may stand on another program's command line."""

from __future__ import annotations

from leftoff.errors import UsageError
from leftoff.handover.review import is_plain


def argument(name: str, value: str) -> str:
    """A value that the program cannot take for an option.

    Raises:
        UsageError: it begins like one, or holds a control character.
    """
    if value.startswith("-") or not value.isprintable():
        raise UsageError(f"{name} {value!r}: must not begin with '-' or hold line breaks")
    return value


def session_argument(value: str) -> str:
    """The id of a conversation.

    Raises:
        UsageError: it is none.
    """
    if not is_plain(value):
        raise UsageError("a session id is letters, digits, '.', '_' and '-'")
    return value
