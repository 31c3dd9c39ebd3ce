"""Compares predicted file changes with the true ones; the baseline is seed 001's tracking."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from leftoff.evaluation.file_truth import is_excluded
from leftoff.evaluation.matching import Counts
from leftoff.model import Message, ToolCall


class FileCounts(Counts, frozen=True, kw_only=True):
    """Right, wrong and missed (path, action) pairs of one session."""

    name: str
    session: int
    paths: int  # number of pairs with the right path and any action
    half: str = ""
    left_out: int = 0


def root_directory(predicted: Iterable[str], true: Iterable[str], cwd: str) -> str:
    """The directory that the true paths are relative to: the one under which most of them occur
    among the predicted paths; the session's own directory if none of them occurs."""
    tails = sorted(true)
    votes: Counter[str] = Counter()
    for path in predicted:
        for tail in tails:
            if path.endswith("/" + tail):
                votes[path[: -len(tail) - 1]] += 1
    if not votes:
        return cwd
    return min(votes, key=lambda root: (-votes[root], root != cwd, len(root), root))


def relative_paths(predicted: Mapping[str, str], root: str, name: str = "") -> dict[str, str]:
    """The changed files under a directory, relative to it, without excluded files."""
    found: dict[str, str] = {}
    start = root.rstrip("/") + "/" if root else ""
    for path, action in predicted.items():
        if action == "read" or path.endswith("/"):
            continue
        if start and path.startswith(start):
            path = path[len(start) :]
        elif path[:1] in "/~" or path[1:2] == ":":
            continue
        if not is_excluded(path, name) and not path.startswith((".git/", "../")):
            found[path] = action
    return found


def compare(
    name: str,
    session: int,
    predicted: Mapping[str, str],
    true: Mapping[str, str],
    *,
    half: str = "",
    left_out: int = 0,
) -> FileCounts:
    """The counts of one session; both sides are relative to the same directory."""
    pairs, real = set(predicted.items()), set(true.items())
    right = len(pairs & real)
    return FileCounts(
        name=name,
        session=session,
        right=right,
        wrong=len(pairs) - right,
        missed=len(real) - right,
        paths=len(predicted.keys() & true.keys()),
        half=half,
        left_out=left_out,
    )


# -- the baseline: file tracking as specified in seed 001 --------------------------------------

_REMOVES = re.compile(r"\brm\s+")
_WORD = re.compile(r"[^\s\"'`<>|;&(){}=,]+")
_PATH = re.compile(r"[./]")
_PLACES = ("file_path", "path", "filePath", "filename", "notebook_path")
_COMMANDS = ("command", "cmd", "code", "input")
_SHELLS = frozenset({"shell", "python", "powershell", "script"})
_CHANGES = frozenset({"edit", "patch", "notebook", "delete", "move"})


def seed001_files(messages: Iterable[Message]) -> dict[str, str]:
    """Last action by path. A shell command that holds ``rm`` deletes, any other modifies, every
    word that can be a path: the seed defines none. As there, results are ignored."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for message, call in _calls(messages):
        if call.kind in _SHELLS:
            command = _text(call, _COMMANDS)
            action = "deleted" if _REMOVES.search(command) else "modified"
            for word in _WORD.findall(command):
                if not word.startswith("-") and _PATH.search(word):
                    found[absolute_path(word, message.cwd)] = action
            continue
        path = _text(call, _PLACES)
        if not path:
            continue
        path = absolute_path(path, message.cwd)
        writes = call.kind == "create" or (
            isinstance(call.input, dict) and call.input.get("command") == "create"
        )
        if call.kind == "read":
            seen.add(path)
            found.setdefault(path, "read")
        elif writes:
            found[path] = "modified" if path in seen else "created"
        elif call.kind in _CHANGES:
            found[path] = "modified"
    return found


def commands_by_seed001(messages: Iterable[Message]) -> tuple[int, int]:
    """(shell commands that the seed classifies as modified, all shell commands)."""
    commands = [_text(c, _COMMANDS) for _, c in _calls(messages) if c.kind == "shell"]
    return sum(_REMOVES.search(command) is None for command in commands), len(commands)


def absolute_path(path: str, directory: str) -> str:
    """A path made absolute (if the directory is known) and normalised."""
    if directory and path[:1] not in {"/", "~"} and path[1:2] != ":":
        path = f"{directory}/{path}"
    return posixpath.normpath(path) if path else ""


def _calls(messages: Iterable[Message]) -> Iterator[tuple[Message, ToolCall]]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                yield message, part


def _text(call: ToolCall, names: tuple[str, ...]) -> str:
    given = call.input
    if isinstance(given, str):
        return given
    for name in names if isinstance(given, dict) else ():
        value = given.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return " ".join(str(word) for word in value)
    return ""
