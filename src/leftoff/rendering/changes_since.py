"""What is new in a summary since a place in its recording: a view of the same values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from leftoff.analysis.seed001 import format_context_summary
from leftoff.model import Ref
from leftoff.summary import ContextSummary, KeyDecision


def since(
    summary: ContextSummary, *, line: int | None = None, message: int | None = None
) -> ContextSummary:
    """The summary with only those items that stand after a place of the main recording.

    Counts, tokens and the state of the work stay those of the whole session. A file is new if
    a call after the place touched it. What stands in another file, such as a subagent's, has
    no place in the main one and is kept: better told twice than not at all.

    Args:
        line: a line of the main recording (or, in recordings that are one document, an item,
            counted from 1); what stands on it or before it is left out.
        message: the number of a message, as `#12` shows it; likewise.
    """

    def is_new(ref: Ref) -> bool:
        if ref.source != 0:
            return True
        if line is not None:
            place = ref.line if ref.line is not None else ref.item
            if place is None:
                return True
            number = place if ref.line is not None else place + 1
            return number > line
        return message is None or ref.message + 1 > message

    def new(items: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(item for item in items if is_new(item.ref))

    progress = msgspec.structs.replace(
        summary.progress,
        milestones=new(summary.progress.milestones),
        timeline=new(summary.progress.timeline),
    )
    files = tuple(
        f for f in summary.file_modifications if not f.refs or any(map(is_new, f.refs))
    )
    unknown = tuple(e for e in summary.unknown_effects if any(map(is_new, e.refs)))
    context = msgspec.structs.replace(
        summary.context, compactions=new(summary.context.compactions)
    )
    view = msgspec.structs.replace(
        summary,
        key_decisions=_decisions(summary.key_decisions, new(summary.key_decisions)),
        progress=progress,
        file_modifications=files,
        unknown_effects=unknown,
        user_requests=new(summary.user_requests),
        key_findings=new(summary.key_findings),
        errors=new(summary.errors),
        next_steps=new(summary.next_steps),
        context=context,
    )
    return msgspec.structs.replace(view, formatted=format_context_summary(view))


def _decisions(
    before: tuple[KeyDecision, ...], kept: tuple[KeyDecision, ...]
) -> tuple[KeyDecision, ...]:
    """The kept decisions, their `replaced_by` counted anew; None where it was left out."""
    index = {id(decision): number for number, decision in enumerate(kept)}
    found = []
    for decision in kept:
        follower = decision.replaced_by
        number = index.get(id(before[follower])) if follower is not None else None
        found.append(msgspec.structs.replace(decision, replaced_by=number))
    return tuple(found)
