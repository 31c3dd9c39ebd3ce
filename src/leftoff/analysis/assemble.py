"""Assembles a `ContextSummary` from the evidence of a whole session: a pure function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from leftoff._version import __version__
from leftoff.analysis import git, insights, progress, requests
from leftoff.analysis.checks import checks
from leftoff.analysis.decisions import select
from leftoff.analysis.files.edits import with_changes
from leftoff.analysis.files.net_changes import (
    FileEvent,
    UnknownChange,
    discarded_files,
    file_modifications,
    unknown_effects,
    whole_paths,
)
from leftoff.analysis.files.track import Tracker
from leftoff.analysis.recent_calls import recent_calls, running, steps
from leftoff.analysis.seed001 import format_context_summary
from leftoff.analysis.summary_json import SCHEMA
from leftoff.analysis.turns import turn_state
from leftoff.analysis.working_set import recent_sentences, working_set
from leftoff.budget.usage import context, conversation_tokens, spend, total
from leftoff.extraction.evidence import Asked, Called, Edited, Failed, Touched
from leftoff.extraction.rule_sets import rules_digest
from leftoff.extraction.session_state import Header, Lines, SessionState
from leftoff.formats.vocabulary import PERSONS_SHELL
from leftoff.model import Issue, Ref
from leftoff.session_view import SessionView, once
from leftoff.shell import clear_caches
from leftoff.shell.paths import home_of, is_temporary
from leftoff.summary import (
    Child,
    ContextSummary,
    FileModification,
    LineCounts,
    SessionInfo,
    Source,
    Stats,
)


def assemble(
    recordings: Mapping[str, SessionState],
    viewed: tuple[str, SessionView],
    *,
    sources: Sequence[Source] = (),
    format: str = "",
    lines: Lines | None = None,
    issues: Sequence[Issue] = (),
) -> ContextSummary:
    """The summary of one session. A pure function of its arguments.

    Args:
        recordings: the main thread under "" and each subagent under its id.
        viewed: what `view_of` gives for them.
        sources: the files that the session was read from; refs index into them."""
    main_id, view = viewed
    children = view.children
    header = view.state.header
    # The header of a subagent's own file describes the session that it belongs to.
    session_header = recordings[""].header if main_id and "" in recordings else header
    paths = [s.path for s in sources]
    # The order of what follows is that of least memory: what asks for most comes first, and
    # what is held for several judges is dropped after the last of them.
    spent = {child.state.agent: total(spend(child).values()) for child in children}
    tokens = context(view, spent, format)
    silent = format == "specstory"
    home = _home_in((view, *children))
    tracker = Tracker(view, ahead=True, silent=silent, home=home)
    events = tracker.all()
    # What such programs changed before git showed a clean tree is in a commit, if anything.
    clean = max((s.ref.message for s in view.shown({"git_clean"})), default=-1)
    unseen = [u for u in tracker.unseen if u.action != "unknown" or u.ref.message > clean]
    written = _written(events, view.heard.since)
    view.written = _paths_by_message(events)
    # Of one thread that all subagents share, nothing tells how many they were but the calls.
    shared = [child.state.agent for child in children] == ["sidechain"]
    started = [
        call
        for call in view.each(Called)
        if call.name in _STARTS_AGENT
        and (view.succeeded(call.call) or shared and call.call not in view.outcomes)
    ]
    agents = _agents_not_recorded(view, started, len(started if shared else children))
    unseen += agents
    child_summaries: list[Child] = []
    for child in children:
        tracker = Tracker(child, silent=silent, home=home)
        child_events = tracker.all()
        events += child_events
        unseen += tracker.unseen
        child_summaries.append(
            _child(child, file_modifications(child_events, session_header.cwd))
        )
        child.release()
    whole = whole_paths(events)
    events = [replace(e, path=whole.get(e.path, e.path)) for e in events] if whole else events
    for one in (view, *children) if home else ():
        known = (e.path for e in one.each(Edited) if e.path[:2] == "~/")
        whole.update((path, home + path[1:]) for path in known)
    modifications = with_changes(
        file_modifications(events, session_header.cwd),
        events,
        view,
        children,
        session_header.cwd,
        [agent.ref.message for agent in agents],
        whole,
    )
    effects = unknown_effects(unseen)
    discarded = discarded_files(events, session_header.cwd) or msgspec.UNSET
    del tracker, events, unseen
    errors = insights.errors(view)
    at_the_end = working_set(view)
    if view.state.evidence.large:
        clear_caches()
    key_decisions = select.key_decisions(view)
    recent = recent_sentences(view)
    select.forget_scores(view)
    summary = ContextSummary(
        schema=SCHEMA,
        leftoff=__version__,
        rules=rules_digest(),
        session=SessionInfo(
            id=main_id or header.id,
            format=format,
            path=paths[0] if paths else "",
            cwd=session_header.cwd,
            branch=git.branch_at_end(
                view, session_header.branch, stated=format in {"claude_code", "qwen_code"}
            ),
            models=tuple(header.models),
            agent_version=session_header.agent_version,
            started=_times(header)[0],
            ended=header.ended,
            title=_title(view),
            parent_id=session_header.parent_id or (session_header.id if main_id else ""),
            sources=tuple(sources),
            children=tuple(child_summaries),
            subagents=len(started) if len(started) > len(children) else msgspec.UNSET,
        ),
        stats=_stats(view, lines or Lines()),
        key_decisions=key_decisions,
        progress=progress.progress(view),
        file_modifications=modifications,
        unknown_effects=effects,
        user_requests=requests.user_requests(view),
        turn=turn_state(view),
        checks=checks(view),
        git=git.git_events(view),
        key_findings=insights.key_findings(view),
        errors=errors,
        next_steps=insights.next_steps(view),
        working_set=msgspec.structs.replace(
            at_the_end,
            recent=recent,
            calls=recent_calls(view),
            to_dos=tuple(insights.to_dos(view)),
            steps=steps(view, written),
            running=running(view),
            discarded=discarded,
        ),
        context=tokens,
        issues=tuple(
            sorted((*issues, *_not_covered(view)), key=lambda i: (i.severity, i.code, i.what))
        ),
        **_tools([view, *children]),
    )
    return msgspec.structs.replace(summary, formatted=format_context_summary(summary))


def view_of(
    recordings: Mapping[str, SessionState], places: Mapping[str, int]
) -> tuple[str, SessionView]:
    """The name of the main thread in `recordings`, and its view with those of its subagents;
    `places`: the source of each.

    The name is "" but for a subagent's own file, where the subagent is the session."""
    main_id = ""
    if "" not in recordings or not len(recordings[""].thread):
        main_id = next((name for name, r in recordings.items() if len(r.thread)), "")
    children = [
        SessionView(recording, places.get(agent, 0))
        for agent, recording in sorted(recordings.items())
        if agent not in {"", main_id} and len(recording.thread)
    ]
    return main_id, SessionView(recordings[main_id], places.get(main_id, 0), children)


