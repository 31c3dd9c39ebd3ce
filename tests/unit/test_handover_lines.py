"""What keeps the handover's lines short says the same in fewer words."""

from __future__ import annotations

import pytest

from leftoff.handover.briefing import _fresh
from leftoff.handover.facts import Fact, Handover, State, _request, handover_of
from leftoff.handover.lines import FILES, LIKELY_THEN, PLANS, SHOWN, parts, state_lines
from leftoff.handover.wording import condensed
from leftoff.model import Ref
from leftoff.summary import (
    ContextSummary,
    FileModification,
    KeyDecision,
    SessionInfo,
    Stats,
    UserRequest,
)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Ok, can you please add a test for the parser?", "can you add test for parser?"),
        ("I think we should not use the cache", "I think we should not use cache"),
        ("No, don't do that.", "No, don't do that."),
        ("Task A is still running", "Task A is still running"),
        ("It works well, I'll use that.", "It works well, I'll use that."),
        ("Is it done? It is not so, is it?", "Is it done? It is not so, is it?"),
        ("look at /home/kim/shop/billing/exports/monthly/2025/rows.py", "look at …/kim/shop/billing/exports/monthly/2025/rows.py"),
        ("/tmp/x/Screenshot\\ 1.png shows two rows", "[picture] shows two rows"),
        ("can we not read the row again?", "can we not read row again?"),
        ("but both just for that test", "but both just for that test"),
        ("It seems this is the only place that sorts rows", "It seems this is the only place that sorts rows"),
        ("so the three calls that skip it are cheap", "the three calls that skip it are cheap"),
        ("hide it rather than just adding a flag", "hide it rather than just adding flag"),
        ("ok", "ok"),
    ],
)  # fmt: skip
def test_condensed_text_keeps_negations_names_and_questions(text: str, short: str) -> None:
    assert condensed(text) == short


def file(path: str, message: int, action: str = "modified", added: int | None = 2) -> object:
    return FileModification(path, action, 1, ("Edit",), added=added, last_message=message)


def test_files_of_a_folder_stand_below_it_and_names_stay_unambiguous() -> None:
    paths = ["a.py", "b.py", "c.py", "src/shop/rows.py", "src/shop/cents.py", "src/web/rows.py"]
    files = tuple(file(path, 20 - n) for n, path in enumerate(paths))
    (part,) = parts(Handover(files=files))  # type: ignore[arg-type]
    shown = [(line.group, line.forms[-1]) for line in part.lines]
    assert shown[:3] == [("", f"- {name}.py (+2 -0)") for name in "abc"]
    assert ("- src/:", "  - shop/rows.py (+2 -0)") in shown
    assert ("- src/:", "  - web/rows.py (+2 -0)") in shown


def test_messages_of_the_same_few_words_share_a_line() -> None:
    said = (Fact("Go on.", "", 8, "person"), Fact("Sort by date", "", 5, "person"), Fact("go on.", "", 2, "person"))  # fmt: skip
    (part,) = parts(Handover(said=said))
    assert [line.forms[0] for line in part.lines] == ["- Go on. #9, #3", "- Sort by date #6"]


def test_a_deleted_file_says_when_since_it_may_have_been_made_again() -> None:
    gone = file("out/rows.json", 6, "deleted", None)
    (part,) = parts(Handover(files=(gone,)))  # type: ignore[arg-type]
    assert part.lines[0].forms[-1] == "- out/rows.json (deleted, #7)"


def shown(handover: Handover) -> dict[str, list[str]]:
    return {p.title: [line.forms[0] for line in p.lines] for p in parts(handover)}


def test_only_likely_decisions_that_stand_are_told_as_decided() -> None:
    said = (
        Fact("sort by date", weight=0.8),
        Fact("use a stack", "reversed", weight=0.7),
        Fact("try a heap", weight=0.1),
    )
    found = shown(Handover(decisions=(Fact("use a queue", weight=0.8),), on_the_way=said))
    assert found[SHOWN["Decided"]] == ["- use a queue"]
    assert found[LIKELY_THEN] == ["- sort by date"]
    assert found[SHOWN[PLANS]] == ["- use a stack (reversed)", "- try a heap"]


def test_a_first_request_that_others_followed_is_not_told_as_the_task() -> None:
    first, last = Fact("sort the rows", "", 0, "person"), Fact("now the tests", "", 8, "person")
    assert "The session began with" in shown(Handover(goal=first, last_message=last))
    owned = Handover(goal=Fact("sort rows", "", -1, "person"), last_message=last)
    assert "The task" in shown(owned)


def test_failures_before_the_last_request_are_not_given() -> None:
    failures = (
        Fact("no pier", "Bash", 9, "tool", 0.9),
        Fact("no boat", "Bash", 2, "tool", 0.3),
    )
    (lines,) = shown(Handover(failures=failures)).values()
    assert lines == ["- `no pier` (Bash, #10)"]


def test_a_file_committed_before_its_last_edits_says_so() -> None:
    changed = FileModification(
        "a.py", "created", 2, (), refs=(Ref(message=3), Ref(message=9)),
        committed=False, last_message=9,
    )  # fmt: skip
    made = Handover(files=(changed,), git=(Fact("add a", "commit 1a2b3c4", 5),))
    (line,) = shown(made)[SHOWN[FILES]]
    assert line == "- a.py (created, later modified, last edits not committed, #10)"


@pytest.mark.parametrize(
    ("said", "kind", "answers"),
    [
        ("yes, go on", "approval", True),
        ("the second cache", "remark", True),
        ("also the harbour is closed", "remark", False),
        ("are you still there?", "question", False),
    ],
)
def test_an_answer_takes_up_the_question(said: str, kind: str, answers: bool) -> None:
    request = UserRequest(said, kind, "done", Ref(message=4), "Which cache shall I use?")
    assert bool(_request(request).more) is answers


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I'll use a queue, because it keeps the order.", True),
        ("The importer is running twice, which we prevent by a lock.", True),
        ("Write a test that fails without the lock.", True),
        ("A check that passes is no proof, so we compare the bytes.", True),
        ("Let me look at the importer.", False),
        ("The import of the old rows is still running.", False),
        ("All existing tests pass now.", False),
    ],
)
def test_moves_and_what_is_so_at_the_moment_are_no_decisions(text: str, shown: bool) -> None:
    decided = KeyDecision(text, "other", 0.7, 1, Ref(message=1))
    summary = ContextSummary(
        "leftoff.summary/1", "0", "0", SessionInfo(), Stats(), key_decisions=(decided,)
    )
    assert bool(handover_of(summary).decisions) is shown


def test_a_remark_that_another_line_says_is_left_out() -> None:
    said = "The importer keeps the old rows in a second table until the check is green"
    known = Fact(f"{said}.", message=3)
    other = Fact("The importer drops its lock after the second table is written", message=4)
    whole = parts(Handover(last_words=known, decisions=(Fact(said), other), sentences=(other,)))
    lines = {part.title: [line.forms[0] for line in part.lines] for part in whole}
    left = {part.title: len(part.lines) for part in _fresh(whole, lines)}
    assert (left[SHOWN["Decided"]], left[SHOWN["Also said"]]) == (1, 0)


def test_one_or_two_files_that_are_not_committed_stand_with_the_state() -> None:
    state = State("open", branch="main", uncommitted=2, loose=("rows.py", "head.py"))
    assert state_lines(state)[1] == (
        "Git: branch main, 2 changed files not seen committed (rows.py, head.py)."
    )
