"""The markdown of tasks on the disk, and what git says of a directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from leftoff import workspace
from leftoff.errors import StateError, Unsure
from leftoff.handover.checkpoint import roles
from leftoff.handover.checkpoint.file_names import SANDBOX, checked
from leftoff.redaction.redactor import Redactor, is_secret_path
from leftoff.stores.atomic import Folder, NotSynced

LARGEST = 16 << 20
"""Bytes of a markdown file that we write into; a larger one is left alone."""

PATIENCE = 5.0
"""Seconds to wait for another process that writes into the same files."""

GIT_SECONDS = 1.0
"""Seconds that git may take."""

GIT_BYTES = 256 * 1024
"""Bytes of a diff that are kept."""


class Sandbox:
    """The folder `contexts/sandbox/{project}` of a task's directory.

    No component of it may be a link: what stands behind one is not ours to write.

    Args:
        directory: of the task.
        project: a plain name.

    Raises:
        NotPlainName: the name could leave the sandbox.
    """

    def __init__(self, directory: Path, project: str) -> None:
        self.directory, self.project = directory, checked(project)

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """The files of these names as they are, "" for one that is not there.

        Raises:
            StateError: one cannot be read, or is no plain file.
        """
        with self._open() as folder:
            return {name: _text(folder, name) for name in names}

    def update(self, changes: Mapping[str, Callable[[str], str]]) -> dict[str, str]:
        """Changes files, one writer at a time; gives their new texts, redacted as written.

        Args:
            changes: what a file's text becomes, by the file's name; "" stands for no file.

        Raises:
            StateError: one cannot be read or written, or is no plain file.
        """
        written: dict[str, str] = {}
        try:
            with self._open() as folder, self._turn(folder):
                folder.sweep()
                for name, change in changes.items():
                    before = _text(folder, name)
                    after = Redactor().text(change(before))
                    if after != before:
                        data = after.encode("utf-8", "replace")
                        with folder.stage(name, data) as staged:
                            staged.commit()
                    written[name] = after
                folder.sync()
        except OSError as error:
            raise StateError(f"{self._where()}: {error.strerror or error}") from error
        return written

    @contextmanager
    def _turn(self, folder: Folder) -> Iterator[None]:
        """Holds the lock of the folder."""
        try:
            with folder.locked(".leftoff.lock", PATIENCE):
                yield
        except TimeoutError as error:
            raise StateError(f"{self._where()}: held by another process") from error
        except NotSynced as error:
            why = f"written, but not certain to stay ({error.strerror})"
            raise Unsure(f"{self._where()}: {why}") from error

    def _where(self) -> str:
        return f"{self.directory}/{SANDBOX}/{self.project}"

    @contextmanager
    def _open(self) -> Iterator[Folder]:
        """The folder, made where it is missing."""
        try:
            with ExitStack() as stack:
                folder = stack.enter_context(Folder.opened(self.directory))
                for name in (*SANDBOX.split("/"), self.project):
                    folder.make(name)
                    folder = stack.enter_context(folder.inner(name))
                yield folder
        except OSError as error:
            raise StateError(f"{self._where()}: {error.strerror or error}") from error


def _text(folder: Folder, name: str) -> str:
    try:
        return folder.read(name, LARGEST).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StateError(f"{folder.path / name}: {error.strerror or error}") from error


# -- git -------------------------------------------------------------------------------------


def git_diff(directory: str | os.PathLike[str], globs: Sequence[str] = ()) -> str | None:
    """What changed in a directory against the last commit, None where git cannot tell.

    The content of files of secrets is left out.

    Args:
        globs: only these files, relative to the directory.
    """
    place = Path(directory)
    diff = workspace.git_diff(place, ["."], limit=GIT_BYTES, seconds=GIT_SECONDS)
    return None if diff is None else chosen(diff, globs, _inside(place))


def _inside(directory: Path) -> str:
    """Where a directory is in its repository: what the paths of a diff begin with."""
    here = directory.absolute()
    for above in (here, *here.parents):
        if (above / ".git").exists():
            inside = here.relative_to(above).as_posix()
            return "" if inside == "." else f"{inside}/"
    return ""


def chosen(diff: str, globs: Sequence[str] = (), inside: str = "") -> str:
    """The files of a diff that globs name, without what files of secrets hold.

    Args:
        globs: relative to `inside`; none means all.
        inside: what paths begin with.
    """
    patterns = [roles.glob(g) for g in globs]
    out: list[str] = []
    kept = True
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            names = [n.removeprefix("a/") for n in line[len("diff --git ") :].split(" b/")]
            own = names[-1].removeprefix(inside)
            kept = not patterns or any(fits(own) for fits in patterns)
            if kept:
                out.append(line)
            if kept and any(is_secret_path(name) for name in names):
                out.append("(a file of secrets: its content is left out)")
                kept = False
        elif kept:
            out.append(line)
    return "\n".join(out) + ("\n" if out else "")
