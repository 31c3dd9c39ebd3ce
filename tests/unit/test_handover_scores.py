"""The measures of a handover cannot be met by words that only look right."""

from __future__ import annotations

import pytest

from leftoff.evaluation.handover_scores import (
    MEASURES,
    LabelledStatements,
    Share,
    declared_turn,
    next_file_rank,
    next_speaker,
    noisy_lines,
    score,
)
from leftoff.evaluation.resume_forms import _fitting, with_recorded, without_fillers
from leftoff.evaluation.resume_truth import truth
from leftoff.live.compactions import Cut
from leftoff.model import Message, Text, ToolCall, ToolResult, Typed
from leftoff.summary import ContextSummary
from leftoff.tokens import max_tokens


def typed(index: int, text: str) -> Message:
    return Message(
        index,
        "user",
        (Text(text),),
        origin="prompt",
        typed=(Typed(part=0, start=0, end=len(text)),),
    )


def said(index: int, text: str) -> Message:
    return Message(index, "assistant", (Text(text),))


def called(index: int, name: str, kind: str, **given: object) -> Message:
    return Message(index, "assistant", (ToolCall(f"c{index}", name, kind, given),))


def came_back(index: int, call: int, text: str = "ok", status: str = "ok") -> Message:
    return Message(index, "user", (ToolResult(f"c{call}", text, status, 0),), origin="tool")


def cut(prefix: list[Message], future: list[Message], recorded: str = "") -> Cut:
    return Cut("compaction 1", True, len(prefix), tuple(prefix), tuple(future), recorded, ())


def shares(text: str, at: Cut) -> dict[str, Share]:
    return score(text, at, truth(at), LabelledStatements((), ()), Share()).shares


EDITING = [
    typed(0, "Rename the port option to listen everywhere."),
    called(1, "Edit", "edit", file_path="src/serve.py", old_string="a", new_string="b"),
    came_back(2, 1),
]


def test_all_measures_are_there() -> None:
    assert tuple(shares("", cut(EDITING, []))) == MEASURES


@pytest.mark.parametrize(
    ("prefix", "future", "who"),
    [
        (EDITING, [said(3, "Next file.")], "agent"),
        ([*EDITING, said(3, "All done.")], [typed(4, "Thanks, now the tests.")], "person"),
        (
            [*EDITING, said(3, "All done."), typed(4, "/compact")],
            [typed(5, "Go on.")],
            "person",
        ),
        (EDITING, [typed(3, "Stop, not there.")], ""),
        (EDITING, [], ""),
    ],
)
def test_the_turn_is_open_where_the_agent_goes_on_by_itself(
    prefix: list[Message], future: list[Message], who: str
) -> None:
    assert next_speaker(cut(prefix, future)) == who


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("State: the agent was still at work; last event 2026-01-01.", "open"),
        ("State: the agent ended its turn and waits for the person.", "closed"),
        ("State: the person interrupted the agent.", "closed"),
        # A recorder's summary that talks about work declares nothing.
        ("8. Current Work:\nI was in the middle of the rename; tests are in progress.", ""),
        ("The job is in progress, the migration was interrupted.", ""),
        ("- `State: the agent was still at work`", ""),
    ],
)
def test_only_a_line_that_declares_the_state_counts(text: str, turn: str) -> None:
    assert declared_turn(text) == turn


def test_both_states_are_measured_each_where_it_is_true() -> None:
    at_work = "State: the agent was still at work."
    opened, closed = (
        cut(EDITING, [said(3, "Next.")]),
        cut([*EDITING, said(3, "Done so far.")], [typed(4, "Go.")]),
    )
    assert shares(at_work, opened)["state of the open turn"] == Share(1, 1)
    assert shares(at_work, opened)["state of the closed turn"] == Share(0, 0)
    assert shares(at_work, closed)["state of the closed turn"] == Share(0, 1)


LONG = "Please move the retry logic of every client into one place. " * 40


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("- Rename the `port` option to listen, everywhere! (#1)", True),
        ("- Rename the port option … everywhere (#1)", False),
        ("- option everywhere the to Rename port listen", False),
    ],
)
def test_the_last_message_stands_there_without_a_gap(text: str, whole: bool) -> None:
    assert shares(text, cut(EDITING, []))["last message whole"] == Share(whole, 1)


def test_of_a_long_message_the_beginning_has_to_stand_there() -> None:
    at = cut([typed(0, LONG), *EDITING[1:]], [])
    assert shares(f"- {LONG[:1599]}… (#1)", at)["last message whole"].value == 1.0
    assert shares(f"- {LONG[:700]}… (#1)", at)["last message whole"].value == 0.0


def test_a_bare_command_is_no_message_of_the_person() -> None:
    at = cut([*EDITING, typed(3, "/compact")], [])
    assert shares("Rename the port option to listen everywhere.", at)[
        "last message whole"
    ] == Share(1, 1)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("- src/serve.py (modified)", True),
        ("- src/serve.py (+3 -1, lines 3-9, not committed, #2)", True),
        ("- changed the port option in src/serve.py", True),
        # A heading over a list says of no file what was done to it.
        ("Files changed, latest first:\n- src/serve.py", False),
        ("Modified:\n- src/serve.py", False),
        ("- src/serve.py\n- modified", False),
    ],
)
def test_the_change_stands_in_the_files_own_item(text: str, there: bool) -> None:
    found = shares(text, cut(EDITING, []))
    assert found["changed files"] == Share(1, 1)
    assert found["changed files with their change"] == Share(there, 1)


