"""What was changed in each file: lines, places, symbols, the last hunk, committed or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from leftoff.extraction.evidence import Edited, Ran, Touched
from leftoff.session_view import SessionView
from leftoff.shell.paths import relative
from leftoff.summary import FileModification

MAX_SYMBOLS = 8
"""Symbols of one file, the latest. Chosen by hand."""

_COMMIT = re.compile(r"\bgit\b[^\n;&|]*\bcommit\b")
_ADDS_ALL = re.compile(r"\bgit\b[^\n;&|]*(?:\badd +(?:-A|--all|-u|\.|:/)(?=[\s;&|]|$)"
                       r"|\bcommit\b[^\n;&|\"']* (?:-[b-z]*a[b-z]*|--all)\b)")  # fmt: skip
_ADDS = re.compile(r"\bgit\b[^\n;&|]*\b(?:add|rm|mv|commit)\b([^\n;&|]*)")


class _Changes(Struct):
    added: int = 0
    removed: int = 0
    message: int = -1
    lines: tuple[int, int] | None = None
    symbols: dict[str, None] = field(default_factory=dict)
    hunk: str = ""


def with_changes(
    modifications: Sequence[FileModification],
    view: SessionView,
    children: Iterable[SessionView],
    cwd: str,
) -> tuple[FileModification, ...]:
    """The modifications, each with what its edits changed.

    Edits of calls that failed, or that have no result, do not count.
    """
    found: dict[str, _Changes] = {}
    for number, one in enumerate((view, *children)):
        for edit in one.each(Edited):
            if one.succeeded(edit.message, edit.part):
                changes = found.setdefault(relative(edit.path, cwd), _Changes())
                _add(changes, edit, edit.message if number == 0 else -1)
    looked: set[tuple[str, int]] = set()
    wrote: set[tuple[str, int]] = set()
    for touched in view.each(Touched):
        place = relative(touched.path, cwd), touched.ref.message
        (looked if touched.verb == "read" else wrote).add(place)
    looked -= wrote
    commits = _Commits(view)
    result = []
    for file in modifications:
        of_main = [r.message for r in file.refs if r.source == view.source]
        if file.action != "read":
            of_main = [n for n in of_main if (file.path, n) not in looked]
        last = max(of_main, default=-1)
        file = replace(file, last_message=last)
        changes = found.get(file.path, _Changes())
        if file.action != "read":
            file = replace(file, committed=commits.include(file.path, last))
        if changes.added or changes.removed:
            file = replace(
                file,
                added=changes.added,
                removed=changes.removed,
                lines=changes.lines,
                symbols=tuple(changes.symbols)[::-1][:MAX_SYMBOLS],
                hunk=changes.hunk,
            )
        result.append(file)
    return tuple(result)


def _add(changes: _Changes, edit: Edited, message: int) -> None:
    changes.added += edit.added
    changes.removed += edit.removed
    changes.message = message
    if edit.first:
        changes.lines = edit.first, edit.last
    for symbol in edit.symbols:
        changes.symbols.pop(symbol, None)
        changes.symbols[symbol] = None
    changes.hunk = edit.hunk or changes.hunk


class _Commits:
    """The commands that staged and committed, by message."""

    def __init__(self, view: SessionView) -> None:
        self.made: list[int] = []
        self.staged: list[tuple[int, str]] = []
        for ran in view.active(Ran):
            if "git" not in ran.command or not view.succeeded(ran.ref.message, ran.part):
                continue
            if _COMMIT.search(ran.command):
                self.made.append(ran.ref.message)
            if _ADDS_ALL.search(ran.command):
                self.staged.append((ran.ref.message, "*"))
            self.staged += [(ran.ref.message, m[1]) for m in _ADDS.finditer(ran.command)]

    def include(self, path: str, last: int) -> bool | None:
        """Whether a commit after message `last` includes a file: False if there is none, None
        if none of the commands that staged files names it."""
        made = [m for m in self.made if m >= last]
        if not made:
            return False
        name = path.rsplit("/", 1)[-1]
        named = any(
            last <= at <= made[-1] and (what == "*" or name in what) for at, what in self.staged
        )
        return True if named else None
