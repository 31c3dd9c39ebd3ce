"""Does a saved state fit: the design's arithmetic, the table of verdicts, the world's warnings."""

from __future__ import annotations

from typing import Any

import pytest
from rapidfuzz.distance import Levenshtein

from leftoff.handover.compatibility import (
    Compatibility,
    FileStatus,
    Limits,
    Workspace,
    assess,
    text_similarity,
    without_state,
)
from leftoff.handover.resume_state.document import (
    CompletedTool,
    RecordedFile,
    ResumeState,
    World,
)
from leftoff.handover.resume_state.running_workflow import content_hash
from leftoff.handover.similarity import match_lines
from leftoff.redaction.redactor import Redactor

OLD = "abcdefghij" * 10


def saved(content: str = OLD, tools: tuple[str, ...] = (), **world: Any) -> ResumeState:
    return ResumeState(
        workflow_id="w",
        workflow_file_path="plan.md",
        original_workflow_content=content,
        original_workflow_hash=content_hash(content),
        completed_tools=tuple(
            CompletedTool(function_name=name, success=True) for name in tools
        ),
        world=World(**world) if world else None,
    )


def changed_by(count: int) -> str:
    """A text of OLD's length at distance `count` from it."""
    return "#" * count + OLD[count:]


@pytest.mark.parametrize(
    "distance,missing,score,verdict,warnings,adaptations,strategies",
    [
        (0, False, 1.0, "same", 0, 0, 0),
        (20, False, 0.8, "same", 0, 0, 0),
        (21, False, 0.79, "adapt", 1, 1, 0),
        (40, False, 0.6, "adapt", 1, 1, 0),
        (41, False, 0.59, "refuse", 1, 1, 2),
        (50, False, 0.5, "refuse", 1, 1, 2),
        (51, False, 0.49, "refuse", 1, 2, 2),
        (100, False, 0.0, "refuse", 1, 2, 2),
        (0, True, 0.7, "adapt", 1, 1, 0),
        (14, True, 0.602, "adapt", 1, 1, 0),
        (15, True, 0.595, "refuse", 1, 1, 2),
        (30, True, 0.49, "refuse", 2, 2, 2),
    ],
)
def test_the_designs_arithmetic(
    distance: int,
    missing: bool,
    score: float,
    verdict: str,
    warnings: int,
    adaptations: int,
    strategies: int,
) -> None:
    state = saved(tools=("read", "write"))
    now = Workspace(
        content=changed_by(distance),
        tools=frozenset({"read"} if missing else {"read", "write", "more"}),
    )
    found = assess(state, now)
    assert found.compatibility_score == score
    assert found.verdict == verdict
    assert found.can_resume == (verdict != "refuse")
    assert len(found.warnings) == warnings
    assert len(found.adaptations) == adaptations
    assert len(found.migration_strategies) == strategies
    assert found.missing_tools == (("write",) if missing else ())


def test_six_sevenths_with_a_missing_tool_is_enough() -> None:
    # 0.7 x 6/7 is 0.6; as binary fractions it is a little less.
    state = saved("x" * 7, ("gone",))
    found = assess(state, Workspace(content="x" * 6 + "y", tools=frozenset()))
    assert (found.compatibility_score, found.verdict) == (0.6, "adapt")


def test_the_designs_words() -> None:
    found = assess(saved(tools=("a", "b")), Workspace(content="#" * 100, tools=frozenset()))
    assert found.warnings == (
        "Workflow content has changed significantly since last execution",
        "Some previously used tools are no longer available: a, b",
    )
    assert "Consider resetting workflow state due to major changes" in found.adaptations
    assert found.requires_adaptation
    assert found.migration_strategies == {
        "reset_workflow": "Start workflow from the beginning",
        "partial_context": "Preserve context but restart execution",
    }


def test_force_turns_refuse_into_adapt_and_nothing_else() -> None:
    for distance, verdict in ((0, "same"), (30, "adapt"), (90, "adapt")):
        found = assess(saved(), Workspace(content=changed_by(distance)), force=True)
        assert (found.verdict, found.can_resume) == (verdict, True)
        assert (
            found.compatibility_score
            == assess(saved(), Workspace(content=changed_by(distance))).compatibility_score
        )


def test_limits_are_settings() -> None:
    limits = Limits(
        similarity_warning=0.95,
        similarity_reset=0.9,
        minimum_score=0.85,
        missing_tool_factor=0.5,
    )
    found = assess(saved(), Workspace(content=changed_by(12)), limits=limits)
    assert (found.verdict, len(found.adaptations)) == ("adapt", 2)
    assert assess(saved(), Workspace(content=changed_by(16)), limits=limits).verdict == "refuse"


