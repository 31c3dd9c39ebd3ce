"""The file baseline: seed 001's file tracking as specified there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from leftoff.model import Message, ToolCall

_REMOVES = re.compile(r"\brm\s+")
_WORD = re.compile(r"[^\s\"'`<>|;&(){}=,]+")
_PATH = re.compile(r"[./]")
_PLACES = ("file_path", "path", "filePath", "filename", "notebook_path")
_COMMANDS = ("command", "cmd", "code", "input")
_SHELLS = frozenset({"shell", "python", "powershell", "script"})
_CHANGES = frozenset({"edit", "patch", "notebook", "delete", "move"})


def seed001_files(messages: Iterable[Message]) -> dict[str, str]:
    """Last action by path. A shell command that holds ``rm`` deletes, any other modifies.

    The seed defines no path for a shell command; here every word of the command that can be a
    path counts. As in the seed, the results of commands are ignored.
    """
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
