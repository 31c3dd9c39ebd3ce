"""Calls of tools in words: which tool, and what it was about."""

from __future__ import annotations

from typing import Any

from leftoff.extraction.patches import patched_files
from leftoff.formats.vocabulary import kind_of, text_argument
from leftoff.model import ToolCall
from leftoff.shell.embedded.tool_script import tool_steps
from leftoff.text.truncation import short

_TELLING = (
    "command", "cmd", "file_path", "path", "filename", "notebook_path", "pattern", "query",
    "url", "description", "prompt",
)  # fmt: skip
"""Parameters that tell what a call is about, the most telling first."""

_PATCHES = ("*** Begin Patch", "--- a/", "diff --git ")


def described(name: str, parameters: dict[str, Any], limit: int = 160) -> str:
    """A call on one line: the tool, and its command, file or whatever tells most.

    >>> described("Bash", {"command": "npm test", "timeout": 60})
    'Bash npm test'
    """
    steps = _steps(name, parameters)
    if steps:
        return short("; ".join(dict.fromkeys(map(_step, steps))), limit, "…")
    about = next((parameters[k] for k in _TELLING if parameters.get(k)), None)
    if about is None:
        about = next((v for v in parameters.values() if isinstance(v, str) and v), "")
    if isinstance(about, (list, tuple)):
        about = " ".join(str(word) for word in about)
    about = str(about)
    if about.lstrip().startswith(_PATCHES):
        about = _patched(about)
    return short(f"{name} {about}".strip(), limit, "…")


def commands_of(name: str, given: Any) -> tuple[str, ...]:
    """The command lines that a call runs, also those of a script that calls other tools."""
    if kind_of(name) == "script":
        return tuple(text for kind, text, _ in _steps(name, given) if kind == "command")
    if kind_of(name) != "shell":
        return ()
    text = text_argument(ToolCall("", name, "shell", given), "command")
    return (text,) if text else ()


def patches_of(name: str, given: Any) -> bool:
    """Whether a call is a script that changes files by patches."""
    return any(kind == "patch" for kind, _, _ in _steps(name, given))


def _steps(name: str, given: Any) -> list[tuple[str, str, str]]:
    if kind_of(name) != "script":
        return []
    return tool_steps(text_argument(ToolCall("", name, "script", given), "command"))


def _step(step: tuple[str, str, str]) -> str:
    kind, text, _ = step
    return f"apply_patch {_patched(text)}" if kind == "patch" else text


def _patched(patch: str) -> str:
    """The files that a patch changes."""
    return ", ".join(dict.fromkeys(target or path for _, path, target in patched_files(patch)))