def _home_in(views: Sequence[SessionView]) -> str:
    """The home directory of the person: where no directory of the session is known, that in
    which files lie; "" where none or several occur."""
    folders = {view.state.header.cwd for view in views} - {""}
    if not folders:
        each = (view.each(Touched, rewound=True) for view in views)
        folders = {touched.path for touched in chain.from_iterable(each)}
    homes = {home_of(folder) for folder in folders} - {""}
    return homes.pop() if len(homes) == 1 else ""


# Share of the messages of the agent that are in another language, of these and of those with
# candidates for a decision, from which the summary says so. Chosen by hand; not measured.
FOREIGN_SHARE = 0.25


def _not_covered(view: SessionView) -> Iterator[Issue]:
    """Says that the agent's words are in a language in which nothing is looked for."""
    found = sorted({said.ref.message for said in view.sentences("language")})
    if not found:
        return
    looked_at = {said.ref.message for said in view.sentences("decision")}
    if len(found) >= FOREIGN_SHARE * len(looked_at.union(found)):
        what = "words of the agent that are not English: nothing is looked for in them"
        places = tuple(f"message {message}" for message in found[:20])
        yield Issue("language", "info", what, len(found), places)


def _tools(views: Sequence[SessionView]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for view in views:
        counts.update(_own_calls(view))
    ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return {"tools_used": tuple(ordered), "tool_counts": ordered}


@once
def _own_calls(view: SessionView) -> Counter[str]:
    """How often the agent called each tool: without the commands of the person's own shell."""
    counts = Counter(call.name for call in view.each(Called, rewound=True))
    del counts[PERSONS_SHELL]
    return counts


def _title(view: SessionView) -> str:
    """The recorder's title; one that is linked to a record counts if the thread contains it."""
    header = view.state.header
    if header.title:
        return header.title
    for leaf, title in reversed(header.linked_titles):
        if view.thread.contains(leaf):
            return title
    return ""


def _child(view: SessionView, changed: Sequence[FileModification]) -> Child:
    asked, said = view.state.first_words, view.state.last_words
    return Child(
        id=view.state.agent,
        request=asked,
        result=said,
        message_count=len(view.thread),
        tool_call_count=_own_calls(view).total(),
        models=tuple(view.state.header.models),
        spend=total(spend(view).values()),
        decisions=select.key_decisions(view),
        changed=tuple(f.path for f in changed if f.action != "read"),
        sources=(view.source,),
    )


def _stats(view: SessionView, lines: Lines) -> Stats:
    header = view.state.header
    counts = view.thread.counts(view.copies)
    tokens = conversation_tokens(view)
    return Stats(
        message_count=sum(counts[r] for r in ("user", "assistant", "system", "tool")),
        turn_count=counts["turns"],
        tool_call_count=_own_calls(view).total(),
        estimated_tokens=tokens if tokens is not None else view.state.text_tokens,
        user_message_count=len({a.ref.message for a in view.all(Asked) if a.via != "plan"}),
        assistant_message_count=counts["assistant"],
        error_count=len(view.all(Failed)),
        duration_seconds=_times(header)[1],
        lines=LineCounts(
            lines.total, lines.parsed, lines.unknown, lines.repaired, lines.skipped
        ),
    )


# Tools of which each call is a subagent with work of its own; the others of their kind talk to
# one that runs, or only look.
_STARTS_AGENT = frozenset(
    {"Task", "Agent", "task", "spawn_agent", "delegate", "runSubagent", "new_task", "task_v2"}
)
# Types of subagents that clients give no tool to write with.
_READ_ONLY = frozenset({"explore", "plan", "claude-code-guide"})


def _agents_not_recorded(
    view: SessionView, started: Iterable[Called], recorded: int
) -> list[UnknownChange]:
    """The calls that started subagents which may write, where fewer of these are recorded: what
    the others changed is not known, nor which calls started them."""
    starts = [call for call in started if call.text.lower() not in _READ_ONLY]
    if len(starts) <= recorded:
        return []
    return [
        UnknownChange(c.name, "unknown", view.ref(Ref(message=c.message, part=c.part)))
        for c in starts
    ]


def _paths_by_message(events: Sequence[FileEvent]) -> dict[int, set[str]]:
    """The files that each message is likely to have changed."""
    found: dict[int, set[str]] = {}
    for e in events:
        changes = e.certainty != "unknown" and e.action in {"created", "modified", "deleted"}
        if changes and not (e.branch or is_temporary(e.path)):
            found.setdefault(e.ref.message, set()).add(e.path)
    return found


def _written(events: Sequence[FileEvent], since: int) -> dict[tuple[int, int], tuple[str, ...]]:
    """The files that each call after a message created or modified, by its message and part."""
    found: dict[tuple[int, int], dict[str, None]] = {}
    for event in events:
        if event.ref.message > since and event.action in {"created", "modified"}:
            found.setdefault((event.ref.message, event.ref.part or 0), {})[event.path] = None
    return {place: tuple(paths) for place, paths in found.items()}


def _times(header: Header) -> tuple[str, int | None]:
    """The recorded start and the seconds from it to the end, None where either is not known. A
    start after the end is the time at which a client copied the session, and none."""
    try:
        first, last = (datetime.fromisoformat(t) for t in (header.started, header.ended))
        known = first <= last
    except (ValueError, TypeError):  # no times, or one of them without a zone
        return header.started, None
    return (header.started, round((last - first).total_seconds())) if known else ("", None)
