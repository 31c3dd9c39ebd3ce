"""LangChain's and Semantic Kernel's dumps of messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leftoff.formats.reader import Cursor, Sample, detect, formats
from leftoff.model import (
    Media,
    Message,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]
SESSIONS = Path(__file__).resolve().parents[2] / "corpora" / "sessions"


def _read_file(name: str, path: str) -> list[Message]:
    data = (SESSIONS / path).read_bytes()
    found = detect(Sample(data, complete=True))
    assert found is not None
    assert found.name == name
    records = found.reader().read(data, Cursor())
    return [r for r in records if isinstance(r, Message)]


# -- LangChain -----------------------------------------------------------------------------


def test_both_serialisers_of_langchain_read_the_same() -> None:
    listed = _read_file("langchain", "langchain/labels.json")
    dumped = _read_file("langchain", "langchain/labels-dumps.json")
    assert [replace(m, raw=b"") for m in listed] == [replace(m, raw=b"") for m in dumped]
    assert len(listed) == 14
    calls = [p for m in listed for p in m.parts if isinstance(p, ToolCall)]
    results = [p for m in listed for p in m.parts if isinstance(p, ToolResult)]
    assert [c.id for c in calls] == [r.call_id for r in results]
    assert [c.kind for c in calls] == ["read", "shell", "create", "shell", "create", "shell"]
    assert [r.status for r in results] == ["ok", "ok", "ok", "error", "ok", "ok"]
    assert [m.usage for m in listed if m.usage][1] == Usage(520, 188, cache_read=640)
    assert [m.origin for m in listed].count("prompt") == 2
    assert {m.model for m in listed if m.role == "assistant"} == {"model-a"}


def _dict(kind: str, content: Any, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, **data}}


def _constructor(name: str, **kwargs: Any) -> dict[str, Any]:
    names = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": names, "kwargs": kwargs}


CALL = {"name": "run", "args": {"command": "ls"}, "id": "c1", "type": "tool_call"}


@pytest.mark.parametrize(
    "first",
    [
        _dict("ai", "Look.", tool_calls=[CALL]),
        _constructor("AIMessage", content="Look.", tool_calls=[CALL], type="ai"),
        _constructor("AIMessageChunk", content="Look.", tool_calls=[CALL]),
        {"type": "ai", "content": "Look.", "tool_calls": [CALL], "id": None},
        {"type": "AIMessageChunk", "data": {"content": "Look.", "tool_calls": [CALL]}},
        # Anthropic's blocks say the call a second time.
        _dict(
            "ai",
            [{"type": "text", "text": "Look."}, {"type": "tool_use", "id": "c1", "input": {}}],
            tool_calls=[CALL],
        ),
        # The provider's own calls, before LangChain had a form of its own.
        _dict(
            "ai",
            "Look.",
            additional_kwargs={
                "tool_calls": [
                    {"id": "c1", "function": {"name": "run", "arguments": '{"command": "ls"}'}}
                ]
            },
        ),
    ],
)
def test_the_shapes_of_a_call(messages: Messages, first: dict[str, Any]) -> None:
    rest = [_dict("tool", "a.py", tool_call_id="c1"), _dict("human", "Thanks")]
    said, back, _ = messages("langchain", [first, *rest])
    assert said.parts == (Text("Look."), ToolCall("c1", "run", "shell", {"command": "ls"}))
    assert back.parts == (ToolResult("c1", "a.py", "unknown"),)
    assert said.item == 0


def test_other_messages_of_langchain(read: Read) -> None:
    records = read(
        "langchain",
        [
            _dict("human", [{"type": "text", "text": "See"}, {"type": "image_url"}]),
            _dict("ai", [{"type": "reasoning", "reasoning": "Hm"}, "So."]),
            _dict("ai", "x", additional_kwargs={"reasoning_content": "Deep"}),
            _dict("ai", "", invalid_tool_calls=[{"name": "run", "args": "{bad", "id": "c2"}]),
            _dict("chat", "I object.", role="critic"),
            _dict("chat", "Mine.", role="user"),
            _dict("function", "done", name="g"),
            _dict("remove", "", id="m1"),
            _dict("surprise", "?"),
        ],
    )
    found = [r for r in records if isinstance(r, Message)]
    assert [m.item for m in found] == list(range(7))
    assert found[0].parts == (Text("See"), Media("image_url"))
    assert found[1].parts == (Reasoning("Hm"), Text("So."))
    assert found[2].parts == (Reasoning("Deep"), Text("x"))
    assert found[3].parts == (ToolCall("c2", "run", "shell", "{bad"),)
    assert [m.role for m in found[4:]] == ["assistant", "user", "tool"]
    assert [r for r in records if isinstance(r, Unknown)] == [Unknown("surprise")]


@pytest.mark.parametrize(
    ("more", "usage"),
    [
        (
            {
                "usage_metadata": {
                    "input_tokens": 100,
                    "output_tokens": 30,
                    "input_token_details": {"cache_read": 60, "cache_creation": 10},
                    "output_token_details": {"reasoning": 12},
                }
            },
            Usage(30, 30, 60, 10, 12),
        ),
        (
            {
                "response_metadata": {
                    "token_usage": {"prompt_tokens": 9, "completion_tokens": 2}
                }
            },
            Usage(9, 2),
        ),
        ({}, None),
        ({"usage_metadata": "x"}, None),
    ],
)
def test_usage_of_langchain(messages: Messages, more: Any, usage: Usage | None) -> None:
    (found,) = messages("langchain", [_dict("ai", "x", **more)])
    assert found.usage == usage


def test_messages_inside_an_object(messages: Messages) -> None:
    listed = [
        _constructor("HumanMessage", content="Hi"),
        _constructor("AIMessage", content="Ho"),
    ]
    prompt = {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "ChatPromptValue"]}
    for document in ({"messages": listed}, {**prompt, "kwargs": {"messages": listed}}):
        assert [m.text for m in messages("langchain", document)] == ["Hi", "Ho"]


# -- Semantic Kernel -----------------------------------------------------------------------


def test_a_history_that_semantic_kernel_wrote() -> None:
    found = _read_file("semantic_kernel", "semantic_kernel/imports.json")
    assert [m.item for m in found] == list(range(11))
    calls = [p for m in found for p in m.parts if isinstance(p, ToolCall)]
    results = [p for m in found for p in m.parts if isinstance(p, ToolResult)]
    assert [c.id for c in calls] == [r.call_id for r in results]
    assert [(c.name, c.kind) for c in calls[:2]] == [
        ("Shell.run", "shell"),
        ("FileSystem.read_file", "read"),
    ]
    said = [m for m in found if m.role == "assistant"]
    assert [m.usage for m in said][:2] == [Usage(700, 60), Usage(1010, 60)]
    assert said[0].time == "2026-03-19T06:00:00.000Z"
    assert (said[0].model, said[0].response) == ("model-a", "chatcmpl-0")
    assert [m.origin for m in found[:2]] == ["injected", "prompt"]


def test_a_history_of_the_dotnet_serialiser(messages: Messages) -> None:
    def item(kind: str, **more: Any) -> dict[str, Any]:
        return {"$type": kind, **more}

    found = messages(
        "semantic_kernel",
        [
            {"Role": {"Label": "user"}, "Items": [item("TextContent", Text="Go")]},
            {
                "Role": {"Label": "assistant"},
                "ModelId": "model-a",
                "Metadata": {"Id": "r-9", "CreatedAt": "2026-03-01T10:00:00+00:00"},
                "Items": [
                    item(
                        "FunctionCallContent",
                        Id="c1",
                        PluginName="Shell",
                        FunctionName="run",
                        Arguments={"command": "ls"},
                    )
                ],
            },
            {
                "Role": {"Label": "tool"},
                "Items": [item("FunctionResultContent", CallId="c1", Result={"code": 0})],
            },
            {"Role": {"Label": "assistant"}, "Content": "Done."},
        ],
    )
    assert [m.role for m in found] == ["user", "assistant", "tool", "assistant"]
    call = ToolCall("c1", "Shell.run", "shell", {"command": "ls"})
    assert found[1].parts == (call,)
    assert (found[1].model, found[1].response) == ("model-a", "r-9")
    assert found[1].time == "2026-03-01T10:00:00+00:00"
    assert found[2].parts == (ToolResult("c1", '{"code":0}'),)
    assert found[3].text == "Done."


def test_the_history_in_a_resume_state(read: Read) -> None:
    call = {
        "function_name": "FileSystem.read_file",
        "parameters": {"path": "a"},
        "call_id": "c",
    }
    records = read(
        "semantic_kernel",
        {
            "workflow_metadata": {"id": "w-1", "started_at": "2026-03-01T10:00:00Z"},
            "chat_history": [
                {"role": "user", "content": "Go", "timestamp": "2026-03-01T10:00:01Z"},
                {"role": "assistant", "content": None, "function_calls": [call]},
                {"role": "tool", "content": "{}", "tool_call_id": "c"},
            ],
        },
    )
    assert records[0] == SessionFacts(id="w-1", started="2026-03-01T10:00:00Z")
    found = [r for r in records if isinstance(r, Message)]
    assert found[0].time == "2026-03-01T10:00:01Z"
    assert found[1].parts == (ToolCall("c", "FileSystem.read_file", "read", {"path": "a"}),)
    assert found[2].parts == (ToolResult("c", "{}"),)


# -- odd input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("langchain", [5, None, {}, {"type": {}, "data": {}}, {"lc": 1, "id": {}, "kwargs": 5}]),
        ("langchain", [_dict("ai", {"type": {}}, tool_calls=[5, {"id": 5, "args": 5}])]),
        ("langchain", [_dict("ai", [{"type": ["x"]}], response_metadata=5, usage_metadata=[])]),
        ("langchain", [_dict("tool", None, status={}, tool_call_id=5), _dict("chat", "x", role=5)]),
        ("semantic_kernel", {"messages": [5, {"role": {}}, {"role": "x"}, {"role": "user"}]}),
        ("semantic_kernel", [{"Role": {"Label": 5}, "Items": 5}, {"Role": 5}]),
        ("semantic_kernel", {"messages": [{"role": "assistant", "items": [{"$type": 5}, 5]}]}),
        ("semantic_kernel", {"messages": [{"role": "tool", "items": [
            {"content_type": "function_result", "result": None}]}]}),
        ("semantic_kernel", {"messages": [{"role": "assistant", "metadata": {
            "created": 1e300, "usage": []}, "items": [{"content_type": "function_call"}]}]}),
    ],
)  # fmt: skip
def test_odd_documents_are_read(name: str, odd: Any) -> None:
    format_ = formats.get(name)
    data = json.dumps(odd).encode()
    assert list(format_.reader().read(data, Cursor()))
    format_.detect(Sample(data, complete=True))


@pytest.mark.parametrize(
    "other",
    [
        [],
        [{"role": "user", "content": "x"}],
        [{"type": "user", "content": "x"}, {"type": "system", "content": "x"}],
        [{"type": "system", "content": "x"}, {"type": "tool", "content": "x"}],
        {"messages": [{"role": "user", "content": "x"}]},
        {"chat_history": []},
        {"messages": 5},
        {"kwargs": 5},
    ],
)
def test_other_documents_are_not_claimed(other: Any) -> None:
    sample = Sample(json.dumps(other).encode(), complete=True)
    assert not formats.get("langchain").detect(sample)
    assert not formats.get("semantic_kernel").detect(sample)
