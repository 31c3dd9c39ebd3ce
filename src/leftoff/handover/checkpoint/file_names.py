"""Names of a task's markdown files: generated from its goal, or validated if given."""

import re
import unicodedata

from leftoff.errors import NotPlainName
from leftoff.redaction.redactor import Redactor
from leftoff.text.file_names import why_not_plain
from leftoff.text.truncation import whole

# The directory of the markdown files, relative to the task's directory.
SANDBOX = "contexts/sandbox"
# The name of the project's own file, without extension.
PROJECT = "project"

# Short enough that the whole path fits the 260 characters of Windows. Chosen by hand.
_MAX_BYTES = 64
# Of a goal as many words as are read at a glance in a list of files. Chosen by hand.
_MAX_WORDS = 6


def slugify(text: str, default: str = PROJECT) -> str:
    """A file name from any text: lower-case letters, digits and `-`, at most 64 bytes.

    >>> slugify("Fix: the /etc/../passwd reader!")
    'fix-the-etc-passwd-reader'"""
    normalized = unicodedata.normalize("NFKC", Redactor().text(whole(text, 1000))).casefold()
    words = re.findall(r"[^\W_]+", normalized)[:_MAX_WORDS]
    name = "-".join(words).encode()[:_MAX_BYTES].decode(errors="ignore").strip("-")
    if not name:
        return default
    # A checkout may be shared with Windows, where some names open a device.
    return f"{name}-files" if why_not_plain(name, _MAX_BYTES) else name


def project_name(cwd: str) -> str:
    """The name of a project, from its directory."""
    return slugify(cwd.replace("\\", "/").rstrip("/").rpartition("/")[2])


def task_file_name(goal: str, task_id: str) -> str:
    """The name of a task's own file, from its goal; never that of the project's file."""
    name = slugify(goal, slugify(task_id, "task"))
    return "project-task" if name == PROJECT else name


def validate_name(name: str) -> str:
    """A given name, NFKC-normalised, if it is one safe path component on every system.

    Raises:
        NotPlainName: it has a separator, `..`, a control character, a colon, a dot or space at
            an end, is a Windows device name, empty or longer than 64 bytes."""
    normalized = unicodedata.normalize("NFKC", name)
    odd = ".." in normalized or normalized[:1] in {"-", " "} or not normalized.isprintable()
    if odd or why_not_plain(normalized, _MAX_BYTES):
        raise NotPlainName(
            f"{name[:80]!r} is no plain name for a file; use letters, digits, '-' and '_'"
        )
    return normalized


def dump_paths(project: str, specific: str) -> tuple[str, str]:
    """The paths of both files of a task, relative to its directory, with `/`; `NotPlainName`
    where a name is not one safe path component, or both files are the same."""
    folder, task_file = validate_name(project), validate_name(specific)
    if task_file.casefold() == PROJECT:
        raise NotPlainName(f"{specific!r} is the name of the project's own file")
    return f"{SANDBOX}/{folder}/{PROJECT}.md", f"{SANDBOX}/{folder}/{task_file}.md"
