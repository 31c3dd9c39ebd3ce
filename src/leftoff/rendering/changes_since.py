"""`since`: a summary filtered to what is new after a position in its recording."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from leftoff.analysis.seed001 import format_context_summary
from leftoff.model import Ref
from leftoff.summary import ContextSummary, KeyDecision


def since(
    summary: ContextSummary, *, line: int | None = None, message: int | None = None
) -> ContextSummary:
    """The summary with only the items recorded after a position in the main recording.

    Counts, tokens and progress stay those of the whole session. A file is new if a call after
    the position touched it. Items from other files, such as a subagent's, have no position in
    the main recording and are always included: reporting one twice is better than omitting it.

    Args:
        line: a line of the main recording, from 1 (an item, from 1, in recordings that are one
            document); items on it or before it are left out.
        message: the number of a message, from 1, as in `#12`; likewise."""

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

    checks = new(summary.checks)
    # By identity: two runs of one check may be equal as values.
    places = {id(check): number for number, check in enumerate(checks)}
    milestones = []
    for m in summary.progress.milestones:
        number = None if m.check is None else places.get(id(summary.checks[m.check]))
        milestones.append(replace(m, check=number))
    progress, context = summary.progress, summary.context
    lists = ("user_requests", "checks", "git", "key_findings", "errors", "next_steps")
    filtered = replace(
        summary,
        **{name: new(getattr(summary, name)) for name in lists},
        key_decisions=_renumbered(summary.key_decisions, new(summary.key_decisions)),
        progress=replace(progress, milestones=new(milestones), timeline=new(progress.timeline)),
        file_modifications=tuple(
            f for f in summary.file_modifications if not f.refs or any(map(is_new, f.refs))
        ),
        unknown_effects=tuple(e for e in summary.unknown_effects if any(map(is_new, e.refs))),
        context=replace(context, compactions=new(context.compactions)),
    )
    # The text form is part of the summary and must not show what was left out.
    return replace(filtered, formatted=format_context_summary(filtered))


def _renumbered(
    all_decisions: tuple[KeyDecision, ...], selected: tuple[KeyDecision, ...]
) -> tuple[KeyDecision, ...]:
    """The selected decisions with `replaced_by` as an index into the selection; None where the
    replacing decision is not selected."""
    index = {id(decision): number for number, decision in enumerate(selected)}
    renumbered = []
    for decision in selected:
        successor = decision.replaced_by
        number = index.get(id(all_decisions[successor])) if successor is not None else None
        renumbered.append(replace(decision, replaced_by=number))
    return tuple(renumbered)
