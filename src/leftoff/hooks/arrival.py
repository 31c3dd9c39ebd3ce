"""Whether a block that a hook gave stands in the transcript: only then did the agent get it.

Clients have dropped the output of hooks silently. Claude Code records what the agent gets as an
attachment `hook_additional_context` (`hook_success` only says what the hook printed), Codex as
a message of the role `developer`.
"""

from __future__ import annotations

import msgspec

from leftoff import codec
from leftoff.errors import SourceError
from leftoff.incremental.cursor import Cursor, Tail
from leftoff.sources.open import open_regular

# Bytes of a transcript, after the place where the block was given, that are searched: clients
# record it at once. Chosen by hand.
MAX_BYTES = 8 << 20
_MARK = b"<leftoff session="


def is_in_transcript(given: codec.JsonObject, path: str) -> bool | None:
    """Whether the block of a record in `given.json` arrived in the transcript at `path`; None
    where that cannot be said: it is missing or nothing was written since."""
    first, start = given.get("first"), given.get("from")
    if not isinstance(first, str):
        return None
    try:
        cursor = msgspec.convert(start, Cursor)
    except ValueError:  # there was no transcript yet: all of it is searched
        cursor = None
    try:
        with open_regular(path) as file:
            tail = Tail(file, path, cursor)
            file.seek(tail.offset)
            data = file.read(MAX_BYTES)
    except SourceError:
        return None
    if not data.strip():
        return None
    return any(_holds(line, first) for line in data.split(b"\n") if _MARK in line)


def _holds(line: bytes, first: str) -> bool:
    """Whether a line hands the agent a block that begins with the line `first`; a tool's result
    or the hook's own output with the same words does not."""
    try:
        record = codec.parse_strict(line)
    except ValueError:
        return False
    if not isinstance(record, dict):
        return False
    attachment, payload = record.get("attachment"), record.get("payload")
    if isinstance(attachment, dict):
        is_context = attachment.get("type") == "hook_additional_context"
        return is_context and _begins(attachment.get("content"), first)
    if isinstance(payload, dict):
        roles = {"developer", "user"}
        return payload.get("role") in roles and _begins(payload.get("content"), first)
    message = record.get("message")
    if record.get("type") == "user" and isinstance(message, dict):
        return _begins(message.get("content"), first)
    return False


def _begins(content: object, first: str) -> bool:
    """Whether a text, or a text in a list of parts, holds the line; results of tools do not
    count."""
    if isinstance(content, str):
        return f"{first}\n" in content
    if isinstance(content, dict):
        return content.get("type") != "tool_result" and _begins(content.get("text"), first)
    return isinstance(content, list) and any(_begins(part, first) for part in content)
