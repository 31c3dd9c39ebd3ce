"""What is read, run or asked again after a compaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leftoff import codec
from leftoff.cli.audit import audit
from leftoff.handover.facts import Fact, Handover, State
from leftoff.handover.rediscovery import (
    CALLS,
    Rework,
    normal_command,
    only_shows,
    rework,
)
from leftoff.handover.rework_table import rework_as_dict, rework_table
from leftoff.live.compactions import rework_after_compactions
from leftoff.model import Message, Text, ToolCall, ToolResult, Typed
from leftoff.summary import FileModification


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


def test_a_file_that_is_read_again_unchanged() -> None:
    before, after = pair()
    known = before.read("src/a.py")
    again = after.read("src/a.py", result="word " * 100)
    after.read("src/a.py")  # once more: it was known after the compaction
    handover = Handover(
        files=(
            FileModification(
                "src/a.py",
                "modified",
                1,
                ("Edit",),
                added=3,
                removed=1,
                last_message=known,
                symbols=("send",),
            ),
        )
    )
    (found,) = compare(before, after, handover, "The work was on a.py.").again
    assert (found.kind, found.text, found.message, found.known) == (
        "read",
        "src/a.py",
        again,
        known,
    )
    assert found.tokens > 90
    assert found.seconds == 1.0 or found.seconds == 0.0
    assert found.stated
    assert found.fact == "file"
    assert "+3 -1" in found.fact_text
    assert "send" in found.fact_text


def test_what_changed_in_between_is_read_for_a_reason() -> None:
    for change in ("subagent", "command", "at large", "later"):
        before, after = pair()
        before.read("src/a.py")
        if change == "subagent":
            before.edit("src/a.py", agent="helper")
        elif change == "command":
            after.run("sed -i s/a/b/ src/a.py")
        elif change == "at large":
            before.run("git checkout main")
        else:
            after.edit("src/a.py")
        after.read("src/a.py")
        assert compare(before, after).again == (), change


def test_a_file_that_the_handover_saw_changing_is_not_known() -> None:
    before, after = pair()
    before.read("src/a.py")
    changed = before.run("make generate-client")
    after.read("src/a.py")
    file = FileModification("src/a.py", "modified", 1, ("Bash",), last_message=changed)
    assert compare(before, after, Handover(files=(file,))).again == ()


def test_what_the_agent_edited_itself_it_knows() -> None:
    before, after = pair()
    before.read("src/a.py")
    edited = before.edit("src/a.py")
    before.run("git checkout -b topic && git add src/a.py")
    after.run("pytest -q")
    after.read("src/a.py")
    (found,) = compare(before, after).again
    assert found.known == edited


def test_other_lines_of_a_file_are_not_known() -> None:
    before, after = pair()
    before.read("src/a.py", offset=1, limit=50)
    before.read("src/b.py")
    after.read("src/a.py", offset=51, limit=50)
    after.read("src/b.py", offset=51, limit=50)
    (found,) = compare(before, after).again
    assert found.text == "src/b.py"  # all of it was read before


def test_what_a_subagent_read_and_what_failed_is_not_known() -> None:
    before, after = pair()
    before.read("src/a.py", agent="helper")
    before.read("src/b.py", status="error")
    after.read("src/a.py")
    after.read("src/b.py")
    assert compare(before, after).again == ()


def test_a_command_that_shows_the_same_again() -> None:
    before, after = pair()
    known = before.run("cd /p && git status 2>&1 | head -20")
    after.run("git status")
    state = State(branch="topic", commit="abc1234", uncommitted=2)
    (found,) = compare(before, after, Handover(state=state)).again
    assert (found.kind, found.text, found.known) == ("command", "git status", known)
    assert (found.fact, found.fact_text) == (
        "state",
        "branch topic, last commit abc1234, 2 files not committed",
    )


@pytest.mark.parametrize(
    "between", ["git commit -qm x", "python3 - <<'E'\nprint(1)\nE", "npm install left-pad"]
)
def test_a_command_that_may_have_changed_something_ends_what_was_known(between: str) -> None:
    before, after = pair()
    before.run("git log --oneline")
    before.run(between)
    after.run("git log --oneline")
    assert compare(before, after).again == ()


def test_commands_that_do_something_are_never_repetitions() -> None:
    before, after = pair()
    for one in (before, after):
        one.run("git push")
        one.run("tail -3 /tmp/tasks/b1.output")
        one.run("date")
    assert compare(before, after).again == ()


def test_a_check_that_is_run_again_without_an_edit() -> None:
    check = Fact("pytest -q tests", "failed (2 failed)", 4, "tool")
    before, after = pair()
    before.run("pytest -q tests | tail -3")
    after.run("pytest -q tests")
    (found,) = compare(before, after, Handover(checks=(check,))).again
    assert (found.fact, found.fact_text) == ("check", "pytest -q tests: failed (2 failed)")
    before.edit("src/a.py")
    assert compare(before, after, Handover(checks=(check,))).again == ()


def test_a_search_that_is_made_again() -> None:
    before, after = pair()
    before.call("Grep", "search", pattern="retry", path="/p/src")
    before.edit("docs/a.md")
    after.call("Grep", "search", pattern="retry", path="/p/src")
    after.call("Grep", "search", pattern="other", path="/p/src")
    (found,) = compare(before, after, recorded="retry stands in three places").again
    assert (found.kind, found.stated) == ("search", True)
    before.edit("src/a.py")
    assert compare(before, after).again == ()


def test_a_question_that_the_person_had_answered() -> None:
    before, after = pair()
    asked = [{"question": "Which database should the outbox use?"}]
    before.call("AskUserQuestion", "ask", "SQLite", questions=asked)
    after.call(
        "AskUserQuestion",
        "ask",
        "SQLite!",
        questions=[{"question": "Which database shall the outbox use?"}],
    )
    answer = Fact("SQLite", "", 1, "person", more="Which database should the outbox use?")
    (found,) = compare(before, after, Handover(said=(answer,))).again
    assert (found.kind, found.fact, found.fact_text) == ("question", "message", "SQLite")


def test_only_the_next_calls_of_the_main_thread_are_looked_at() -> None:
    before, after = pair()
    before.read("src/a.py")
    after.read("src/a.py", agent="helper")
    for number in range(CALLS):
        after.read(f"new/{number}.py")
    after.read("src/a.py")
    found = compare(before, after)
    assert (found.calls, found.again) == (CALLS, ())


def test_what_the_summary_dropped_and_the_next_calls_used() -> None:
    before, after = pair()
    said = before.types("Use the helper makeOutbox for it, never a plain list.")
    before.types("Thanks!")
    seen = before.edit("src/outbox.py")
    ran = before.run("npm run typecheck")
    used = after.edit("src/outbox.py", new_string="makeOutbox()")
    later = after.run("npm run typecheck && git push")
    found = {d.kind: d for d in compare(before, after, recorded="All is well.").dropped}
    assert (found["message"].message, found["message"].used) == (said, used)
    assert (found["file"].text, found["file"].message) == ("src/outbox.py", seen)
    assert (found["command"].message, found["command"].used) == (ran, later)
    stated = "Use makeOutbox, never a plain list, for it. src/outbox.py; `npm run typecheck`"
    assert compare(before, after, recorded=stated).dropped == ()


def test_time_that_overlaps_counts_once() -> None:
    before, after = pair()
    before.read("a.py")
    before.read("b.py")
    after.types("Go on.")
    after.read("a.py")
    after.read("b.py")
    # Message 1000 to 1002, and 1002 to 1004.
    assert compare(before, after).seconds == 4.0


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        ("ls -la && git diff HEAD~1 | head -5", True),
        ("grep -rn 'a' src 2>/dev/null", True),
        ("git branch -D topic", False),
        ("cat a > b", False),
        ("find . -name '*.pyc' -delete", False),
        ("cat <<EOF", False),
        ("npm test", False),
        ("", False),
    ],
)
def test_commands_that_only_show(command: str, shows: bool) -> None:
    assert only_shows(command) is shows


def test_a_command_without_what_trims_it() -> None:
    assert normal_command("cd /p && go test ./... 2>&1 | tail -20") == "go test ./..."


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
    value = codec.parse(codec.dumps(rework_as_dict("s.jsonl", [one], 2)))
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
