"""Things done to files, one at a time: read, write, delete, copy, move.

Each says whether it succeeds as far as that can be told (True, False, None) and records its
effect. A path that cannot be told is recorded as unknown.
"""

from __future__ import annotations

from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.expansion import Expansion, plain
from leftoff.shell.filesystem import Action, join, parent_of
from leftoff.shell.state import SPECIAL, Status

__all__ = ["Deeds", "looks_like_directory"]


class Deeds(Expansion):
    """The deeds of a walk."""

    def path(self, field: str) -> str | None:
        """The normal path that a field names; None where it cannot be known."""
        if UNKNOWN in field or not field:
            return None
        return join(self.cwd, field)

    def known_text(self, field: str) -> str | None:
        """The contents of a file that this command wrote itself."""
        path = self.path(field)
        return None if path is None else self.contents.get(path)

    def _forget_text(self, path: str) -> None:
        """What was known to stand in a file, or to be packed in it, does no more."""
        self.contents.pop(path, None)
        self.contents.pop("archive:" + path, None)

    def lost(self, field: str | None, action: Action, tool: str | None = None) -> None:
        """Something was done to a path that cannot be told."""
        tool = tool or self.tool
        if field is not None and UNKNOWN not in field:
            path = join(self.cwd, field)
            if path is not None and not PATTERN_MARKS.isdisjoint(path):
                self.effects.unknown(tool, path, action=action, pattern=True)
                return
        self.effects.unknown(tool, None, action=action)

    def special(self, field: str) -> bool:
        """Whether a field does not name one known path."""
        return not SPECIAL.isdisjoint(field) or (self.cwd is None and field[:1] not in "/~")

    def read(self, field: str, tool: str | None = None, *, named: bool = True) -> Status:
        """The contents of a file are read."""
        if field in ("-", "/dev/stdin", "/dev/fd/63") or field.startswith("/dev/"):
            return True
        tool = tool or self.tool
        if self.special(field):
            if self.complains(tool, plain(field)):
                return False
            self.lost(field, "read", tool)
            return None
        path = self.path(field)
        if path is None:
            return False
        kind = self.state.kind(path)
        blamed = self.complains(tool, field) or (tool == "<" and self.complains(">", field))
        if kind == "absent" or kind == "directory" or blamed:
            return False
        if kind == "unknown" and self.want is False and not self.complains(tool):
            return None
        rank = self.rank
        if kind == "unknown" and not self.sure():
            rank = max(rank, 1)
        self.effects.read(path, tool, rank, named=named)
        return True if kind == "file" or self.want is True else None

    def read_tree(self, field: str, suffixes: tuple[str, ...] = ()) -> Status:
        """All files below a directory (or the one file) are read."""
        if self.special(field):
            self.lost(field, "read")
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
                self.effects.read(below, self.tool, max(self.rank, 1), named=False)
        return True if kind == "directory" else None

    def write_blocked(self, field: str) -> Status:
        """False where a file can be written here, True where not, None where not known."""
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
        """A file gets new contents; False where that must fail."""
        tool = tool or self.tool
        if field in ("-", "/dev/stdout", "/dev/stderr") or field.startswith("/dev/"):
            return True
        if self.special(field):
            self.lost(field, "modified" if existed else "unknown", tool)
            return True
        path = self.path(field)
        if path is None or self.write_blocked(field) is True or field[-1:] == "/":
            return False
        if existed and self.state.kind(path) == "absent":
            return False
        self._forget_text(path)
        self.effects.write(
            path,
            tool,
            self.rank,
            guess="modified" if guess_append else "created",
            existed=existed,
            named=named,
        )
        return True

    def modify(self, field: str, tool: str | None = None, *, named: bool = True) -> Status:
        """A file that exists is changed."""
        tool = tool or self.tool
        if self.special(field):
            self.lost(field, "modified", tool)
            return None
        path = self.path(field)
        if path is None:
            return False
        kind = self.state.kind(path)
        if kind in ("absent", "directory") or self.complains(tool, field):
            return False
        if self.want is False and kind == "unknown":
            return None
        self._forget_text(path)
        self.effects.write(
            path, tool, self.rank, guess="modified", existed=self.sure(), named=named
        )
        return True if kind == "file" else None

    def delete(
        self, field: str, *, force: bool = False, recursive: bool = False, shown: bool = False
    ) -> Status:
        """A file, or with `recursive` a directory, is removed; `shown`: the output says so."""
        if self.special(field):
            if not self.complains(self.tool, plain(field)):
                self.lost(field, "deleted")
            return None
        path = self.path(field)
        if path is None:
            return False
        kind = self.state.kind(path)
        if kind == "absent":
            return force
        if self.complains(self.tool, field):
            return False
        if kind == "directory" or (kind == "unknown" and field[-1:] == "/"):
            if not recursive:
                return False
            return self._delete_tree(path, kind == "directory")
        if kind == "unknown" and self.want is False:
            return None
        if kind == "unknown" and recursive and looks_like_directory(path):
            return self._delete_tree(path, False)
        existed = shown or (not force and self.sure())
        self.effects.delete(path, self.tool, self.rank, existed=existed)
        return True if kind == "file" or force else None

    def _delete_tree(self, path: str, known: bool) -> Status:
        complete = self.state.is_complete(path)
        for below in self.state.below(path):
            self.effects.delete(below, self.tool, self.rank, named=False)
        if not complete:
            certainty = "sure" if known and not self.rank else "likely"
            shown = path + "/"
            self.effects.unknown(
                self.tool,
                shown,
                action="deleted",
                certainty=certainty if self.rank < 2 else "unknown",  # type: ignore[arg-type]
            )
        if self.rank < 2:
            self.state.remove(path)
        return True

    def make_directory(self, field: str, *, parents: bool = False) -> Status:
        """A directory is made: none of the four actions, but it is known from here on."""
        path = self.path(field) if not self.special(field) else None
        if path is None:
            return None
        kind = self.state.kind(path)
        if kind == "directory":
            return parents
        if kind == "file" or (not parents and self.state.kind(parent_of(path)) == "absent"):
            return False
        if self.rank < 2 and self.want is not False:
            self.state.put_directory(path, empty=kind == "absent" or not parents)
        return True if kind == "absent" else None

    def place(self, source: str, target: str, target_is_directory: bool) -> str | None:
        """The field that a copy or move of `source` to `target` ends at."""
        if target_is_directory:
            name = source.rstrip("/").rpartition("/")[2]
            if name in (".", ".."):
                return target.rstrip("/") or "/"
            return target.rstrip("/") + "/" + name
        return target

    def transfer(self, source: str, target: str, *, move: bool, recursive: bool) -> Status:
        """A file (or tree) is copied or moved to exactly `target`."""
        if self.special(source) or self.special(target):
            if not self.special(target):
                self.lost_into(target)
            else:
                self.lost(target, "unknown")
            if move:
                self.lost(source, "deleted")
            return None
        old, new = self.path(source), self.path(target)
        if old is None or new is None:
            return False
        kind = self.state.kind(old)
        if kind == "absent" or self.complains(self.tool, source):
            return False
        if old == new:
            return False
        if kind == "unknown" and self.want is False:
            return None
        if self.state.kind(parent_of(new)) == "absent" or self.complains(self.tool, target):
            if not move and kind == "file":
                self.effects.read(old, self.tool, self.rank)
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
        rank = self.rank
        certain = self.sure()
        text = self.contents.get(old)
        content = self.effects.content(old)
        if move:
            self.effects.delete(old, self.tool, rank, existed=certain)
        else:
            self.effects.read(old, self.tool, rank if certain else max(rank, 1))
        self.effects.write(
            new,
            self.tool,
            rank,
            renamed_from=old if move else None,
            content=content,
        )
        self._forget_text(new)
        if text is not None:
            self.contents[new] = text
        return True if kind == "file" else None

    def lost_into(self, target: str) -> None:
        """Files that are not known were written to or below a known place."""
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
                self.effects.delete(below, self.tool, self.rank, named=False)
            else:
                self.effects.read(below, self.tool, self.rank, named=False)
            self.effects.write(
                there,
                self.tool,
                self.rank,
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
    """Whether a name that nothing is known of is more likely a directory's than a file's."""
    name = path.rstrip("/").rpartition("/")[2]
    if path[-1:] == "/":
        return True
    stem, dot, suffix = name.rpartition(".")
    return not (dot and stem and suffix) and not name[:1].isupper()


def _names_a_file(path: str, former: str) -> bool:
    """Whether a new name tells that what is moved is a file, whatever its old one looked like:
    `mv .hidden notes.txt`, but not `mv .venv .venv.old`."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return bool(dot and stem and suffix.isalpha()) and not name.startswith(
        former.rpartition("/")[2]
    )
