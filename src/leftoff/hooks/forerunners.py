"""The sessions of a project before this one: which of them is its memory.

A session in which nothing was done ("hi", a question about the weather) is not handed over: a
new session gets the last one with work, on its own branch if there is one."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from leftoff.codec import JsonObject
from leftoff.hooks import queue

# Maximum age in seconds of the session whose block a new one gets.
MAX_AGE = 30 * 86_400
# Sessions of a project that are looked at, the newest first. Chosen by hand.
MAX_FOLDERS = 200


def earlier_sessions(home: Path, but: str) -> Iterator[tuple[Path, JsonObject]]:
    """The other sessions of a project with work, the last summarised first, not older than
    `MAX_AGE`: the folder of each, and what its `about.json` says."""
    found = sorted(_summarised(home, but), reverse=True)
    oldest = time.time() - MAX_AGE
    for changed, path in found[:MAX_FOLDERS]:
        if changed < oldest:
            return
        about = queue.load(path / queue.ABOUT_SESSION)
        ended = about.get("ended")
        if about.get("work") is True and isinstance(ended, float) and ended >= oldest:
            yield path, about


def _summarised(home: Path, but: str) -> Iterator[tuple[float, Path]]:
    """The folders of the other summarised sessions, and when each was summarised last."""
    state = home / queue.STATE
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(state)  # noqa: PTH208 - faster, and it leaves nothing open
    for name in names:
        if name != but and queue.folder_of(home, name) is not None:
            with suppress(OSError):
                if not (state / name).is_symlink():
                    yield (state / name / queue.ABOUT_SESSION).stat().st_mtime, state / name


def previous_session(home: Path, but: str, branch: str) -> Path | None:
    """The folder of the last session with work on this branch; of any branch if there is none
    on this one."""
    last = None
    for folder, about in earlier_sessions(home, but):
        if not branch or about.get("branch") in {"", branch}:
            return folder
        last = last or folder
    return last


def is_first(home: Path, but: str) -> bool:
    """Whether no other session of the project was summarised yet."""
    return next(_summarised(home, but), None) is None


def branch_of(project: Path) -> str:
    """The branch that is checked out, from `.git/HEAD` at or above a folder; "" if there is
    none. Running git would take longer than the rest of a hook."""
    for folder in (project, *list(project.parents)[:20]):
        mark = folder / ".git"
        with suppress(OSError, ValueError):
            if mark.is_file():  # a worktree or submodule
                _, _, path = _first_line(mark).partition("gitdir: ")
                mark = folder / path
            elif not mark.is_dir():
                continue
            _, _, branch = _first_line(mark / "HEAD").partition("ref: refs/heads/")
            return branch
    return ""


def _first_line(path: Path) -> str:
    if not path.is_file():  # a pipe has no end
        return ""
    with path.open("rb") as file:
        return file.read(4096).split(b"\n")[0].decode("utf-8", "replace").strip()
