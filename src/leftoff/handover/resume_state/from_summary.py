"""A resume state made from a recorded session: its summary, its calls and its last words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from datetime import UTC
from typing import Any

from msgspec import Struct

from leftoff.handover.facts import (
    EARLIER_NOTE,
    is_in_force,
    latest_request,
    status_text,
    task_requests,
    unresolved_errors,
)
from leftoff.handover.resume_state.conversation import ConversationTail
from leftoff.handover.resume_state.document import (
    UNDERSTANDING,
    ContextChange,
    ContextEvolution,
    RecordedFile,
    ResumeState,
    World,
)
from leftoff.handover.resume_state.templates import parse_time
from leftoff.handover.wording import outcome_text
from leftoff.redaction.redactor import Redactor
from leftoff.summary import (
    Command,
    ContextSummary,
    ErrorSeen,
    KeyDecision,
    Milestone,
    UserRequest,
)
from leftoff.text.truncation import whole

MIN_CONFIDENCE = 0.5
"""Decisions with less confidence are left out: the next agent would take them for settled."""

NOTHING_OPEN = (
    "none that the recording shows: ask what is wanted next before beginning anything"
)

_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


class Workflow(Struct, frozen=True):
    """The file that a session worked through. `hash` is that of the raw content."""

    file_path: str = ""
    content: str = ""
    hash: str = ""


def workflow_id(name: str, at: str, context: str) -> str:
    """`workflow_{name}_{timestamp}_{hash}`: one plain path component.

    Args:
        name: of the workflow; what is no letter, digit, `.` or `-` becomes `-`.
        at: when the workflow began, ISO 8601; in UTC in the id.
        context: what tells it from another of the same name and second.

    >>> workflow_id("project-analysis", "2025-07-10T14:30:22Z", "")
    'workflow_project-analysis_20250710_143022_e3b0'
    """
    # Redacted before it is cut: half of a key in a name would look like any word.
    redacted = Redactor().text(name)
    path_component = _UNSAFE.sub("-", redacted).strip("-.")[:60].rstrip("-.") or "session"
    started = parse_time(at)
    stamp = started.astimezone(UTC).strftime("%Y%m%d_%H%M%S") if started else "00000000_000000"
    short = hashlib.sha256(context.encode("utf-8", "surrogatepass")).hexdigest()[:4]
    return f"workflow_{path_component}_{stamp}_{short}"


def workflow_name(path: str) -> str:
    """The name of a workflow by its file: without folder and endings."""
    name = re.split(r"[/\\]", path)[-1]
    for ending in (".prompt.md", ".md", ".markdown", ".txt", ".yaml", ".yml"):
        if name.casefold().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return name


def from_summary(
    summary: ContextSummary,
    conversation: ConversationTail | None = None,
    *,
    workflow: Workflow | None = None,
    name: str = "",
    commit: str = "",
    abandoned: Collection[int] = (),
) -> ResumeState:
    """The resume state of a recorded session. Values are raw: outputs redact.

    Args:
        conversation: its messages; without them there are no tools and no history.
        workflow: the file that it worked through.
        name: of the workflow; by default its file's, else the session's title or folder.
        commit: what the repository was at.
        abandoned: messages of branches that were rewound.
    """
    tail = conversation or ConversationTail()
    flow = workflow or Workflow()
    session = summary.session
    workflow_label = name or workflow_name(flow.file_path) or _session_name(summary)
    key = "\n".join([session.id, flow.file_path, session.path if not session.id else ""])
    context = _context(
        summary, tail.unfinished(abandoned), tail.first_words, tail.last_words(abandoned)
    )
    dropped = {
        "completed_tools": tail.seen_calls - len(tail.calls),
        "chat_history": tail.seen_entries - len(tail.entries),
    }
    return ResumeState(
        workflow_id=workflow_id(workflow_label, session.started, key),
        workflow_file_path=flow.file_path,
        original_workflow_hash=flow.hash,
        original_workflow_content=flow.content,
        start_time=session.started,
        last_activity=session.ended or session.started,
        current_phase=summary.progress.current_stage or UNDERSTANDING,
        current_strategy=strategy(summary.key_decisions),
        completed_tools=tail.tools(abandoned),
        chat_history=tail.chat(abandoned),
        context_evolution=ContextEvolution(
            current_context=context,
            key_insights=tuple(
                f.text for f in summary.key_findings if _is_self_contained(f.text)
            ),
            changes=tuple(_changes(summary)),
        ),
        workflow_variables=_variables(summary, flow),
        world=_environment(summary, commit),
        dropped={what: count for what, count in dropped.items() if count},
    )


def _is_self_contained(text: str) -> bool:
    """Whether a finding says something by itself: one that ends in a colon leads to a list."""
    return not text.rstrip().endswith(":")


def _session_name(summary: ContextSummary) -> str:
    session = summary.session
    folder = re.split(r"[/\\]", session.cwd.rstrip("/\\"))[-1]
    return folder or whole(session.title, 40) or session.format


def strategy(decisions: Iterable[KeyDecision]) -> str:
    """How the work is done: of the agent's decisions that stand and are more likely key
    decisions than not, those about the approach before others, the surest, and of equally sure
    ones the last."""
    standing = [d for d in decisions if _is_in_force(d) and d.owner != "user"]
    of_approach = [d for d in standing if d.type in {"approach", "architecture"}]
    chosen = sorted(of_approach or standing, key=lambda d: d.confidence)[-1:]
    return chosen[0].text if chosen else ""


def _context(
    summary: ContextSummary, unfinished: tuple[str, ...], first_words: str, last_words: str
) -> dict[str, Any]:
    """What is known at the end, the most important first; empty values left out."""
    session, requests = summary.session, summary.user_requests
    goal = task_requests(requests)[:1]
    last = latest_request(requests)
    latest = [last] if last is not None and last not in goal else []
    tail = {r.text for r in [*goal, *latest]}
    open_requests = [r.text for r in requests if r.status == "open" and r.text not in tail]
    constraints = [
        r.text if is_in_force(r, requests) else f"{r.text} ({EARLIER_NOTE})"
        for r in requests
        if r.kind == "constraint" and r.status != "withdrawn" and r.text not in tail
    ]
    checks: dict[str, Command] = {}  # the last of each kind
    for command in summary.working_set.commands:
        if command.kind in {"test", "build", "lint"}:
            checks.setdefault(command.kind, command)
    files = [f for f in summary.file_modifications if f.action != "read"]
    # What lies outside the project is mostly scratch.
    files.sort(key=lambda f: f.path.startswith("/"))
    has_open_request = any(r.status == "open" for r in requests)
    open_work = has_open_request or summary.next_steps or unfinished or not requests
    found: dict[str, Any] = {
        # A subagent's task is typed by no person, and is its goal all the same.
        "main_goal": _request_text(goal[0]) if goal else first_words,
        "latest_request": _request_text(latest[0]) if latest else "",
        "open_requests": open_requests,
        "next_steps": [f"{s.text} ({s.status})" for s in summary.next_steps],
        "open_work": "" if open_work else NOTHING_OPEN,
        "last_words": last_words,
        "calls_without_result": list(unfinished[-5:]),
        "open_errors": [_error_text(e) for e in unresolved_errors(summary)[0]][-5:],
        "constraints": constraints,
        "key_decisions": [_decision_text(d) for d in summary.key_decisions if _is_in_force(d)],
        "files_changed": [f"{f.path} ({f.action})" for f in files],
        "milestones": _milestones(summary.progress.milestones)[-10:],
        "checks": [f"{c.text} → {outcome_text(c.passed)}" for c in checks.values()],
        "tests": test_status(summary),
        "project_path": session.cwd,
        "recorded_branch": session.branch,
    }
    return {key: value for key, value in found.items() if value}


def _is_in_force(decision: KeyDecision) -> bool:
    return decision.status == "made" and decision.confidence >= MIN_CONFIDENCE


def _error_text(error: ErrorSeen) -> str:
    return f"{error.tool}: {error.text}" if error.tool else error.text


def _request_text(request: UserRequest) -> str:
    """A request with what the recording shows of it, so that nothing done is done again."""
    return f"{request.text} [{status_text(request)}]"


def _decision_text(decision: KeyDecision) -> str:
    return f"the person: {decision.text}" if decision.owner == "user" else decision.text


def _milestones(milestones: Iterable[Milestone]) -> list[str]:
    """What was reached, each once, with the best evidence there is for it."""
    rank = {"claimed": 0, "contradicted": 1, "verified": 2}
    best: dict[str, str] = {}
    for milestone in milestones:
        known = best.get(milestone.text, "claimed")
        best[milestone.text] = max(known, milestone.evidence, key=lambda e: rank.get(e, 0))
    return [f"{text} ({evidence})" for text, evidence in best.items()]


def test_status(summary: ContextSummary) -> str:
    """What is known of the tests at the end, "" if none were run."""
    older = summary.progress.tests_older_than_last_edit
    if older is None:
        return ""
    return "not run since the last edit" if older else "run after the last edit"


def _changes(summary: ContextSummary) -> Iterable[ContextChange]:
    before: str | None = None
    for change in summary.progress.timeline:
        yield ContextChange(
            key="current_phase",
            old_value=before,
            new_value=change.stage,
            source="summary",
            reasoning=f"message #{change.ref.message + 1}",
        )
        before = change.stage


def _variables(summary: ContextSummary, flow: Workflow) -> dict[str, Any]:
    session = summary.session
    found = {
        "workflow_file": flow.file_path,
        "workflow_hash": flow.hash,
        "models": list(session.models),
        "agent": f"{session.format} {session.agent_version}".strip(),
    }
    return {key: value for key, value in found.items() if value}


def _environment(summary: ContextSummary, commit: str) -> World:
    session = summary.session
    return World(
        session_id=session.id,
        session_path=session.path,
        session_format=session.format,
        cwd=session.cwd,
        branch=session.branch,
        commit=commit,
        model=session.models[-1] if session.models else "",
        occupancy=summary.context.occupancy,
        files=tuple(
            RecordedFile(path=f.path, action=f.action)
            for f in summary.file_modifications
            if f.action != "read" and f.certainty != "unknown"
        ),
    )
