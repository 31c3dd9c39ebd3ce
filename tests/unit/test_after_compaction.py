"""What a compaction's own summary states wrongly: named only where the recording settles it."""

from __future__ import annotations

import msgspec
import pytest

from leftoff.handover.after_compaction import beside, contradictions
from leftoff.handover.facts import handover_of
from leftoff.model import Ref
from leftoff.summary import (
    Check,
    ContextSummary,
    FileModification,
    GitEvent,
    SessionInfo,
    Stats,
    UserRequest,
)


def ref(message: int) -> Ref:
    return Ref(0, message + 1, None, message, 0, 0, 1)


def check(verdict: str, message: int, *, kind: str = "test", edited: bool = False) -> Check:
    return Check(
        kind, "pytest", "pytest -q tests/io", verdict, ref(message), failed=2 if verdict == "failed" else None,
        failing=("test_reads_rows", "6.1 empty input"), edited_since=edited,
    )  # fmt: skip


COMMIT = GitEvent("commit", "Read rows lazily", ref(10), hash="abc1234")
PUSH = GitEvent("push", "", ref(11))
LOOSE = FileModification(
    "src/rows.py", "modified", 2, ("Edit",), committed=False, last_message=20
)
COMMITTED = msgspec.structs.replace(LOOSE, committed=True, last_message=9)
REMOVED = FileModification("src/old_rows.py", "deleted", 1, ("Bash",), last_message=15)
FAILED = check("failed", 30)
NONE = ContextSummary("leftoff.summary/1", "0", "0", SessionInfo(id="a"), Stats())


def wrong(recorded: str, **values: object) -> list[str]:
    summary = msgspec.structs.replace(NONE, **values)
    lines = contradictions(handover_of(summary), recorded, summary)
    return [line.forms[0] for line in lines]


@pytest.mark.parametrize(
    ("recorded", "values", "telling"),
    [
        ("`pytest -q tests/io` passes now.", {"checks": (FAILED,)}, "failed (2 failed) (#31)"),
        ("All tests pass.", {"checks": (FAILED,)}, "the last test run: 2 failed"),
        ("- The full test suite is green", {"checks": (FAILED,)}, "the last test run: 2 failed"),
        ("test_reads_rows passes.", {"checks": (FAILED,)}, "`test_reads_rows`: 2 failed"),
        ("Section 6.1 empty input passes", {"checks": (FAILED,)}, "`6.1 empty input`: 2 failed"),
        ("Type check passes", {"checks": (check("failed", 3, kind="typecheck"),)}, "typecheck run"),
        ("All changes are committed.", {"git": (COMMIT,), "file_modifications": (LOOSE,)}, "src/rows.py was changed after the last commit (#21)"),
        ("The working tree is clean.", {"git": (COMMIT,), "file_modifications": (LOOSE,)}, "after the last commit"),
        ("The branch was pushed.", {"git": (COMMIT,)}, "no push is seen"),
        ("Created `src/old_rows.py` for the fallback.", {"file_modifications": (REMOVED,)}, "src/old_rows.py was deleted (#16)"),
    ],
)  # fmt: skip
def test_what_the_recording_contradicts_is_named(
    recorded: str, values: dict[str, object], telling: str
) -> None:
    (line,) = wrong(f"Earlier work:\n{recorded}\nMore.", **values)
    assert line.startswith("- it says: ")
    assert telling in line


@pytest.mark.parametrize(
    ("recorded", "values"),
    [
        ("All tests pass.", {"checks": (check("failed", 3), check("passed", 30))}),
        ("All tests pass.", {"checks": (check("failed", 3, edited=True),)}),
        ("All tests pass.", {"checks": (check("unknown", 3),)}),
        ("All three new tests pass.", {"checks": (FAILED,)}),
        ("All tests should pass before the merge.", {"checks": (FAILED,)}),
        ("Run the tests until all tests pass.", {"checks": (FAILED,)}),
        ("All tests passed before; two fail now.", {"checks": (FAILED,)}),
        ("Make sure that test_reads_rows passes.", {"checks": (FAILED,)}),
        ("test_reads_rows_twice passes.", {"checks": (FAILED,)}),
        ("All tests pass.", {"checks": (FAILED,), "user_requests": (UserRequest("I want this: all tests pass.", "task", "open", ref(1)),)}),
        ("All changes are committed.", {"git": (COMMIT,), "file_modifications": (COMMITTED,)}),
        ("All changes are committed.", {"file_modifications": (LOOSE,)}),
        ("All changes will be committed at the end.", {"git": (COMMIT,), "file_modifications": (LOOSE,)}),
        ("Not all changes are committed.", {"git": (COMMIT,), "file_modifications": (LOOSE,)}),
        ("The branch was pushed.", {"git": (COMMIT, PUSH)}),
        ("The branch was not pushed.", {"git": (COMMIT,)}),
        ("The branch was pushed by the user.", {"git": (COMMIT,)}),
        ("The stack values are pushed.", {}),
        ("Created src/old_rows.py, later removed.", {"file_modifications": (REMOVED,)}),
        ("Added tests for very_old_rows.py.", {"file_modifications": (REMOVED,)}),
        ("Read src/old_rows.py.", {"file_modifications": (REMOVED,)}),
    ],
)  # fmt: skip
def test_nothing_is_called_wrong_that_may_be_right(
    recorded: str, values: dict[str, object]
) -> None:
    assert wrong(f"Earlier work:\n{recorded}\nMore.", **values) == []


def test_what_is_wrong_comes_first_and_only_once() -> None:
    summary = msgspec.structs.replace(NONE, checks=(FAILED,))
    shown, parts = beside(handover_of(summary), "All tests pass.\nAll tests pass.\n", summary)
    (part,) = parts
    assert len(part.lines) == 1
    assert part.priority < 0
    assert shown.checks == handover_of(summary).checks
    assert beside(handover_of(summary), " ", summary) == (handover_of(summary), ())
