"""What each call asks of which file, and how the call came back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct

from leftoff.extraction.evidence import Evidence, Ran, Touched
from leftoff.extraction.patches import patched_files
from leftoff.extraction.paths import absolute
from leftoff.extraction.view import FILE, View
from leftoff.formats.tools import argument, text_argument
from leftoff.model import ToolCall

_LANGUAGES = {
    "shell": "bash",
    "powershell": "powershell",
    "python": "python",
    "script": "javascript",
}


class Files(Struct):
    """Records file calls and command lines."""

    name: ClassVar[str] = "files"
    wants: ClassVar[int] = FILE

    def see(self, view: View) -> Iterable[Evidence]:
        found: list[Evidence] = []
        for number, part in enumerate(view.message.parts):
            if type(part) is ToolCall:
                found += _asked(view, number, part)
        return found


def _asked(view: View, number: int, call: ToolCall) -> list[Evidence]:
    language = _LANGUAGES.get(call.kind)
    if language is not None:
        return _ran(view, number, call, language)
    verb = _verb(call)
    if not verb:
        return []
    ref = view.record_ref(number)
    cwd = view.message.cwd
    if verb == "patch":
        return [
            Touched(ref, number, call.name, did, absolute(path, cwd), absolute(target, cwd))
            for did, path, target in patched_files(text_argument(call, "patch"))
        ]
    return [
        Touched(
            ref,
            number,
            call.name,
            verb,
            absolute(path, cwd),
            absolute(text_argument(call, "target"), cwd),
        )
        for path in _paths(call)
    ]


def _verb(call: ToolCall) -> str:
    """What the call does to its file: read | write | edit | create | delete | move | patch."""
    kind = call.kind
    if kind in {"read", "edit", "delete", "move", "patch"}:
        # One editor tool with a `command` argument may view, create or edit.
        command = argument(call, "verb")
        if command in {"view", "undo_edit"}:
            return "read" if command == "view" else "edit"
        if command == "create":
            return "write"
        if kind == "edit" and argument(call, "old") == "" and call.name in {"edit", "Edit"}:
            return "write"  # an empty old text creates the file
        if kind == "edit" and not _paths(call) and text_argument(call, "patch"):
            return "patch"
        return kind
    if kind == "notebook":
        return "edit"
    return "write" if kind == "create" else ""


def _paths(call: ToolCall) -> list[str]:
    several: Any = argument(call, "paths")
    if isinstance(several, list):
        return [p for p in several if isinstance(p, str)]
    path = text_argument(call, "path")
    if path:
        return [path]
    # Several edits in one call, each with its own path.
    edits: Any = argument(call, "edits")
    found: list[str] = []
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            keys = ("filePath", "file_path", "path")
            found += [edit[key] for key in keys if isinstance(edit.get(key), str)]
    return list(dict.fromkeys(found))


def _ran(view: View, number: int, call: ToolCall, language: str) -> list[Evidence]:
    command = text_argument(call, "command")
    if not command:
        return []
    cwd = absolute(text_argument(call, "cwd"), view.message.cwd) or view.message.cwd
    background = argument(call, "background") is True
    return [Ran(view.record_ref(number), number, call.name, command, cwd, language, background)]
