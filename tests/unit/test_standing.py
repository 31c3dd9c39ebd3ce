"""What a handover shows as decided, as open and as there must be sure."""

import pytest

from leftoff.analysis.files.net_changes import FileEvent, discarded_files
from leftoff.handover.briefing import render_prompt
from leftoff.handover.facts import Fact, Handover, handover_of
from leftoff.handover.lines import parts, texts
from leftoff.model import Ref
from leftoff.summary import (
    CallOutcome,
    ContextSummary,
    DiscardedFile,
    FileModification,
    KeyDecision,
    NextStep,
    SessionInfo,
    Stats,
    UnknownEffect,
    UserRequest,
    Words,
    WorkingSet,
)

QUEUE = "The importer takes its rows from a `row_queue`, because that keeps their order."


def at(message: int) -> Ref:
    return Ref(message=message, start=0)


def made(text: str = QUEUE, message: int = 3, **more: object) -> KeyDecision:
    return KeyDecision(text, "other", 0.7, message, at(message), **more)  # type: ignore[arg-type]


def recorded(*requests: UserRequest, later: str = "", **parts_: object) -> ContextSummary:
    working = WorkingSet(recent=(Words(later, 9),) if later else ())
    known = {"key_decisions": (made(),), "working_set": working, **parts_}
    return ContextSummary(
        "leftoff.summary/1", "0", "0", SessionInfo(), Stats(), user_requests=requests,
        **known,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("later", "stands"),
    [
        ("", True),
        ("The page now shows the total.", True),
        ("The importer takes its rows from a `row_queue`, which keeps their order.", True),
        ("I drop the `row_queue` for a table.", False),
        ("Rows of the importer come in their own order from a table.", False),
    ],
)
def test_a_decision_stands_if_no_later_words_are_about_it(later: str, stands: bool) -> None:
    handover = handover_of(recorded(later=later))
    texts = [[f.text for f in facts] for facts in (handover.decisions, handover.on_the_way)]
    assert texts == ([[QUEUE], []] if stands else [[], [QUEUE]])


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I'll put the lock right before the import.", False),
        ("Next the reader takes the lock.", False),
        ("I'll put the lock before the import, because both write.", True),
        ("The reader takes the lock.", False),
        ("The reader now uses the lock.", True),
        ("The choice for the reader:", False),
        ("The old rows have no key, so I'm reading the table first.", False),
        ("The fix is to lower the limit or to read the table first.", False),
    ],
)
def test_a_next_move_and_a_stump_do_not_stand_as_decided(text: str, stands: bool) -> None:
    found = handover_of(recorded(key_decisions=(made(text),)))
    assert bool(found.decisions) is stands


@pytest.mark.parametrize(
    ("correction", "left"),
    [("no, I wanted the rows in a table, not in a queue", 0), ("no, make it green", 1)],
)
def test_what_the_person_objects_to_at_once_is_left_out(correction: str, left: int) -> None:
    asked = UserRequest("Import the rows", "task", "done", at(0))
    objected = UserRequest(correction, "correction", "open", at(5))
    said = "The import takes rows from a queue."
    found = handover_of(recorded(asked, objected, key_decisions=(made(said),)))
    assert len(found.decisions) + len(found.on_the_way) == left


def test_a_question_that_the_person_answered_is_not_open() -> None:
    steps = (
        NextStep("Shall I push?", "question", at(2)),
        NextStep("Tag it?", "question", at(6)),
    )
    request = UserRequest("yes, push", "approval", "open", at(4))
    found = handover_of(recorded(request, next_steps=steps))
    assert [f.text for f in found.open_items] == ["Tag it?"]
    assert found.last_message == Fact("yes, push", "", 4, "person", 1.0)


def test_the_report_before_the_persons_words_holds_no_question() -> None:
    report = Words("The rows are sorted by date now.\n\nShall I sort the head, too?", 2)
    found = handover_of(recorded(working_set=WorkingSet(report=report)))
    assert [f.text for f in found.report] == ["The rows are sorted by date now."]


def files(handover: Handover) -> list[str]:
    (part,) = parts(handover)
    return [line.forms[-1] for line in part.lines]


def test_of_a_deleted_file_later_programs_may_have_made_another() -> None:
    gone = FileModification("out/rows.json", "deleted", 1, (), last_message=6)
    ran = UnknownEffect("make", "unknown", 1, (at(8),))
    lines = files(Handover(files=(gone,), unnamed=(ran,)))
    assert lines[0].endswith("(deleted, #7; may exist again)")
    assert lines[1] == "- may have changed these or others: make ×1"


