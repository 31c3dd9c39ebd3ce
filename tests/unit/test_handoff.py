"""The table: who goes on with a task, and why."""

from __future__ import annotations

from typing import Any

import pytest

from leftoff.documents.checkpoint.roles import Role
from leftoff.handoff import Candidate, Reached, Situation, announced, decide


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
    assert announced("t1", "a", "b", "c9") == "Handoff t1 from a to b with checkpoint c9"


def test_progress_is_a_verified_milestone_or_a_change_of_a_file() -> None:
    before = Reached(2, 5)
    assert not Reached(2, 5).beyond(before)
    assert Reached(3, 5).beyond(before)
    assert Reached(2, 6).beyond(before)
