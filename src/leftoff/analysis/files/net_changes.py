"""The state of every file at the end of a session, relative to its start."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from leftoff.model import Ref
from leftoff.redaction.redactor import Redactor
from leftoff.shell.paths import is_temporary, relative
from leftoff.summary import DiscardedFile, FileModification, UnknownEffect

# At most so many calls are listed of a program that may have changed files, the latest.
REFS = 20

# At most so many discarded files. Chosen by hand; not measured.
DISCARDED = 20

# Relative paths that show the project's folder. Chosen by hand: one may be so by chance.
_AGREE = 2

# Two events of one file: the surer of them says what became of it.
_RANK = {"sure": 0, "likely": 1, "unknown": 2}


# The tool of an event that takes the last edit of a file back.
UNDO = "undo_edit"


class FileEvent(Struct, frozen=True, gc=False):
    """One operation of one call on one file.

    Attributes:
        path: absolute where it can be known; one that ends in "/" stands for all that lies
            below a directory whose files are not all known.
        action: read | created | modified | deleted; or missed | found, where the recorder
            itself looked for a file that was changed before and did not find it, or did; or
            back, where a command listed a file that was removed before; or new, where a commit
            created it; or discarded: a change that was taken back later.
        certainty: sure | likely | unknown.
        renamed_from: the path that the file had before a rename.
        branch: "" or "abandoned".
        late: programs ran before it that may have made the file, or removed it.
        lines: of a removed file, where the recorder keeps its content; else -1."""

    path: str
    action: str
    certainty: str
    tool: str
    ref: Ref
    renamed_from: str = ""
    branch: str = ""
    late: bool = False
    lines: int = -1


class UnknownChange(Struct, frozen=True):
    """One call of a program that may have changed files which are not known.

    `action`: created | modified | deleted | unknown."""

    tool: str
    action: str
    ref: Ref


class _Track(Struct):
    """The state of one path over the session.

    Attributes:
        existed: at the start; None while that is not known.
        exists: now.
        maybe: the last action that may have happened to it.
        missed: the recorder checked for it after its last event and did not find it.
        guessed: that it was not there at the start is likely at most.
        perhaps_made: programs ran that may have made it before it was first read or written.
        late: programs ran before its removal that may have made it.
        back: a listing showed it again after its removal.
        origin: the path at the start, if the file was renamed."""

    existed: bool | None = None
    exists: bool = True
    changed: bool = False
    read: bool = False
    edited: bool = False
    missed: bool = False
    guessed: bool = False
    perhaps_made: bool = False
    late: bool = False
    back: bool = False
    origin: str = ""
    maybe: str = ""
    certainty: str = ""
    calls: set[tuple[int, int, int]] = field(default_factory=set)
    tools: dict[str, None] = field(default_factory=dict)
    refs: list[Ref] = field(default_factory=list)
    branches: set[str] = field(default_factory=set)


def file_modifications(
    events: Iterable[FileEvent], root: str = ""
) -> tuple[FileModification, ...]:
    """The net change of every file between start and end, sorted by path.

    A file that was created and deleted again is left out, and so is one that was changed and
    restored, unless it was read. A renamed file stands under its last name with `renamed_from`,
    its first name as deleted. Possible changes count only where nothing else is known of the
    file. The change of a file that the recorder does not find at the end, though no call
    removed it, is likely at most. Paths below `root` are relative to it."""
    tracks = _tracks(events)
    ordered = sorted(tracks)
    found: list[FileModification] = []
    for path, track in tracks.items():
        action = _net(track)
        if action == "deleted" and path[-1] == "/" and _is_no_loss(tracks, ordered, path):
            continue
        if action == "deleted" and track.perhaps_made and _among_new(tracks, ordered, path):
            continue
        if action:
            renamed = track.origin if action == "created" else ""
            found.append(
                FileModification(
                    path=relative(path, root),
                    action=action,
                    touch_count=len(track.calls),
                    tools=tuple(track.tools),
                    certainty=_weaker(track) or "unknown",
                    renamed_from=relative(renamed, root),
                    branch="abandoned" if track.branches == {"abandoned"} else "",
                    refs=tuple(track.refs),
                )
            )
    return tuple(sorted(_without_doubles(found), key=lambda f: f.path))


def whole_paths(events: Sequence[FileEvent]) -> dict[str, str]:
    """The paths from the root that relative ones stand for: recorders name a file now from the
    root, now from the project's folder, which they do not tell. It is known where several such
    paths show the same."""
    paths = {e.path for e in events}
    roots = {p for p in paths if p[0] in "/~" or p[1:2] == ":"}
    by_name: dict[str, list[str]] = {}
    for path in sorted(roots):
        if not is_temporary(path):  # a copy of the project's file
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
    found, projects = dict[str, str](), list[str]()
    parts = sorted(paths - roots) if roots else []
    for path in parts:
        folder, _, name = path.removeprefix("./").rpartition("/")
        ending = f"/{folder}/{name}"
        named = [p for p in by_name.get(name, ()) if folder and name and p.endswith(ending)]
        if len(named) == 1:
            found[path] = named[0]
            projects.append(named[0].removesuffix(ending))
    project = projects[0] if len(projects) >= _AGREE and len(set(projects)) == 1 else ""
    for path in parts if project else ():
        whole = f"{project}/{path.removeprefix('./')}"
        if whole in roots:
            found.setdefault(path, whole)
    return found


def discarded_files(events: Sequence[FileEvent], root: str = "") -> tuple[DiscardedFile, ...]:
    """The files that the session wrote first and removed or renamed again, at most
    `DISCARDED`, the latest first; relative to `root` as in `file_modifications`."""
    moved = {e.renamed_from: e.path for e in events if e.renamed_from}
    found = [
        DiscardedFile(relative(path, root), relative(moved.get(path, ""), root), track.refs[-1])
        for path, track in _tracks(events).items()
        if track.changed and not track.exists and track.existed is False and path[-1] != "/"
    ]
    return tuple(sorted(found, key=lambda f: (-f.ref.message, f.path))[:DISCARDED])


def _tracks(events: Iterable[FileEvent]) -> dict[str, _Track]:
    """What became of every path."""
    tracks: dict[str, _Track] = {}
    folders: set[str] = set()  # in which one of the paths lies
    for event in events:
        if event.path in folders:
            _below(tracks, event)
        track = tracks.get(event.path)
        if track is None:
            track = tracks[event.path] = _Track()
            above, slash, _ = event.path[:-1].rpartition("/")
            while slash and above + slash not in folders:
                folders.add(above + slash)
                above, slash, _ = above.rpartition("/")
            folder = _new_folder(tracks, event.path) if event.action != "created" else ""
            if folder:
                track.existed = False
                former = tracks[folder].origin
                track.origin = former and former + event.path[len(folder) :]
        _note(track, event)
        if event.renamed_from and event.action == "created" and event.certainty != "unknown":
            _rename(track, event, tracks.get(event.renamed_from))
    return tracks


def _without_doubles(files: list[FileModification]) -> list[FileModification]:
    """The files without those read by a part of a path that another one has: recorders name a
    file now from the root, now from a directory that they do not tell."""
    by_name: dict[str, list[str]] = {}
    for file in files:
        by_name.setdefault(file.path.rpartition("/")[2], []).append(file.path)
    kept = []
    for file in files:
        part = "/" + file.path.removeprefix("./")
        if file.action == "read" and file.path[0] not in "/~" and file.path[1:2] != ":":
            named = by_name[file.path.rpartition("/")[2]]
            if any(len(other) > len(part) - 1 and other.endswith(part) for other in named):
                continue
        kept.append(file)
    return kept


def display_names(command: str, tools: list[str]) -> dict[str, str]:
    """The names of programs for output: "program" for a name that is part of a secret, such as
    the last part of a secret URL."""
    shown = {tool: tool if any(map(str.isalnum, tool)) else "shell" for tool in tools}
    if max(map(len, tools), default=0) < 8:
        return shown
    raw, redacted = command.casefold(), Redactor().text(command).casefold()
    folded = {tool: tool.casefold() for tool in tools}
    hidden = {t for t, name in folded.items() if name in raw and name not in redacted}
    return shown | dict.fromkeys(hidden, "program")


def unknown_effects(unseen: Iterable[UnknownChange]) -> tuple[UnknownEffect, ...]:
    """Possible changes of unknown files, by program and action, most calls first."""
    calls: dict[tuple[str, str], list[Ref]] = {}
    for one in unseen:
        calls.setdefault((one.tool, one.action), []).append(one.ref)
    found = [
        UnknownEffect(tool, action, len(refs), tuple(refs[-REFS:]))
        for (tool, action), refs in calls.items()
    ]
    return tuple(sorted(found, key=lambda e: (-e.count, e.tool, e.action)))


def _note(track: _Track, event: FileEvent) -> None:
    action, certainty = event.action, event.certainty
    if action == "discarded":
        return
    if action in {"missed", "found"}:
        track.missed = action == "missed"
        return
    if action == "back":
        if not track.exists:
            # Its contents may be those of the start: only an edit is a change for certain.
            track.exists = track.back = True
            track.changed = track.edited or track.existed is False
            track.certainty = "likely"
        return
    if action == "new":
        if track.exists and (track.guessed or track.perhaps_made):
            track.existed = track.guessed = False
        return
    track.branches.add(event.branch)
    # The tool and its place: several files of one call are touched once each.
    call = (event.ref.source, event.ref.message, event.ref.part or 0)
    track.tools.setdefault(event.tool)
    if call not in track.calls:
        track.calls.add(call)
        track.refs.append(event.ref)
    if certainty == "unknown":
        if action != "read":
            track.maybe = action
        return
    track.missed = False
    if track.existed is None:
        track.perhaps_made = event.late
    if action == "read":
        track.read = True
        if certainty == "sure" and track.existed is None:
            track.existed = True
        if certainty == "sure" and not track.exists:
            track.exists = True  # something that is not seen made it again
            track.certainty = "likely"
        if not track.changed:
            track.certainty = _surer(track.certainty, certainty)
        return
    if not track.changed and action == "created" and certainty == "sure":
        track.existed = False  # it cannot have been there, whatever seemed to read it
    elif track.existed is None:
        # A call that may have made it does not show that it was there before.
        track.existed = action != "created" and track.maybe != "created"
        track.guessed = not track.existed and not event.renamed_from
    turned = track.exists != (action != "deleted")
    track.exists = action != "deleted"
    track.late = event.late
    # Whether a file is there at the end is no surer than what removed or made it last.
    kept = track.changed and not turned
    track.certainty = _surer(track.certainty, certainty) if kept else certainty
    track.changed = True
    track.edited = track.edited or action == "modified"


def _weaker(track: _Track) -> str:
    """The certainty of a path: likely at most where a file should exist and was not found, or
    where it is not sure that it is new."""
    if track.changed and track.exists and track.certainty == "sure":
        if track.missed or track.guessed and not track.existed:
            return "likely"
    return track.certainty


def _surer(one: str, other: str) -> str:
    return other if not one or _RANK[other] < _RANK[one] else one


def _rename(track: _Track, event: FileEvent, former: _Track | None) -> None:
    """Carries over what is known of the file under its former name."""
    if former is None:
        track.origin = event.renamed_from
        return
    track.origin = former.origin if former.existed is False else event.renamed_from
    track.edited = former.edited
    if track.origin == event.path:  # it has its first name again
        track.origin = ""
        track.changed = track.edited


def _net(track: _Track) -> str:
    if not track.changed:
        if track.maybe:
            track.certainty = "unknown"
            return track.maybe
        return "read" if track.read and track.existed is not False and track.exists else ""
    if track.exists:
        return "modified" if track.existed else "created"
    return "deleted" if track.existed else ""


def _is_no_loss(tracks: dict[str, _Track], ordered: Sequence[str], folder: str) -> bool:
    """Whether a file below a deleted directory was there again later; or the directory may be
    the session's own, and no file in it is known to be lost."""
    below = [(p, tracks[p]) for p in _files_in(ordered, folder)]
    if any(t.exists and (t.changed or t.read or t.back) for _, t in below):
        return True
    return tracks[folder].late and not any(
        _net(t) == "deleted" and not (t.perhaps_made and _among_new(tracks, ordered, p))
        for p, t in below
    )


