"""What a resume log says of a recorded session: from a `ContextSummary` to the log's fields.

Words are made inert here (`wording`); every item ends in the number of its message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from leftoff.handover.facts import (
    EARLIER_NOTE,
    MIN_CHOICE_WORDS,
    is_in_force,
    unresolved_errors,
)
from leftoff.handover.wording import inline_code, inline_prose, outcome_text, plural
from leftoff.model import Ref
from leftoff.summary import Command, ContextSummary, KeyDecision, Milestone, UserRequest
from leftoff.text.markdown import CODE_KINDS, blocks_of

MAX_MISSION_LENGTH = 8000
"""Code points of the first and of the last request."""

MIN_SPLIT_LENGTH = 500
"""Code points; a longer request of several blocks is split into its blocks."""

MAX_CODE_LENGTH = 300
"""Code points of a block of code in a request."""

MAX_LAST_WORDS_LENGTH = 600
"""Code points of the agent's last words."""

MAX_REQUEST_LENGTH = 1500
"""Code points of another request."""

MAX_ITEM_LENGTH = 600
"""Code points of any other item."""

MIN_CLAIM_WORDS = 4
"""A claim that nothing shows needs so many words to tell anything."""

REQUEST_LABELS = {
    "task": "Asked",
    "constraint": "Constraint",
    "correction": "Correction",
    "choice": "Choice",
}


_LETTER = re.compile(r"\w")


def log_fields(summary: ContextSummary) -> dict[str, Any]:
    """The fields of a log but its id and its metrics."""
    return {
        "mission_summary": "\n".join(_mission_lines(summary)),
        "accomplishments": tuple(_accomplishments(summary)),
        "key_findings": tuple(_findings(summary)),
        "decisions": tuple(
            _decision(d)
            for d in summary.key_decisions
            if d.owner == "agent" or len(d.text.split()) >= MIN_CHOICE_WORDS
        ),
        "next_steps": tuple(_next_steps(summary)),
        "critical_context": _critical(summary),
        "metadata": _metadata(summary),
    }


def _label(ref: Ref) -> str:
    return f"#{ref.message + 1}"


def _mission_lines(summary: ContextSummary) -> list[str]:
    """What is wanted: the first and the last task, then whatever else stands, newest first."""
    standing = [
        r
        for r in summary.user_requests
        if r.status != "withdrawn"
        and (r.kind != "choice" or len(r.text.split()) >= MIN_CHOICE_WORDS)
    ]
    tasks = [r for r in standing if r.kind == "task"] or standing
    first_and_last = [tasks[0], tasks[-1]] if len(tasks) > 1 else tasks[:1]
    lines = [
        line
        for request, label in zip(first_and_last, ("Asked first", "Asked last"), strict=False)
        for line in _request(request, label, MAX_MISSION_LENGTH)
    ]
    others = [r for r in standing if r not in first_and_last and r.kind in REQUEST_LABELS]
    others.sort(key=lambda r: (r.kind == "task", -r.ref.message))
    for request in others:
        earlier = request.kind == "constraint" and not is_in_force(request, standing)
        label = (
            f"{REQUEST_LABELS[request.kind]} {EARLIER_NOTE}"
            if earlier
            else REQUEST_LABELS[request.kind]
        )
        lines += _request(request, label, MAX_REQUEST_LENGTH)
    return lines


def _request(request: UserRequest, label: str, limit: int) -> list[str]:
    """A request on one line, or a long one block by block, so that a log which has no room for
    all of it can still tell what it insists on."""
    state = "" if request.status == "done" or request.kind != "task" else ", open"
    head, place = (
        f"{label} ({_label(request.ref)}{state}):",
        f"({_label(request.ref)})",
    )
    blocks = [line for line in _blocks(request.text[:limit]) if _LETTER.search(line)]
    if len(request.text) <= MIN_SPLIT_LENGTH or len(blocks) < 2:
        return [f"{head} {inline_prose(request.text, limit)}"]
    if len(request.text) > limit:
        blocks[-1] += " …"
    return [f"{head} {blocks[0]}", *(f"{place} {line}" for line in blocks[1:])]


def _blocks(text: str) -> list[str]:
    """Paragraphs, list items and headings, each on a line; code shortened."""
    return [
        inline_prose(text[start:end], MAX_CODE_LENGTH if kind in CODE_KINDS else len(text))
        for start, end, kind in blocks_of(text)[0]
    ]


def _accomplishments(summary: ContextSummary) -> list[str]:
    """Verified results, then claimed ones; a claim that was contradicted is none. What one
    sentence claims stands together."""
    kinds: dict[tuple[str, Ref], list[Milestone]] = {}
    for milestone in summary.progress.milestones:
        if milestone.evidence == "verified" or (
            milestone.evidence == "claimed" and len(milestone.text.split()) >= MIN_CLAIM_WORDS
        ):
            kinds.setdefault((milestone.text, milestone.ref), []).append(milestone)
    found = list(kinds.values())
    found.sort(key=lambda group: all(m.evidence == "claimed" for m in group))
    return [_result(group) for group in found]


def _result(group: Sequence[Milestone]) -> str:
    first = group[0]
    words = (inline_code if first.speaker == "tool" else inline_prose)(
        first.text, MAX_ITEM_LENGTH
    )
    kinds = ", ".join(f"{m.kind.replace('_', ' ')} {m.evidence}" for m in group)
    return f"{words} ({kinds}, {_label(first.ref)})"


