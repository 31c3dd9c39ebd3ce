"""What of a session remains for whoever goes on: what was asked and what failed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from leftoff.formats.vocabulary import LOOKS, kind_of
from leftoff.summary import ContextSummary, ErrorSeen, UserRequest

STATES = {"done": "done, as far as the recording shows", "open": "not seen done"}
"""What the recording shows of a request. That it shows nothing does not mean it is not done."""

EARLIER = "made before the last task"
"""What is said of a constraint that a task followed: it may be about an earlier one only."""

CHOICE = 3
"""A person's choice of fewer words says nothing without its question."""

_WORD = re.compile(r"\w+")
_LASTING = re.compile(
    r"\b(?:always|never(?! ?mind)|from now on|every ?time|whenever|at all times|in general"
    r"|at any time|ever again|from here on|going forward|in (?:the )?future|permanently"
    r"|for (?:this|the) (?:whole|entire) (?:project|session|repo(?:sitory)?))\b",
    re.IGNORECASE,
)


def state_of(request: UserRequest) -> str:
    """What the recording shows of a request, in words."""
    return STATES.get(request.status, request.status)


def tasks_of(requests: Sequence[UserRequest]) -> list[UserRequest]:
    """The tasks and what corrects them, in order; all requests where there is none."""
    return [r for r in requests if r.kind in {"task", "correction"}] or list(requests)


def latest_of(requests: Sequence[UserRequest]) -> UserRequest | None:
    """What was asked last. "1" and "yes" say nothing without the question that they answer, and
    a constraint asks for nothing."""
    said = [r for r in requests if r.kind in {"task", "correction"}]
    return said[-1] if said else None


def stands(constraint: UserRequest, requests: Sequence[UserRequest]) -> bool:
    """Whether a constraint holds for what is done now: no task followed it, or its own words
    say that it lasts."""
    since = constraint.ref.message
    later = any(
        r.kind == "task" and r.status != "withdrawn" and r.ref.message > since for r in requests
    )
    return not later or _LASTING.search(constraint.text) is not None


def errors_left(summary: ContextSummary) -> tuple[list[ErrorSeen], list[ErrorSeen]]:
    """What failed and was not seen to work later: since the person last spoke, and before.

    Failing to find something while looking around is no error that is left, and one that is
    told in a single word says nothing.
    """
    since = max((r.ref.message for r in summary.user_requests), default=-1)
    left = [
        e
        for e in summary.errors
        if not e.fixed and kind_of(e.tool) not in LOOKS and len(_WORD.findall(e.text)) > 1
    ]
    return (
        [e for e in left if e.ref.message > since],
        [e for e in left if e.ref.message <= since],
    )
