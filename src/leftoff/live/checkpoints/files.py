"""The markdown files of tasks on disk, and the git diff of a task's directory."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from leftoff import workspace
from leftoff.errors import StateError
from leftoff.handover.checkpoint import roles
from leftoff.handover.checkpoint.file_names import SANDBOX, validate_name
from leftoff.redaction.redactor import Redactor
from leftoff.redaction.rules import is_secret_path
from leftoff.stores.atomic import Directory
from leftoff.stores.locked_file import state_errors

# Maximum size in bytes of a markdown file that we change; a larger one is an error.
MAX_FILE_BYTES = 16 << 20


class Sandbox:
    """The folder `contexts/sandbox/{project}` of a task's directory. `NotPlainName` where the
    name could leave the sandbox.

    No component of it may be a link, so that nothing outside the directory is written. What
    reads or writes raises `StateError` where that fails or a file is not a regular one."""

    def __init__(self, directory: Path, project: str) -> None:
        self.directory, self.project = directory, validate_name(project)

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """Reads files; "" for one that does not exist."""
        with self._open() as folder:
            return {name: _read_text(folder, name) for name in names}

    def update(self, changes: Mapping[str, Callable[[str], str]]) -> None:
        """Changes files under the folder's lock; what is written is redacted. `changes`: maps
        the old text to the new one, by file name; "" stands for no file."""
        with self._open() as folder, folder.lock(".leftoff.lock"):
            folder.remove_stale_temporaries()
            for name, change in changes.items():
                before = _read_text(folder, name)
                after = Redactor().text(change(before))
                if after != before:
                    folder.replace(name, after.encode("utf-8", "replace"))
            folder.fsync()

    @contextmanager
    def _open(self) -> Iterator[Directory]:
        where = f"{self.directory}/{SANDBOX}/{self.project}"
        with state_errors(where), ExitStack() as stack:
            folder = stack.enter_context(Directory.open(self.directory))
            for name in (*SANDBOX.split("/"), self.project):
                folder.mkdir(name)
                folder = stack.enter_context(folder.subdirectory(name))
            yield folder


def _read_text(folder: Directory, name: str) -> str:
    try:
        return folder.read(name, MAX_FILE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StateError(f"{folder.path / name}: {error.strerror or error}") from error


# -- git -------------------------------------------------------------------------------------


def git_diff(directory: str | os.PathLike[str], globs: Sequence[str] = ()) -> str | None:
    """The diff of a directory against the last commit, of the files that match `globs`, without
    the content of secret files; None if git fails or times out."""
    diff = workspace.git_diff(directory)
    return None if diff is None else filter_diff(diff, globs)


def filter_diff(diff: str, globs: Sequence[str] = ()) -> str:
    """The files of a diff that match the globs, without the content of secret files."""
    patterns = [roles.glob_matcher(g) for g in globs]
    out: list[str] = []
    included = True
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            names = [n.removeprefix("a/") for n in line[len("diff --git ") :].split(" b/")]
            included = not patterns or any(fits(names[-1]) for fits in patterns)
            if included:
                out.append(line)
            if included and any(is_secret_path(name) for name in names):
                out.append("(a file of secrets: its content is left out)")
                included = False
        elif included:
            out.append(line)
    return "\n".join(out) + ("\n" if out else "")
