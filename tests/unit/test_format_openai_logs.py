"""A log of requests, each of which repeats the talk so far."""

import json
from typing import Any

from leftoff import codec
from leftoff.formats.openai_logs import CONFIRMING_REQUESTS, REQUESTS
from leftoff.formats.reader import Cursor
from leftoff.model import Message, Record


def log(talk: list[dict[str, Any]]) -> list[bytes]:
    """A request and its answer for each answer of a talk, as lines."""
    entries: list[dict[str, Any]] = []
    for end in range(1, len(talk), 2):
        asked = {"model": "asked", "messages": talk[:end]}
        choices = [{"message": {**talk[end], "thinking_blocks": None}}]
        answer = {"id": f"r{end}", "model": "answered", "choices": choices, "usage": {}}
        entries += [{"type": "request", "timestamp": "2026-03-01T10:00:00", "request_params": asked},
                    {"type": "response", "timestamp": "2026-03-01T10:00:00", "response": answer}]  # fmt: skip
    return [json.dumps(entry).encode() + b"\n" for entry in entries]


def test_a_talk_without_tools_is_given_out_in_the_end_and_on_the_way() -> None:
    turns = CONFIRMING_REQUESTS + 3
    talk = [
        {"role": role, "content": f"{role} says {n}"}
        for n in range(turns)
        for role in ("user", "assistant")
    ]
    reader, cursor, found = REQUESTS.reader(), Cursor(), list[Record]()
    for line in log(talk):
        cursor.line, cursor.raw = cursor.line + 1, line
        found += reader.read(line, cursor)
        reader = codec.unpack_state(codec.pack_state(reader), REQUESTS.reader)
    assert len(found) > 2, "memory must not grow with the log"
    cursor.ended, cursor.raw = True, b""
    found += reader.read(b"", cursor)
    messages = [record for record in found if isinstance(record, Message)]
    assert [m.index for m in messages] == list(range(2 * turns))
    assert all(m.origin != "meta" for m in messages)
