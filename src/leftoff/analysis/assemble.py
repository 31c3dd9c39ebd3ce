"""From evidence to a `ContextSummary`: a pure function that may look both ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from leftoff._version import __version__
from leftoff.analysis import insights, progress, requests
from leftoff.analysis.decisions import select
from leftoff.analysis.files import track
from leftoff.analysis.seed001 import format_context_summary
from leftoff.analysis.summary_json import SCHEMA
from leftoff.analysis.working_set import working_set
from leftoff.budget.usage import context, conversation_tokens, spend
from leftoff.extraction.evidence import Asked, Called, Failed
from leftoff.extraction.rule_sets import rules_digest
from leftoff.extraction.session_state import Lines, Recording
from leftoff.model import Issue, Usage
from leftoff.session_view import Story
from leftoff.summary import (
    Child,
    ContextSummary,
    FileModification,
    LineCounts,
    SessionInfo,
    Source,
    Stats,
)

T = TypeVar("T")


def assemble(
    recordings: Mapping[str, Recording],
    *,
    sources: Sequence[Source] = (),
    format: str = "",
    lines: Lines | None = None,
    issues: Sequence[Issue] = (),
    child_sources: Mapping[str, int] | None = None,
) -> ContextSummary:
    """The summary of one session. A pure function of its arguments.

    Args:
        recordings: the main thread under "" and each subagent under its id.
        sources: the files that the session was read from; refs index into them.
        child_sources: index into `sources` for subagents with a file of their own.
    """
    main_id, story = story_of(recordings, child_sources or {})
    children = story.children
    header = story.recording.header
    # Facts of a subagent's own file are told of the session that it belongs to.
    told = recordings[""].header if main_id and "" in recordings else header
    paths = [s.path for s in sources]
    tracker = track.Tracker(story)
    events, unseen = tracker.all(), tracker.unseen
    story.forget()
    spent: dict[str, Usage] = {}
    told_of: list[Child] = []
    for child in children:
        tracker = track.Tracker(child)
        did = tracker.all()
        events += did
        unseen += tracker.unseen
        spent[child.recording.agent] = _total(spend(child))
        told_of.append(_child(child, track.file_modifications(did, told.cwd)))
        child.forget()
    modifications = track.file_modifications(events, told.cwd)
    unknown_effects = track.unknown_effects(unseen)
    del tracker, events, unseen
    summary = ContextSummary(
        schema=SCHEMA,
        leftoff=__version__,
        rules=rules_digest(),
        session=SessionInfo(
            id=main_id or header.id,
            format=format,
            path=paths[0] if paths else "",
            cwd=told.cwd,
            branch=told.branch,
            models=tuple(header.models),
            agent_version=told.agent_version,
            started=header.started,
            ended=header.ended,
            title=_title(story),
            parent_id=told.parent_id or (told.id if main_id else ""),
            sources=tuple(sources),
            children=tuple(told_of),
        ),
        stats=_stats(story, lines or Lines()),
        key_decisions=_judged(select.key_decisions, story),
        progress=_judged(progress.progress, story),
        file_modifications=modifications,
        unknown_effects=unknown_effects,
        user_requests=requests.user_requests(story),
        key_findings=insights.key_findings(story),
        errors=insights.errors(story),
        next_steps=_judged(insights.next_steps, story),
        working_set=_judged(working_set, story),
        context=context(story, spent, format),
        issues=tuple(sorted(issues, key=lambda i: (i.severity, i.code, i.what))),
        **_tools([story, *children]),
    )
    return msgspec.structs.replace(summary, formatted=format_context_summary(summary))


def _judged(judge: Callable[[Story], T], story: Story) -> T:
    """What a judge finds; of a long story, what he looked at is let go of before the next."""
    found = judge(story)
    story.forget()
    return found


def story_of(
    recordings: Mapping[str, Recording], child_sources: Mapping[str, int]
) -> tuple[str, Story]:
    """The story of a session with those of its subagents, and the name of its recording: ""
    but for a subagent's own file, where the subagent is the session."""
    main_id = ""
    if "" not in recordings or not len(recordings[""].thread):
        main_id = next((name for name, r in recordings.items() if len(r.thread)), "")
    children = [
        Story(recording, child_sources.get(agent, 0))
        for agent, recording in sorted(recordings.items())
        if agent not in {"", main_id} and len(recording.thread)
    ]
    return main_id, Story(recordings[main_id], child_sources.get(main_id, 0), children)


def _tools(stories: Sequence[Story]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for story in stories:
        for call in story.all(Called):
            counts[call.name] += 1
    ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return {"tools_used": tuple(ordered), "tool_counts": ordered}


def _total(by_model: Mapping[str, Usage]) -> Usage:
    total = Usage()
    for usage in by_model.values():
        total += usage
    return total


def _title(story: Story) -> str:
    """The recorder's title; one that belongs to a leaf counts if the leaf is ours."""
    header = story.recording.header
    if header.title:
        return header.title
    for leaf, title in reversed(header.linked_titles):
        if story.thread.holds(leaf):
            return title
    return ""


def _child(story: Story, changed: Sequence[FileModification]) -> Child:
    asked, said = story.recording.first_words, story.recording.last_words
    return Child(
        id=story.recording.agent,
        request=asked,
        result=said,
        message_count=len(story.thread),
        tool_call_count=len(story.all(Called)),
        models=tuple(story.recording.header.models),
        spend=_total(spend(story)),
        decisions=select.key_decisions(story),
        changed=tuple(f.path for f in changed if f.action != "read"),
        sources=(story.source,),
    )


def _stats(story: Story, lines: Lines) -> Stats:
    header = story.recording.header
    counts = story.thread.counts(story.copies)
    tokens = conversation_tokens(story)
    return Stats(
        message_count=sum(counts[r] for r in ("user", "assistant", "system", "tool")),
        turn_count=counts["turns"],
        tool_call_count=len(story.all(Called)),
        estimated_tokens=tokens if tokens is not None else story.recording.text_tokens,
        user_message_count=len({a.ref.message for a in story.all(Asked)}),
        assistant_message_count=counts["assistant"],
        error_count=len(story.all(Failed)),
        duration_seconds=_duration(header.started, header.ended),
        lines=LineCounts(
            lines.total, lines.parsed, lines.unknown, lines.repaired, lines.skipped
        ),
    )


def _duration(started: str, ended: str) -> int | None:
    try:
        first, last = datetime.fromisoformat(started), datetime.fromisoformat(ended)
        return max(0, round((last - first).total_seconds()))
    except (ValueError, TypeError):
        return None
