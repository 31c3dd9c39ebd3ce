"""tau-bench, ToolBench, AgentInstruct and Who&When: recordings that benchmarks publish."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leftoff.formats.reader import Cursor, Sample, formats
from leftoff.model import (
    Message,
    NewSession,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Typed,
)

Read = Callable[[str, Any], list[Record]]
Messages = Callable[[str, Any], list[Message]]


def _words(message: Message) -> list[str]:
    """What the person typed in a message."""
    return [message.parts[t.part].text[t.start : t.end] for t in message.typed]  # type: ignore[union-attr]


# -- tau-bench -----------------------------------------------------------------------------


def _run(*messages: Any, **more: Any) -> dict[str, Any]:
    system = {"role": "system", "content": "Policy"}
    return {"task_id": 3, "trial": 0, "reward": 1.0, "traj": [system, *messages], **more}


def _asks(name: str, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": function}],
    }


def test_tau_bench_runs(read: Read) -> None:
    first = _run(
        {"role": "user", "content": "Book me a room."},
        _asks("book", '{"nights": 2}'),
        {"role": "tool", "tool_call_id": "c", "name": "book", "content": "Error: full"},
        {"role": "user", "content": "Thanks anyway. ###STOP###"},
    )
    second = _run(
        _asks("book", {"nights": 1}),
        {"role": "tool", "tool_call_id": "c", "content": "{}"},
        {"role": "user", "content": "###STOP###"},
        trial=1,
    )
    records = read("tau_bench", [first, second])
    names = [r.id for r in records if isinstance(r, NewSession)]
    assert names == ["task-3-trial-0", "task-3-trial-1"]
    found = [r for r in records if isinstance(r, Message)]
    assert [m.item for m in found] == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert [m.origin for m in found[:5]] == ["injected", "prompt", "agent", "tool", "prompt"]
    assert found[2].parts == (ToolCall("c", "book", "other", {"nights": 2}),)
    assert found[3].parts == (ToolResult("c", "Error: full", "error"),)
    assert _words(found[4]) == ["Thanks anyway."]
    assert found[6].parts[0].input == {"nights": 1}  # type: ignore[union-attr]
    assert found[7].parts == (ToolResult("c", "{}", "ok"),)
    assert (found[8].origin, found[8].typed) == ("injected", ())


def test_a_tau_bench_run_alone(messages: Messages) -> None:
    found = messages("tau_bench", _run({"role": "user", "content": "Hello"}))
    assert [m.role for m in found] == ["system", "user"]


# -- ToolBench -----------------------------------------------------------------------------


def test_toolbench_reads_the_last_conversation(messages: Messages) -> None:
    def called(name: str) -> dict[str, Any]:
        function = {"name": name, "arguments": '{"q": "tea"}'}
        return {"role": "assistant", "content": None, "function_call": function}

    def answered(error: str) -> dict[str, Any]:
        content = json.dumps({"error": error, "response": "..."})
        return {"role": "function", "name": "search", "content": content}

    start = [
        {"role": "system", "content": "Use tools"},
        {"role": "user", "content": "\nFind tea.\nBegin!\n"},
    ]
    again = {"role": "user", "content": "This is not the first time", "valid": True}
    last = [*start, called("search"), answered(""), again, called("search"), answered("no key")]
    last += [called("search"), answered("Message error..."), called("Finish")]
    answer = {"query": "Find tea.", "train_messages": [start, last]}
    found = messages("toolbench", {"tree": {}, "answer_generation": answer})
    assert [m.item for m in found] == list(range(10))
    assert _words(found[1]) == ["Find tea."]
    assert found[4].origin == "injected"
    results = [p for m in found for p in m.parts if isinstance(p, ToolResult)]
    calls = [p for m in found for p in m.parts if isinstance(p, ToolCall)]
    assert [r.status for r in results] == ["ok", "error", "unknown"]
    assert [r.call_id for r in results] == [c.id for c in calls[:3]]
    assert calls[3].kind == "finish"
    assert calls[0].input == {"q": "tea"}


# -- AgentInstruct -------------------------------------------------------------------------

RULES = "You may run bash, finish or answer.\n\nNow, my problem is:\n\n"


def _conversation(*messages: tuple[str, str]) -> dict[str, Any]:
    return {
        "id": "os_1",
        "conversations": [{"role": role, "content": text} for role, text in messages],
    }


def test_agentinstruct_leaves_the_worked_example_out(read: Read) -> None:
    row = _conversation(
        ("user", RULES + "How many files?"),
        ("agent", "Think: ls.\n\nAct: bash\n\n```bash\nls | wc -l\n```"),
        ("user", "The output of the OS:\n220"),
        ("agent", "Act: answer(220)"),
        ("user", "Now, I will start a new problem in a new OS. My problem is:\n\nFree space?"),
        ("agent", "Think: df tells.\n\nAct: bash\n\n```bash\ndf -h\ndf -i\n```"),
        ("user", "The output of the OS:\n\n3 GB"),
        ("agent", "Think: Now I know.\n\nAct: answer(3 (GB))"),
    )
    records = read("agentbench", [row])
    assert records[0] == NewSession("os_1")
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.item, m.role, m.origin) for m in found] == [
        (0, "user", "injected"),
        (4, "user", "prompt"),
        (5, "assistant", "agent"),
        (6, "tool", "tool"),
        (7, "assistant", "agent"),
    ]
    assert "How many" not in found[0].text
    assert _words(found[1]) == ["Free space?"]
    call = found[2].parts[1]
    assert isinstance(call, ToolCall)
    assert (call.kind, call.input) == ("shell", {"command": "df -h\ndf -i"})
    assert found[3].parts == (ToolResult(call.id, "\n3 GB"),)
    done = found[4].parts[1]
    assert isinstance(done, ToolCall)
    assert (done.name, done.kind, done.input) == ("answer", "finish", {"answer": "3 (GB)"})


@pytest.mark.parametrize(
    ("reply", "name", "given"),
    [
        ("Action: Operation\n```sql\nSELECT 1;\n```", "sql", {"query": "SELECT 1;"}),
        ("Action: Answer\nFinal Answer: [1]", "answer", {"answer": "[1]"}),
        ("Act: finish", "finish", {"answer": ""}),
        ("Act: bash\n\n```bash\nls", "bash", {"command": "ls"}),
    ],
)
def test_agentinstruct_actions(messages: Messages, reply: str, name: str, given: Any) -> None:
    row = _conversation(("user", RULES + "Count."), ("assistant", "Think: x\n" + reply))
    prompt, said = messages("agentbench", row)
    assert _words(prompt) == ["Count."]
    words, call = said.parts
    assert words == Text("Think: x")
    assert isinstance(call, ToolCall)
    assert (call.name, call.input) == (name, given)


def test_agentinstruct_without_an_action_is_plain_talk(messages: Messages) -> None:
    row = _conversation(("human", "Hello"), ("gpt", "Act: jump"), ("human", "Why?"))
    assert [(m.role, m.text) for m in messages("agentbench", row)] == [
        ("user", "Hello"),
        ("assistant", "Act: jump"),
        ("user", "Why?"),
    ]


def test_agentinstruct_on_lines(read: Read) -> None:
    rows = [_conversation(("user", "a"), ("agent", "b"))] * 2
    found = [r for r in read("agentbench_lines", rows) if isinstance(r, Message)]
    assert [(m.line, m.item) for m in found] == [(1, None), (1, None), (2, None), (2, None)]


# -- Who&When ------------------------------------------------------------------------------


def _log(*history: tuple[str, Any]) -> dict[str, Any]:
    listed = [{"role": role, "content": content} for role, content in history]
    return {"history": listed, "mistake_agent": "Surfer", "question_ID": "q1"}


def test_who_and_when_keeps_the_agents_apart(read: Read) -> None:
    records = read(
        "who_and_when",
        _log(
            ("human", "What is the price?\n"),
            ("Orchestrator (thought)", "A plan."),
            ("Orchestrator (-> Surfer)", "Please look."),
            ("Surfer", "I clicked."),
            ("Orchestrator (termination condition)", "Max rounds."),
        ),
    )
    assert records[0] == SessionFacts(id="q1")
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.agent, m.index, m.role, m.origin, m.item) for m in found] == [
        ("", 0, "user", "prompt", 0),
        ("", 1, "assistant", "agent", 1),
        ("", 2, "assistant", "agent", 2),
        ("Surfer", 0, "assistant", "agent", 3),
        ("", 3, "system", "meta", 4),
    ]
    assert found[0].typed == (Typed(0, 0, 18),)
    assert found[1].parts == (Reasoning("A plan."),)


def test_who_and_when_without_a_leader_is_one_talk(messages: Messages) -> None:
    found = messages("who_and_when", _log(("Expert", "I think"), ("Terminal", "exitcode: 0")))
    assert [m.agent for m in found] == ["", ""]


# -- odd input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("tau_bench", [{"traj": 5}, 7, {}, {"traj": [5, {"role": {}}, {"role": "user"}]}]),
        ("tau_bench", [{"traj": [{"role": "user", "content": [{"type": "image"}]}]}]),
        ("toolbench", {"answer_generation": {"train_messages": [5, [5, {"content": {}}]]}}),
        (
            "toolbench",
            {"answer_generation": {"train_messages": [[{"role": "user"}]], "query": 5}},
        ),
        (
            "agentbench",
            [{"conversations": 5}, 7, {"id": {}, "conversations": [5, {"role": 5}]}],
        ),
        ("agentbench", [{"conversations": [{"role": "user", "content": ["x"]}]}]),
        ("who_and_when", {"history": [5, {"role": {}}, {"role": "(", "content": 5}, {}]}),
        ("who_and_when", {"history": [{"role": "human", "name": 5, "content": [{}]}]}),
    ],
)
def test_odd_documents_are_read(name: str, odd: Any) -> None:
    format_ = formats.get(name)
    data = json.dumps(odd).encode()
    assert list(format_.reader().read(data, Cursor()))
    format_.detect(Sample(data, complete=True))


@pytest.mark.parametrize("name", ["tau_bench", "toolbench", "agentbench", "who_and_when"])
@pytest.mark.parametrize(
    "other",
    [
        [],
        [5],
        [{"role": "user", "content": "x"}],
        {"messages": [{"role": "user", "content": "x"}]},
        {"history": []},
        {"history": [{"role": "user"}], "instance_id": "x"},
        {"answer_generation": 5},
        {"answer_generation": {}},
        {"task_id": 1, "traj": []},
        [{"conversations": [{"from": "human", "value": "x"}]}],
    ],
)
def test_other_documents_are_not_claimed(name: str, other: Any) -> None:
    assert not formats.get(name).detect(Sample(json.dumps(other).encode(), complete=True))
