"""The file state: files known at one point of a recording, and the effects of a command.

What may live in this file: facts about paths and the bookkeeping of effects. It knows no
programs and no statuses, parses nothing, and never looks at a disk.

How it works
------------
`FileState` lives for a whole session and answers three questions: of
which kind is this path, which known paths lie below this directory, which known paths match
this pattern. A path is a file, a directory, absent or unknown. `kind` finds the answer in this
order:

1. a fact recorded for the path itself (`_kinds`);
2. absent, if a directory above it is absent, is a file, or is complete (`_complete`: all that
   lies below it is known, as for a directory that a command has just made);
3. otherwise unknown. It never guesses.

`_ancestors` holds every directory below which something was ever recorded; it only saves
searches. `contents` holds texts of files that the recording shows being written, so that a
script written by one command can be interpreted when a later one runs it.

`Effects` lives for one command. It keeps one `_PathChange` for each path: what the path was
before the command (`before`), what it is now (`after`), and whether it was read or written.
`net_effects` turns each into one `FileEffect` at the end, so that a file created and deleted by
the same command has no effect, and one written twice has one:

    before      after    written   effect
    file        absent             deleted
    unknown     absent             deleted, ``unknown`` (``rm -f`` may have found nothing)
    absent      absent             none
    absent      file     yes       created
    file        file     yes       modified
    unknown     file     yes       `guess` (created or modified), ``likely`` at most
    file        file     no        read, if it was read

A write that moves a file back to where it was is no change: `content` names the bytes of each
path. Effects on paths that are not known are stored apart (`_unknowns`) and come last.

What must hold
--------------
- A path that exists has directories above it that exist; below an absent path nothing is
  recorded.
- A write or delete of uncertainty 2 (it may not have happened) makes the kind of its path
  unknown, except that a file which may have been written again is still a file.
- Paths are in the form of `join`: no ``.``, no ``..``, no final slash; ``.`` alone is the
  unknown directory that the session runs in."""

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from leftoff.shell.ast import BRACKET, PATTERN_MARKS, QUESTION, STAR, UNKNOWN
from leftoff.shell.paths import is_temporary, join, parent_of
from leftoff.shell.quoting import unmark_patterns

Action = Literal["read", "created", "modified", "deleted", "unknown"]
Certainty = Literal["sure", "likely", "unknown"]
Kind = Literal["file", "directory", "absent", "unknown"]