def _findings(summary: ContextSummary) -> list[str]:
    """The key findings, without sentences that are listed as decisions."""
    decided = {(d.ref.message, d.ref.part, d.ref.start) for d in summary.key_decisions}
    return [
        f"{inline_prose(f.text, MAX_ITEM_LENGTH)} ({_label(f.ref)})"
        for f in summary.key_findings
        if (f.ref.message, f.ref.part, f.ref.start) not in decided
    ]


def _decision(decision: KeyDecision) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "decision": f"{inline_prose(decision.text, MAX_ITEM_LENGTH)} ({_label(decision.ref)})",
        "rationale": inline_prose(decision.rationale, MAX_ITEM_LENGTH),
    }
    if decision.alternative:
        fields["alternative"] = inline_prose(decision.alternative, MAX_ITEM_LENGTH)
    fields["type"] = decision.type
    fields["confidence"] = round(decision.confidence, 2)
    if decision.owner != "agent":
        fields["owner"] = decision.owner
    if decision.status != "made":
        fields["status"] = decision.status
    return fields


def _next_steps(summary: ContextSummary) -> list[str]:
    """A check that failed last, to-dos in progress, open requests from the newest on, then what
    is left otherwise."""
    checks = [c for c in summary.working_set.commands if c.kind in {"test", "build", "lint"}]
    failing = [
        f"Last {c.kind} failed: {inline_code(c.text)} ({_label(c.ref)})"
        for c in checks[:1]
        if c.passed is False
    ]
    steps = [
        (
            s.status,
            (
                f"{inline_prose(s.text, MAX_ITEM_LENGTH)} "
                f"({s.status.replace('_', ' ')}, {_label(s.ref)})"
            ),
        )
        for s in summary.next_steps
    ]
    asked = [
        f"Open request: {inline_prose(r.text, 200)} ({_label(r.ref)})"
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
        state.append(f"Declared: {inline_prose(progress.declared_stage, 100)}")
    if progress.tests_older_than_last_edit:
        state.append("Files were edited after the last test run")
    if working.last_words.text:
        words = inline_prose(working.last_words.text, MAX_LAST_WORDS_LENGTH)
        state.append(f"Last said (#{working.last_words.message + 1}): {words}")
    read = [f.path for f in summary.file_modifications if f.action == "read"]
    listed = {f.path for f in summary.file_modifications}
    already_listed = {d.text for d in summary.key_decisions} | {
        f.text for f in summary.key_findings
    }
    already_listed |= {m.text for m in summary.progress.milestones}
    last = working.last_words.text[:MAX_LAST_WORDS_LENGTH]
    found: dict[str, Any] = {
        "important_ids": {k: inline_prose(v, MAX_ITEM_LENGTH) for k, v in ids.items() if v},
        "state": state,
        "commands": [_command(c) for c in working.commands],
        "environment_variables": list(working.variables),
        "names_in_use": [
            inline_prose(n.text, 200) for n in working.names if n.text not in listed
        ],
        "files_read": [inline_prose(path, MAX_ITEM_LENGTH) for path in read],
        "also_said": [
            f"{inline_prose(w.text, MAX_ITEM_LENGTH)} (#{w.message + 1})"
            for w in working.recent
            if w.text not in already_listed and w.text not in last
        ],
    }
    return {key: value for key, value in found.items() if value}


def _command(command: Command) -> str:
    note = f"{command.kind}, {_label(command.ref)}"
    return f"{inline_code(command.text)}: {outcome_text(command.passed)} ({note})"


def _is_outside_project(path: str) -> bool:
    """Whether a file is beside the project: the paths of the project's own are relative."""
    return path.startswith(("/", "~", "..")) or path[1:2] == ":"


def _metadata(summary: ContextSummary) -> dict[str, Any]:
    changed = [
        f for f in summary.file_modifications if f.action != "read" and f.certainty != "unknown"
    ]
    changed.sort(
        key=lambda f: (
            _is_outside_project(f.path),
            -max((r.message for r in f.refs), default=0),
        )
    )
    notes = {}
    for file in changed:
        note = [] if file.action == "modified" else [file.action]
        if file.renamed_from:
            note.append(f"was {inline_prose(file.renamed_from, MAX_ITEM_LENGTH)}")
        if file.certainty != "sure":
            note.append(file.certainty)
        if file.branch:
            note.append(f"{file.branch} branch")
        if note:
            notes[inline_prose(file.path, MAX_ITEM_LENGTH)] = ", ".join(note)
    since, before = unresolved_errors(summary)
    errors = [
        f"{inline_prose(e.tool, 80) or 'tool'}: {inline_code(e.text)} "
        f"({_label(e.ref)}{f', {e.count} times' if e.count > 1 else ''})"
        for e in (*before, *since)
    ]
    stats = summary.stats
    seconds = stats.duration_seconds
    return {
        "files_modified": [inline_prose(f.path, MAX_ITEM_LENGTH) for f in changed],
        "file_notes": notes,
        "agents_used": [
            ": ".join(filter(None, (inline_prose(c.id, 80), inline_prose(c.request, 160))))
            for c in summary.session.children
        ],
        "errors": errors,
        "session_duration_minutes": None if seconds is None else round(seconds / 60),
        "recorder": f"{summary.session.format} {summary.session.agent_version}".strip(),
        "size": ", ".join(
            (plural(stats.message_count, "message"), plural(stats.tool_call_count, "tool call"))
        ),
    }
