"""What a resume log says of a recorded session: from a `ContextSummary` to the log's fields.

Words are made inert here (`wording`); every item ends in the number of its message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from leftoff.handover.facts import CHOICE, EARLIER, errors_left, stands
from leftoff.handover.wording import ended, plural, printed, said
from leftoff.model import Ref
from leftoff.summary import Command, ContextSummary, KeyDecision, Milestone, UserRequest
from leftoff.text.markdown import CODE_KINDS, blocks_of

MISSION = 8000
"""Code points of the first and of the last request."""

LONG = 500
"""Code points; a longer request of several blocks is told block by block."""

CODE = 300
"""Code points of a block of code in a request."""

LAST = 600
"""Code points of the agent's last words."""

REQUEST = 1500
"""Code points of another request."""

WORDS = 600
"""Code points of any other item."""

TELLING = 4
"""A claim that nothing shows needs so many words to tell anything."""

NAMED = {
    "task": "Asked",
    "constraint": "Constraint",
    "correction": "Correction",
    "choice": "Choice",
}


_LETTER = re.compile(r"\w")


def parts_of(summary: ContextSummary) -> dict[str, Any]:
    """The fields of a log but its id and its metrics."""
    return {
        "mission_summary": "\n".join(_mission(summary)),
        "accomplishments": tuple(_accomplishments(summary)),
        "key_findings": tuple(_findings(summary)),
        "decisions": tuple(
            _decision(d)
            for d in summary.key_decisions
            if d.owner == "agent" or len(d.text.split()) >= CHOICE
        ),
        "next_steps": tuple(_next_steps(summary)),
        "critical_context": _critical(summary),
        "metadata": _metadata(summary),
    }


def _place(ref: Ref) -> str:
    return f"#{ref.message + 1}"


def _mission(summary: ContextSummary) -> list[str]:
    """What is wanted: the first and the last task, then whatever else stands, newest first."""
    standing = [
        r
        for r in summary.user_requests
        if r.status != "withdrawn" and (r.kind != "choice" or len(r.text.split()) >= CHOICE)
    ]
    tasks = [r for r in standing if r.kind == "task"] or standing
    ends = [tasks[0], tasks[-1]] if len(tasks) > 1 else tasks[:1]
    lines = [
        line
        for request, label in zip(ends, ("Asked first", "Asked last"), strict=False)
        for line in _request(request, label, MISSION)
    ]
    others = [r for r in standing if r not in ends and r.kind in NAMED]
    others.sort(key=lambda r: (r.kind == "task", -r.ref.message))
    for request in others:
        earlier = request.kind == "constraint" and not stands(request, standing)
        label = f"{NAMED[request.kind]} {EARLIER}" if earlier else NAMED[request.kind]
        lines += _request(request, label, REQUEST)
    return lines


def _request(request: UserRequest, label: str, limit: int) -> list[str]:
    """A request on one line, or a long one block by block, so that a log which has no room for
    all of it can still tell what it insists on."""
    state = "" if request.status == "done" or request.kind != "task" else ", open"
    head, place = f"{label} ({_place(request.ref)}{state}):", f"({_place(request.ref)})"
    blocks = [line for line in _blocks(request.text[:limit]) if _LETTER.search(line)]
    if len(request.text) <= LONG or len(blocks) < 2:
        return [f"{head} {said(request.text, limit)}"]
    if len(request.text) > limit:
        blocks[-1] += " …"
    return [f"{head} {blocks[0]}", *(f"{place} {line}" for line in blocks[1:])]


def _blocks(text: str) -> list[str]:
    """Paragraphs, list items and headings, each on a line; code shortened."""
    return [
        said(text[start:end], CODE if kind in CODE_KINDS else len(text))
        for start, end, kind in blocks_of(text)[0]
    ]


def _accomplishments(summary: ContextSummary) -> list[str]:
    """Verified results, then claimed ones; a claim that was contradicted is none. What one
    sentence claims stands together."""
    kinds: dict[tuple[str, Ref], list[Milestone]] = {}
    for milestone in summary.progress.milestones:
        if milestone.evidence == "verified" or (
            milestone.evidence == "claimed" and len(milestone.text.split()) >= TELLING
        ):
            kinds.setdefault((milestone.text, milestone.ref), []).append(milestone)
    found = list(kinds.values())
    found.sort(key=lambda group: all(m.evidence == "claimed" for m in group))
    return [_result(group) for group in found]


def _result(group: Sequence[Milestone]) -> str:
    first = group[0]
    words = (printed if first.speaker == "tool" else said)(first.text, WORDS)
    kinds = ", ".join(f"{m.kind.replace('_', ' ')} {m.evidence}" for m in group)
    return f"{words} ({kinds}, {_place(first.ref)})"


def _findings(summary: ContextSummary) -> list[str]:
    """What was found out; a sentence that stands among the decisions is not said twice."""
    decided = {(d.ref.message, d.ref.part, d.ref.start) for d in summary.key_decisions}
    return [
        f"{said(f.text, WORDS)} ({_place(f.ref)})"
        for f in summary.key_findings
        if (f.ref.message, f.ref.part, f.ref.start) not in decided
    ]


