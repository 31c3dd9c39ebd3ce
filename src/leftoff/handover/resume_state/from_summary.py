"""A resume state made from a recorded session: its summary, its calls and its last words."""

import hashlib
from collections.abc import Collection
from datetime import UTC

from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.codec import JsonObject
from leftoff.handover import lines
from leftoff.handover.facts import Handover, handover_of, with_goal
from leftoff.handover.resume_state.conversation import ConversationTail
from leftoff.handover.resume_state.document import (
    ContextEvolution,
    RecordedFile,
    ResumeState,
    World,
)
from leftoff.handover.resume_state.templates import ADDED_TEXTS
from leftoff.model import parse_time
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary
from leftoff.text.truncation import whole

# Variables of a recorded session, by the titles of its handover. What was found out stands
# among the insights.
KEYS = {kind.title: kind.key for kind in lines.KINDS.values() if kind.key}
# Variables that are a text and no list; a long goal is a list of its blocks.
_SINGLE = {"main_goal", "latest_request", "open_question", "last_words"}

_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
_ENDING = re.compile(r"(?<=.)\.(?:prompt\.md|md|markdown|txt|ya?ml)$", re.IGNORECASE)


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
    'workflow_project-analysis_20250710_143022_e3b0'"""
    # Redacted before it is cut: half of a key in a name would look like any word.
    redacted = Redactor().text(name)
    path_component = _UNSAFE.sub("-", redacted).strip("-.")[:60].rstrip("-.") or "session"
    started = parse_time(at)
    stamp = started.astimezone(UTC).strftime("%Y%m%d_%H%M%S") if started else "00000000_000000"
    short = hashlib.sha256(context.encode("utf-8", "surrogatepass")).hexdigest()[:4]
    return f"workflow_{path_component}_{stamp}_{short}"


def workflow_name(path: str) -> str:
    """The name of a workflow by its file: without folder and endings."""
    return _ENDING.sub("", re.split(r"[/\\]", path)[-1])


def from_summary(
    summary: ContextSummary,
    conversation: ConversationTail | None = None,
    *,
    workflow: Workflow | None = None,
    name: str = "",
    commit: str = "",
    abandoned: Collection[int] = (),
) -> ResumeState:
    """The resume state of a recorded session. Tools and conversation are raw: outputs redact.

    Args:
        conversation: its messages; without them there are no tools and no history.
        workflow: the file that it worked through.
        name: of the workflow; by default its file's, else the session's title or folder.
        commit: what the repository was at.
        abandoned: messages of branches that were rewound."""
    tail = conversation or ConversationTail()
    flow = workflow or Workflow()
    session = summary.session
    workflow_label = name or workflow_name(flow.file_path) or _session_name(summary)
    key = "\n".join([session.id, flow.file_path, session.path if not session.id else ""])
    handover = handover_of(summary)
    insights = {fact.text for fact in handover.findings}  # they stand in a list of their own
    others = tuple(fact for fact in handover.sentences if fact.text not in insights)
    handover = replace(handover, sentences=others)
    if not summary.user_requests:
        # A subagent's task is typed by no person, and is its goal all the same.
        handover = with_goal(handover, tail.first_words)
    # Before it is put into words: on one line, without marks, a key may look like any words.
    handover = Redactor().value(handover)
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
        current_phase=phase(handover),
        current_strategy=strategy(handover),
        completed_tools=tail.tools(abandoned),
        chat_history=tail.chat(abandoned),
        context_evolution=ContextEvolution(
            current_context=_context(summary, handover),
            key_insights=tuple(f.text for f in reversed(handover.findings)),
        ),
        workflow_variables=_variables(summary, flow),
        world=_environment(summary, commit),
        dropped={what: count for what, count in dropped.items() if count},
    )


def _session_name(summary: ContextSummary) -> str:
    session = summary.session
    folder = re.split(r"[/\\]", session.cwd.rstrip("/\\"))[-1]
    return folder or whole(session.title, 40) or session.format


def phase(handover: Handover) -> str:
    """Where the work stands: whose turn it is, and no stage, which an agent would rely on."""
    return lines.turn_words(handover.state) or str(ADDED_TEXTS["unknown"])


def strategy(handover: Handover) -> str:
    """How the work is done: the last likely decision of the agent that stands; "" for none."""
    standing = [
        d
        for d in handover.decisions
        if d.speaker == "agent" and (not d.note or d.note.startswith("instead of"))
    ]
    return max(standing, key=lambda d: d.message).text if standing else ""


def _context(summary: ContextSummary, handover: Handover) -> JsonObject:
    """What is known at the end, in the order of every handover."""
    found: JsonObject = {lines.STATE: lines.state_lines(handover.state)}
    found |= {KEYS[title]: [*items] for title, items in lines.texts(handover) if title in KEYS}
    for key in _SINGLE & found.keys():
        found[key] = found[key][0] if len(found[key]) == 1 else found[key]
    found.setdefault("main_goal", found.get("latest_request", ""))
    found["project_path"] = summary.session.cwd
    return {key: value for key, value in found.items() if value}


def _variables(summary: ContextSummary, flow: Workflow) -> JsonObject:
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
