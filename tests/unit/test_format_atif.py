"""ATIF trajectories, read and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.formats.atif import FORMAT, write
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import (
    Compaction,
    Message,
    Part,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Typed,
    Unknown,
    Usage,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _document(*steps: Any, **agent: Any) -> dict[str, Any]:
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "s-1",
        "agent": {"name": "a", "version": "2", **agent},
        "steps": [
            {"step_id": n, **s} if isinstance(s, dict) else s for n, s in enumerate(steps)
        ],
    }


def test_steps(read: Read) -> None:
    records = read(
        "atif",
        _document(
            {"source": "system", "message": "You help."},
            {"source": "user", "message": "write it"},
            {
                "source": "agent",
                "timestamp": "2026-01-02T03:04:05Z",
                "message": "On it.",
                "reasoning_content": "hm",
                "tool_calls": [
                    {
                        "tool_call_id": "c1",
                        "function_name": "bash",
                        "arguments": {"command": "ls"},
                    }
                ],
                "observation": {"results": [{"source_call_id": "c1", "content": "a"}]},
                "metrics": {"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 70},
            },
            model_name="model-a",
        ),
    )
    assert records[0] == SessionFacts(id="s-1", agent_version="2")
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.role, m.origin, m.item) for m in found] == [
        ("system", "injected", 0),
        ("user", "prompt", 1),
        ("assistant", "agent", 2),
        ("tool", "tool", 2),
    ]
    call = ToolCall("c1", "bash", "shell", {"command": "ls"})
    assert found[2].parts == (Reasoning("hm"), Text("On it."), call)
    assert found[2].usage == Usage(30, 9, 70)
    assert (found[2].model, found[2].time) == ("model-a", "2026-01-02T03:04:05Z")
    assert found[3].parts == (ToolResult("c1", "a", "ok"),)


@pytest.mark.parametrize(
    "said,text,call",
    [
        (
            '{"analysis": "A.", "plan": "P.", "commands": [{"keystrokes": "ls\\n"}, {}]}',
            "A.\n\nP.",
            ToolCall("call-1", "bash", "shell", {"command": "ls\n"}),
        ),
        (
            "Now.\n<function=execute_bash>\n<parameter=command>ls\n</parameter>\n</function>",
            "Now.",
            ToolCall("call-1", "execute_bash", "shell", {"command": "ls"}),
        ),
    ],
)
def test_calls_written_in_the_message(
    messages: Messages, said: str, text: str, call: ToolCall
) -> None:
    seen = {"results": [{"content": "x\n[Command finished with exit code 3]"}]}
    found = messages(
        "atif", _document({"source": "agent", "message": said, "observation": seen})
    )
    assert found[0].parts == (Text(text), call)
    result = found[1].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.status, result.exit_code) == ("call-1", "error", 3)


def test_what_was_seen_without_a_call_is_the_environments(messages: Messages) -> None:
    seen = {"results": [{"content": "Are you sure?"}]}
    found = messages(
        "atif", _document({"source": "agent", "message": "x", "observation": seen})
    )
    assert (found[1].role, found[1].origin, found[1].text) == (
        "user",
        "injected",
        "Are you sure?",
    )


def test_copied_steps_are_left_out_and_compactions_told(read: Read) -> None:
    compacted = {"context_management": {"type": "compaction"}}
    records = read(
        "atif",
        _document(
            {"source": "user", "message": "old", "is_copied_context": True},
            {"source": "system", "message": "Summarised", "extra": compacted},
        ),
    )
    assert [type(r) for r in records] == [SessionFacts, Compaction, Message]


def test_the_task_among_examples(messages: Messages) -> None:
    text = "EXAMPLE\n----- NEW TASK DESCRIPTION -----\nfix it\n\n----- END OF NEW TASK"
    (prompt,) = messages("atif", _document({"source": "user", "message": text}))
    (typed,) = prompt.typed
    assert prompt.text[typed.start : typed.end] == "fix it"


def test_odd_steps(read: Read) -> None:
    records = read(
        "atif",
        _document(
            3,
            {"source": ["agent"]},
            {
                "source": "agent",
                "tool_calls": 4,
                "observation": {"results": [1, {}]},
                "metrics": [],
            },
        ),
    )
    assert [type(r) for r in records[1:]] == [Unknown, Unknown, Message]


@pytest.mark.parametrize(
    "data,mine",
    [
        (b'{"schema_version": "ATIF-v1.7"}', True),
        (b'{"schema_version": 1}', False),
        (b"[]", False),
        (b"", False),
    ],
)
def test_detection(data: bytes, mine: bool) -> None:
    assert FORMAT.detect(Sample(data, complete=True)) is mine


# -- writing ------------------------------------------------------------------------------------


def _back(data: bytes) -> list[Message]:
    assert FORMAT.detect(Sample(data, complete=True))
    return [r for r in FORMAT.reader().read(data, Cursor()) if isinstance(r, Message)]


def test_a_written_session_names_its_fields() -> None:
    call = ToolCall("c1", "bash", "shell", {"command": "ls"})
    usage = Usage(10, 5, 70, 20, 2)
    found = json.loads(
        write(
            [
                Message(0, "user", (Text("go"),), origin="prompt", typed=(Typed(0, 0, 2),)),
                Message(
                    1, "assistant", (Text("On it."),), response="r", model="m", usage=usage
                ),
                Message(2, "assistant", (call,), response="r", model="m", usage=usage),
                Message(3, "tool", (ToolResult("c1", "a", "error", 2),), origin="tool"),
                Message(0, "assistant", (Text("helper"),), agent="h"),
            ],
            SessionFacts(id="s", agent_version="1.2"),
            agent="codex",
        )
    )
    assert found["agent"] == {"name": "codex", "version": "1.2", "model_name": "m"}
    assert [s["step_id"] for s in found["steps"]] == [1, 2, 3]
    assert found["steps"][1]["metrics"] == {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "cached_tokens": 70,
        "extra": {"cache_creation_input_tokens": 20, "reasoning_tokens": 2},
    }
    assert found["steps"][2] == {
        "step_id": 3,
        "source": "agent",
        "model_name": "m",
        "message": "",
        "tool_calls": [
            {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
        ],
        "observation": {"results": [{"source_call_id": "c1", "content": "a"}]},
        "extra": {"response": "r", "outcomes": {"c1": {"status": "error", "exit_code": 2}}},
    }
    assert found["final_metrics"]["total_prompt_tokens"] == 100


_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda t: t.strip() and not t.lstrip().startswith(("{", "<", "[", "#"))
)
_turn = st.tuples(
    _words,
    st.one_of(st.none(), _words),
    st.lists(
        st.tuples(_words, _words, st.sampled_from(["ok", "error", "denied", "running"])),
        max_size=3,
    ),
    st.booleans(),
)


def _conversation(
    turns: list[tuple[str, str | None, list[tuple[str, str, str]], bool]],
) -> list[Message]:
    found: list[Message] = []
    number = 0
    for place, (words, thought, uses, prompted) in enumerate(turns):
        if prompted:
            span = Typed(0, 0, len(words))
            found.append(
                Message(len(found), "user", (Text(words),), origin="prompt", typed=(span,))
            )
        parts: list[Part] = [Reasoning(thought)] if thought is not None else []
        parts.append(Text(words))
        results: list[Part] = []
        for command, output, status in uses:
            number += 1
            parts.append(ToolCall(f"c{number}", "bash", "shell", {"command": command}))
            results.append(
                ToolResult(f"c{number}", output, status, 1 if status == "error" else None)
            )
        usage = Usage(place + 1, 2, 3, 0, 1)
        found.append(
            Message(
                len(found),
                "assistant",
                tuple(parts),
                response=f"r{place}",
                model="m",
                usage=usage,
            )
        )
        if results:
            found.append(Message(len(found), "tool", tuple(results), origin="tool"))
    return found


@given(st.lists(_turn, min_size=1, max_size=6))
@settings(max_examples=60)
def test_what_is_written_reads_back_the_same(turns: Any) -> None:
    given_messages = _conversation(turns)
    found = _back(write(given_messages, SessionFacts(id="s")))

    def content(m: Message) -> Any:
        typed = m.parts[m.typed[0].part].text[m.typed[0].start :].strip() if m.typed else ""  # type: ignore[union-attr]
        return m.index, m.role, m.origin, m.parts, m.response, m.model, m.usage, typed

    assert [content(m) for m in found] == [content(m) for m in given_messages]


def test_results_of_no_call_are_kept() -> None:
    data = write([Message(0, "tool", (ToolResult("", "lost", "ok"),))], SessionFacts())
    assert [m.parts for m in _back(data)][-1] == (ToolResult("", "lost", "unknown"),)
