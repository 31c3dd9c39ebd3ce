"""What a handover shows as decided, as open and as there must be sure."""

import pytest

from leftoff.handover.facts import handover_of
from leftoff.model import Ref
from leftoff.summary import (
    ContextSummary,
    KeyDecision,
    SessionInfo,
    Stats,
    UserRequest,
    Words,
    WorkingSet,
)

QUEUE = "The importer will take its rows from a `row_queue`, because that keeps their order."


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
    ("correction", "left"),
    [("no, I wanted the rows in a table, not in a queue", 0), ("no, make it green", 1)],
)
def test_what_the_person_objects_to_at_once_is_left_out(correction: str, left: int) -> None:
    asked = UserRequest("Import the rows", "task", "done", at(0))
    objected = UserRequest(correction, "correction", "open", at(5))
    said = "The import takes rows from a queue."
    found = handover_of(recorded(asked, objected, key_decisions=(made(said),)))
    assert len(found.decisions) + len(found.likely) + len(found.on_the_way) == left