def test_lines_added_do_not_say_that_a_file_was_deleted() -> None:
    deleted = [
        *EDITING,
        called(3, "Delete", "delete", file_path="src/serve.py"),
        came_back(4, 3),
    ]
    at = cut(deleted, [])
    assert shares("- src/serve.py (+3 -1)", at)["changed files with their change"].value == 0.0
    assert (
        shares("- src/serve.py (deleted)", at)["changed files with their change"].value == 1.0
    )


@pytest.mark.parametrize(
    ("command", "text", "there"),
    [
        ("pytest -q tests", "- `pytest -q tests`: passed", True),
        ("pytest -q tests", "- `pytest -q tests`: failed", False),
        # The exit code of a pipe is that of `tail`: any verdict, or none, may be right.
        ("pytest -q tests | tail -3", "- `pytest -q tests`: failed", True),
        ("pytest -q tests; true", "- `pytest -q tests`", True),
        ("pytest -q tests 2>&1", "- `pytest -q tests`: failed", False),
        ("cd app && pytest -q tests", "- `pytest -q tests`: passed", True),
    ],
)
def test_a_command_is_named_with_its_result_where_that_is_certain(
    command: str, text: str, there: bool
) -> None:
    before = [called(1, "Bash", "shell", command=command), came_back(2, 1, "ran")]
    after = [called(3, "Bash", "shell", command=command), came_back(4, 3, "ran")]
    at = cut([typed(0, "Test it."), *before], after)
    assert shares(text, at)["commands run again"] == Share(there, 1)


def test_the_rank_of_the_next_file() -> None:
    def reading(index: int, path: str) -> Message:
        return called(index, "Read", "read", file_path=path)

    prefix = [reading(0, "/p/a.py"), reading(1, "/p/b.py"), reading(2, "/p/c.py")]
    at = cut(prefix, [reading(3, "/p/new.py"), reading(4, "/p/b.py")])
    assert next_file_rank("c.py, then b.py and a.py", at) == 0.5
    assert next_file_rank("c.py and a.py", at) == 0.0
    assert next_file_rank("", cut(prefix, [])) is None


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("Decided:\n- Keep entries in SQLite because it survives a crash (#3)", False),
        ("Decided:\n- I'll use SQLite for the outbox of the client (#3)", False),
        ("Decided:\n- Let me check the existing tests first. (#3)", True),
        ("Decided:\n- Now let me run the whole suite again (#3)", True),
        ("Decided:\n- Let me read the file first, because it changed (#3)", False),
        ("Decided:\n- Two options: (#3)", True),
        ("Found out:\n- Good.", True),
        ("## Decisions & Rationale\n\n- Checking the logs of the server now.", True),
        # Short words of the person are the person's words, and a path is no sentence.
        ("The person said before:\n- yes (#3)", False),
        ("Files changed, latest first:\n- src/a.py (+1 -0, #3)", False),
        ("Failed and not mended:\n- `Exit code 1` (Bash, #3)", True),
        ("Failed and not mended:\n- `Output:` (Bash, #3)", True),
        ("Failed and not mended:\n- `undefined: session` (Bash, #3)", False),
        ("The person said before:\n- ‹task-notification> agent a1 ended (#3)", True),
        ("The person's last message:\n- Unknown skill: deploy (#3)", True),
    ],
)
def test_noise(text: str, noise: bool) -> None:
    ((_, found),) = noisy_lines(text)
    assert found is noise


def test_text_without_its_filler_sections() -> None:
    block = (
        "Decided:\n- one\nAlso said:\n- two\n- three\nNames in use:\n- a, b\n(left out: 3)\n"
    )
    assert without_fillers(block) == "Decided:\n- one\n(left out: 3)\n"
    log = "**State:**\n- x\n\n**Names in use:**\n- a, b\n- c\n\n## More\n"
    assert without_fillers(log) == "**State:**\n- x\n\n## More\n"


def test_both_together_are_no_longer_than_the_recorders_summary() -> None:
    recorded = "".join(f"{n}. What was done in step {n} of the work.\n" for n in range(90))
    seen: list[tuple[str, int]] = []

    def beside(_: ContextSummary, left: str, room: int) -> str:
        seen.append((left, room))
        return "Ünsere Zeile.\n" * 40

    at = cut(EDITING, [], recorded)
    text = with_recorded(beside)["both, equal length"](at, None)  # type: ignore[arg-type]
    assert text is not None
    assert len(text.encode()) <= len(recorded)
    assert max_tokens(text) <= max_tokens(recorded)
    ((left, room),) = seen
    assert recorded.startswith(left)
    assert room == len(recorded) // 2
    assert _fitting("a\nbb\n", 3) == ["a\n"]
