"""Calls of tools in words: which tool, and what it was about."""

from __future__ import annotations

from typing import Any

from leftoff.extraction.patches import patched_files
from leftoff.text import one_line

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
    about = next((parameters[k] for k in _TELLING if parameters.get(k)), None)
    if about is None:
        about = next((v for v in parameters.values() if isinstance(v, str) and v), "")
    if isinstance(about, (list, tuple)):
        about = " ".join(str(word) for word in about)
    about = str(about)
    if about.lstrip().startswith(_PATCHES):
        about = ", ".join(
            dict.fromkeys(target or path for _, path, target in patched_files(about))
        )
    return one_line(f"{name} {about}".strip(), limit)
