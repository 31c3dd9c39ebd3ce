"""What a person is shown first: true, in one order, the same in every form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from leftoff import api
from leftoff.analysis.decisions.shown import person_decisions_shown, shown_decisions
from leftoff.analysis.summary_json import safe_summary
from leftoff.model import Ref
from leftoff.rendering.html.report import report_row
from leftoff.rendering.html.session import page
from leftoff.rendering.overview import last_checks, overview, turns
from leftoff.rendering.render_summary import render
from leftoff.rendering.screen import text_width, wrap
from leftoff.summary import (
    Check,
    ContextSummary,
    ErrorSeen,
    FileModification,
    GitEvent,
    KeyDecision,
    NextStep,
    SessionInfo,
    Stats,
    TurnState,
    UserRequest,
    WorkingSet,
)

SECRET = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"


def at(message: int) -> Ref:
    return Ref(0, message + 1, None, message, 0)


def summary(**fields: object) -> ContextSummary:
    empty = ContextSummary(
        schema="leftoff.summary/1",
        leftoff="0",
        rules="",
        session=SessionInfo(id="s", started="2026-05-01T10:00:00Z"),
        stats=Stats(message_count=20),
        user_requests=(
            UserRequest("Sort the harbour list by berth.", "task", "answered", at(0)),
        ),
        turn=TurnState("closed", "2026-05-01T11:30:00Z", at(19)),
    )
    return replace(empty, **fields)


def state(found: ContextSummary) -> str:
    return overview(safe_summary(found)).state.text


def part(found: ContextSummary, key: str, *, everything: bool = False) -> list[str]:
    parts = {p.key: p for p in overview(safe_summary(found)).parts}
    return [i.text for i in parts[key].shown(everything=everything)] if key in parts else []


def decision(text: str, confidence: float, message: int, owner: str = "agent") -> KeyDecision:
    return KeyDecision(text, "approach", confidence, message, at(message), owner=owner)


@pytest.mark.parametrize(
    "turn,expected",
    [
        (TurnState("closed", "2026-05-01T11:30:00Z"), "waiting for you since 2026-05-01 11:30"),
        (
            TurnState("closed", "2026-05-01T11:30:00Z", None, "Ascending or descending?"),
            "waiting for your answer since 2026-05-01 11:30: Ascending or descending?",
        ),
        (
            TurnState("open", "2026-05-01T11:30:00Z"),
            "stopped in the middle at 2026-05-01 11:30",
        ),
        (TurnState("interrupted", ""), "interrupted by you"),
        (TurnState("closed", "", None, "", "limit"), "stopped: the agent could not go on"),
        (TurnState(), "not known"),
    ],
)
def test_the_state_says_whose_turn_it_is_since_when(turn: TurnState, expected: str) -> None:
    assert state(summary(turn=turn)) == expected


def test_it_is_done_only_where_all_that_was_asked_is_and_nothing_is_left() -> None:
    done = UserRequest("Sort the harbour list.", "task", "done", at(0))
    other = UserRequest("And the ferries.", "task", "answered", at(4))
    assert state(summary(user_requests=(done,))) == "done since 2026-05-01 11:30"
    assert state(summary(user_requests=(done, other))).startswith("waiting")
    left = (NextStep("Sort the tugs, too.", "said", at(9)),)
    assert state(summary(user_requests=(done,), next_steps=left)).startswith("waiting")


def test_a_question_that_work_followed_is_answered_not_done() -> None:
    asked = UserRequest("Would it not be faster by tide?", "question", "done", at(2))
    plain = UserRequest("why did you sort by name?", "correction", "done", at(4))
    work = UserRequest("could you sort by tide?", "task", "done", at(6))
    parts = overview(safe_summary(summary(user_requests=(asked, plain, work)))).parts
    assert [item.note for item in parts[0].items] == ["answered", "answered", "done"]


def test_a_remark_is_listed_while_the_agent_is_at_work_on_it() -> None:
    task = UserRequest("Sort the list.", "task", "done", at(0))
    remark = UserRequest("mit Umlauten", "remark", "open", at(6))
    assert part(summary(user_requests=(task, remark)), "asked")[-1] == "mit Umlauten"
    assert (
        len(part(summary(user_requests=(task, replace(remark, status="answered"))), "asked"))
        == 1
    )


def test_every_form_shows_the_same_decisions_in_one_order() -> None:
    """One session showed 29 decisions in the report, 9 on the screen and 8 in markdown."""
    agent = [decision(f"Choice {n} of the agent.", 0.97 + n / 1000, n) for n in range(12)]
    agent.append(replace(decision("Taken back later.", 0.99, 13), status="reversed"))
    person = [decision(f"Berth or tide? → word {n}", 0.9, n, "user") for n in range(7)]
    found = summary(key_decisions=tuple(agent + person))
    expected = [d.text for d in (*person_decisions_shown(found), *shown_decisions(found))]
    assert len(expected) == 10
    row = report_row(found)
    assert [i.text for i in (*row.decided, *row.likely)] == expected
    assert row.decision_count == 10
    html = page(found).split('<section id="quotes"')[0]
    html = re.sub("<details>.*?</details>", "", html, flags=re.DOTALL).split('id="turns"')[0]
    for shown in (render(found), render(found, "markdown"), html):
        places = [shown.index(text) for text in expected]
        assert places == sorted(places)
        assert "Taken back later." not in shown
        hidden = {d.text for d in found.key_decisions} - set(expected)
        assert not any(text in shown for text in hidden)
    for form in ("text", "markdown"):
        everything = render(found, form, everything=True)
        assert all(d.text in everything for d in found.key_decisions)
    titles = [p.title.partition(":")[0] for p in overview(safe_summary(found)).parts]
    heads = [line[3:].partition(":")[0] for line in render(found, "markdown").splitlines()
             if line.startswith("## ")]  # fmt: skip
    assert heads[: len(titles)] == titles


def test_a_later_run_of_everything_ends_the_runs_of_parts() -> None:
    part_run = Check("test", "pytest", "pytest a", "failed", at(2), scope="a")
    whole_run = Check("test", "pytest", "pytest", "passed", at(5))
    after = Check("test", "pytest", "pytest b", "failed", at(8), scope="b")
    lint = Check("lint", "ruff", "ruff check", "passed", at(6))
    assert last_checks([part_run, whole_run, lint, after]) == [after, lint, whole_run]
    assert last_checks([whole_run, part_run]) == [part_run, whole_run]


def test_a_check_says_verdict_counts_and_the_telling_line() -> None:
    check = Check("test", "pytest", "pytest -q", "failed", at(3), passed=7, failed=2,
                  failing=("test_a", "test_b"), edited_since=True)  # fmt: skip
    types = Check("typecheck", "tsc", "tsc", "failed", at(4), failed=3, line="a.ts(1,2): no")
    shown = render(summary(checks=(check, types)), width=120)
    assert "✗ pytest failed (2 failed, 7 passed): `test_a, test_b`  edited since #4" in shown
    assert "✗ tsc failed (3 errors): `a.ts(1,2): no`  #5" in shown


@pytest.mark.parametrize(
    "tool,command,expected",
    [
        ("cargo build", "cargo check 2>&1 | tail -3", "cargo check passed"),
        ("swift build", "cd libs && swift build", "swift build passed"),
        ("next", "npm run build > log.txt", "npm run build passed"),
    ],
)
def test_a_build_has_the_name_under_which_it_was_run(
    tool: str, command: str, expected: str
) -> None:
    """`cargo check` stood on the screen as a build that passed."""
    check = Check("build", tool, command, "passed", at(3))
    assert part(summary(checks=(check,)), "checks") == [expected]


def test_the_goal_is_more_than_the_first_line_of_a_plan() -> None:
    text = "Implement the following plan:\n\n# Sort the ferries by tide and by berth\n\n## Why"
    found = summary(user_requests=(UserRequest(text, "task", "open", at(0)),))
    goal = overview(safe_summary(found)).goal.text
    assert goal == "Implement the following plan: Sort the ferries by tide and by berth"


def test_failures_of_earlier_requests_stand_behind_all() -> None:
    later = UserRequest("Now the ferries.", "task", "open", at(6))
    errors = (
        ErrorSeen("the old pier is closed", "Bash", at(3)),
        ErrorSeen("the new pier is closed", "Bash", at(9)),
        ErrorSeen("(no output)", "Bash", at(10)),
    )
    found = summary(user_requests=(*summary().user_requests, later), errors=errors)
    assert "old pier" not in render(found)
    assert "✗ Bash: `the new pier is closed`  #10" in render(found)
    assert "old pier" in render(found, everything=True)
    assert "no output" not in render(found, everything=True)


def test_files_stand_by_recency_with_their_names() -> None:
    long = "harbour/" + "quays/" * 20 + "a_name_that_is_wider_than_a_narrow_terminal_is.py"
    files = tuple(
        FileModification(path, "modified", 1, ("Edit",), refs=(at(n),), last_message=n)
        for n, path in enumerate(["first.py", long, "last.py"])
    )
    for width in (40, 60, 200):
        shown = render(summary(file_modifications=files), width=width)
        joined = "".join(line.strip() for line in shown.splitlines())
        assert joined.index("last.py") < joined.index("a_name_that") < joined.index("first.py")
        assert "a_name_that_is_wider_than_a_narrow_terminal_is.py" in joined


def test_not_committed_is_said_only_where_the_session_commits() -> None:
    files = (
        FileModification("a.py", "modified", 1, ("Edit",), committed=False, last_message=5),
    )
    commit = GitEvent("commit", "Sort by berth", at(4), hash="0a1b2c3", branch="main")
    assert "not committed" not in render(summary(file_modifications=files))
    shown = render(summary(file_modifications=files, git=(commit,)))
    assert "~ a.py  not committed" in shown
    assert "✓ commit 0a1b2c3 on main: `Sort by berth`  #5" in shown


def test_the_time_line_has_each_prompt_with_what_followed() -> None:
    second = UserRequest("Now test it.", "task", "done", at(6))
    files = (
        FileModification("a.py", "modified", 1, ("Edit",), refs=(at(2), at(8)), last_message=8),
        FileModification("b.py", "read", 1, ("Read",), refs=(at(3),), last_message=3),
    )
    checks = (Check("test", "pytest", "pytest", "passed", at(9), passed=3),)
    requests = (*summary().user_requests, second)
    found = summary(user_requests=requests, file_modifications=files, checks=checks)
    first, last = turns(safe_summary(found))
    assert (first.files, first.checks) == (("a.py",), ())
    assert (last.files, [c.text for c in last.checks]) == (
        ("a.py",),
        ["pytest passed (3 passed)"],
    )
    assert "worked on `a.py`" in render(found, "markdown")
    assert turns(safe_summary(summary(user_requests=()))) == []


def test_no_percentage_on_the_screen(root: Path) -> None:
    for path in sorted((root / "corpora" / "sessions" / "claude_code").glob("*.jsonl")):
        found = api.summarize(path)
        assert not re.search(r"\d ?%", render(found))


def test_a_secret_is_replaced_before_anything_is_cut() -> None:
    for place in range(20, 90):
        text = "word " * (place // 5) + SECRET + " and more words" * 9
        found = summary(
            user_requests=(UserRequest(text, "task", "open", at(0)),),
            working_set=WorkingSet(),
            git=(GitEvent("commit", text, at(1)),),
        )
        for width in (40, 96):
            shown = "".join(render(found, width=width).split())
            assert not any(SECRET[n : n + 12] in shown for n in range(4, 24))


# -- layout ----------------------------------------------------------------------------------

TEXTS = st.text(
    st.sampled_from("abc xyz/.-,`→…日本語テ。e\u0301\u200d😀") | st.characters(codec="utf-8"),
    max_size=200,
)


@settings(max_examples=200)
@given(
    TEXTS, st.integers(24, 90), st.integers(1, 3), st.sampled_from(["", "  #12", "  open #7"])
)
def test_wrapped_text_fits_and_ends_with_its_note(
    text: str, width: int, most: int, tail: str
) -> None:
    lines = wrap(text, width, most, tail)
    assert 1 <= len(lines) <= most
    assert all(text_width(line) <= width for line in lines)
    assert lines[-1].endswith(tail.strip())


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=14), max_size=40), st.integers(24, 90))
def test_no_word_is_cut(words: list[str], width: int) -> None:
    lines = wrap(" ".join(words), width, 2, "  #1")
    shown = " ".join(lines).removesuffix("#1").rstrip().removesuffix("…").split()
    assert shown == words[: len(shown)]


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 300))
def test_no_line_is_wider_than_the_screen(text: str, width: int) -> None:
    found = summary(
        session=SessionInfo(id=text, cwd=text, branch=text, models=(text, text)),
        user_requests=(UserRequest(text, "task", "open", at(0), question=text),),
        key_decisions=(decision(text, 0.99, 3), decision(text, 0.9, 4, "user")),
        checks=(Check("test", "pytest", "pytest", "failed", at(5), scope=text, line=text),),
        git=(GitEvent("push", text, at(6), remote=text, branch=text),),
        file_modifications=(
            FileModification(text, "created", 1, ("Edit",), renamed_from=text, last_message=1),
            FileModification(text, "modified", 1, ("Edit",), last_message=2),
        ),
        errors=(ErrorSeen(text, text, at(7)),),
        next_steps=(NextStep(text, "said", at(8)),),
    )
    shown = render(found, width=width, everything=True)
    assert max(map(text_width, shown.splitlines())) <= min(200, max(40, width))
    coloured = render(found, width=width, colour=True, everything=True)
    assert re.sub("\x1b\\[[0-9]*m", "", coloured) == shown


def test_an_edit_without_a_result_changed_a_file_and_a_moved_one_is_not_created() -> None:
    files = (
        FileModification("a.py", "modified", 1, ("Edit",), "likely", last_message=3),
        FileModification("b.py", "modified", 1, ("Edit",), last_message=2),
        FileModification("d.py", "created", 1, ("mv",), renamed_from="c.py", last_message=1),
    )
    part = next(
        p
        for p in overview(safe_summary(summary(file_modifications=files))).parts
        if p.key == "files"
    )
    assert part.title == "Files: 1 moved, 1 modified, 1 changed"
    assert [item.note for item in part.items] == ["changed, likely", "", ""]