# A plain `*` in a marked pattern was quoted, and stands for itself.
_MARKS = {STAR: "*", QUESTION: "?", BRACKET: "[", "*": "[*]", "?": "[?]", "[": "[[]"}


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern with marks."""
    return _compiled(pattern).match(name) is not None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    # bash knows `[^a]` and `[!a]`, `fnmatch` only the second.
    text = "".join(
        _MARKS.get(char, char) for char in pattern.replace(BRACKET + "^", BRACKET + "!")
    )
    return re.compile(fnmatch.translate(text))


_CERTAINTIES: tuple[Certainty, ...] = ("sure", "likely", "unknown")


class FileEffect(msgspec.Struct, frozen=True, gc=False):
    """The net effect of a command on one path.

    Attributes:
        path: The path, or None where it cannot be known. It ends in ``/`` where it names a
            directory whose contents are not known, and holds ``*``, ``?``, ``[…]`` where
            `pattern` is true.
        action: ``read``, ``created``, ``modified``, ``deleted``; ``unknown`` for a program that
            may have changed files.
        certainty: ``sure``, ``likely`` or ``unknown``.
        tool: The program, such as ``sed``.
        renamed_from: The path that the file had before a rename.
        named: Whether the command names the path itself, not by recursion or pattern, and not
            to run it.
        pattern: Whether `path` is a pattern whose matches are not known.
        restored: Whether the file has its last committed contents again.
        stash: ``push`` where a stash took its changes, ``pop`` where it has them again."""

    path: str | None
    action: Action
    certainty: Certainty
    tool: str
    renamed_from: str | None = None
    named: bool = True
    pattern: bool = False
    restored: bool = False
    stash: str = ""


class FileState:
    """The files known so far. Mutable.

    Args:
        files: Paths of files that exist.
        directories: Paths of directories that exist.
        complete_under: Directories below which nothing exists but what is given.

    Attributes:
        indexed: Changes were added to git's index since the last commit."""

    __slots__ = (
        "_ancestors",
        "_complete",
        "_kinds",
        "changed",
        "contents",
        "indexed",
        "stashes",
    )

    def __init__(
        self,
        files: Iterable[str] = (),
        directories: Iterable[str] = (),
        complete_under: Iterable[str] = (),
    ) -> None:
        self._kinds: dict[str, Kind] = {}
        self._ancestors: set[str] = set()
        self._complete: set[str] = set()
        self.changed: dict[str, Action] = {}
        """The files changed so far, each with its first change."""
        self.contents: dict[str, str] = {}
        """Contents of files that the recording shows being written, by path."""
        self.stashes: list[list[tuple[str, Action, object]]] = []
        """The stack of ``git stash``: changed files of each entry, the newest last."""
        self.indexed = False
        for path in directories:
            self.put_directory(path)
        for path in files:
            self.put(path)
        for path in complete_under:
            self._put(path, "directory")
            self._complete.add(path)

    def kind(self, path: str) -> Kind:
        """``file``, ``directory``, ``absent`` or ``unknown``."""
        kinds = self._kinds
        found = kinds.get(path)
        if found is not None:
            return found
        if not kinds and not self._complete:
            return "unknown"
        # By its name it would lie in the working directory.
        if path == "~":
            return "unknown"
        above = parent_of(path)
        complete = self._complete
        while True:
            known = kinds.get(above)
            if known == "absent" or known == "file":
                return "absent"
            if above in complete:
                return "absent"
            if above in ("/", ".", "", "~") or known == "unknown":
                return "unknown"
            # Nothing above can change the answer, so the walk up may end.
            if known == "directory" and not complete:
                return "unknown"  # above a directory there are only directories
            above = parent_of(above)

    def put(self, path: str) -> None:
        """Record a file, and the directories above it."""
        self._put(path, "file")
        self._add_parents(path)

    def put_directory(self, path: str, *, empty: bool = False) -> None:
        """Record a directory; `empty` when it has just been made."""
        self._put(path, "directory")
        if empty:
            self._complete.add(path)
        self._add_parents(path)

    def _put(self, path: str, kind: Kind) -> None:
        self._kinds[path] = kind
        known, above = self._ancestors, parent_of(path)
        while above not in known:
            known.add(above)
            above = parent_of(above)

    def _add_parents(self, path: str) -> None:
        kinds = self._kinds
        above = parent_of(path)
        while above not in ("/", "."):
            if kinds.get(above) == "directory":
                return
            kinds[above] = "directory"
            above = parent_of(above)

    def remove(self, path: str) -> None:
        """Record that the path is absent, and so is all below it."""
        self.contents.pop(path, None)
        # Only below a directory there is something to forget.
        if self._kinds.get(path) != "file":
            self._complete.discard(path)
            if path in self._ancestors:
                below = path + "/"
                for known in [known for known in self._kinds if known.startswith(below)]:
                    del self._kinds[known]
                self._complete -= {one for one in self._complete if one.startswith(below)}
        self._put(path, "absent")

    def mark_unknown(self, path: str) -> None:
        """Record that the kind of the path is no longer known."""
        self._put(path, "unknown")

    def is_complete(self, path: str) -> bool:
        """Whether everything below this directory is known."""
        while True:
            if path in self._complete:
                return True
            if path in ("/", ".", ""):
                return False
            path = parent_of(path)

    def below(self, path: str, *, directories: bool = False) -> list[str]:
        """The known files below a directory, sorted; with `directories`, these as well."""
        if path not in self._ancestors and path not in ("/", "."):
            return []
        start = "" if path == "." else path if path == "/" else path + "/"
        wanted = ("file", "directory") if directories else ("file",)
        return sorted(
            known
            for known, kind in self._kinds.items()
            if kind in wanted
            and known.startswith(start)
            and known != path
            # Relative paths lie below `.`, unless they lead out of it.
            and (start or (known[:1] not in "/~" and known[:3] != "../"))
        )

    def expand(self, base: str | None, pattern: str) -> tuple[list[str], bool]:
        """The words that a pattern expands to, and whether these are known to be all.

        Args:
            base: The working directory, None where it is not known.
            pattern: A word with pattern marks."""
        rooted = pattern[:1] == "/"
        parts = [part for part in pattern.split("/") if part]
        trailing = pattern.endswith("/")
        start: str | None = "/" if rooted else base
        if start is None:
            return [], False
        frontier: list[tuple[str, str]] = [(start, "/" if rooted else "")]
        complete = True
        for depth, part in enumerate(parts):
            last = depth == len(parts) - 1
            following: list[tuple[str, str]] = []
            for place, shown in frontier:
                if PATTERN_MARKS.isdisjoint(part):
                    below = join(place, part)
                    if below is None:
                        return [], False
                    kind = self.kind(below)
                    if kind == "unknown":
                        complete = False
                    elif kind == "directory" or (last and kind == "file"):
                        following.append((below, shown + part))
                    continue
                # Files that no listing showed may match as well.
                if not self.is_complete(place):
                    complete = False
                for name, kind in self._entries(place):
                    # The shell leaves out hidden names unless the pattern begins with a dot.
                    if name[0] == "." and part[0] != ".":
                        continue
                    if (last and not trailing or kind == "directory") and matches(name, part):
                        below = join(place, name)
                        if below is not None:
                            following.append((below, shown + name))
            frontier = [(place, shown + ("" if last else "/")) for place, shown in following]
        end = "/" if trailing else ""
        return sorted(shown + end for _, shown in frontier), complete

    def _entries(self, path: str) -> list[tuple[str, Kind]]:
        start = "" if path == "." else path if path == "/" else path + "/"
        size = len(start)
        return sorted(
            (known[size:], kind)
            for known, kind in self._kinds.items()
            if known.startswith(start) and "/" not in known[size:]
            if len(known) > size and kind in ("file", "directory")
        )


