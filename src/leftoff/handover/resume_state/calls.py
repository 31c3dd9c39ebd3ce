"""Calls of tools in words: which tool, and what it was about."""

from __future__ import annotations

from leftoff.codec import JsonObject
from leftoff.extraction.patches import patched_files
from leftoff.formats.vocabulary import kind_of, text_argument
from leftoff.model import ToolCall
from leftoff.shell.embedded.tool_script import tool_steps
from leftoff.text.truncation import short

# Parameters that tell what a call is about, the most telling first.
_SUBJECT_PARAMETERS = (
    "command cmd file_path path filename notebook_path pattern query url description prompt"
).split()

_PATCHES = ("*** Begin Patch", "--- a/", "diff --git ")


def describe_call(name: str, parameters: JsonObject, limit: int = 160) -> str:
    """A call on one line: the tool, and its command, file or whatever tells most.

    >>> describe_call("Bash", {"command": "npm test", "timeout": 60})
    'Bash npm test'
    """
    steps = _steps(name, parameters)
    if steps:
        return short("; ".join(dict.fromkeys(map(_step_text, steps))), limit, "…")
    subject = next((parameters[k] for k in _SUBJECT_PARAMETERS if parameters.get(k)), None)
    if subject is None:
        subject = next((v for v in parameters.values() if isinstance(v, str) and v), "")
    if isinstance(subject, (list, tuple)):
        subject = " ".join(str(word) for word in subject)
    subject = str(subject)
    if subject.lstrip().startswith(_PATCHES):
        subject = _patched_files(subject)
    return short(f"{name} {subject}".strip(), limit, "…")


def commands_of(name: str, arguments: object) -> tuple[str, ...]:
    """The command lines that a call runs, also those of a script that calls other tools."""
    if kind_of(name) == "script":
        return tuple(text for kind, text, _ in _steps(name, arguments) if kind == "command")
    if kind_of(name) != "shell":
        return ()
    text = text_argument(ToolCall("", name, "shell", arguments), "command")
    return (text,) if text else ()


def changes_by_patch(name: str, arguments: object) -> bool:
    """Whether a call is a script that changes files by patches."""
    return any(kind == "patch" for kind, _, _ in _steps(name, arguments))


def _steps(name: str, arguments: object) -> list[tuple[str, str, str]]:
    if kind_of(name) != "script":
        return []
    return tool_steps(text_argument(ToolCall("", name, "script", arguments), "command"))


def _step_text(step: tuple[str, str, str]) -> str:
    kind, text, _ = step
    return f"apply_patch {_patched_files(text)}" if kind == "patch" else text


def _patched_files(patch: str) -> str:
    """The files that a patch changes."""
    return ", ".join(dict.fromkeys(target or path for _, path, target in patched_files(patch)))
