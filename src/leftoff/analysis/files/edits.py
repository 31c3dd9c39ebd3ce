"""What was changed in each file: lines, places, symbols, the last hunk, committed or not."""

from collections.abc import Iterable, Mapping, Sequence
from posixpath import commonprefix
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.files.net_changes import UNDO, FileEvent
from leftoff.analysis.git import git_events
from leftoff.extraction.evidence import Applied, Edited, Ran, Touched
from leftoff.model import Ref
from leftoff.session_view import Call, SessionView
from leftoff.shell.paths import absolute, home_of, is_temporary, is_within, relative
from leftoff.summary import ACTIONS, FileModification, GitEvent
from leftoff.tables import table

_RE = re.patterns(table(__file__, "patterns.toml")["edits"])

# Symbols of one file, the latest. Chosen by hand.
MAX_SYMBOLS = 8


class _Changes(Struct):
    """What edits changed in one file; `counted`: every change of it shows its lines.

    Attributes:
        size: lines that the file has, None where that is not known.
        removals: calls that removed it and are not counted yet, with the lines that the
            recorder says, -1 for none."""

    size: int | None = None
    removals: list[tuple[tuple[int, int, int], int]] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    edits: int = 0
    counted: bool = True
    lines: tuple[int, int] | None = None
    symbols: dict[str, None] = field(default_factory=dict)
    hunk: str = ""


def with_changes(
    modifications: Sequence[FileModification],
    events: Iterable[FileEvent],
    view: SessionView,
    children: Iterable[SessionView],
    cwd: str,
    agents: Sequence[int] = (),
    whole_paths: Mapping[str, str] = MappingProxyType({}),
) -> tuple[FileModification, ...]:
    """The modifications, each with what its edits changed.

    Edits of calls that failed do not count. Lines are summed only where every change of the
    file shows both what it added and what it removed: a file that was there and is written
    whole, one that a command changed, one that was removed while its length was not known, one
    of a call without a result, and one between whose changes an agent ran that is not recorded
    have no sum.

    Args:
        events: what each call did to each file.
        agents: messages that started such agents.
        whole_paths: those that relative ones of edits stand for."""
    children = tuple(children)
    # A session may go on in another file; only subagents number their messages anew.
    apart = {child.source for child in children if child.source != view.source}
    found: dict[str, _Changes] = {}
    own: dict[str, dict[tuple[int, int, int], FileEvent]] = {}
    discarded: dict[str, set[tuple[int, int, int]]] = {}
    for event in events:
        # Which of the lines are there again is not counted, or not known.
        if event.tool == UNDO or (event.tool, event.certainty) == ("git", "unknown"):
            found.setdefault(relative(event.path, cwd), _Changes()).counted = False
        source = event.ref.source if event.ref.source in apart else view.source
        path, place = (
            relative(event.path, cwd),
            (source, event.ref.message, event.ref.part or 0),
        )
        if event.action == "discarded":
            discarded.setdefault(path, set()).add(place)
        elif event.action in ACTIONS[:3] and event.certainty != "unknown":
            own.setdefault(path, {})[place] = event
            if event.action == "deleted":
                found.setdefault(path, _Changes()).removals.append((place, event.lines))
    edited: dict[str, set[str]] = {}
    for one in (view, *children):
        counts: dict[tuple[Call, str], tuple[int, int]] = {}
        for stated in one.each(Applied):
            for name, added, removed in stated.counts:
                counts[stated.call, relative(absolute(name, ""), cwd)] = added, removed
        for edit in one.each(Edited):
            path = relative(whole_paths.get(edit.path, edit.path), cwd)
            call = edit.call
            places = (one.source, *call), (one.source, edit.message, 0)
            if not discarded.get(path, set()).isdisjoint(places):
                continue
            changes = found.setdefault(path, _Changes())
            if call not in one.outcomes:
                changes.counted = False
            elif one.succeeded(call):
                _count_removals(changes, places[0])
                events_of = own.get(path, {})
                # What a recorder states of a call has no part.
                event_of = events_of.get(places[0]) or events_of.get(places[1])
                if (call, path) in counts:
                    # What the recorder counted is of all that the call changed in the file.
                    added, removed = counts[call, path]
                    edit = replace(edit, added=added, removed=removed)
                    counts[call, path] = 0, 0
                _add(changes, edit, event_of)
                if call in one.calls:
                    edited.setdefault(path, set()).add(one.calls[call].name)
    commits, git = _Commits(view), git_events(view)
    projects = temporary_projects(modifications, git)
    repositories = [e.folder for e in git if e.kind == "commit" and e.folder]
    # Subagents in the same file number their own messages.
    kinds: tuple[type[Touched | Ran], ...] = (Touched, Ran)
    theirs = {
        (call.ref.source, call.ref.line, call.ref.item)
        for child in children
        if child.source == view.source
        for kind in kinds
        for call in child.each(kind)
    }
    result = []
    for file in modifications:
        changing = own.get(file.path, {})
        refs: Iterable[Ref] = file.refs
        if file.action != "read" and changing:
            refs = [event.ref for event in changing.values()]
        of_main = [
            (r.message, r.part or 0)
            for r in refs
            if r.source not in apart and (r.source, r.line, r.item) not in theirs
        ]
        last = max(of_main, default=(-1, 0))
        file = replace(file, last_message=last[0])
        changes = found.get(file.path, _Changes())
        if file.action != "read" and not is_temporary(file.path, projects):
            # A file outside of the session's folder may belong to no repository; one hidden
            # in the home directory (`~/.ssh/config`) does not.
            outside = bool(cwd) and absolute(file.path, cwd) == file.path
            outside = outside or file.path.startswith(f"{home_of(file.path) or '~'}/.")
            if not outside or any(is_within(file.path, folder) for folder in repositories):
                file = replace(file, committed=commits.include(file.path, last))
        if changes.edits:
            _count_removals(changes)
            tools = edited.get(file.path, set())
            whole = changes.counted and all(
                relative(e.renamed_from, cwd) not in found
                if e.renamed_from
                else e.tool in tools
                for e in changing.values()
            )
            whole = whole and bool(changes.added or changes.removed)
            first = min(of_main, default=last)[0]
            whole = whole and not any(first < agent < last[0] for agent in agents)
            for place in discarded.get(file.path, ()) if whole else ():
                # The commit may not hold what was changed before it.
                before = max((p for p in changing if p < place), default=None)
                whole = whole and (
                    before is None or commits.include(file.path, before[1:]) is True
                )
            file = replace(
                file,
                added=changes.added if whole else None,
                removed=changes.removed if whole else None,
                lines=changes.lines,
                symbols=tuple(changes.symbols)[::-1][:MAX_SYMBOLS],
                hunk=changes.hunk,
            )
        result.append(file)
    return tuple(result)