def test_tools_are_compared_with_those_of_now_and_a_failed_one_counts() -> None:
    state = ResumeState(
        completed_tools=(CompletedTool(function_name="a", success=False),),
        available_tools=("a",),
    )
    assert assess(state, Workspace(tools=frozenset())).missing_tools == ("a",)
    assert assess(state, Workspace(tools=frozenset({"a"}))).verdict == "same"


def test_an_unknown_list_of_tools_is_a_note_without_penalty() -> None:
    found = assess(saved(tools=("a",)), Workspace(content=OLD, tools=None))
    assert (found.verdict, found.compatibility_score) == ("same", 1.0)
    assert "which tools are available now is not known" in found.reasons


def test_reasons_are_words_that_a_person_understands() -> None:
    old = "".join(f"line {n}\n" for n in range(118))
    new = "".join(f"line {n}{' changed' if n % 4 == 0 else ''}\n" for n in range(118))
    found = assess(saved(old), Workspace(content=new, content_path="plan.md"))
    assert "plan.md changed in 30 of 118 lines" in found.reasons
    assert any("the same" in reason for reason in found.reasons)
    assert "plan.md is unchanged" in assess(saved(old), Workspace(content=old)).reasons


def test_content_that_was_redacted_is_compared_redacted() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    raw = f"Use {secret} to push.\nThen stop.\n"
    kept = Redactor().text(raw)
    assert secret not in kept
    # The hash of another program, so that only the content can tell.
    state = ResumeState(
        original_workflow_hash="abc123def456...", original_workflow_content=kept
    )
    found = assess(state, Workspace(content=raw))
    assert (found.verdict, found.compatibility_score) == ("same", 1.0)
    assert "the workflow is unchanged but for secrets, which are not saved" in found.reasons


@pytest.mark.parametrize(
    "state,content,similarity",
    [
        (ResumeState(), None, None),
        (ResumeState(workflow_file_path="gone.md", original_workflow_content="a"), None, None),
        (ResumeState(), "a", None),
        (ResumeState(), "", 1.0),
        (ResumeState(original_workflow_content="a"), "a", 1.0),
        (ResumeState(original_workflow_content="a"), "", 0.0),
        (ResumeState(original_workflow_hash="0", original_workflow_content=""), "ab", 0.0),
    ],
)
def test_what_cannot_be_compared_costs_nothing(
    state: ResumeState, content: str | None, similarity: float | None
) -> None:
    found = assess(state, Workspace(content=content))
    assert (found.similarity.value if found.similarity else None) == similarity
    assert found.compatibility_score == (1.0 if similarity is None else similarity)


def test_a_change_of_content_that_was_not_kept_is_said_so() -> None:
    found = assess(ResumeState(original_workflow_hash="0"), Workspace(content="ab"))
    assert found.verdict == "refuse"
    assert "the workflow changed, and what it held was not saved" in found.reasons


def test_nothing_saved_is_not_resumed() -> None:
    found = without_state("plan.md")
    assert (found.can_resume, found.compatibility_score, found.verdict) == (
        False,
        0.0,
        "refuse",
    )
    assert isinstance(found, Compatibility)


# -- the world -------------------------------------------------------------------------------

FILES = tuple(
    RecordedFile(path=p, action=a)
    for p, a in (("a.py", "modified"), ("b.py", "created"), ("old.py", "deleted"))
)
THERE = {
    "a.py": FileStatus(True, False),
    "b.py": FileStatus(True, False),
    "old.py": FileStatus(False),
}