def _decision(decision: KeyDecision) -> dict[str, Any]:
    told: dict[str, Any] = {
        "decision": f"{said(decision.text, WORDS)} ({_place(decision.ref)})",
        "rationale": said(decision.rationale, WORDS),
    }
    if decision.alternative:
        told["alternative"] = said(decision.alternative, WORDS)
    told["type"] = decision.type
    told["confidence"] = round(decision.confidence, 2)
    if decision.owner != "agent":
        told["owner"] = decision.owner
    if decision.status != "made":
        told["status"] = decision.status
    return told


def _next_steps(summary: ContextSummary) -> list[str]:
    """A check that failed last, to-dos in progress, open requests from the newest on, then what
    is left otherwise."""
    checks = [c for c in summary.working_set.commands if c.kind in {"test", "build", "lint"}]
    failing = [
        f"Last {c.kind} failed: {printed(c.text)} ({_place(c.ref)})"
        for c in checks[:1]
        if c.passed is False
    ]
    steps = [
        (s.status, f"{said(s.text, WORDS)} ({s.status.replace('_', ' ')}, {_place(s.ref)})")
        for s in summary.next_steps
    ]
    asked = [
        f"Open request: {said(r.text, 200)} ({_place(r.ref)})"
        for r in summary.user_requests[::-1]
        if r.status == "open" and r.kind in {"task", "correction"}
    ]
    doing = [words for status, words in steps if status == "in_progress"]
    return (
        failing + doing + asked + [words for status, words in steps if status != "in_progress"]
    )


def _critical(summary: ContextSummary) -> dict[str, Any]:
    session, working, progress = summary.session, summary.working_set, summary.progress
    ids = {
        "session": session.id,
        "directory": session.cwd,
        "branch": session.branch,
        "commit": working.commit,
        "commit_at_start": "" if working.commit else working.commit_at_start,
    }
    state = []
    if progress.current_stage:
        state.append(f"Stage: {progress.current_stage}")
    if progress.declared_stage:
        state.append(f"Declared: {said(progress.declared_stage, 100)}")
    if progress.tests_older_than_last_edit:
        state.append("Files were edited after the last test run")
    if working.last_words.text:
        words = said(working.last_words.text, LAST)
        state.append(f"Last said (#{working.last_words.message + 1}): {words}")
    read = [f.path for f in summary.file_modifications if f.action == "read"]
    listed = {f.path for f in summary.file_modifications}
    told = {d.text for d in summary.key_decisions} | {f.text for f in summary.key_findings}
    told |= {m.text for m in summary.progress.milestones}
    last = working.last_words.text[:LAST]
    found: dict[str, Any] = {
        "important_ids": {k: said(v, WORDS) for k, v in ids.items() if v},
        "state": state,
        "commands": [_command(c) for c in working.commands],
        "environment_variables": list(working.variables),
        "names_in_use": [said(n.text, 200) for n in working.names if n.text not in listed],
        "files_read": [said(path, WORDS) for path in read],
        "also_said": [
            f"{said(w.text, WORDS)} (#{w.message + 1})"
            for w in working.recent
            if w.text not in told and w.text not in last
        ],
    }
    return {key: value for key, value in found.items() if value}


def _command(command: Command) -> str:
    note = f"{command.kind}, {_place(command.ref)}"
    return f"{printed(command.text)}: {ended(command.passed)} ({note})"


def _beside(path: str) -> bool:
    """Whether a file is beside the project: the paths of the project's own are relative."""
    return path.startswith(("/", "~", "..")) or path[1:2] == ":"


def _metadata(summary: ContextSummary) -> dict[str, Any]:
    changed = [
        f for f in summary.file_modifications if f.action != "read" and f.certainty != "unknown"
    ]
    changed.sort(key=lambda f: (_beside(f.path), -max((r.message for r in f.refs), default=0)))
    notes = {}
    for file in changed:
        note = [] if file.action == "modified" else [file.action]
        if file.renamed_from:
            note.append(f"was {said(file.renamed_from, WORDS)}")
        if file.certainty != "sure":
            note.append(file.certainty)
        if file.branch:
            note.append(f"{file.branch} branch")
        if note:
            notes[said(file.path, WORDS)] = ", ".join(note)
    since, before = errors_left(summary)
    errors = [
        f"{said(e.tool, 80) or 'tool'}: {printed(e.text)} "
        f"({_place(e.ref)}{f', {e.count} times' if e.count > 1 else ''})"
        for e in (*before, *since)
    ]
    stats = summary.stats
    seconds = stats.duration_seconds
    return {
        "files_modified": [said(f.path, WORDS) for f in changed],
        "file_notes": notes,
        "agents_used": [
            ": ".join(filter(None, (said(c.id, 80), said(c.request, 160))))
            for c in summary.session.children
        ],
        "errors": errors,
        "session_duration_minutes": None if seconds is None else round(seconds / 60),
        "recorder": f"{summary.session.format} {summary.session.agent_version}".strip(),
        "size": ", ".join(
            (plural(stats.message_count, "message"), plural(stats.tool_call_count, "tool call"))
        ),
    }
