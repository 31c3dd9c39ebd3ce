"""The table: who goes on with a task, and why."""

from __future__ import annotations

from typing import Any

import pytest

from leftoff.handover.checkpoint.roles import Role
from leftoff.handover.decision_table import (
    Candidate,
    Situation,
    TaskProgress,
    decide,
    handoff_log_line,
)


def at(capacity: str, **more: Any) -> Situation:
    used = int(capacity or 20) * 10
    given: dict[str, Any] = {"current": Candidate("a", 1000, used), "need": 20, **more}
    return Situation(capacity, **given)


FREE, FULL = Candidate("b", 1000), Candidate("c", 1000, 895)
AWAY = Candidate("d", 9000, available=False)


@pytest.mark.parametrize(
    ("situation", "expected"),
    [
        (at("90", others=(FREE,)), ("continue", "a")),
        (at("90", others=(FREE,), growth=200), ("fallback", "b")),
        (at("90", others=(FREE,), need=101), ("fallback", "b")),
        (at("95", others=(FREE,)), ("fallback", "b")),
        (at("95"), ("continue", "a")),
        (at("95", others=(FULL, AWAY)), ("continue", "a")),
        (at("98", others=(FREE,)), ("force_handoff", "b")),
        (at("98", others=(FREE,), force=False), ("fallback", "b")),
        (at("98", others=(FULL,)), ("force_handoff", "a")),
        (at("98", others=(AWAY,)), ("force_handoff", "a")),
        (at("98", need=950), ("helper_agent", "")),
        (at("98", need=950, helper=False), ("stop", "")),
        (at("98", others=(FREE,), handoffs=3), ("stop", "")),
        (at("98", others=(FREE,), handoffs=2), ("force_handoff", "b")),
        (at("", error="context_length_exceeded", others=(FREE,)), ("force_handoff", "b")),
        (at("", error="context_length_exceeded"), ("force_handoff", "a")),
        (at("", error="circuit_open"), ("helper_agent", "")),
        (at("", error="timeout", helper=False), ("stop", "")),
    ],
)
def test_the_table(situation: Situation, expected: tuple[str, str]) -> None:
    decision = decide(situation)
    assert (decision.type, decision.provider) == expected
    assert decision.reason
    assert decision.now == (decision.type not in {"continue", "fallback"})
    assert decision.fresh == (expected == ("force_handoff", "a"))


def test_the_role_orders_providers_then_what_is_left() -> None:
    some = (Candidate("b", 500), Candidate("c", 900), Candidate("d", 900))
    assert decide(at("98", others=some)).provider == "c"
    assert decide(at("98", others=some, role=Role(providers=("b",)))).provider == "b"
    full = Role(providers=("x", "d", "b"))
    assert decide(at("98", others=some, role=full)).provider == "d"


def test_the_present_provider_is_no_other() -> None:
    alone = at("98", others=(Candidate("a", 1000),))
    assert decide(alone).fresh


def test_reasons_are_words() -> None:
    assert decide(at("95", others=(FREE,))).reason == (
        "0.1K tokens are left with a, the window is nearly full; b takes over, with 1K"
    )
    stopped = decide(at("98", handoffs=3)).reason
    assert stopped == "98 % of a is used, and 3 handoffs have brought no progress"


def test_the_line_of_a_handoff() -> None:
    assert handoff_log_line("t1", "a", "b", "c9") == "Handoff t1 from a to b with checkpoint c9"


def test_progress_is_a_verified_milestone_or_a_change_of_a_file() -> None:
    before = TaskProgress(2, 5)
    assert not TaskProgress(2, 5).is_ahead_of(before)
    assert TaskProgress(3, 5).is_ahead_of(before)
    assert TaskProgress(2, 6).is_ahead_of(before)


def test_the_edges_of_the_table() -> None:
    def near(used: int) -> Situation:
        return at("98", others=(Candidate("b", 1000, used),))

    assert decide(near(879)).provider == "b"
    assert decide(near(880)).provider == "a"  # with the 20 needed, exactly 90 %
    assert decide(at("98", need=899)).type == "force_handoff"
    assert decide(at("98", need=900)).type == "helper_agent"
    assert decide(at("90", others=(FREE,), need=100)).type == "continue"
    assert decide(at("95", others=(FREE,), need=50)).reason.count("nearly full") == 1
    assert decide(at("95", others=(FREE,), need=51)).reason.count("may not fit") == 1
    closed = Candidate("a", 1000, 980, available=False)
    assert decide(at("98", current=closed)).type == "helper_agent"
    assert decide(at("98")).role == ""
    assert decide(at("98", need=950)).role == "helper"
    assert Candidate("a", 10, 11).remaining == 0
    assert Candidate("a", 10).remaining == 10


@pytest.mark.parametrize(
    "others,why",
    [
        ((), "there is no other provider"),
        ((Candidate("a", 1000),), "there is no other provider"),
        ((FULL,), "no other provider has room"),
        ((AWAY,), "no other provider is available"),
        ((FULL, AWAY), "no available provider has room"),
    ],
)
def test_why_nobody_takes_over(others: tuple[Candidate, ...], why: str) -> None:
    said = f"{why}, so a begins a fresh session"
    assert decide(at("98", others=others)).reason == f"98 % of a is used; {said}"
    stopped = decide(at("", error="rate_limited", others=others, helper=False))
    assert stopped.reason == f"rate limited; {why}, and there is no helper agent"


def test_a_checkpoint_keeps_the_decision() -> None:
    decision = decide(at("98", others=(FREE,)))
    kept = decision.action()
    assert (kept.type, kept.next_provider, kept.next_role) == ("force_handoff", "b", None)
    assert kept.handoff_instruction == decision.reason
    assert decision.action("Go on.").handoff_instruction == "Go on."
    helper = decide(at("98", need=950)).action()
    assert (helper.next_provider, helper.next_role) == (None, "helper")


def test_nothing_has_happened_before_the_first_handoff() -> None:
    assert Situation("90", FREE).handoffs == 0
    assert TaskProgress() == TaskProgress(0, 0)
