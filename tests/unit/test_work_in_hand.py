"""What the agent is in the middle of: its last steps, the report before them, what still runs
and what waits."""

from typing import Any

from msgspec.structs import replace
from tests.strategies.claude_code import Recording

import leftoff
from leftoff.extraction.errors import telling_line
from leftoff.handover.briefing import briefing
from leftoff.handover.facts import handover_of
from leftoff.summary import ContextSummary

Line = dict[str, Any]
NOTICE = "<task-notification>\n<task-id>{}</task-id>\n<status>{}</status>\n</task-notification>"


def summary_of(*events: str | tuple[Any, ...] | Line) -> ContextSummary:
    """A session of Claude Code: "> words" of the person, words of the agent, calls as (name,
    arguments, result, toolUseResult), other lines as they are."""
    made = Recording()
    for event in events:
        if isinstance(event, dict):
            made.lines.append({"sessionId": "s", **event})
        elif isinstance(event, tuple):
            name, given, result, *extra = event
            more = {"toolUseResult": extra[0]} if extra else {}
            failed = result.startswith("!")
            made.call(name, given, result.lstrip("!"), failed=failed, **more)
        elif event.startswith("> "):
            made.say(event[2:])
        else:
            made.answer(event)
    return made.summary()


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


def test_a_command_that_prints_into_a_file_edits_it() -> None:
    """`cat` and `echo` were said to have looked at what they wrote."""
    steps = summary_of(
        "> Note the colours.",
        run("cat notes.txt", "blue"),
        run("cat <<'EOF' > /p/colours.txt\nred\nEOF", ""),
        run("echo green >> /p/colours.txt", ""),
        run("cat notes.txt 2>/dev/null", "blue"),
    ).working_set.steps
    assert [(s.kind, s.text, s.count) for s in steps if s.kind == "edited"] == [
        ("edited", "colours.txt ×2", 2)
    ]
    assert [s.count for s in steps if s.kind == "looked"] == [2]


def test_times_of_one_session_are_shown_in_one_zone() -> None:
    """A start in UTC and an end in local time were shown as recorded: an end before the start."""
    found = summary_of("> Sort the rows.", "I sorted the rows.")
    end = "2026-03-05T13:43:25-08:00"
    session = replace(found.session, started="2026-03-05T21:36:35Z", ended=end)
    found = replace(found, session=session, turn=replace(found.turn, since=end))
    assert "claude_code · 2026-03-05 21:36" in leftoff.render(found, "text")
    assert "since 2026-03-05 21:43" in leftoff.render(found, "text")
    assert "last event 2026-03-05T21:43:25" in briefing(found)


def test_a_failure_that_printed_only_tags_is_no_reason() -> None:
    assert telling_line("<output>\n</output>") == (0, 0)


def test_a_commit_of_named_files_commits_no_other() -> None:
    """A file whose commit failed counted as committed by the next one."""
    both = (edit("src/rows.py"), edit("src/head.py"))
    made = "[main abc1234] sort\n 1 file changed"
    one = summary_of("> Sort.", *both, run("git commit -m 'sort -- it' -- src/rows.py", made))
    assert handover_of(one).state.loose == ("head.py",)
    every = summary_of("> Sort.", *both, run("git commit -am 'sort -- x.py'", made))
    assert handover_of(every).state.loose == ()


def test_a_rule_that_the_person_gave_again_has_one_line() -> None:
    task = (
        "> Sort the rows by {}. "
        + 20 * "Write a page about it. "
        + "\n\n- do NOT start the server\n"
    )
    summary = summary_of(
        task.format("date"), "Done.", task.format("name"), "Done.", "> Show it."
    )
    assert "\n- do NOT start the server #3, #1\n" in briefing(summary)


def test_a_call_that_the_person_stopped_did_not_fail() -> None:
    stopped = "![Request interrupted by user for tool use]"
    summary = summary_of("> Install it.", run("make install", stopped))
    assert summary.working_set.steps[-1].status == "interrupted"