class _PathChange(msgspec.Struct):
    before: Kind
    after: Kind
    tool: str
    uncertainty: int
    named: bool
    guess: Action = "created"
    read: bool = False
    wrote: bool = False
    renamed_from: str | None = None
    restored: bool = False
    stash: str = ""


class Effects:
    """Collects the effects of one command and updates the file state with each."""

    __slots__ = ("_changes", "_contents", "_unknowns", "state")

    def __init__(self, state: FileState) -> None:
        self.state = state
        self._changes: dict[str, _PathChange] = {}
        # Path, action, tool, whether it is a pattern, former path.
        self._unknowns: dict[tuple[str | None, Action, str, bool, str | None], Certainty] = {}
        self._contents: dict[str, object] = {}

    def content(self, path: str) -> object:
        """What stands for the bytes of a file: the same object means the same bytes."""
        return self._contents.get(path, path)

    def _change_of(self, path: str, tool: str, uncertainty: int, named: bool) -> _PathChange:
        found = self._changes.get(path)
        if found is None:
            kind = self.state.kind(path)
            found = self._changes[path] = _PathChange(kind, kind, tool, uncertainty, named)
        else:
            found.named = found.named or named
        return found

    def knows(self, path: str) -> bool:
        """Whether an effect on a path is recorded."""
        return path in self._changes

    def wrote(self, path: str) -> bool:
        """Whether a file was written."""
        return path in self._changes and self._changes[path].wrote

    def read(self, path: str, tool: str, uncertainty: int = 0, *, named: bool = True) -> None:
        """Record that a file was read, so that it exists."""
        change = self._change_of(path, tool, uncertainty, named)
        if not change.read and not change.wrote:
            change.tool, change.uncertainty = tool, uncertainty
        change.read = True
        if uncertainty == 0 and self.state.kind(path) == "unknown":
            if change.before == "unknown":
                change.before = change.after = "file"
            self.state.put(path)

    def write(
        self,
        path: str,
        tool: str,
        uncertainty: int = 0,
        *,
        guess: Action = "created",
        existed: bool = False,
        named: bool = True,
        renamed_from: str | None = None,
        content: object = None,
        restored: bool = False,
        stash: str = "",
    ) -> None:
        """Record that a file was written. `existed`: the command works only on an existing
        file.

        `guess` is the more usual of created and modified where the kind before is not known."""
        change = self._change_of(path, tool, uncertainty, named)
        # The command succeeded, which it does only on a file that is there.
        if existed and change.before == "unknown" and not change.wrote:
            change.before = "file"
        if not change.wrote:
            change.guess = guess
        elif restored and path not in self.state.changed:
            content = path  # as before the command
        change.uncertainty = (
            min(change.uncertainty, uncertainty) if change.wrote else uncertainty
        )
        change.tool = tool
        change.wrote = True
        change.restored, change.stash = restored, stash
        change.after = "file"
        # New bytes, that equal those of no other file.
        self._contents[path] = object() if content is None else content
        if renamed_from is not None:
            former = self._changes.get(renamed_from)
            # Of two moves in one command the name between was never there outside of it.
            first = (former.renamed_from if former else None) or renamed_from
            change.renamed_from = first if first != path else None
        if uncertainty < 2:
            self.state.put(path)
        elif self.state.kind(path) != "file":
            self.state.mark_unknown(path)

    def delete(
        self,
        path: str,
        tool: str,
        uncertainty: int = 0,
        *,
        existed: bool = False,
        named: bool = True,
    ) -> None:
        """Record that a file was deleted. `existed`: the command fails without it."""
        change = self._change_of(path, tool, uncertainty, named)
        if existed and change.before == "unknown" and not change.wrote:
            change.before = "file"
        change.after = "absent"
        change.tool, change.uncertainty = tool, uncertainty
        if uncertainty < 2:
            self.state.remove(path)
        else:
            self.state.mark_unknown(path)

    def unstash(
        self, path: str, action: Action, content: object, tool: str, uncertainty: int
    ) -> None:
        """Record that a file is again as a stash took it; `content` stands for what it had."""
        taken = self._changes.get(path)
        # By the same command: nothing is changed by both.
        own = taken is not None and taken.stash == "push"
        if action == "deleted":
            self.delete(path, tool, uncertainty)
        else:
            bytes_then = content if own else None
            self.write(
                path, tool, uncertainty, guess="modified", existed=True, content=bytes_then
            )
        change = self._changes[path]
        change.restored, change.stash = False, "" if own else "pop"

    def unknown(
        self,
        tool: str,
        path: str | None = None,
        *,
        action: Action = "unknown",
        certainty: Certainty = "unknown",
        pattern: bool = False,
        renamed_from: str | None = None,
    ) -> None:
        """Record that a program changed, or may have changed, files whose paths are not
        known."""
        self._unknowns.setdefault((path, action, tool, pattern, renamed_from), certainty)

    def name_unknown(self, tool: str, name: str) -> None:
        """Give a program a fuller name in its effects on paths that are not known."""
        if any(key[2] == tool for key in self._unknowns):
            self._unknowns = {
                (*key[:2], name if key[2] == tool else key[2], *key[3:]): certainty
                for key, certainty in self._unknowns.items()
            }

    def doubt(self, *, restored: bool = True, only: str | None = None) -> None:
        """Record that what was written and deleted so far may have been undone, of `only` one
        file or of all; unless `restored`, of files that are not known to be restored."""
        for path, change in self._changes.items():
            if only in (None, path) and (change.wrote or change.after != change.before):
                if change.restored and not restored or is_temporary(path):
                    # Git does not undo what was written beside the repository.
                    continue
                change.uncertainty = 2
                self.state.mark_unknown(path)

    def changed(self) -> dict[str, Action]:
        """The files changed so far, by this command as well, each with its first change."""
        found = dict(self.state.changed)
        for path, change in self._changes.items():
            if change.before == "file" and (change.wrote or change.after == "absent"):
                found.setdefault(path, "modified" if change.after == "file" else "deleted")
        return found

    def net_effects(self) -> list[FileEffect]:
        """The net effects, sorted by path; those without a known path come last."""
        out: list[FileEffect] = []
        for path in sorted(self._changes):
            change = self._changes[path]
            effect = self._net_effect(path, change)
            if effect is None:
                continue
            out.append(effect)
            if effect.action != "read" and effect.certainty != "unknown":
                self.state.changed.setdefault(path, effect.action)
        for key in sorted(
            self._unknowns, key=lambda item: (item[0] or "\uffff", item[1], item[2])
        ):
            lost_path, action, tool, pattern, former = key
            shown = lost_path if lost_path is None else _display_path(lost_path)
            certainty = self._unknowns[key]
            out.append(FileEffect(shown, action, certainty, tool, former, pattern=pattern))
        return out

    def _net_effect(self, path: str, change: _PathChange) -> FileEffect | None:
        uncertainty = change.uncertainty
        action: Action
        renamed: str | None = None
        if change.after == "absent":
            if change.before == "absent" or change.before == "directory":
                return None
            if change.before == "unknown":
                if change.wrote and change.guess == "created":
                    return None
                uncertainty = 2  # as with ``rm -f``: nothing shows that there was a file
            action = "deleted"
        elif change.wrote and self._contents.get(path) == path and change.before != "absent":
            if not change.read:
                return None
            action = "read"
        elif change.wrote:
            if change.before == "unknown":
                action = change.guess
                uncertainty = max(uncertainty, 1)
            elif change.before == "file":
                action = "modified"
            else:
                action = "created"
            renamed = change.renamed_from
        elif change.read:
            if change.before == "absent":
                return None
            action = "read"
        else:
            return None
        return FileEffect(
            path,
            action,
            _CERTAINTIES[uncertainty],
            change.tool,
            renamed,
            change.named,
            restored=change.restored and action != "read",
            stash=change.stash if action != "read" else "",
        )


def _display_path(path: str) -> str:
    return unmark_patterns(path).replace(UNKNOWN, "…")