# Changed files, all of one folder, that show a project there. Chosen by hand; not measured.
_OF_PROJECT = 3


def temporary_projects(
    modifications: Iterable[FileModification], git: Iterable[GitEvent]
) -> list[str]:
    """The folders below that for temporary files in which the session made commits, or changed
    several files and none elsewhere: its project was copied or made there."""
    found = {e.folder for e in git if e.kind == "commit" and is_temporary(e.folder)}
    changed = [f.path for f in modifications if f.action != "read"]
    common = commonprefix(changed).rpartition("/")[0]
    if len(changed) >= _OF_PROJECT and is_temporary(common):
        found.add(common)
    return sorted(found)


def _count_removals(changes: _Changes, until: tuple[int, int, int] | None = None) -> None:
    """Counts the lines of a file that was removed, up to a call of the same recording."""
    while changes.removals and (until is None or changes.removals[0][0] <= until):
        place, lines = changes.removals.pop(0)
        size = lines if lines >= 0 else changes.size
        if size is None or until is not None and place[0] != until[0]:
            changes.counted = False
        changes.removed += size or 0
        changes.size = 0


def _add(changes: _Changes, edit: Edited, event: FileEvent | None) -> None:
    new = event is not None and (event.action, event.certainty) == ("created", "sure")
    # What a removed file held is counted already.
    if edit.whole and (new and not changes.edits or changes.size == 0):
        changes.size = 0
    elif edit.whole:
        changes.counted = False
    if edit.repeated:
        changes.counted, changes.size = False, None
    elif changes.size is not None:
        changes.size += edit.added - edit.removed
    changes.edits += 1
    changes.added += edit.added
    changes.removed += edit.removed
    if edit.first:
        changes.lines = edit.first, edit.last
    for symbol in edit.symbols:
        changes.symbols.pop(symbol, None)
        changes.symbols[symbol] = None
    changes.hunk = edit.hunk or changes.hunk


class _Commits:
    """The commands that staged and committed, by message."""

    def __init__(self, view: SessionView) -> None:
        self.outcomes = view.outcomes
        # With the files that it is limited to, none for all that are staged.
        self.made: dict[Call, list[str]] = {}
        self.staged: list[tuple[int, str]] = []
        self.clean = max((s.ref.message for s in view.shown({"git_clean"})), default=-1)
        for ran in view.each(Ran):
            if "git" not in ran.command or not view.succeeded(ran.call):
                continue
            if commits := _RE["commit"].findall(ran.command):
                only = _RE["commits_only"].findall(ran.command)
                limit = " ".join(only).split() if len(only) == len(commits) else []
                place = ran.call  # one call may run several lines
                before = self.made.get(place, limit)
                self.made[place] = [*before, *limit] if before and limit else []
            if _RE["adds_all"].search(ran.command):
                self.staged.append((ran.ref.message, "*"))
            self.staged += [(ran.ref.message, m[1]) for m in _RE["adds"].finditer(ran.command)]

    def include(self, path: str, last: Call) -> bool | None:
        """Whether a commit after a call (message, part) includes a file: False for no commit,
        None if that is not known: none of the commands that staged files names it, say. A
        commit recorded in the message of the call's result, before it, came before the change.
        """
        # A change without a call stands where the commit after it does.
        first, result = last[0], None if last in self.made else self.outcomes.get(last)
        name = path.rsplit("/", 1)[-1]
        made = (
            message
            for (message, part), only in reversed(self.made.items())
            if (message, part) >= last
            and (not only or any(f"/{path}".endswith(f"/{named}") for named in only))
            and (result is None or message != result.message or part > result.part)
        )
        latest = next(made, -1)
        if latest < 0:
            # Where git shows a clean tree later, another program committed the file, or git
            # ignores it.
            return None if self.clean > first else False
        named = any(
            first <= at <= latest and (what == "*" or name in what) for at, what in self.staged
        )
        return True if named else None
