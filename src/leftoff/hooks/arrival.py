"""What our hooks did last, from their log, and whether a block that one gave stands in the
transcript: only then did the agent get it.

Clients have dropped the output of hooks silently. Claude Code records what the agent gets as an
attachment `hook_additional_context` (`hook_success` only says what the hook printed), Codex as
a message of the role `developer`."""

from pathlib import Path

import msgspec

from leftoff import codec
from leftoff import lazy_re as re
from leftoff.codec import JsonObject
from leftoff.errors import SourceError
from leftoff.formats.lenient_json import Fields
from leftoff.hooks import queue
from leftoff.hooks.answer import EVENTS
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
        record = Fields(codec.parse_strict(line))
    except ValueError:
        return False
    attachment, payload = record.at("attachment"), record.at("payload")
    if attachment.value:
        is_context = attachment.text("type") == "hook_additional_context"
        return is_context and _begins(attachment.get("content"), first)
    if payload.value:
        is_message = payload.text("role") in {"developer", "user"}
        return is_message and _begins(payload.get("content"), first)
    return record.text("type") == "user" and _begins(record.get("message.content"), first)


def _begins(content: object, first: str) -> bool:
    """Whether a text, or a text in a list of parts, holds the line; results of tools do not
    count."""
    if isinstance(content, str):
        return f"{first}\n" in content
    if isinstance(content, dict):
        return content.get("type") != "tool_result" and _begins(content.get("text"), first)
    return isinstance(content, list) and any(_begins(part, first) for part in content)


# -- the last runs --------------------------------------------------------------------------

_LINE = re.compile(
    r"(?P<when>\S+) (?P<event>[A-Z]\w+) "
    r"(?:(?P<session>\S+) (?P<took>\d+) ms(?P<notes>.*)|failed: (?P<why>.*))"
)
_TO = {"said to the agent": "agent", "said to the person": "person"}


def event_rows(home: Path) -> list[JsonObject]:
    """One row for each event: event, last (ISO 8601, "" for never), session, milliseconds,
    output ("agent", "person" or "" for none, of the last run), given (when the agent was last
    given a block, "" for never), seen (whether that block stands in the transcript; None if
    unknown) and failed (why the last run failed, "" if it did not)."""
    rows: dict[str, JsonObject] = {}
    for event in EVENTS:
        rows[event] = {"event": event, "last": "", "session": "", "milliseconds": None}
        rows[event] |= {"output": "", "given": "", "seen": None, "failed": ""}
    given_in: dict[str, str] = {}
    for line in queue.read_text(home / queue.STATE / queue.LOG).splitlines():
        found = _LINE.fullmatch(line)
        if found is None or found["event"] not in rows:
            continue
        row, session = rows[found["event"]], found["session"]
        row |= {"last": found["when"], "failed": found["why"] or ""}
        if session:
            to = [_TO[note] for note in found["notes"].split(", ") if note in _TO]
            row |= {"session": session, "milliseconds": int(found["took"])}
            row["output"] = to[0] if to else ""
            if "agent" in to:
                row["given"], given_in[found["event"]] = found["when"], session
    for event, session in given_in.items():
        rows[event]["seen"] = _seen(home, session, event)
    return list(rows.values())


def _seen(home: Path, session: str, event: str) -> bool | None:
    folder = queue.folder_of(home, session)
    if folder is None:
        return None
    record = queue.load(folder / queue.GIVEN).get(event)
    if not isinstance(record, dict):
        return None
    return is_in_transcript(record, str(record.get("transcript") or ""))