@pytest.mark.parametrize(
    "now,warning",
    [
        ({"branch": "dev"}, "The work was on branch main; now it is dev"),
        ({"branch": ""}, "The work was on branch main; now it is no branch"),
        (
            {"commit": "f" * 40, "ahead": 2, "behind": 0},
            "The repository is not at the recorded commit: 2 commits newer",
        ),
        (
            {"commit": "f" * 40, "ahead": 1, "behind": 3},
            "The repository is not at the recorded commit: 1 commit newer, 3 commits missing",
        ),
        ({"commit": "f" * 40}, "The recorded commit abcdef123456 is not in this repository"),
        (
            {"files": {**THERE, "a.py": FileStatus(False)}},
            "Files of the session that are missing: a.py",
        ),
        (
            {"files": {**THERE, "a.py": FileStatus(False), "b.py": FileStatus(False)}},
            "None of the 2 files that the session left is there",
        ),
        (
            {"files": {**THERE, "b.py": FileStatus(True, True)}},
            "Files of the session that changed since: b.py",
        ),
        ({"root": "/else"}, "The work was in /home/p; what is in /else was compared"),
        (
            {"window": 100_000, "model": "small"},
            "The session held 90,000 tokens; the window of small takes 100,000",
        ),
        (
            {"content": None, "content_path": "plan.md"},
            "The workflow's file plan.md is missing",
        ),
    ],
)
def test_the_world_warns_and_never_changes_the_score(now: dict[str, Any], warning: str) -> None:
    state = saved(
        branch="main", commit="abcdef1234567890", cwd="/home/p", occupancy=90_000, files=FILES
    )
    calm: dict[str, Any] = {
        "content": OLD, "branch": "main", "commit": "abcdef1234567890" + "0" * 24, "root": "/home/p",
        "files": THERE, "window": 200_000,
    }  # fmt: skip
    still = assess(state, Workspace(**calm))
    assert (still.verdict, still.warnings) == ("same", ())
    found = assess(state, Workspace(**{**calm, **now}))
    assert found.warnings == (warning,)
    assert found.compatibility_score == still.compatibility_score == 1.0
    assert found.verdict == "adapt"


def test_many_files_are_counted_not_listed() -> None:
    files = tuple(RecordedFile(path=f"f{n}", action="modified") for n in range(9))
    now = {f.path: FileStatus(True, True) for f in files}
    found = assess(saved(files=files), Workspace(content=OLD, files=now))
    assert found.warnings[0].endswith("f0, f1, f2, f3, f4 and 4 more")


# -- similarity ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a,b",
    [
        ("", ""), ("", "abc"), ("abc", "abc"), ("abc", "abd"), ("abc\n", "abc"), ("a\nb\nc\n", "a\nc\n"),
        ("x\r\ny\r\n", "x\ny\n"), ("añb", "aób"), ("😀a", "😀b"), ("a" * 5000, "b" * 5000),
        ("ab\n" * 50 + "c\n" + "ab\n" * 50, "ab\n" * 99),
    ],
)  # fmt: skip
def test_small_texts_are_measured_exactly(a: str, b: str) -> None:
    longest = max(len(a), len(b)) or 1
    found = text_similarity(a, b)
    assert found.exact
    assert found.value == 1 - Levenshtein.distance(a, b) / longest
    assert not found.estimated


def test_lines_that_only_moved_are_told() -> None:
    assert match_lines(["a", "b", "c"], ["c", "a", "b"]) == [(0, 1), (1, 2)]
    assert match_lines(["x", "x", "y"], ["x", "y"]) in ([(0, 0), (2, 1)], [(1, 0), (2, 1)])
    assert match_lines([], ["a"]) == []


def test_one_long_line_with_two_edits_is_nearly_the_same() -> None:
    line = " ".join(f'"k{n * 7919 % 99991}":{n},' for n in range(30_000))
    edited = line[:1000] + "XX" + line[1002:300_000] + "more" + line[300_000:]
    found = text_similarity(line, edited, (0.8, 0.5, 0.6))
    assert found.value > 0.9999
    assert (found.changed, found.lines) == (1, 1)


@pytest.mark.parametrize(
    "a,b",
    [
        ("a" * 10**7, "b" * 10**7),
        ("\n" * 10**7, "\n\n" * (5 * 10**6 - 5) + "x"),
        ("a\nb\n" * 2 * 10**6, "b\na\n" * 2 * 10**6),
        (" " * 10**7, " ," * 5 * 10**6),
        ("ab" * 10**6, "ba" * 10**6 + "c"),
        ("", "x" * 10**7),
        ("\u4e00\u4e8c" * 10**6, "\u4e8c\u4e09" * 10**6),
        ("".join(map(str, range(10**6))), "".join(map(str, range(10**6, 0, -1)))),
    ],
    ids=[
        "other letters",
        "blank lines",
        "swapped lines",
        "spaces",
        "shifted",
        "empty",
        "han",
        "digits",
    ],
)
@pytest.mark.timeout(20)
def test_hostile_sizes_never_hang(a: str, b: str) -> None:
    found = text_similarity(a, b, (0.8, 0.6, 0.5))
    assert 0 <= found.low <= found.high <= 1
    if not found.estimated:
        for threshold in (0.8, 0.6, 0.5):
            assert found.high < threshold or found.low >= threshold
