"""`summarize --explain`: what fired, what it weighed, what was nearly told."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeAlias

import pytest

from leftoff import api
from leftoff.analysis.assemble import view_of
from leftoff.analysis.decisions.explain import Explanation, explain
from leftoff.analysis.session_pass import Pass
from leftoff.extraction.decision_model import MODEL, PERSON
from leftoff.rendering import explanation
from leftoff.summary import ContextSummary

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]

NAMES = ("claude_code/prorate.jsonl", "claude_code/outbox.jsonl", "codex/sift.jsonl")


@pytest.fixture(params=NAMES)
def both(root: Path, request: pytest.FixtureRequest) -> tuple[ContextSummary, Explanation]:
    """A session's summary, and why it says so."""
    gathered = api.gather([root / "corpora" / "sessions" / request.param])
    return gathered.summary(), explain(view_of(*gathered.recordings())[1])


def test_it_tells_exactly_what_the_summary_tells(
    both: tuple[ContextSummary, Explanation],
) -> None:
    summary, why = both
    told = [(d.ref, d.confidence) for d in why.decisions if d.reported]
    assert told == [(d.ref, d.confidence) for d in summary.key_decisions]
    milestones = {(m.ref, m.kind, m.evidence) for m in why.milestones if m.reported}
    assert milestones == {(m.ref, m.kind, m.evidence) for m in summary.progress.milestones}
    stages = [(s.stage, s.ref.message) for s in why.stages if s.reported]
    assert stages == [(s.stage, s.ref.message) for s in summary.progress.timeline]


def test_the_contributions_add_up_to_the_score(
    both: tuple[ContextSummary, Explanation],
) -> None:
    agents = [d for d in both[1].decisions if d.owner == "agent"]
    assert agents
    for decision in agents:
        assert decision.log_odds is not None
        assert sum(p.points for p in decision.parts) == pytest.approx(
            decision.log_odds, abs=2e-3
        )
        assert decision.together is not None
        assert decision.together >= decision.log_odds - 1e-3
        assert 1 <= decision.place <= decision.messages


def test_what_was_left_out_lies_near_below_what_is_needed(
    both: tuple[ContextSummary, Explanation],
) -> None:
    left_out = [d for d in both[1].decisions if not d.reported]
    for decision in left_out:
        assert decision.needed == (PERSON if decision.owner == "user" else MODEL).least / 1000
        assert decision.needed - 0.1 <= decision.confidence
        assert (
            decision.confidence < decision.needed
            or (decision.message_confidence or 0.0) < MODEL.message_least / 1000
        )
    assert all(m.why and not m.evidence for m in both[1].milestones if not m.reported)
    assert all(s.turns < 3 for s in both[1].stages if not s.reported)


def test_with_json_it_is_an_object(run: Run, session: Path) -> None:
    value = json.loads(run("summarize", "--explain", "--json", str(session)).stdout)
    assert list(value) == ["threshold", "decisions", "milestones", "stages"]
    scored = [decision["parts"] for decision in value["decisions"] if decision["parts"]]
    assert scored[0][0]["feature"] == "bias"


def test_secrets_are_hidden() -> None:
    secret = "ghp_" + "a1B2" * 9
    gathered = Pass()
    lines = [
        {"role": "user", "text": "Make the upload work."},
        {"role": "assistant", "text": f"I'll use the token {secret} instead of a password."},
    ]
    gathered.feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    gathered.close()
    found = explain(view_of(gathered.sessions[-1], {})[1], near=1.0)
    assert any(secret in d.text for d in found.decisions)
    assert secret not in explanation.text(found)
    assert secret not in str(explanation.plain(found))
