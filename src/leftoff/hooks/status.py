"""What our hooks did last, event by event: from the hooks' log, and from the transcript."""

from __future__ import annotations

from pathlib import Path

from leftoff import lazy_re as re
from leftoff.codec import JsonObject
from leftoff.hooks import queue
from leftoff.hooks.answer import EVENTS
from leftoff.hooks.arrival import is_in_transcript

_LINE = re.compile(
    r"(?P<when>\S+) (?P<event>[A-Z]\w+) (?P<session>\S+) (?P<took>\d+) ms(?P<notes>.*)"
)
_FAILED = re.compile(r"(?P<when>\S+) (?P<event>[A-Z]\w+) failed: (?P<why>.*)")
_TO = {"said to the agent": "agent", "said to the person": "person"}


def event_rows(home: Path) -> list[JsonObject]:
    """One row for each event: event, last (ISO 8601, "" for never), session, milliseconds,
    output ("agent", "person" or "" for none, of the last run), given (when the agent was last
    given a block, "" for never), seen (whether that block stands in the transcript; None if
    unknown) and failed (why the last run failed, "" if it did not)."""
    rows: dict[str, JsonObject] = {event: _row(event) for event in EVENTS}
    for line in queue.read_text(home / queue.STATE / queue.LOG).splitlines():
        if (found := _LINE.fullmatch(line)) is not None:
            row = rows.get(found["event"])
            if row is None:
                continue
            to = [_TO[note] for note in found["notes"].split(", ") if note in _TO]
            row |= {
                "last": found["when"],
                "session": found["session"],
                "milliseconds": int(found["took"]),
                "output": to[0] if to else "",
                "failed": "",
            }
            if "agent" in to:
                row |= {"given": found["when"], "given_session": found["session"]}
        elif (found := _FAILED.fullmatch(line)) is not None and found["event"] in rows:
            rows[found["event"]] |= {"last": found["when"], "failed": found["why"]}
    for row in rows.values():
        row["seen"] = _seen(home, row.pop("given_session"), row["event"])
    return list(rows.values())


def _row(event: str) -> JsonObject:
    row: JsonObject = {"event": event, "last": "", "session": "", "milliseconds": None}
    return row | {"output": "", "given": "", "given_session": "", "seen": None, "failed": ""}


def _seen(home: Path, session: str, event: str) -> bool | None:
    folder = queue.folder_of(home, session)
    if folder is None:
        return None
    record = queue.load(folder / queue.GIVEN).get(event)
    if not isinstance(record, dict):
        return None
    return is_in_transcript(record, str(record.get("transcript") or ""))
