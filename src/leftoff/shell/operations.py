"""File operations of the interpreter: read, write, delete, copy, move.

Each operation returns its status (True, False, or None where it is not known) and records its
effect. An operation on a path that is not known is recorded as an unknown effect.
"""

from __future__ import annotations

import re

from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.expansion import Expansion
from leftoff.shell.filesystem import Action
from leftoff.shell.paths import join, parent_of
from leftoff.shell.quoting import unmark_patterns
from leftoff.shell.state import UNRESOLVED, Status

__all__ = ["FileOperations", "looks_like_directory"]


_NO_FILE = re.compile(
    r"-\Z|/dev/|(?:file:)?:memory:|file:.*[?&]mode=memory|(?!file:)[a-z][\w+]+://"
)
"""Streams, devices, databases in memory, addresses of databases and of the web."""


class FileOperations(Expansion):
    """The file operations; `field` is a word after expansion, which names a path."""

    def path(self, field: str) -> str | None:
        """The normal path that a field names; None where it cannot be known."""
        if UNKNOWN in field or not field:
            return None
        return join(self.cwd, field)

    def known_content(self, field: str) -> str | None:
        """The contents of a file that this command wrote itself."""
        path = self.path(field)
        return None if path is None else self.contents.get(path)

    def _forget_content(self, path: str) -> None:
        """Drop the tracked content of a file, and the tracked members of an archive."""
        self.contents.pop(path, None)
        self.contents.pop("archive:" + path, None)

    def record_unknown(
        self, field: str | None, action: Action, tool: str | None = None
    ) -> None:
        """Record an effect on an unknown path, or on the unknown matches of a pattern."""
        tool = tool or self.tool
        if field is not None and UNKNOWN not in field:
            path = join(self.cwd, field)
            if path is not None and not PATTERN_MARKS.isdisjoint(path):
                self.effects.unknown(tool, path, action=action, pattern=True)
                return
        self.effects.unknown(tool, None, action=action)

    def is_unresolved(self, field: str) -> bool:
        """Whether a field names no single known path: it holds unknown text or a pattern, or
        it is relative and the working directory is not known."""
        return not UNRESOLVED.isdisjoint(field) or (self.cwd is None and field[:1] not in "/~")

    def read(self, field: str, tool: str | None = None, *, named: bool = True) -> Status:
        """Read a file."""
        if _NO_FILE.match(field):
            return True
        tool = tool or self.tool
        if self.is_unresolved(field):
            if self.reports_error(tool, unmark_patterns(field)):
                return False
            self.record_unknown(field, "read", tool)
            return None
        path = self.path(field)
        if path is None:
            return False
        kind = self.state.kind(path)
        blamed = self.reports_error(tool, field) or (
            tool == "<" and self.reports_error(">", field)
        )
        if kind == "absent" or kind == "directory" or blamed:
            return False
        if kind == "unknown" and self.expected_status is False and not self.reports_error(tool):
            return None
        uncertainty = self.uncertainty
        if kind == "unknown" and not self.presumed_success():
            uncertainty = max(uncertainty, 1)
        self.effects.read(path, tool, uncertainty, named=named)
        return True if kind == "file" or self.expected_status is True else None

    def read_tree(self, field: str, suffixes: tuple[str, ...] = ()) -> Status:
        """Read all files below a directory, or the one file."""
        if self.is_unresolved(field):
            self.record_unknown(field, "read")
            return None
        path = self.path(field)
        if path is None:
            return False
        kind = self.state.kind(path)
        if kind == "file":
            return self.read(field)
        if kind == "absent":
            return False
        if kind == "unknown" and not looks_like_directory(field):
            return self.read(field)
        for below in self.state.below(path) if self.wide else ():
            if not suffixes or below.endswith(suffixes):
                self.effects.read(below, self.tool, max(self.uncertainty, 1), named=False)
        return True if kind == "directory" else None

    def write_blocked(self, field: str) -> Status:
        """True where no file can be written here, False where one can, None where not known."""
        path = self.path(field)
        if path is None:
            return None
        if self.state.kind(path) == "directory":
            return True
        above = self.state.kind(parent_of(path))
        if parent_of(path) in (".", "/"):
            return False
        return True if above in ("absent", "file") else None if above == "unknown" else False

    def write(
        self,
        field: str,
        tool: str | None = None,
        *,
        guess_append: bool = False,
        existed: bool = False,
        named: bool = True,
    ) -> bool:
        """Write a file; False where that must fail.

        `guess_append`: where nothing is known of the file, it more likely existed before.
        `existed`: the command works only on a file that exists.
        """
        tool = tool or self.tool
        if _NO_FILE.match(field):
            return True
        if self.is_unresolved(field):
            self.record_unknown(field, "modified" if existed else "unknown", tool)
            return True
        path = self.path(field)
        if path is None or self.write_blocked(field) is True or field[-1:] == "/":
            return False
        if existed and self.state.kind(path) == "absent":
            return False
        self._forget_content(path)
        self.effects.write(
            path,
            tool,
            self.uncertainty,
            guess="modified" if guess_append else "created",
            existed=existed,
            named=named,
        )
        return True

    def modify(self, field: str, tool: str | None = None, *, named: bool = True) -> Status:
        """Change a file that exists."""
        tool = tool or self.tool
        if self.is_unresolved(field):
            self.record_unknown(field, "modified", tool)
            return None
        path = self.path(field)
        if path is None:
            return False
        kind = self.state.kind(path)
        if kind in ("absent", "directory") or self.reports_error(tool, field):
            return False
        if self.expected_status is False and kind == "unknown":
            return None
        self._forget_content(path)
        self.effects.write(
            path,
            tool,
            self.uncertainty,
            guess="modified",
            existed=self.presumed_success(),
            named=named,
        )
        return True if kind == "file" else None

    def delete(
        self, field: str, *, force: bool = False, recursive: bool = False, shown: bool = False
    ) -> Status:
        """Remove a file, or with `recursive` a directory; `shown`: the output names it."""
        if self.is_unresolved(field):
            if not self.reports_error(self.tool, unmark_patterns(field)):
                self.record_unknown(field, "deleted")
            return None
        path = self.path(field)
        if path is None:
            return False
        kind = self.state.kind(path)
        if kind == "absent":
            return force
        if self.reports_error(self.tool, field):
            return False
        if kind == "directory" or (kind == "unknown" and field[-1:] == "/"):
            if not recursive:
                return False
            return self._delete_tree(path, kind == "directory")
        if kind == "unknown" and self.expected_status is False:
            return None
        if kind == "unknown" and recursive and looks_like_directory(path):
            return self._delete_tree(path, False)
        existed = shown or (not force and self.presumed_success())
        self.effects.delete(path, self.tool, self.uncertainty, existed=existed)
        return True if kind == "file" or force else None

    def _delete_tree(self, path: str, known: bool) -> Status:
        complete = self.state.is_complete(path)
        for below in self.state.below(path):
            self.effects.delete(below, self.tool, self.uncertainty, named=False)
        if not complete:
            certainty = "sure" if known and not self.uncertainty else "likely"
            shown = path + "/"
            self.effects.unknown(
                self.tool,
                shown,
                action="deleted",
                certainty=certainty if self.uncertainty < 2 else "unknown",  # type: ignore[arg-type]
            )
        if self.uncertainty < 2:
            self.state.remove(path)
        return True

    def make_directory(self, field: str, *, parents: bool = False) -> Status:
        """Make a directory: no effect of its own, but the directory is known from here on."""
        path = self.path(field) if not self.is_unresolved(field) else None
        if path is None:
            return None
        kind = self.state.kind(path)
        if kind == "directory":
            return parents
        if kind == "file" or (not parents and self.state.kind(parent_of(path)) == "absent"):
            return False
        if self.uncertainty < 2 and self.expected_status is not False:
            self.state.put_directory(path, empty=kind == "absent" or not parents)
        return True if kind == "absent" else None

    def destination(self, source: str, target: str, target_is_directory: bool) -> str | None:
        """The field that a copy or move of `source` to `target` creates."""
        if target_is_directory:
            name = source.rstrip("/").rpartition("/")[2]
            if name in (".", ".."):
                return target.rstrip("/") or "/"
            return target.rstrip("/") + "/" + name
        return target

    def transfer(self, source: str, target: str, *, move: bool, recursive: bool) -> Status:
        """Copy or move a file or a tree to exactly `target`."""
        if self.is_unresolved(source) or self.is_unresolved(target):
            if not self.is_unresolved(target):
                self.record_unknown_below(target)
            else:
                self.record_unknown(target, "unknown")
            if move:
                self.record_unknown(source, "deleted")
            return None
        old, new = self.path(source), self.path(target)
        if old is None or new is None:
            return False
        kind = self.state.kind(old)
        if kind == "absent" or self.reports_error(self.tool, source):
            return False
        if old == new:
            return False
        if kind == "unknown" and self.expected_status is False:
            return None
        if self.state.kind(parent_of(new)) == "absent" or self.reports_error(self.tool, target):
            if not move and kind == "file":
                self.effects.read(old, self.tool, self.uncertainty)
            return False
        looks_tree = kind == "unknown" and (recursive or move) and looks_like_directory(old)
        if looks_tree and not recursive and _names_a_file(new, old):
            looks_tree = False
        if kind == "directory" or looks_tree:
            if not (move or recursive):
                return False
            return self._transfer_tree(old, new, move)
        if self.state.kind(new) == "directory":
            return False
        uncertainty = self.uncertainty
        certain = self.presumed_success()
        text = self.contents.get(old)
        content = self.effects.content(old)
        if move:
            self.effects.delete(old, self.tool, uncertainty, existed=certain)
        else:
            self.effects.read(old, self.tool, uncertainty if certain else max(uncertainty, 1))
        self.effects.write(
            new,
            self.tool,
            uncertainty,
            renamed_from=old if move else None,
            content=content,
        )
        self._forget_content(new)
        if text is not None:
            self.contents[new] = text
        return True if kind == "file" else None

    def record_unknown_below(self, target: str) -> None:
        """Record that unknown files were written at or below a known path."""
        path = self.path(target)
        if path is not None:
            self.effects.unknown(self.tool, path, action="unknown")

    def _transfer_tree(self, old: str, new: str, move: bool) -> Status:
        complete = self.state.is_complete(old)
        known = self.state.below(old)
        folders = [p for p in self.state.below(old, directories=True) if p not in set(known)]
        self.state.put_directory(new, empty=complete and self.state.kind(new) == "absent")
        for below in known:
            there = new + below[len(old) :]
            content = self.effects.content(below)
            if move:
                self.effects.delete(below, self.tool, self.uncertainty, named=False)
            else:
                self.effects.read(below, self.tool, self.uncertainty, named=False)
            self.effects.write(
                there,
                self.tool,
                self.uncertainty,
                named=False,
                renamed_from=below if move else None,
                content=content,
            )
        for folder in folders:
            self.state.put_directory(new + folder[len(old) :])
        if not complete:
            if move:
                self.effects.unknown(self.tool, old + "/", action="deleted", certainty="likely")
            self.effects.unknown(self.tool, new + "/", action="created", certainty="likely")
        if move:
            self.state.remove(old)
        return True


def looks_like_directory(path: str) -> bool:
    """Whether a path of unknown kind is more likely a directory than a file, by its name."""
    name = path.rstrip("/").rpartition("/")[2]
    if path[-1:] == "/":
        return True
    stem, dot, suffix = name.rpartition(".")
    return not (dot and stem and suffix) and not name[:1].isupper()


def _names_a_file(path: str, former: str) -> bool:
    """Whether the new name shows that a file is moved, whatever the old name looks like:
    `mv .hidden notes.txt`, but not `mv .venv .venv.old`."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return bool(dot and stem and suffix.isalpha()) and not name.startswith(
        former.rpartition("/")[2]
    )
