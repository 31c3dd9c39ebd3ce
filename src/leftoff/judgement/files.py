"""What happened to which file: events in order, and the state at the end."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from leftoff.extraction.evidence import Applied, Evidence, Ran, Returned, Touched
from leftoff.extraction.file_state import FileState
from leftoff.extraction.paths import relative
from leftoff.findings import ACTIONS, FileModification
from leftoff.judgement.story import Story
from leftoff.model import Ref

_NOWHERE = ("/dev/", "/proc/", "/sys/")
_RANK = {"sure": 0, "likely": 1, "unknown": 2}


class FileEvent(Struct, frozen=True):
    """One call did one thing to one file.

    `action`: read | created | modified | deleted. `path` is absolute where it can be known.
    """

    message: int
    path: str
    action: str
    certainty: str
    tool: str
    ref: Ref
    renamed_from: str = ""
    branch: str = ""


def file_events(story: Story) -> list[FileEvent]:
    """What every call did to every file, in order. Calls that failed, were denied or never
    came back did nothing."""
    known = FileState()
    applied = {
        (a.call_message, a.call_part): a for a in story.all(Applied) if a.call_message >= 0
    }
    tells_results = bool(story.outcomes)
    asking = {(t.ref.message, t.part) for t in (*story.all(Touched), *story.all(Ran))}
    acts: list[Evidence] = [
        *story.all(Touched),
        *story.all(Ran),
        # What the recorder tells of a call stands in for what the call asked.
        *(a for a in story.all(Applied) if (a.call_message, a.call_part) not in asking),
    ]
    acts.sort(key=lambda a: (story.message_of(a), getattr(a, "part", 0)))
    events: list[FileEvent] = []
    replaced: set[tuple[int, int]] = set()
    for act in acts:
        if isinstance(act, Applied):
            made = story.calls.get((act.call_message, act.call_part))
            events += _recorded(story, act, made.name if made else "", known)
            continue
        if not isinstance(act, (Touched, Ran)):
            continue
        call = (act.ref.message, act.part)
        if call in applied:
            if call not in replaced:
                replaced.add(call)
                events += _recorded(story, applied[call], act.tool, known)
            continue
        outcome = story.outcomes.get(call)
        if isinstance(act, Ran):
            events += _run(story, act, outcome, known)
        elif outcome is not None and outcome.status not in {"ok", "unknown"}:
            continue
        elif outcome is not None or not tells_results:
            events += _touched(story, act, outcome, known)
    return [e for e in events if not e.path.startswith(_NOWHERE)]


def _event(
    story: Story, ref: Ref, tool: str, path: str, action: str, certainty: str, source: str = ""
) -> FileEvent:
    abandoned = ref.message in story.abandoned
    return FileEvent(
        ref.message,
        path,
        action,
        "likely" if abandoned and certainty == "sure" else certainty,
        tool,
        story.ref(ref),
        source,
        "abandoned" if abandoned else "",
    )


def _touched(
    story: Story, act: Touched, outcome: Returned | None, known: FileState
) -> list[FileEvent]:
    """What a file tool did; `known` learns from it."""
    path, verb = act.path, act.verb
    if not path:
        return []
    sure = "sure" if outcome is not None else "likely"
    before = known.kind(path)
    if verb == "read":
        if before == "directory":
            return []
        known.put(path)
        return [_event(story, act.ref, act.tool, path, "read", sure)]
    if verb == "delete":
        known.remove(path)
        return [_event(story, act.ref, act.tool, path, "deleted", sure)]
    if verb == "move":
        known.remove(path)
        known.put(act.target)
        return [
            _event(story, act.ref, act.tool, path, "deleted", sure),
            _event(story, act.ref, act.tool, act.target, "created", sure, path),
        ]
    known.put(path)
    action, certainty = "modified", sure
    if verb in {"write", "create"}:
        told = outcome.created if outcome is not None else None
        if told is not None:
            action = "created" if told else "modified"
        elif before == "unknown":
            # Nothing was read or listed there before: most writes of a whole file make it.
            action = "created"
            certainty = sure if verb == "create" else "likely"
        else:
            action = "modified" if before == "file" else "created"
    elif before == "absent":
        action = "created"
    return [_event(story, act.ref, act.tool, path, action, certainty)]


def _recorded(story: Story, act: Applied, tool: str, known: FileState) -> list[FileEvent]:
    """What the recorder itself says was changed."""
    events: list[FileEvent] = []
    for path, action, former in act.files if act.succeeded else ():
        if former:
            known.remove(former)
            events.append(_event(story, act.ref, tool, former, "deleted", "sure"))
            events.append(_event(story, act.ref, tool, path, "created", "sure", former))
        else:
            events.append(_event(story, act.ref, tool, path, action, "sure"))
        if action == "deleted":
            known.remove(path)
        else:
            known.put(path)
    return events


def _run(story: Story, act: Ran, outcome: Returned | None, known: FileState) -> list[FileEvent]:
    """What a command line did, by its syntax and its outcome."""
    if act.language != "bash":
        return []
    from leftoff.extraction.shell import Outcome, analyze, resolve

    status = outcome.status if outcome is not None else "unknown"
    told = Outcome(
        status={"ok": "ok", "error": "failed"}.get(status, "unknown"),  # type: ignore[arg-type]
        exit_code=outcome.exit_code if outcome is not None else None,
        output=outcome.output or None if outcome is not None else None,
        interrupted=status in {"interrupted", "timeout"},
        denied=status == "denied" or (outcome is None and bool(story.outcomes)),
        background=act.background or status == "running",
    )
    effects = resolve(analyze(act.command, cwd=act.cwd or None), outcome=told, known=known)
    return [
        _event(
            story,
            act.ref,
            effect.tool,
            effect.path,
            effect.action,
            effect.certainty,
            effect.renamed_from or "",
        )
        for effect in effects
        if effect.path and not effect.pattern and effect.action in ACTIONS
    ]


class _Track(Struct):
    """One path over the session."""

    existed: bool | None = None
    exists: bool = True
    changed: bool = False
    renamed_from: str = ""
    certainty: str = "sure"
    calls: list[tuple[int, int]] = field(default_factory=list)
    tools: dict[str, None] = field(default_factory=dict)
    refs: list[Ref] = field(default_factory=list)
    branches: set[str] = field(default_factory=set)


def file_modifications(
    events: Iterable[FileEvent], root: str = ""
) -> tuple[FileModification, ...]:
    """The state of every file at the end relative to the start, sorted by path.

    What was created and deleted again is absent; a renamed file stands under its last name
    with `renamed_from`, its first name as deleted. Paths below `root` are given relative to it.
    """
    tracks: dict[str, _Track] = {}
    for event in events:
        if event.path.endswith("/"):
            _directory(tracks, event)
            continue
        track = tracks.setdefault(event.path, _Track())
        _note(track, event)
        if event.action == "created" and event.renamed_from:
            former = tracks.get(event.renamed_from)
            if former is None or former.existed is not False:
                origin = former.renamed_from if former is not None else ""
                track.renamed_from = origin or event.renamed_from
            elif former.renamed_from:
                track.renamed_from = former.renamed_from
    found: list[FileModification] = []
    for path, track in tracks.items():
        action = _net(track)
        if action:
            found.append(
                FileModification(
                    path=relative(path, root),
                    action=action,
                    touch_count=len(track.calls),
                    tools=tuple(track.tools),
                    certainty=track.certainty,
                    renamed_from=relative(track.renamed_from, root),
                    branch="abandoned" if track.branches == {"abandoned"} else "",
                    refs=tuple(track.refs),
                )
            )
    return tuple(sorted(found, key=lambda f: f.path))


def _note(track: _Track, event: FileEvent) -> None:
    action = event.action
    if track.existed is None:
        track.existed = action != "created"
    if action == "deleted":
        track.exists = False
    elif action != "read" or track.existed:
        track.exists = True
    if action != "read":
        if not track.changed:
            track.certainty = event.certainty
        track.changed = True
        if _RANK[event.certainty] < _RANK[track.certainty]:
            track.certainty = event.certainty
    elif not track.calls:
        track.certainty = event.certainty
    track.branches.add(event.branch)
    call = (event.message, event.ref.part or 0)
    track.tools.setdefault(event.tool)
    if call not in track.calls:
        track.calls.append(call)
        track.refs.append(event.ref)


def _net(track: _Track) -> str:
    if not track.changed:
        return "read" if track.exists else ""
    if track.exists:
        return "modified" if track.existed else "created"
    return "deleted" if track.existed else ""


def _directory(tracks: dict[str, _Track], event: FileEvent) -> None:
    """A whole directory went: so did the files in it that are known."""
    if event.action != "deleted":
        return
    for path, track in tracks.items():
        if path.startswith(event.path) and track.exists:
            _note(track, event)