def test_what_the_session_wrote_and_discarded_is_told() -> None:
    def event(message: int, path: str, action: str, **more: str) -> FileEvent:
        return FileEvent(message, path, action, "sure", "Write", at(message), **more)  # type: ignore[arg-type]

    events = [
        event(1, "/p/draft.py", "created"), event(2, "/p/probe.py", "created"),
        event(3, "/p/probe.py", "deleted"), event(4, "/p/draft.py", "deleted"),
        event(4, "/p/lib/rows.py", "created", renamed_from="/p/draft.py"),
        event(5, "/p/old.py", "modified"), event(6, "/p/old.py", "deleted"),
    ]  # fmt: skip
    found = discarded_files(events, "/p")
    assert found == (
        DiscardedFile("draft.py", "lib/rows.py", at(4)),
        DiscardedFile("probe.py", "", at(3)),
    )
    assert files(Handover(discarded=found)) == [
        "- draft.py (made here, then renamed rows.py #5)",
        "- probe.py (made here, then deleted #4)",
    ]


def test_a_small_prompt_names_every_changed_file() -> None:
    folders = ("src/importer/readers", "src/importer/writers", "tests/importer")
    changed = tuple(
        FileModification(f"{folder}/part_{n}.py", "modified", 1, (), last_message=n)
        for folder in folders
        for n in range(12)
    )
    prompt = render_prompt(recorded(file_modifications=changed), 600)
    assert all(prompt.count(f"part_{n}.py") == len(folders) for n in range(12))
    assert "  - modified: readers/part_8.py, writers/part_8.py" in prompt


def test_a_stored_remark_does_not_say_again_what_stands_above_it() -> None:
    rule = Fact("Sort the rows by date, in place.", message=0, speaker="person")
    found = texts(
        Handover(constraints=(rule,), decisions=(rule,), sentences=(Fact("In place."),))
    )
    assert [title for title, _ in found] == ["The person requires", "Also said"]


def test_a_rule_of_the_person_is_no_decision_beside_it() -> None:
    rule = "Never write rows that the importer has not checked before."
    asked = UserRequest(f"{rule} " + "Take the old rows. " * 30, "task", "open", at(0))
    inner = UserRequest(rule, "constraint", "open", at(0))
    own = KeyDecision(rule, "other", 0.95, 0, at(0), "user")
    assert handover_of(recorded(asked, inner, key_decisions=(own,))).decisions == ()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Keep the importer free of pandas.", True),
        ("The importer must not load pandas, which is slow.", True),
        (
            "The loader is used twice, and it does not read the settings. I don't like it.",
            False,
        ),
    ],
)
def test_what_only_says_how_the_code_is_is_no_standing_rule(text: str, rule: bool) -> None:
    first = UserRequest("Speed up the importer.", "task", "open", at(0))
    last = UserRequest("Now the exporter.", "task", "open", at(8))
    handover = handover_of(
        recorded(first, UserRequest(text, "constraint", "open", at(4)), last)
    )
    assert [bool(handover.constraints), bool(handover.said)] == [rule, not rule]


def test_the_text_of_a_ticket_is_given_with_what_is_not_done_first() -> None:
    text = "# Imports by rows\n\nRows arrive twice.\n\n- [x] read rows\n- [ ] drop copies"
    call = CallOutcome("Bash", "bd show imp.2", "ok", at(5), text)
    links = (Words("https://example.org/board", 6),)
    handover = handover_of(recorded(working_set=WorkingSet(task=call, links=links)))
    weights = {fact.text: fact.weight for fact in handover.plan}
    done, left = (next(w for t, w in weights.items() if end in t) for end in ("read", "drop"))
    assert "bd show imp.2" in weights
    assert done < left
    prompt = render_prompt(recorded(working_set=WorkingSet(task=call, links=links)))
    assert "- `bd show imp.2` #6" in prompt
    assert "- https://example.org/board #7" in prompt


def test_a_file_that_an_unknown_removal_may_have_hit_says_so() -> None:
    file = FileModification("src/old.py", "created", 1, (), "likely", last_message=3)
    removal = UnknownEffect("rm", "deleted", 1, (at(5),))
    summary = recorded(file_modifications=(file,), unknown_effects=(removal,))
    assert "src/old.py (created, likely, #4; may be removed since, #6)" in render_prompt(
        summary
    )
