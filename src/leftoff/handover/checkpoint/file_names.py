"""Names of a task's files: derived from what is known of it, or checked where given."""

from __future__ import annotations

import re
import unicodedata

from leftoff.errors import NotPlainName
from leftoff.redaction.redactor import Redactor
from leftoff.text.truncation import whole

SANDBOX = "contexts/sandbox"
"""Where the markdown of tasks is, relative to the task's directory."""

PROJECT = "project"
"""The file that every project has, without its ending."""

_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_LONGEST = 64
_WORDS = 6


def derived(text: str, otherwise: str = PROJECT) -> str:
    """A plain name made of any text: small letters, digits and `-`, at most 64 characters.

    >>> derived("Fix: the /etc/../passwd reader!")
    'fix-the-etc-passwd-reader'
    """
    folded = unicodedata.normalize("NFKC", Redactor().text(whole(text, 1000))).casefold()
    words = re.findall(r"[^\W_]+", folded)[:_WORDS]
    name = "-".join(words).encode()[:_LONGEST].decode(errors="ignore").strip("-")
    if not name:
        return otherwise
    return f"{name}-files" if name in _DEVICES else name


def project_of(cwd: str) -> str:
    """The name of a project by its directory."""
    return derived(cwd.replace("\\", "/").rstrip("/").rpartition("/")[2])


def specific_of(goal: str, task_id: str) -> str:
    """The name of a task's own file by its goal; never that of the project's file."""
    name = derived(goal, derived(task_id, "task"))
    return "project-task" if name == PROJECT else name


def checked(name: str) -> str:
    """A name that somebody gave, if it is one plain path component on every system.

    Raises:
        NotPlainName: it is not: it has a separator, `..`, a control character, a colon, a dot
            or space at an end, is a device's name, empty or longer than 64 bytes.
    """
    plain = unicodedata.normalize("NFKC", name)
    stem = plain.partition(".")[0].strip().casefold()
    bad = (
        not plain.strip()
        or len(plain.encode("utf-8", "replace")) > _LONGEST
        or plain[0] in ". -"
        or plain[-1] in ". "
        or ".." in plain
        or stem in _DEVICES
        or any(c in '/\\:*?"<>|' or not c.isprintable() for c in plain)
    )
    if bad:
        raise NotPlainName(
            f"{name[:80]!r} is no plain name for a file; use letters, digits, '-' and '_'"
        )
    return plain


def paths(project: str, specific: str) -> tuple[str, str]:
    """Both files of a task, relative to its directory, with `/`.

    Raises:
        NotPlainName: a name could leave the sandbox, or both are the same.
    """
    folder, own = checked(project), checked(specific)
    if own.casefold() == PROJECT:
        raise NotPlainName(f"{specific!r} is the name of the project's own file")
    return f"{SANDBOX}/{folder}/{PROJECT}.md", f"{SANDBOX}/{folder}/{own}.md"
