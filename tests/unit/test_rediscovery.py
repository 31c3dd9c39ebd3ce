"""What is read, run or asked again after a compaction."""

from pathlib import Path
from typing import Any

import pytest

from leftoff import codec
from leftoff.cli.audit import audit
from leftoff.handover.audit_table import as_dict, rework_table
from leftoff.handover.facts import Handover
from leftoff.handover.rediscovery import CALLS, Rework, rework
from leftoff.live.compactions import rework_after_compactions
from leftoff.model import Message, Text, ToolCall, ToolResult, Typed


class Recording:
    """Builds messages one after the other; every second is a message."""

    def __init__(self, start: int = 0) -> None:
        self.messages: list[Message] = []
        self._start = start

    def _add(self, role: Any, part: Any, agent: str = "", **more: Any) -> int:
        index = self._start + len(self.messages)
        time = f"2026-01-01T00:{index // 60:02}:{index % 60:02}Z"
        self.messages.append(
            Message(index, role, (part,), time=time, agent=agent, cwd="/p", **more)
        )
        return index

    def call(
        self,
        name: str,
        kind: str,
        result: str = "text",
        *,
        agent: str = "",
        status: str = "ok",
        **given: Any,
    ) -> int:
        index = self._add("assistant", ToolCall("", name, kind, given), agent)
        key = f"c{index}"
        self.messages[-1] = Message(
            index,
            "assistant",
            (ToolCall(key, name, kind, given),),
            time=self.messages[-1].time,
            agent=agent,
            cwd="/p",
        )
        self._add("user", ToolResult(key, result, status), agent, origin="tool")
        return index

    def read(self, path: str, **more: Any) -> int:
        return self.call("Read", "read", file_path=f"/p/{path}", **more)

    def edit(self, path: str, **more: Any) -> int:
        return self.call("Edit", "edit", file_path=f"/p/{path}", old_string="a", **more)

    def run(self, command: str, result: str = "output", **more: Any) -> int:
        return self.call("Bash", "shell", result, command=command, **more)

    def types(self, text: str) -> int:
        return self._add(
            "user", Text(text), origin="prompt", typed=(Typed(part=0, start=0, end=len(text)),)
        )


def compare(
    before: Recording, after: Recording, handover: Handover | None = None, recorded: str = ""
) -> Rework:
    return rework(
        1,
        99,
        before.messages,
        after.messages,
        handover=handover or Handover(),
        recorded=recorded,
    )


def pair() -> tuple[Recording, Recording]:
    return Recording(), Recording(1000)


def test_only_the_next_calls_of_the_main_thread_are_looked_at() -> None:
    before, after = pair()
    before.read("src/a.py")
    after.read("src/a.py", agent="helper")
    for number in range(CALLS):
        after.read(f"new/{number}.py")
    after.read("src/a.py")
    found = compare(before, after)
    assert (found.calls, found.again) == (CALLS, ())


def test_the_table_and_the_object_say_what_was_repeated() -> None:
    before, after = pair()
    before.read("src/a.py")
    before.types("Keep `makeOutbox`; the token is ghp_" + "a1B2" * 9)
    after.read("src/a.py")
    after.edit("src/b.py", new_string="makeOutbox")
    one = compare(before, after)
    shown = rework_table([one, one], listed=1)
    assert "together" in shown
    assert "#1001 read src/a.py (known since #1," in shown
    assert "not in the summary" in shown
    assert "message: Keep 'makeOutbox'" in shown
    assert "a1B2a1B2" not in shown
    value = codec.parse(codec.dumps(as_dict("s.jsonl", 2, rework=[one])))
    assert (value["compactions"], value["audited"]) == (2, 1)
    assert value["audits"][0]["again"][0]["text"] == "src/a.py"
    assert "a1B2a1B2" not in repr(value)
    assert len(rework_table([one]).splitlines()) == 2


def line(number: int, **more: Any) -> bytes:
    common = {
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}",
        "sessionId": "5e55",
        "cwd": "/p",
        "version": "2.1.0",
        "isSidechain": False,
        "timestamp": f"2026-01-01T00:00:{number:02}Z",
    }
    return codec.dumps({**more, **common})


def test_a_recording_is_audited_at_its_compaction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reading(number: int) -> list[bytes]:
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Read",
            "input": {"file_path": "/p/src/queue.py"},
        }
        back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "1 def put(): 1"}
        return [
            line(number, type="assistant", message={"role": "assistant", "content": [use]}),
            line(number + 1, type="user", message={"role": "user", "content": [back]}),
        ]

    path = tmp_path / "s.jsonl"
    summary = "This session is being continued from a previous conversation. " + "Fine. " * 99
    path.write_bytes(
        b"".join(
            [
                line(1, type="user", message={"role": "user", "content": "Mend the queue."}),
                *reading(2),
                line(4, type="system", subtype="compact_boundary", content="compacted"),
                line(
                    5,
                    type="user",
                    isCompactSummary=True,
                    message={"role": "user", "content": summary},
                ),
                *reading(6),
            ]
        )
    )
    (found,) = rework_after_compactions(str(path))
    assert [a.text for a in found.again] == ["src/queue.py"]
    assert audit.main([str(path)], standalone_mode=False) in (0, None)
    assert "read src/queue.py" in capsys.readouterr().out
    assert audit.main([str(path), "--json"], standalone_mode=False) in (0, None)
    assert codec.parse(capsys.readouterr().out)["audits"][0]["calls"] == 1
