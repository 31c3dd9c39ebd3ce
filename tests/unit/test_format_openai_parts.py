"""The pieces of OpenAI-style messages that several recorders embed."""

from __future__ import annotations

from typing import Any

import pytest

from leftoff.formats.openai_parts import (
    calls_of,
    content_text,
    decode_arguments,
    tag_spans,
    trim_span,
    usage_of,
)
from leftoff.model import ToolCall, Usage


@pytest.mark.parametrize(
    "content,text",
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "b", 3], "a\nb"),
        ([{"text": 3}], ""),
        ({"text": "a"}, ""),
        (None, ""),
    ],
)
def test_words(content: Any, text: str) -> None:
    assert content_text(content) == text


@pytest.mark.parametrize(
    "given,value",
    [('{"a": 1}', {"a": 1}), ("{cut", "{cut"), ({"a": 1}, {"a": 1}), (None, None)],
)
def test_arguments(given: Any, value: Any) -> None:
    assert decode_arguments(given) == value


@pytest.mark.parametrize(
    "given,calls",
    [
        (
            [{"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
            [ToolCall("c", "bash", "shell", {"command": "ls"})],
        ),
        ([{"id": 3, "function": "x"}, 7], [ToolCall("", "", "other", None)]),
        ({"id": "c"}, []),
        (None, []),
    ],
)
def test_calls(given: Any, calls: list[ToolCall]) -> None:
    assert calls_of(given) == calls


@pytest.mark.parametrize(
    "given,usage",
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, Usage(10, 2)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 60},
                "cache_creation_input_tokens": 30,
                "completion_tokens_details": {"reasoning_tokens": 15},
            },
            Usage(10, 20, 60, 30, 15),
        ),
        (
            {"prompt_tokens": 5, "completion_tokens": 1, "cache_read_input_tokens": 9},
            Usage(0, 1, 9),
        ),
        ({"prompt_tokens": "10", "completion_tokens": -2}, None),
        ("[REDACTED]", None),
        (None, None),
    ],
)
def test_usage(given: Any, usage: Usage | None) -> None:
    assert usage_of(given) == usage


@pytest.mark.parametrize(
    "text,found",
    [
        ("<a>1</a> <b>2</b><a>3</a>", [("a", "1"), ("b", "2"), ("a", "3")]),
        ("<a>1<b>2</b></a>", [("a", "1<b>2</b>")]),
        ("<a>1 <b>2</b>", [("b", "2")]),
        ("</a><a></a><c>1</c>", [("a", "")]),
        ("", []),
    ],
)
def test_tags(text: str, found: list[tuple[str, str]]) -> None:
    assert [(name, text[a:b]) for name, a, b in tag_spans(text, ["a", "b"])] == found


@pytest.mark.parametrize("text", [" a b\n", "", "  ", "a"])
def test_trimmed(text: str) -> None:
    start, end = trim_span(f"xx{text}xx", 2, 2 + len(text))
    assert f"xx{text}xx"[start:end] == text.strip()
