"""Data sets and request logs of OpenAI-style chats."""

import json
from typing import Any

from leftoff import codec
from leftoff.formats.openai_logs import CONFIRMING_REQUESTS, REQUESTS
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Message, Record

SYSTEM = {"role": "system", "content": "You fix bugs."}
TASK = {"role": "user", "content": "The total is wrong."}


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


# -- request logs --------------------------------------------------------------------------


def _request(*messages: Any, first: Any = TASK, second: int = 0) -> dict[str, Any]:
    return {
        "type": "request",
        "timestamp": f"2026-03-01T10:00:{second:02}",
        "request_params": {"model": "asked", "messages": [SYSTEM, first, *messages]},
    }


def _response(message: Any, number: int, tokens: int = 10) -> dict[str, Any]:
    return {
        "type": "response",
        "timestamp": f"2026-03-01T10:01:{number:02}",
        "response": {
            "id": f"resp-{number}",
            "model": "answered",
            "choices": [{"message": {**message, "thinking_blocks": None}}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 2},
        },
    }


def _read_log(entries: list[Any]) -> list[Message]:
    """The messages of a log, read in one go; reading with a pause after each line is the same."""
    lines = [json.dumps(e).encode() + b"\n" for e in entries]
    assert REQUESTS.detect(Sample(b"".join(lines), complete=True))
    whole = _run(lines, paused=False)
    assert _run(lines, paused=True) == whole
    return whole


def _run(lines: list[bytes], *, paused: bool) -> list[Message]:
    reader, cursor = REQUESTS.reader(), Cursor()
    found: list[Record] = []
    for number, line in enumerate(lines):
        cursor.line, cursor.raw = number + 1, line
        found += reader.read(line, cursor)
        if paused:
            reader = codec.unpack_state(codec.pack_state(reader), REQUESTS.reader)
    cursor.ended, cursor.raw = True, b""
    found += reader.read(b"", cursor)
    assert all(isinstance(r, Message) for r in found)
    return [r for r in found if isinstance(r, Message)]


def test_a_talk_without_tools_is_given_out_in_the_end_and_on_the_way() -> None:
    entries: list[dict[str, Any]] = []
    talk: list[dict[str, Any]] = []
    for number in range(CONFIRMING_REQUESTS + 3):
        entries.append(_request(*talk))
        entries.append(_response(_said(f"Answer {number}"), number))
        talk += [_said(f"Answer {number}"), {"role": "user", "content": f"And {number}?"}]
    found = _read_log(entries)
    assert [m.index for m in found] == list(range(2 + 2 * (CONFIRMING_REQUESTS + 2) + 1))
    assert all(m.origin != "meta" for m in found)
    reader, cursor = REQUESTS.reader(), Cursor()
    given = 0
    for number, entry in enumerate(entries):
        cursor.line, cursor.raw = number + 1, json.dumps(entry).encode()
        given += len(list(reader.read(cursor.raw, cursor)))
    assert given > 2, "memory must not grow with the log"
