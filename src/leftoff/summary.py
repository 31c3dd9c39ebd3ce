"""From evidence to a `ContextSummary`: `assemble`, and `Pass`, which does it in one go."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff._version import __version__
from leftoff.errors import StateError, TooNew
from leftoff.extraction.evidence import Asked, Called, Failed
from leftoff.extraction.fold import Fold
from leftoff.extraction.recording import Lines, Recording
from leftoff.extraction.rulebook import rules_digest
from leftoff.findings import (
    Child,
    ContextSummary,
    FileModification,
    LineCounts,
    SessionInfo,
    Source,
    Stats,
)
from leftoff.judgement import decisions, files, insights, progress, requests
from leftoff.judgement.story import Story
from leftoff.judgement.working import working_set
from leftoff.ledger import context, conversation_tokens, spend
from leftoff.model import Issue, Usage
from leftoff.redaction import Redactor

T = TypeVar("T")

VERSION = 1
SCHEMA = f"leftoff.summary/{VERSION}"


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
    tracker = files.Tracker(story)
    events, unseen = tracker.all(), tracker.unseen
    story.forget()
    spent: dict[str, Usage] = {}
    told_of: list[Child] = []
    for child in children:
        tracker = files.Tracker(child)
        did = tracker.all()
        events += did
        unseen += tracker.unseen
        spent[child.recording.agent] = _total(spend(child))
        told_of.append(_child(child, files.file_modifications(did, told.cwd)))
        child.forget()
    modifications = files.file_modifications(events, told.cwd)
    unknown_effects = files.unknown_effects(unseen)
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
        key_decisions=_judged(decisions.key_decisions, story),
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
        decisions=decisions.key_decisions(story),
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


class Pass(Fold):
    r"""One reading of one recording: feed it bytes, ask it for the summary at any time.

    >>> reading = Pass()
    >>> reading.feed(b'{"role": "user", "text": "Add a retry to the uploader."}\n')
    >>> reading.summary().user_requests[0].text
    'Add a retry to the uploader.'
    """

    def summary(self, sources: Sequence[Source] = ()) -> ContextSummary:
        """The summary of what was fed so far; feeding may go on afterwards.

        Raises:
            FormatError: there is no message in it yet, or no known format.
        """
        twin = self.fork()
        twin.close()
        return twin.conclude(sources)

    def conclude(self, sources: Sequence[Source] = (), session: int = -1) -> ContextSummary:
        """The summary of a recording that is closed.

        Args:
            session: which of several sessions in the recording; the last by default.
        """
        return assemble(
            self.sessions[session],
            sources=sources,
            format=self.format.name if self.format else "",
            lines=self.lines,
            issues=list(self.issues.values()),
        )


def format_context_summary(summary: ContextSummary) -> str:
    """The text of seed 001: counts, tools, files by action, decisions with their type, stage
    and percentage, the last three requests at 100 characters."""
    from leftoff.text import short

    stats = summary.stats
    lines = [
        f"Messages: {stats.message_count}",
        f"Tool calls: {stats.tool_call_count}",
        f"Estimated tokens: {stats.estimated_tokens}",
        "Tools used: " + (", ".join(summary.tools_used) or "none"),
    ]
    for action in ("read", "created", "modified", "deleted"):
        paths = [f.path for f in summary.file_modifications if f.action == action]
        if paths:
            lines.append(f"Files {action}: " + ", ".join(paths))
    if summary.key_decisions:
        lines.append("Key decisions:")
        lines += [f"- [{d.type}] {short(d.text, 200)}" for d in summary.key_decisions]
    if summary.progress.current_stage:
        lines.append(f"Current stage: {summary.progress.current_stage}")
    lines.append(f"Progress: {summary.progress.progress_percentage}%")
    if summary.user_requests:
        lines.append("Recent requests:")
        lines += [f"- {short(r.text, 100)}" for r in summary.user_requests[-3:]]
    return "\n".join(lines)


def to_plain(summary: ContextSummary, redactor: Redactor | None = None) -> dict[str, Any]:
    """The summary as plain JSON values, redacted; `stats.redactions` tells what was removed."""
    value: dict[str, Any] = codec.plain(_redacted(summary, redactor))
    return value


def to_json(
    summary: ContextSummary, redactor: Redactor | None = None, *, indent: int = 0
) -> bytes:
    """The summary as one JSON object, redacted, uncut."""
    return codec.dumps(_redacted(summary, redactor), indent=indent)


def _redacted(summary: ContextSummary, redactor: Redactor | None) -> ContextSummary:
    gate = redactor or Redactor()
    shown: ContextSummary = gate.value(summary)
    counts = dict(sorted(gate.counts.items()))
    stats = msgspec.structs.replace(shown.stats, redactions=counts)
    return msgspec.structs.replace(shown, stats=stats)


def seed_shape(summary: ContextSummary, redactor: Redactor | None = None) -> dict[str, Any]:
    """Seed 001's object: its keys and shapes exactly."""
    value = to_plain(summary, redactor)
    return {
        "stats": {
            "messageCount": value["stats"]["message_count"],
            "toolCallCount": value["stats"]["tool_call_count"],
            "estimatedTokens": value["stats"]["estimated_tokens"],
        },
        "keyDecisions": [
            {
                "text": d["text"],
                "type": d["type"],
                "confidence": d["confidence"],
                "messageIndex": d["message_index"],
            }
            for d in value["key_decisions"]
        ],
        "progress": {
            "completedStages": value["progress"]["completed_stages"],
            **(
                {"currentStage": value["progress"]["current_stage"]}
                if value["progress"]["current_stage"]
                else {}
            ),
            "progressPercentage": value["progress"]["progress_percentage"],
            "milestones": [m["text"] for m in value["progress"]["milestones"]],
        },
        "fileModifications": [
            {
                "path": f["path"],
                "action": f["action"],
                "touchCount": f["touch_count"],
                "tools": f["tools"],
            }
            for f in value["file_modifications"]
        ],
        "toolsUsed": value["tools_used"],
        "userRequests": [r["text"] for r in value["user_requests"]],
        "formatted": value["formatted"],
    }


class _Schema(Struct):
    schema: str = ""


def from_json(data: bytes | str) -> ContextSummary:
    """A summary that `to_json` wrote.

    Raises:
        StateError: not such a document; the message names the field. `TooNew`: a newer leftoff
            wrote it.
    """
    raw = data.encode() if isinstance(data, str) else data
    try:
        schema = msgspec.json.decode(raw, type=_Schema).schema
        found = re.fullmatch(r"leftoff\.summary/([0-9]{1,6})", schema)
        if found and int(found[1]) > VERSION:
            raise TooNew(f"a summary of a newer leftoff ({schema}); update leftoff to read it")
        summary: ContextSummary = msgspec.json.decode(raw, type=ContextSummary)
    except (ValueError, RecursionError) as error:
        raise StateError(f"not a leftoff summary: {error}") from error
    if found is None:
        raise StateError(f"not a leftoff summary: its schema is {summary.schema!r}")
    return summary
