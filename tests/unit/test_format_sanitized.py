"""Sessions published with parts removed, and summaries in the same shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leftoff import FormatError, Pass


def _said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "timestamp": "2026-01-02T03:04:05Z", "text": text}


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
