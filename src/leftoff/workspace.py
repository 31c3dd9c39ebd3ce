"""The current state of the project: git, files and the workflow, as a frozen `Workspace`.

Git is run without a shell, with a time limit and an output limit. The repository is not
trusted: nothing that its configuration names is run (hooks, pager, file-system monitor,
external diffs, filters), no network is used, and nothing in it is written. If git is missing or
fails, its values are None."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from leftoff import lazy_re as re
from leftoff import subprocesses
from leftoff.errors import SourceError
from leftoff.handover.compatibility import FileStatus, Workspace, modified_after
from leftoff.handover.resume_state.document import RecordedFile, ResumeState, World
from leftoff.shell.paths import absolute, relative

# Time limit of one git command, and of a diff: a checkpoint has to be on disk within five
# seconds. Chosen by hand; not measured.
GIT_TIMEOUT, DIFF_TIMEOUT = 3.0, 1.0
# Bytes of a diff that are read.
MAX_DIFF = 256 * 1024
# Bytes of an answer that are read.
MAX_OUTPUT = 64 * 1024
# Bytes of a workflow's file, or of a file that is compared, that are read.
MAX_CONTENT = 64 * 1024 * 1024
# How many files of a session are looked at; the last ones.
MAX_FILES = 500

_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_FILTER = re.compile(r"^(filter\..+)\.(?:clean|process|smudge|required)$", re.DOTALL)
# Nothing that a repository configures may run, and an answer has one form everywhere. Warnings
# about line ends, one for each file, would fill the room for an answer.
_OVERRIDES = (
    "core.fsmonitor=false core.hooksPath=/dev/null core.attributesFile=/dev/null"
    " core.quotePath=false diff.external= log.showSignature=false protocol.allow=never"
    " submodule.recurse=false"
).split()
_SAFE_OPTIONS = (
    *("--no-pager", "--no-optional-locks", "--literal-pathspecs"),
    *(word for override in _OVERRIDES for word in ("-c", override)),
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}


def inspect_workspace(
    state: ResumeState,
    *,
    root: str | os.PathLike[str] | None = None,
    workflow: str | os.PathLike[str] | None = None,
    tools: Iterable[str] | None = None,
    model: str = "",
    window: int | None = None,
) -> Workspace:
    """The workspace in which a saved state would be resumed.

    Args:
        root: the project's folder; by default the recorded one where it exists, else the
            current one.
        workflow: the workflow's file; by default the one that the state names.
        tools: names of the available tools; None if unknown.
        model, window: the model that will continue, and its context window in tokens."""
    world = state.world or World()
    place = Path(root) if root is not None else _root(world)
    path = _workflow(state, place, world) if workflow is None else Path(workflow)
    branch, commit, ahead, behind = _repository(place, world.commit)
    return Workspace(
        root=os.fspath(place),
        content=_content(path, named=workflow is not None),
        content_path="" if path is None else os.fspath(workflow or state.workflow_file_path),
        tools=None if tools is None else frozenset(tools),
        branch=branch,
        commit=commit,
        ahead=ahead,
        behind=behind,
        files={
            f.path: _status_now(f, _moved(f.path, world.cwd, place), state.last_activity)
            for f in world.files[-MAX_FILES:]
        },
        window=window,
        model=model,
    )


def _root(world: World) -> Path:
    # A recorded path is not trusted: it is read, never written.
    return Path(world.cwd) if os.path.isdir(world.cwd) else Path.cwd()  # noqa: PTH112 - never raises


def _workflow(state: ResumeState, root: Path, world: World) -> Path | None:
    """Where the workflow's file should be: as named, or under the project's folder."""
    if not state.workflow_file_path:
        return None
    named = _moved(state.workflow_file_path, world.cwd, root)
    here = Path(state.workflow_file_path)
    return here if os.path.exists(here) and not os.path.exists(named) else named  # noqa: PTH110 - never raises


def _moved(path: str, cwd: str, root: Path) -> Path:
    whole = absolute(path, cwd)
    below = relative(whole, cwd)
    if below != whole:
        return root / below
    return root / path  # Path: what is absolute stays


def _content(path: Path | None, *, named: bool) -> str | None:
    """What the workflow's file holds; None if there is none. `SourceError` where the caller
    named it, and it cannot be read."""
    try:
        return None if path is None else read_workflow(path, missing=True)
    except SourceError:
        if named:
            raise
        return None  # a recorded path that leads nowhere is a missing file


def read_workflow(path: str | os.PathLike[str], *, missing: bool = False) -> str | None:
    """A workflow's file, raw: line ends as they are, bad bytes replaced. `missing`: give None
    for a file that is not there. `SourceError` where it is no regular file, is too large or
    cannot be read."""
    try:
        data = _bytes(Path(path))
    except (FileNotFoundError, NotADirectoryError):
        if missing:
            return None
        raise SourceError(f"{str(path)[:200]}: no such file") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SourceError(f"{str(path)[:200]}: cannot be read ({why})") from error
    return data.decode("utf-8", "replace")


def _bytes(path: Path) -> bytes:
    """A regular file's bytes; a pipe or a device is never opened. `OSError` where it cannot be
    read; `ValueError` where it is no regular file, or too large."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("not a regular file")
    if found.st_size > MAX_CONTENT:
        raise ValueError(f"larger than {MAX_CONTENT // 1024 // 1024} MiB")
    with path.open("rb") as file:
        return file.read(MAX_CONTENT + 1)