def _files_in(ordered: Sequence[str], folder: str) -> list[str]:
    """The files below a folder, of sorted paths."""
    end = bisect_left(ordered, folder[:-1] + "0")  # "0" follows "/"
    return [p for p in ordered[bisect_left(ordered, folder) : end] if p[-1] != "/"]


def _new_folder(tracks: dict[str, _Track], path: str) -> str:
    """The directory in which a path lies and that was made, such as a copy of another one; ""
    for none."""
    path = path.removesuffix("/")
    while "/" in path:
        path = path.rpartition("/")[0]
        above = tracks.get(path + "/")
        if above is not None and above.changed and above.existed is False and above.exists:
            return path + "/"
    return ""


def _among_new(tracks: dict[str, _Track], ordered: Sequence[str], path: str) -> bool:
    """Whether all that is known in the nearest folder with other files is the session's own and
    removed as well, as around the output of its own build."""
    folder = path.rstrip("/")
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        around = [tracks[p] for p in _files_in(ordered, f"{folder}/")]
        if len(around) > 1:
            own = (t.existed is False and not t.exists for t in around if t is not tracks[path])
            return all(own)
    return False


def _below(tracks: dict[str, _Track], event: FileEvent) -> None:
    """A whole directory was deleted: so were the known files in it."""
    if event.action != "deleted" or event.certainty == "unknown":
        return
    for path, track in tracks.items():
        if path.startswith(event.path) and track.exists and path != event.path:
            _note(track, event)
