"""What the agent is in the middle of: its last steps, the report before them, what still runs
and what waits."""

import json
from typing import Any

import leftoff
from leftoff.handover.briefing import briefing
from leftoff.summary import ContextSummary

Line = dict[str, Any]
NOTICE = "<task-notification>\n<task-id>{}</task-id>\n<status>{}</status>\n</task-notification>"


def summary_of(*events: str | tuple[Any, ...] | Line) -> ContextSummary:
    """A session of Claude Code: "> words" of the person, words of the agent, calls as (name,
    arguments, result, toolUseResult), other lines as they are."""
    lines: list[Line] = []

    def add(role: str, content: Any, **more: Any) -> None:
        n = len(lines)
        lines.append(
            {
                "type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None,
                "sessionId": "s", "cwd": "/p", "timestamp": "2026-01-02T10:00:00Z",
                "message": {"role": role, "content": content, "id": f"m{n}"}, **more,
            }
        )  # fmt: skip

    for event in events:
        if isinstance(event, dict):
            lines.append({"sessionId": "s", **event})
        elif isinstance(event, tuple):
            name, given, result, *extra = event
            key = f"t{len(lines)}"
            call = {"type": "tool_use", "id": key, "name": name, "input": given}
            back = {"type": "tool_result", "tool_use_id": key, "content": result.lstrip("!")}
            add("assistant", [call])
            back["is_error"] = result.startswith("!")
            add("user", [back], **({"toolUseResult": extra[0]} if extra else {}))
        elif event.startswith("> "):
            add("user", event[2:])
        else:
            add("assistant", [{"type": "text", "text": event}])
    reading = leftoff.Pass()
    reading.feed("".join(f"{json.dumps(line)}\n" for line in lines).encode())
    return reading.summary()


def edit(path: str) -> tuple[str, Line, str]:
    return "Edit", {"file_path": f"/p/{path}", "old_string": "a", "new_string": "b"}, "updated"


def run(command: str, result: str, **more: Any) -> tuple[Any, ...]:
    return "Bash", {"command": command, **more}, result


def start(command: str, job: str) -> tuple[Any, ...]:
    shown = (
        f"Command running in background with ID: {job}. Output is being written to: /x/{job}"
    )
    return (*run(command, shown, run_in_background=True), {"backgroundTaskId": job})


WORK = (
    "> Sort the rows by date.",
    "I sorted the rows by date in `rows.py`.\n\n- The header is still unsorted.\n\n```\nx = 1\n```",
    "> Sort the header, too.",
    "I'll sort the header in `head.py`, because the rows follow it.",
    ("Read", {"file_path": "/p/src/head.py"}, "1→a"),
    edit("src/head.py"),
    ("Read", {"file_path": "/p/src/rows.py"}, "1→a"),
    edit("src/head.py"),
    run("pytest -q", "!Exit code 1\nFAILED tests/test_head.py::test_date - KeyError: 'day'\n1 failed"),
    "The day is missing. I'll add it.",
    edit("src/day.py"),
)  # fmt: skip


def test_a_prompt_into_a_running_turn_does_not_end_its_steps() -> None:
    interrupted = summary_of(
        *WORK, "> [Request interrupted by user]", "> Keep the zone.", edit("src/zone.py")
    )
    assert [s.text for s in interrupted.working_set.steps][-2:] == ["src/day.py", "src/zone.py"]
    compacted = summary_of(*WORK, "> <command-name>/compact</command-name>")
    assert len(compacted.working_set.steps) == 6


def test_a_job_is_running_until_its_end_is_seen() -> None:
    started = (*WORK, start("make all", "b1"), start("make docs", "b2"))
    running = summary_of(*started).working_set.running
    assert [(r.text, r.line) for r in running] == [("make all", "b1"), ("make docs", "b2")]
    steps = summary_of(*started).working_set.steps
    assert steps[-1].status == "started in the background"
    asked = ("TaskOutput", {"task_id": "b1"}, "<status>running</status>\n<output>\nx</output>")
    told = f"> {NOTICE.format('b2', 'completed')}"
    assert [r.line for r in summary_of(*started, asked, told).working_set.running] == ["b1"]
    done = ("TaskOutput", {"task_id": "b1"}, "<status>completed</status>\n<output>\nx</output>")
    queued = {
        "type": "queue-operation", "operation": "enqueue",
        "content": NOTICE.format("b2", "failed"),
    }  # fmt: skip
    assert summary_of(*started, done, queued).working_set.running == ()
    assert "make docs" in briefing(summary_of(*started)).partition("no end seen:")[2]


def test_a_prompt_waits_until_it_is_delivered() -> None:
    typed = {"type": "queue-operation", "operation": "enqueue", "content": "Then push it."}
    command = {**typed, "content": "/compact"}
    waiting = summary_of(*WORK, typed, command)
    assert waiting.working_set.queued == ("Then push it.",)
    assert "not given to the agent yet:\n- Then push it." in briefing(waiting)
    delivered = summary_of(*WORK, typed, {"type": "queue-operation", "operation": "remove"})
    assert delivered.working_set.queued == ()
    assert delivered.user_requests[-1].text == "Then push it."