def _status_now(recorded: RecordedFile, path: Path, since: str) -> FileStatus:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return FileStatus(exists=False)
    except (OSError, ValueError):
        return FileStatus(exists=True)  # there, and not for us to read
    if not recorded.sha256:
        return FileStatus(exists=True, changed=modified_after(since, found.st_mtime))
    hashed = _hashed(path)
    return FileStatus(
        exists=True, changed=None if hashed is None else hashed != recorded.sha256
    )


def _hashed(path: Path) -> str | None:
    try:
        return hashlib.sha256(_bytes(path)).hexdigest()
    except (OSError, ValueError):
        return None


def recorded_files(files: Iterable[RecordedFile], cwd: str) -> tuple[RecordedFile, ...]:
    """The files with the hash of what they hold now, as far as they are there."""
    place = Path(cwd or ".")
    return tuple(
        RecordedFile(
            path=f.path, action=f.action, sha256=_hashed(_moved(f.path, cwd, place)) or ""
        )
        for f in list(files)[-MAX_FILES:]
    )


# -- git -------------------------------------------------------------------------------------


def _repository(
    root: Path, recorded: str
) -> tuple[str | None, str | None, int | None, int | None]:
    commit = _git_text(root, "rev-parse", "--verify", "--quiet", "HEAD")
    if commit is None:
        return None, None, None, None
    branch = _git_text(root, "symbolic-ref", "--quiet", "--short", "HEAD") or ""
    # A recorded commit is not trusted: it could be an option of git.
    if not _COMMIT.fullmatch(recorded):
        return branch, commit, None, None
    counts = _git_text(root, "rev-list", "--left-right", "--count", f"{recorded}...HEAD")
    numbers = (counts or "").split()
    if len(numbers) != 2 or not all(n.isdecimal() for n in numbers):
        return branch, commit, None, None
    return branch, commit, int(numbers[1]), int(numbers[0])


def git_diff(root: str | os.PathLike[str]) -> str | None:
    """What differs in the files of a folder that git knows from the last commit, staged or not;
    one longer than `MAX_DIFF` is cut at a line's end and says so. "" if there is nothing, None
    without git, without a repository, or after `DIFF_TIMEOUT`."""
    place = Path(root)
    names = _git(
        place, ["config", "-z", "--name-only", "--get-regexp", r"^filter\."], MAX_OUTPUT
    )
    text = (names or b"").decode("utf-8", "surrogateescape")
    filters = sorted({m[1] for name in text.split("\0") if (m := _FILTER.match(name))})
    off: dict[str, str] = {}
    for name in filters:
        off |= {f"{name}.clean": "", f"{name}.process": "", f"{name}.required": "false"}
    how = "--no-ext-diff --no-textconv --no-color --ignore-submodules=all --relative"
    asked = ["diff", *how.split(), "HEAD", "--", "."]
    data = _git(place, asked, MAX_DIFF, DIFF_TIMEOUT, off)
    if data is None:
        return None
    if len(data) <= MAX_DIFF:
        return data.decode("utf-8", "replace")
    whole = data[: data.rfind(b"\n", 0, MAX_DIFF) + 1]
    return whole.decode("utf-8", "replace") + f"… cut at {MAX_DIFF} bytes\n"


def _git_text(root: Path, *arguments: str) -> str | None:
    data = _git(root, arguments, MAX_OUTPUT)
    return None if data is None else data.decode("utf-8", "replace").strip()


def _git(
    root: Path,
    arguments: Sequence[str],
    limit: int,
    seconds: float = GIT_TIMEOUT,
    settings: Mapping[str, str] | None = None,
) -> bytes | None:
    """Up to `limit` + 1 bytes of what git says; None if it fails, is absent or takes longer.
    `settings`: for this one call, over the repository's own."""
    command = ["git", "-C", os.fspath(root), *_SAFE_OPTIONS, *arguments]
    # Without what would lead git elsewhere or have it run something.
    environment = {n: value for n, value in os.environ.items() if not n.startswith("GIT_")}
    environment |= _ENVIRONMENT
    # In the environment, since a name may hold the `=` that `-c` divides at.
    for number, (name, value) in enumerate((settings or {}).items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        environment["GIT_CONFIG_COUNT"] = str(number + 1)
    try:
        done = subprocesses.run(
            command, b"", limit=seconds, environ=environment, most=limit + 1, errors=False
        )
    except (OSError, ValueError):
        return None
    failed = done.code != 0 and len(done.stdout) <= limit
    return None if failed or done.stopped == "time_out" else done.stdout
