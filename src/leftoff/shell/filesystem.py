"""What is known of files at one point of a recording, and what a command did to them.

`FileState` answers three questions without looking at a disk: is there a file of this name,
what lies below this directory, which known files does this pattern name. Its answer may be
*unknown*; it never guesses. `Effects` collects what one command did and says what it comes to.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from leftoff.shell.ast import BRACKET, PATTERN_MARKS, QUESTION, STAR, TEMPORARY, UNKNOWN
from leftoff.shell.globs import matches

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Action", "Certainty", "Effects", "FileEffect", "FileState", "join", "matches"]

Action = Literal["read", "created", "modified", "deleted", "unknown"]
Certainty = Literal["sure", "likely", "unknown"]
Kind = Literal["file", "directory", "absent", "unknown"]

_RANK: dict[str, int] = {"sure": 0, "likely": 1, "unknown": 2}
_BY_RANK: tuple[Certainty, ...] = ("sure", "likely", "unknown")


class FileEffect(msgspec.Struct, frozen=True, gc=False):
    """What a command came to for one path.

    Attributes:
        path: The path, or None where it cannot be known. It ends in ``/`` where it names a
            directory whose contents are not known, and holds ``*``, ``?``, ``[…]`` where
            `pattern` is true.
        action: ``read``, ``created``, ``modified``, ``deleted``; ``unknown`` for a program that
            may have changed files.
        certainty: ``sure``, ``likely`` or ``unknown``.
        tool: The program, such as ``sed``.
        renamed_from: The path that the file had before a rename.
        named: Whether the command names the path itself (not by recursion or pattern).
        pattern: Whether `path` is a pattern whose matches are not known.
        restored: Whether the file has its last committed contents again.
    """

    path: str | None
    action: Action
    certainty: Certainty
    tool: str
    renamed_from: str | None = None
    named: bool = True
    pattern: bool = False
    restored: bool = False


def join(base: str | None, path: str) -> str | None:
    """The normal form of `path` seen from `base`; None where `base` is needed and not known."""
    if path[:1] == "/" or path[:1] == "~":
        whole = path
    elif len(path) > 1 and path[1] == ":" and path[0].isalpha():
        whole = path.replace("\\", "/")
    elif base is None:
        return None
    elif base and base != ".":
        whole = base + "/" + path if base[-1] != "/" else base + path
    else:
        whole = path
    if (
        "//" not in whole
        and "/." not in whole
        and whole[-1:] != "/"
        and whole[:1] != "."
        and whole
    ):
        return whole
    rooted = whole[:1] == "/"
    out: list[str] = []
    for part in whole.split("/"):
        if part == "..":
            if out and out[-1] != "..":
                out.pop()
            elif not rooted:
                out.append(part)
        elif part and part != ".":
            out.append(part)
    text = "/".join(out)
    return "/" + text if rooted else text or "."


LONGEST, DEEPEST = 4096, 100
"""Code points and folders of a path: of a longer one the folders are not told, which would
take the square of its length."""


def parent_of(path: str) -> str:
    """The directory that holds `path`; ``.`` for a bare relative name, and for a path that no
    file system has."""
    if len(path) > DEEPEST and (len(path) > LONGEST or path.count("/") > DEEPEST):
        return "."
    head, found, _ = path.rpartition("/")
    if head:
        return head
    return "/" if found else "."


class FileState:
    """The files known so far. Mutable; `copy` gives an independent one.

    Args:
        files: Paths of files that exist.
        directories: Paths of directories that exist.
        complete_under: Directories below which nothing exists but what is given.
    """

    __slots__ = (
        "_above",
        "_changed",
        "_complete",
        "_kinds",
        "_listed",
        "editor_file",
        "stashes",
        "texts",
    )

    def __init__(
        self,
        files: Iterable[str] = (),
        directories: Iterable[str] = (),
        complete_under: Iterable[str] = (),
    ) -> None:
        self._kinds: dict[str, Kind] = {}
        # Folders below which something was ever known, so that nothing is searched for what
        # lies below the others. Copies share it: one too many costs a search, no more.
        self._above: set[str] = set()
        self._complete: set[str] = set()
        self._listed: set[str] = set()
        self._changed: dict[str, Action] = {}
        self.texts: dict[str, str] = {}
        """Contents of files that the recording shows being written, by path."""
        self.stashes: list[tuple[tuple[str, Action], ...]] = []
        """Changes that were put away, the last of them last."""
        self.editor_file: str | None = None
        """The file open in an agent's own editor, for editors that have one."""
        for path in directories:
            self.put_directory(path)
        for path in files:
            self.put(path)
        for path in complete_under:
            self._put(path, "directory")
            self._complete.add(path)

    def copy(self) -> FileState:
        """An independent state with the same knowledge."""
        new = FileState()
        new._kinds = dict(self._kinds)
        new._above = self._above
        new._complete = set(self._complete)
        new._listed = set(self._listed)
        new._changed = dict(self._changed)
        new.texts = dict(self.texts)
        new.stashes = list(self.stashes)
        new.editor_file = self.editor_file
        return new

    def restore(self, other: FileState) -> None:
        """Know what `other` knows, and no more."""
        self._kinds = dict(other._kinds)
        self._above = self._above | other._above
        self._complete = set(other._complete)
        self._listed = set(other._listed)
        self._changed = dict(other._changed)
        self.texts.clear()
        self.texts.update(other.texts)
        self.stashes = list(other.stashes)
        self.editor_file = other.editor_file

    def kind(self, path: str) -> Kind:
        """``file``, ``directory``, ``absent`` or ``unknown``."""
        kinds = self._kinds
        found = kinds.get(path)
        if found is not None:
            return found
        if not kinds and not self._complete:
            return "unknown"
        if path == "~":
            return "unknown"
        above = parent_of(path)
        if above in self._listed:
            return "absent"
        complete = self._complete
        while True:
            known = kinds.get(above)
            if known == "absent" or known == "file":
                return "absent"
            if above in complete:
                return "absent"
            if above in ("/", ".", "", "~") or known == "unknown":
                return "unknown"
            if known == "directory" and not complete:
                return "unknown"  # what lies above a directory is directories
            above = parent_of(above)

    def put(self, path: str) -> None:
        """A file exists here now, and so do the directories above it."""
        self._put(path, "file")
        self._raise(path)

    def put_directory(self, path: str, *, empty: bool = False) -> None:
        """A directory exists here now; `empty` when it has just been made."""
        self._put(path, "directory")
        if empty:
            self._complete.add(path)
        self._raise(path)

    def _put(self, path: str, kind: Kind) -> None:
        self._kinds[path] = kind
        known, above = self._above, parent_of(path)
        while above not in known:
            known.add(above)
            above = parent_of(above)

    def _raise(self, path: str) -> None:
        kinds = self._kinds
        above = parent_of(path)
        while above not in ("/", "."):
            if kinds.get(above) == "directory":
                return
            kinds[above] = "directory"
            above = parent_of(above)

    def note_change(self, path: str, action: Action) -> None:
        """A file was created, modified or deleted; its first change is kept."""
        self._changed.setdefault(path, action)

    def changed(self) -> dict[str, Action]:
        """The files changed so far, with what happened to each first."""
        return self._changed

    def remove(self, path: str) -> None:
        """Nothing exists here any more, nor below."""
        if self._kinds.get(path) != "file":
            self._complete.discard(path)
            self._listed.discard(path)
            if path in self._above:
                below = path + "/"
                for known in [known for known in self._kinds if known.startswith(below)]:
                    del self._kinds[known]
                for names in (self._complete, self._listed):
                    for known in [known for known in names if known.startswith(below)]:
                        names.discard(known)
        self._put(path, "absent")

    def forget(self, path: str) -> None:
        """Whether there is a file here is not known any more."""
        self._put(path, "unknown")

    def list_directory(self, path: str, names: Iterable[str]) -> None:
        """A listing showed exactly these files in a directory (a name may end in ``/``)."""
        self.put_directory(path)
        for name in names:
            below = join(path, name.rstrip("/"))
            if below is None:
                continue
            if name.endswith("/"):
                self.put_directory(below)
            elif self._kinds.get(below) not in ("file", "directory"):
                self._put(below, "file")
        self._listed.add(path)

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
        start = "" if path == "." else path if path == "/" else path + "/"
        wanted = ("file", "directory") if directories else ("file",)
        return sorted(
            known
            for known, kind in self._kinds.items()
            if kind in wanted
            and known.startswith(start)
            and known != path
            and (start or known[:1] not in "/~")
        )

    def expand(self, base: str | None, pattern: str) -> tuple[list[str], bool]:
        """Words that a pattern stands for, as the shell would write them, and whether all.

        Args:
            base: The working directory, None where it is not known.
            pattern: A word with pattern marks.
        """
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
                if not (self.is_complete(place) or place in self._listed):
                    complete = False
                for name, kind in self._entries(place):
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
            if kind in ("file", "directory")
            and known.startswith(start)
            and "/" not in known[size:]
            and len(known) > size
        )


