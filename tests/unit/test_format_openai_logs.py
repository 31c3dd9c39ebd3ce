"""Data sets and request logs of OpenAI-style chats."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff import codec
from leftoff.extraction.collector import Collector
from leftoff.formats.openai_logs import CONFIRMING_REQUESTS, FORMAT, LINES, REQUESTS
from leftoff.formats.reader import Cursor, Sample, formats
from leftoff.model import Message, NewSession, Record, Text, ToolCall, ToolResult, Usage

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]

SYSTEM = {"role": "system", "content": "You fix bugs."}
TASK = {"role": "user", "content": "The total is wrong."}


def _call(identity: str, command: str) -> dict[str, Any]:
    arguments = json.dumps({"command": command})
    function = {"name": "bash", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
    }


def _result(identity: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text, "tool_calls": None}


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _row(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [SYSTEM, TASK, *messages], **more}


# -- rows ----------------------------------------------------------------------------------


def test_each_row_is_a_session(read: Read) -> None:
    rows = [
        _row(_call("c1", "ls"), _result("c1", "a.py"), _said("Done."), instance_id="one"),
        _row(_said("Nothing to do."), id=7),
        _row(_said("Nothing either.")),
    ]
    records = read("openai_rows", rows)
    assert [r.id for r in records if isinstance(r, NewSession)] == ["one", "7", "row-2"]
    found = [r for r in records if isinstance(r, Message)]
    assert [m.item for m in found] == [0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2]
    assert [m.role for m in found[:5]] == ["system", "user", "assistant", "tool", "assistant"]
    assert found[2].parts == (ToolCall("c1", "bash", "shell", {"command": "ls"}),)
    assert found[3].parts == (ToolResult("c1", "a.py", "unknown"),)
    assert json.loads(found[2].raw) == rows[0]["messages"][2]


def test_rows_on_lines_share_their_line(read: Read) -> None:
    rows = [_row(_said("Done."), traj_id="t1"), _row(_said("Done too."), traj_id="t2")]
    records = read("openai_row_lines", rows)
    assert [r.id for r in records if isinstance(r, NewSession)] == ["t1", "t2"]
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.line, m.item) for m in found] == [(1, None)] * 3 + [(2, None)] * 3
    assert json.loads(found[0].raw) == rows[0]


def test_a_row_alone_is_one_if_it_tells_more_than_its_messages() -> None:
    def claimed(**more: Any) -> bool:
        data = json.dumps(_row(_said("x"), **more)).encode()
        return FORMAT.detect(Sample(data, complete=True))

    assert claimed(resolved=True)
    assert claimed(instance_id="i")
    assert not claimed()
    assert not claimed(model="model-a")


def test_calls_and_results_in_the_text(messages: Messages) -> None:
    example = (
        "-------- START OF EXAMPLE --------\n<function=execute_bash>\n</function>\n"
        "-------- END OF EXAMPLE --------\n-------- NEW TASK DESCRIPTION --------\nSort it."
    )
    rows = [
        {
            "id": "x",
            "messages": [
                {"role": "user", "content": "Here is an example.\n" + example},
                _said("Look.\n<function=execute_bash>\n<parameter=command>ls</parameter>"),
                {"role": "user", "content": "EXECUTION RESULT of [execute_bash]:\nEXECUTED"},
                _said("All sorted."),
                {
                    "role": "user",
                    "content": "Please continue working on the task on whatever approach you "
                    "think is suitable.\nIMPORTANT: ...",
                },
                {"role": "user", "content": "OBSERVATION: I saw no call"},
            ],
        }
    ]
    found = messages("openai_rows", rows)
    assert found[0].text == "Sort it."
    assert [(m.role, m.origin) for m in found] == [
        ("user", "prompt"),
        ("assistant", "agent"),
        ("tool", "tool"),
        ("assistant", "agent"),
        ("user", "injected"),
        ("user", "prompt"),
    ]
    call = found[1].parts[1]
    assert isinstance(call, ToolCall)
    assert found[2].parts == (ToolResult(call.id, "EXECUTED", "ok"),)


@pytest.mark.parametrize(
    "odd",
    [
        [{"messages": [SYSTEM, TASK]}, {"messages": 5}, 7, {}],
        [{"messages": [SYSTEM, TASK, 5, None, {}, {"role": 5}, {"role": "x", "content": {}}]}],
        [{"messages": [{"role": "assistant", "content": [{"type": {}}], "tool_calls": [5]}]}],
        [{"messages": [SYSTEM], "id": {}, "instance_id": []}],
    ],
)
def test_odd_rows_are_read(odd: Any) -> None:
    reader = formats.get("openai_rows").reader()
    assert list(reader.read(json.dumps(odd).encode(), Cursor()))
    FORMAT.detect(Sample(json.dumps(odd).encode(), complete=True))
    LINES.detect(Sample(b"\n".join(json.dumps(o).encode() for o in odd), complete=True))


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


FIRST, BACK = _call("c1", "ls"), _result("c1", "a.py")


def test_what_each_request_repeats_is_read_once() -> None:
    log = [
        _request(),
        _response(FIRST, 1, 20),
        _request({**FIRST, "content": ""}, BACK, second=2),
        _response(_said("It is a.py."), 2, 30),
    ]
    found = _read_log(log)
    assert [(m.index, m.line, m.role) for m in found] == [
        (0, 1, "system"),
        (1, 1, "user"),
        (2, 2, "assistant"),
        (3, 3, "tool"),
        (4, 4, "assistant"),
    ]
    assert [m.usage for m in found if m.usage] == [Usage(20, 2), Usage(30, 2)]
    assert [m.response for m in found if m.role == "assistant"] == ["resp-1", "resp-2"]
    assert {m.model for m in found if m.role == "assistant"} == {"answered"}
    assert found[3].time == "2026-03-01T10:00:02"
    assert found[3].parts == (ToolResult("c1", "a.py", "unknown"),)
    assert json.loads(found[4].raw) == log[3]


def test_a_reply_that_was_thrown_away_is_no_part_of_the_talk() -> None:
    bad, told = _said("I am done."), {"role": "user", "content": "Use a tool!"}
    found = _read_log(
        [
            _request(),
            _response(FIRST, 1),
            _request(FIRST, BACK),
            _response(bad, 2),
            _request(FIRST, BACK, bad, told),
            _response(_call("c2", "pwd"), 3),
            _request(FIRST, BACK, _call("c2", "pwd"), _result("c2", "/w")),
            _response(bad, 4),
        ]
    )
    assert [(m.role, m.origin) for m in found][2:] == [
        ("assistant", "agent"),
        ("tool", "tool"),
        ("assistant", "meta"),
        ("user", "meta"),
        ("assistant", "agent"),
        ("tool", "tool"),
        ("assistant", "agent"),
    ]
    assert all(m.usage for m in found if m.role == "assistant"), "it was paid for all the same"
    assert not found[5].typed


def test_calls_of_a_reply_that_was_thrown_away_never_ran() -> None:
    two = {**_call("c9", "rm -r ."), "content": "Two at once"}
    found = _read_log(
        [
            _request(FIRST, BACK),
            _response(two, 1),
            _request(FIRST, BACK, _call("c2", "pwd"), _result("c2", "/w")),
        ]
    )
    dropped = next(m for m in found if m.origin == "meta")
    assert dropped.parts == (Text("Two at once"),)


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


def test_agents_are_told_apart_by_how_they_begin() -> None:
    other = {"role": "user", "content": "Review the fix."}
    found = _read_log(
        [
            _request(),
            _response(FIRST, 1),
            _request(first=other),
            _response(_said("Looks good."), 2),
            _request(FIRST, BACK),
            _response(_said("Done."), 3),
        ]
    )
    main = [m for m in found if not m.agent]
    assert [m.index for m in main] == [0, 1, 2, 3, 4]
    assert [(m.agent, m.index, m.role) for m in found if m.agent] == [
        ("agent-2", 0, "system"),
        ("agent-2", 1, "user"),
        ("agent-2", 2, "assistant"),
    ]


def test_a_run_that_starts_again_is_a_talk_of_its_own() -> None:
    found = _read_log(
        [_request(), _response(_said("A"), 1), _request(), _response(_said("B"), 2)]
    )
    assert [(m.agent, m.text) for m in found if m.role == "assistant"] == [
        ("", "A"),
        ("agent-2", "B"),
    ]


def test_a_failed_call_says_nothing() -> None:
    failed: dict[str, Any] = {"type": "response", "response": None, "outputs": []}
    found = _read_log([_request(), failed, _request(), _response(_said("A"), 1)])
    assert [(m.agent, m.role) for m in found] == [
        ("", "system"),
        ("", "user"),
        ("", "assistant"),
    ]


def test_a_log_in_the_pass_with_damaged_lines() -> None:
    glued = json.dumps(_request()) + json.dumps(_response(FIRST, 1)) + "\n"
    rest = [_request(FIRST, BACK), _response(_said("Done."), 2), {"type": "other"}]
    data = (glued + "{broken\n" + "".join(json.dumps(e) + "\n" for e in rest)).encode()
    fold = Collector(format="openai_requests")
    fold.feed(data[:300])
    fold = Collector.load(fold.save())
    fold.feed(data[fold.offset :])
    fold.close()
    assert len(fold.sessions[0][""].thread) == 5
    assert fold.lines.unknown == 2


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "request", "request_params": {"messages": [5, None, {"role": 3}]}},
        {"type": "request", "request_params": 5},
        {"type": "response", "response": {"choices": [{"message": 5}], "usage": "x"}},
        {"type": "response", "response": {"choices": {}}},
        {"type": {}, "response": 5},
    ],
)
def test_odd_entries_are_read(odd: Any) -> None:
    reader, cursor = REQUESTS.reader(), Cursor(line=1)
    for entry in (odd, _request(), odd, _response(FIRST, 1), odd):
        cursor.raw = json.dumps(entry).encode()
        list(reader.read(cursor.raw, cursor))
    cursor.ended = True
    list(reader.read(b"", cursor))
    REQUESTS.detect(Sample(json.dumps(odd).encode(), complete=True))
