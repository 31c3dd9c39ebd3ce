"""What a resume log says of a recorded session: from a `Handover` to the log's fields.

Words are made inert here; every item ends in the number of its message. Lists are in order of
weight, so that a log with little room drops their ends."""

from collections.abc import Iterable

from leftoff.analysis.decisions.shown import by_weight
from leftoff.codec import JsonObject
from leftoff.handover.facts import Fact, Handover, handover_of
from leftoff.handover.file_lines import file_notes
from leftoff.handover.lines import LONG, MIDDLE, state_lines, words_of
from leftoff.handover.wording import inline_prose, plural
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary, KeyDecision, Milestone

# Code points of the first and of the last message.
MAX_MISSION_LENGTH = 8000
# Code points of any other item.
MAX_ITEM_LENGTH = 600
# A claim that nothing shows needs so many words to tell anything. Chosen by hand.
MIN_CLAIM_WORDS = 4


def log_fields(summary: ContextSummary) -> JsonObject:
    """The fields of a log but its id and its metrics, redacted: words are joined to lines here,
    and no rule recognises a secret whose halves were parted."""
    summary = Redactor().value(summary)
    handover = handover_of(summary)
    # What does not stand any more comes last.
    decided = sorted(summary.key_decisions, key=lambda d: (d.status != "made", by_weight(d)))
    return {
        "mission_summary": "\n".join(_mission_lines(handover)),
        "accomplishments": tuple(_accomplishments(summary, handover)),
        "key_findings": tuple(_prose(handover.findings)),
        "decisions": tuple(map(_decision, decided)),
        "next_steps": tuple(_next_steps(handover)),
        "critical_context": _critical(summary, handover),
        "metadata": _metadata(summary, handover),
    }


def _prose(facts: Iterable[Fact], limit: int = MAX_ITEM_LENGTH) -> list[str]:
    return [words_of(fact, limit) for fact in facts]


def _mission_lines(handover: Handover) -> list[str]:
    """The state, the last and the first message, then what the person requires and said."""
    lines = state_lines(handover.state)
    if handover.last_message is not None:
        lines.append(f"Asked last: {words_of(handover.last_message, MAX_MISSION_LENGTH)}")
    if handover.task:
        head, *others = _prose(handover.task, LONG)
        lines += [f"Asked first: {head}", *(f"Asked first, further: {o}" for o in others)]
    elif handover.goal is not None and handover.goal != handover.last_message:
        lines.append(f"Asked first: {words_of(handover.goal, MAX_MISSION_LENGTH)}")
    lines += [f"Required: {text}" for text in _prose(handover.constraints, LONG)]
    return lines + [f"Said: {text}" for text in _prose(handover.said, LONG)]


def _accomplishments(summary: ContextSummary, handover: Handover) -> list[str]:
    """What git and the forge show, then claims, verified ones first; a claim that was
    contradicted is none. What one sentence claims stands together."""
    claims: dict[tuple[str, int], list[Milestone]] = {}
    for milestone in summary.progress.milestones:
        verified = milestone.evidence == "verified"
        if milestone.evidence == "contradicted" or (verified and milestone.speaker == "tool"):
            continue  # git events and checks say it
        if verified or len(milestone.text.split()) >= MIN_CLAIM_WORDS:
            claims.setdefault((milestone.text, milestone.ref.message), []).append(milestone)
    groups = sorted(
        claims.values(),
        key=lambda g: (all(m.evidence == "claimed" for m in g), -g[0].ref.message),
    )
    return [*_prose(handover.git), *map(_claim, groups)]


def _claim(group: list[Milestone]) -> str:
    kinds = ", ".join(f"{m.kind.replace('_', ' ')} {m.evidence}" for m in group)
    text = inline_prose(group[0].text, MAX_ITEM_LENGTH)
    return f"{text} ({kinds}, #{group[0].ref.message + 1})"


def _decision(decision: KeyDecision) -> JsonObject:
    text = f"{inline_prose(decision.text, MAX_ITEM_LENGTH)} (#{decision.ref.message + 1})"
    fields: JsonObject = {
        "decision": text,
        "rationale": inline_prose(decision.rationale, MAX_ITEM_LENGTH),
        "alternative": inline_prose(decision.alternative, MAX_ITEM_LENGTH),
        "type": decision.type,
        "confidence": round(decision.confidence, 2),
        "owner": decision.owner if decision.owner != "agent" else "",
        "status": decision.status if decision.status != "made" else "",
    }
    return {key: value for key, value in fields.items() if value != "" or key == "rationale"}


def _next_steps(handover: Handover) -> list[str]:
    """The question that waits for an answer, what an open turn was at, checks that failed last,
    to-dos, what else was left, open requests."""
    steps = []
    if handover.state.question:
        question = inline_prose(handover.state.question, MAX_ITEM_LENGTH)
        steps.append(f"The agent asked and got no answer: {question}")
    if handover.unfinished:
        label = f"#{handover.unfinished.message + 1}"
        steps.append(f"The turn that answers the last message ({label}) was not finished")
    failed = _prose(handover.failed_checks)
    steps += [f"Failed when it was last run: {check}" for check in failed]
    return steps + _prose(handover.to_dos) + _prose(handover.open_items)


def _critical(summary: ContextSummary, handover: Handover) -> JsonObject:
    session, working, progress = summary.session, summary.working_set, summary.progress
    ids = {
        "session": session.id,
        "directory": session.cwd,
        "branch": session.branch,
        "commit": working.commit,
        "commit_at_start": "" if working.commit else working.commit_at_start,
    }
    state = []
    if progress.declared_stage:
        state.append(f"Declared: {inline_prose(progress.declared_stage, 100)}")
    if handover.last_words is not None:
        state.append(f"Last said: {words_of(handover.last_words, LONG)}")
    listed = {f.path for f in summary.file_modifications}
    found: JsonObject = {
        "important_ids": {k: inline_prose(v, MAX_ITEM_LENGTH) for k, v in ids.items() if v},
        "state": state,
        "last_steps": _prose(handover.steps),
        "running": _prose(handover.running),
        "queued": _prose(handover.queued),
        "report": _prose(handover.report),
        "checks": _prose(handover.checks),
        "failed_then_mended": _prose(handover.lessons),
        "commands": _prose(handover.commands),
        "environment_variables": list(working.variables),
        "names_in_use": [inline_prose(n, 200) for n in handover.names if n not in listed],
        "files_read": [inline_prose(path, MAX_ITEM_LENGTH) for path in handover.read],
        "also_said": _prose(handover.sentences),
    }
    return {key: value for key, value in found.items() if value}


def _metadata(summary: ContextSummary, handover: Handover) -> JsonObject:
    notes = {
        inline_prose(f.path, MAX_ITEM_LENGTH): file_notes(f, handover) for f in handover.files
    }
    failures = sorted(handover.failures, key=lambda e: e.message)
    stats = summary.stats
    seconds = stats.duration_seconds
    counts = (stats.message_count, "message"), (stats.tool_call_count, "tool call")
    return {
        "files_modified": [*notes],
        "file_notes": notes,
        "agents_used": [
            ": ".join(filter(None, (inline_prose(c.id, 80), inline_prose(c.request, 160))))
            for c in summary.session.children
        ],
        "errors": _prose(failures, MIDDLE),
        "session_duration_minutes": None if seconds is None else round(seconds / 60),
        "recorder": f"{summary.session.format} {summary.session.agent_version}".strip(),
        "size": ", ".join(plural(count, what) for count, what in counts),
    }