class _Touch:
    """What happened to one path during a command."""

    __slots__ = (
        "after",
        "before",
        "guess",
        "named",
        "rank",
        "read",
        "renamed_from",
        "restored",
        "tool",
        "wrote",
    )

    def __init__(self, before: Kind, tool: str, rank: int, named: bool) -> None:
        self.before: Kind = before
        self.after: Kind = before
        self.guess: Action = "created"
        self.tool = tool
        self.rank = rank
        self.named = named
        self.read = False
        self.wrote = False
        self.renamed_from: str | None = None
        self.restored = False


_Mark = tuple[FileState, dict[str, _Touch], dict[Any, Certainty], dict[str, str]]


class Effects:
    """The effects of one command as they happen, on a state that they change."""

    __slots__ = ("_contents", "_fresh", "_lost", "_touches", "state")

    def __init__(self, state: FileState) -> None:
        self.state = state
        self._touches: dict[str, _Touch] = {}
        self._lost: dict[tuple[str | None, Action, str, bool], Certainty] = {}
        self._contents: dict[str, str] = {}
        self._fresh = 0

    def content(self, path: str) -> str:
        """A name for the contents of a file: the same name, the same bytes."""
        return self._contents.get(path, path)

    def mark(self) -> _Mark:
        """A point to go back to with `rewind`."""
        touches = {path: copy(touch) for path, touch in self._touches.items()}
        return self.state.copy(), touches, dict(self._lost), dict(self._contents)

    def rewind(self, mark: _Mark) -> None:
        """Forget what happened since the mark."""
        self.state.restore(mark[0])
        self._touches, self._lost, self._contents = mark[1], mark[2], mark[3]

    def _touch(self, path: str, tool: str, rank: int, named: bool) -> _Touch:
        found = self._touches.get(path)
        if found is None:
            found = self._touches[path] = _Touch(self.state.kind(path), tool, rank, named)
        else:
            found.named = found.named or named
        return found

    def read(self, path: str, tool: str, rank: int = 0, *, named: bool = True) -> None:
        """The contents of a file were read, so it exists."""
        touch = self._touch(path, tool, rank, named)
        if not touch.read and not touch.wrote:
            touch.tool, touch.rank = tool, rank
        touch.read = True
        if rank == 0 and self.state.kind(path) == "unknown":
            if touch.before == "unknown":
                touch.before = touch.after = "file"
            self.state.put(path)

    def write(
        self,
        path: str,
        tool: str,
        rank: int = 0,
        *,
        guess: Action = "created",
        existed: bool = False,
        named: bool = True,
        renamed_from: str | None = None,
        content: str | None = None,
        restored: bool = False,
    ) -> None:
        """A file got new contents. `existed`: the command works only on a file that exists.

        `guess` is the more usual of created and modified where it is not known.
        """
        touch = self._touch(path, tool, rank, named)
        if existed and touch.before == "unknown" and not touch.wrote:
            touch.before = "file"
        if not touch.wrote:
            touch.guess = guess
        if not (touch.wrote and touch.rank < rank):
            touch.rank = rank if not touch.wrote else min(touch.rank, rank)
        touch.tool = tool
        touch.wrote = True
        touch.restored = restored
        touch.after = "file"
        if content is None:
            self._fresh += 1
            content = f"\n{self._fresh}"
        self._contents[path] = content
        if renamed_from is not None:
            touch.renamed_from = renamed_from
        if rank < 2:
            self.state.put(path)
        else:
            self.state.forget(path)

    def delete(
        self,
        path: str,
        tool: str,
        rank: int = 0,
        *,
        existed: bool = False,
        named: bool = True,
    ) -> None:
        """A file is no more. `existed`: the command would have failed without it."""
        kind = self.state.kind(path)
        if kind == "absent" and not existed:
            return
        touch = self._touch(path, tool, rank, named)
        if existed and touch.before == "unknown" and not touch.wrote:
            touch.before = "file"
        touch.after = "absent"
        touch.tool, touch.rank = tool, rank
        if rank < 2:
            self.state.remove(path)
        else:
            self.state.forget(path)

    def unknown(
        self,
        tool: str,
        path: str | None = None,
        *,
        action: Action = "unknown",
        certainty: Certainty = "unknown",
        pattern: bool = False,
    ) -> None:
        """A program may have changed files, or did so where the paths are not known."""
        self._lost.setdefault((path, action, tool, pattern), certainty)

    def changed(self) -> dict[str, Action]:
        """The files that were changed so far, in this command as well, and what happened to
        each first."""
        found = dict(self.state.changed())
        for path, touch in self._touches.items():
            if touch.before == "file" and (touch.wrote or touch.after == "absent"):
                found.setdefault(path, "modified" if touch.after == "file" else "deleted")
        return found

    def settle(self) -> list[FileEffect]:
        """What it all comes to, sorted by path; things without a path come last."""
        out: list[FileEffect] = []
        for path in sorted(self._touches):
            touch = self._touches[path]
            effect = self._net(path, touch)
            if effect is None:
                continue
            if TEMPORARY in path:
                if effect.action in ("created", "modified") and not _is_scratch(path):
                    self.unknown(touch.tool, action="created")
                continue
            if effect.renamed_from is not None and TEMPORARY in effect.renamed_from:
                effect = msgspec.structs.replace(effect, renamed_from=None)
            out.append(effect)
            if effect.action != "read" and effect.certainty != "unknown":
                self.state.note_change(path, effect.action)
        for key in sorted(self._lost, key=lambda item: (item[0] or "\uffff", item[1], item[2])):
            lost_path, action, tool, pattern = key
            shown = lost_path if lost_path is None else _shown(lost_path)
            out.append(
                FileEffect(shown, action, self._lost[key], tool, named=True, pattern=pattern)
            )
        return out

    def _net(self, path: str, touch: _Touch) -> FileEffect | None:
        rank = touch.rank
        action: Action
        renamed: str | None = None
        if touch.after == "absent":
            if touch.before == "absent" or touch.before == "directory":
                return None
            if touch.before == "unknown":
                if touch.wrote and touch.guess == "created":
                    return None
                rank = 2  # as with ``rm -f``: nothing says that there was a file
            action = "deleted"
        elif touch.wrote and self._contents.get(path) == path and touch.before != "absent":
            if not touch.read:
                return None
            action = "read"
        elif touch.wrote:
            if touch.before == "unknown":
                action = touch.guess
                rank = max(rank, 1)
            elif touch.before == "file":
                action = "modified"
            else:
                action = "created"
            renamed = touch.renamed_from
        elif touch.read:
            if touch.before == "absent":
                return None
            action = "read"
        else:
            return None
        return FileEffect(
            path,
            action,
            _BY_RANK[rank],
            touch.tool,
            renamed,
            touch.named,
            restored=touch.restored and action != "read",
        )


def _is_scratch(path: str) -> bool:
    return path.startswith(("/tmp/", "/var/tmp/"))  # noqa: S108  # compared, never opened


def _shown(path: str) -> str:
    if PATTERN_MARKS.isdisjoint(path) and UNKNOWN not in path:
        return path
    return (
        path.replace(STAR, "*")
        .replace(QUESTION, "?")
        .replace(BRACKET, "[")
        .replace(UNKNOWN, "…")
    )
