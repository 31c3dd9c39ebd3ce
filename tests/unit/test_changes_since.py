"""What is new since a place: items after it, references between them counted anew."""

from pathlib import Path

from leftoff import api
from leftoff.rendering.changes_since import since


def test_checks_and_git_are_only_those_that_are_new(root: Path) -> None:
    whole = api.summarize(root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl")
    late = since(whole, message=40)
    assert len(late.checks) < len(whole.checks)
    assert late.git == whole.git
    for milestone in late.progress.milestones:
        assert milestone.check is None or late.checks[milestone.check].ref.message >= 40
    assert since(whole, message=10_000).git == ()
