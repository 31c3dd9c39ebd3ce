"""Open requests and unresolved errors, selected for handover."""

from __future__ import annotations

import re
from collections.abc import Sequence

from leftoff.formats.vocabulary import READ_ONLY_KINDS, kind_of
from leftoff.summary import ContextSummary, ErrorSeen, UserRequest

STATUS_TEXTS = {"done": "done, as far as the recording shows", "open": "not seen done"}
"""Texts for the status of a request. A request that is not seen done may still be done."""

EARLIER_NOTE = "made before the last task"
"""The note of a constraint that a task followed: it may apply to an earlier task only."""

MIN_CHOICE_WORDS = 3
"""A choice of fewer words ("1", "yes") is left out: it has no meaning without its question."""

_WORD = re.compile(r"\w+")
_LASTING = re.compile(
    r"\b(?:always|never(?! ?mind)|from now on|every ?time|whenever|at all times|in general"
    r"|at any time|ever again|from here on|going forward|in (?:the )?future|permanently"
    r"|for (?:this|the) (?:whole|entire) (?:project|session|repo(?:sitory)?))\b",
    re.IGNORECASE,
)


def status_text(request: UserRequest) -> str:
    """The status of a request in words."""
    return STATUS_TEXTS.get(request.status, request.status)


def task_requests(requests: Sequence[UserRequest]) -> list[UserRequest]:
    """The tasks and corrections, in order; all requests if there are none."""
    return [r for r in requests if r.kind in {"task", "correction"}] or list(requests)


def latest_request(requests: Sequence[UserRequest]) -> UserRequest | None:
    """The last task or correction. Choices and approvals have no meaning without their
    question, and a constraint requests no work."""
    requested = [r for r in requests if r.kind in {"task", "correction"}]
    return requested[-1] if requested else None


def is_in_force(constraint: UserRequest, requests: Sequence[UserRequest]) -> bool:
    """Whether a constraint applies to the current work: no task followed it, or its wording
    says that it is permanent."""
    since = constraint.ref.message
    later = any(
        r.kind == "task" and r.status != "withdrawn" and r.ref.message > since for r in requests
    )
    return not later or _LASTING.search(constraint.text) is not None


def unresolved_errors(summary: ContextSummary) -> tuple[list[ErrorSeen], list[ErrorSeen]]:
    """The errors that were not fixed later: those since the last request, and those before it.

    Failed read-only calls (searching, listing) and errors of a single word are left out.
    """
    since = max((r.ref.message for r in summary.user_requests), default=-1)
    unresolved = [
        e
        for e in summary.errors
        if not e.fixed
        and kind_of(e.tool) not in READ_ONLY_KINDS
        and len(_WORD.findall(e.text)) > 1
    ]
    return (
        [e for e in unresolved if e.ref.message > since],
        [e for e in unresolved if e.ref.message <= since],
    )
