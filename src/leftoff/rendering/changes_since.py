"""`since`: a summary filtered to what is new after a position in its recording."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from leftoff.analysis.seed001 import format_context_summary
from leftoff.model import Ref
from leftoff.summary import ContextSummary, Words


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
        if line is None:
            return message is None or ref.message + 1 > message
        number = ref.line if ref.line is not None or ref.item is None else ref.item + 1
        return number is None or number > line

    def new(items: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(item for item in items if is_new(item.ref))

    def renumbered(items: Sequence[Any], field: str, others: Sequence[Any]) -> tuple[Any, ...]:
        """The new items, in which `field` is the index of another one among the new `others`;
        None where that is not new."""
        kept = [index for index, other in enumerate(others) if is_new(other.ref)]
        numbers = {index: number for number, index in enumerate(kept)}
        return tuple(
            replace(item, **{field: numbers.get(getattr(item, field))}) for item in new(items)
        )

    progress, context, decisions = summary.progress, summary.context, summary.key_decisions
    milestones = renumbered(progress.milestones, "check", summary.checks)
    working = summary.working_set
    if (
        working.last_words.message < (message or 0)
        if line is None
        else summary.stats.lines.total <= line  # nothing at all: words have no line
    ):
        working = replace(working, last_words=Words(), report=Words())
    lists = ("user_requests", "checks", "git", "key_findings", "errors", "next_steps")
    filtered = replace(
        summary,
        **{name: new(getattr(summary, name)) for name in lists},
        key_decisions=renumbered(decisions, "replaced_by", decisions),
        progress=replace(progress, milestones=milestones, timeline=new(progress.timeline)),
        file_modifications=tuple(
            f for f in summary.file_modifications if not f.refs or any(map(is_new, f.refs))
        ),
        unknown_effects=tuple(e for e in summary.unknown_effects if any(map(is_new, e.refs))),
        context=replace(context, compactions=new(context.compactions)),
        working_set=working,
    )
    # The text form is part of the summary and must not show what was left out.
    return replace(filtered, formatted=format_context_summary(filtered))
