"""Cursor agent transcripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.cursor import FORMAT
from leftoff.formats.reader import Sample
from leftoff.model import Media, Message, Reasoning, Record, Text, ToolCall, ToolResult, Unknown

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _line(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def _text(text: Any) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_a_transcript(messages: Messages) -> None:
    write = {"type": "tool_use", "name": "Write", "input": {"path": "a.md", "contents": "x"}}
    found = messages(
        "cursor",
        [
            _line("user", _text("<user_query>\nwrite a file\n</user_query>")),
            _line("assistant", _text("I will."), write, write),
            _line("assistant", {"type": "thinking", "thinking": "Hm."}, {"type": "image"}),
        ],
    )
    assert [(m.role, m.origin, m.line) for m in found] == [
        ("user", "prompt", 1),
        ("assistant", "agent", 2),
        ("assistant", "agent", 3),
    ]
    assert found[1].parts == (
        Text("I will."),
        ToolCall("call-1", "Write", "create", {"path": "a.md", "contents": "x"}),
        ToolCall("call-2", "Write", "create", {"path": "a.md", "contents": "x"}),
    )
    assert found[2].parts == (Reasoning("Hm."), Media("image"))
    assert [m.response for m in found] == ["", "r1", "r2"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("<user_query>\nfix it\n</user_query>", ["fix it"]),
        ("<external_links>x</external_links>\n<user_query>\nfix\nit</user_query>", ["fix\nit"]),
        ("<user_query>never closed", ["never closed"]),
        ("<user_query>\n\n</user_query>", []),
        ("<attached_files>\nL1: x\n</attached_files>", []),
        ("plain words", ["plain words"]),
        ("", []),
    ],
)
def test_what_a_person_typed(messages: Messages, text: str, words: list[str]) -> None:
    (message,) = messages("cursor", [_line("user", _text(text))])
    assert [text[t.start : t.end] for t in message.typed] == words
    assert message.origin == ("prompt" if words else "injected")


@pytest.mark.parametrize(
    "block, status",
    [({"is_error": True}, "error"), ({"is_error": False}, "ok"), ({}, "unknown")],
)
def test_results_where_there_are_any(
    messages: Messages, block: dict[str, Any], status: str
) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [_text("x")], **block}
    (message,) = messages("cursor", [_line("user", result)])
    assert message.parts == (ToolResult("t", "x", status),)
    assert message.origin == "tool"


def test_odd_lines(read: Read) -> None:
    records = read(
        "cursor",
        [
            _line("user", 7, None, _text(5)),
            {"role": "assistant", "message": {"content": "bare"}},
            {"type": "turn_ended"},
            {"type": "poem"},
        ],
    )
    assert [m.parts for m in records if isinstance(m, Message)] == [
        (Text(""),),
        (Text("bare"),),
    ]
    assert [r.kind for r in records if isinstance(r, Unknown)] == ["poem"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","uuid":"u","role":"user","message":{"content":"x"}}',
        b'{"role":"user","content":"x"}',
        b'{"role":"tool","message":{"content":[]}}',
        b"{}",
    ],
)
def test_other_lines_are_not_claimed(line: bytes) -> None:
    assert not FORMAT.detect(Sample(line, complete=True))
