"""Sessions published with parts removed, and summaries in the same shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff import FormatError, Pass
from leftoff.model import Message, Record, SessionFacts, Text, ToolCall

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]

NOTICE = {"type": "sanitization_notice", "source": "an agent", "removed": ["tool results"]}


def _said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "timestamp": "2026-01-02T03:04:05Z", "text": text}


def test_messages_and_calls(read: Read) -> None:
    records = read(
        "sanitized",
        [
            NOTICE,
            _said("user", "<ide_opened_file>a.py</ide_opened_file>\nsort it"),
            {"type": "title", "title": "Sorting"},
            _said("assistant", "I look."),
            _said("assistant", '[tool_use:Read {"file_path": "a.py"}]'),
            _said("assistant", "[tool_use:Read {broken}]"),
            _said("user", "This session is being continued from a previous conversation."),
        ],
    )
    assert SessionFacts(title="Sorting") in records
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin, m.line) for m in found[:4]] == [
        ("user", "prompt", 2),
        ("assistant", "agent", 4),
        ("assistant", "agent", 5),
        ("assistant", "agent", 6),
    ]
    first = found[0].parts[0]
    assert isinstance(first, Text)
    assert [first.text[t.start : t.end] for t in found[0].typed] == ["sort it"]
    assert found[2].parts == (ToolCall("call-1", "Read", "read", {"file_path": "a.py"}),)
    assert found[3].parts == (ToolCall("call-2", "Read", "read", {"recorded": "{broken}"}),)
    assert not found[4].typed


def test_a_summary_is_refused_with_the_reason() -> None:
    """Its "assistant" says what was done, in words that nobody said then."""
    lines = [
        {"type": "session_meta", "sanitization": {"removed": [], "notes": "summarizes"}},
        _said("user", "sort it"),
        _said("assistant", "Sorted the list."),
        {"type": "tool_summary", "actions": ["Read a.py"], "findings": []},
    ]
    reading = Pass("session.jsonl")
    with pytest.raises(FormatError, match=r"session\.jsonl: line 4: .* written afterwards"):
        for line in lines:
            reading.feed(json.dumps(line).encode() + b"\n")
        reading.summary()
