"""What really happened to files, as recorded beside a session: final patches and commits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff.errors import SourceError
from leftoff.extraction.embedded.patch_text import diff_steps
from leftoff.sources import lines_of

SIDECAR = ".groundtruth.json"
"""What a file of commits is named after its recording (without ``.gz``)."""

_GENERATED = re.compile(
    r"(?:^|/)(?:build|_build|dist|__pycache__|node_modules|\.pytest_cache|[^/]+\.egg-info)/"
    r"|\.(?:pyc|pyo|so|o|class)$"
)
"""Output of builds and test runs: most projects ignore it, and no call names it."""

_SET_UP: dict[str, tuple[str, ...]] = {"sphinx": ("setup.py", "tox.ini")}
"""Files in a final diff that the task's environment changed before the agent began, by a word
in the recording's name: known of these data sets, told by nothing in the recording."""

_BINARY = re.compile(
    r"^diff --git a/(.+?) b/\S+\n(?:(?!diff --git).*\n)*?GIT binary", re.MULTILINE
)
_ACTIONS = {"add": "created", "modify": "modified", "delete": "deleted"}
_STATUS = {"A": "created", "M": "modified", "D": "deleted", "T": "modified"}


class Change(Struct, frozen=True):
    """A commit that a sidecar names.

    Attributes:
        sha: its full name.
        when: its date, seconds since the epoch.
        files: action by path; a renamed file counts under both names.
        sessions: how many checkpoints of other work it covers as well.
    """

    sha: str
    when: float
    files: Mapping[str, str]
    sessions: int


def is_left_out(path: str, name: str = "") -> bool:
    """Whether a path is not asked for: generated files, the set-up of a data set's tasks."""
    if _GENERATED.search(path) is not None:
        return True
    return any(word in name and path in files for word, files in _SET_UP.items())


def patch_files(patch: str, name: str = "") -> tuple[dict[str, str], int]:
    """Action by path of a final patch, and how many of its files are not asked for.

    Binary files, generated files and the set-up of a data set's tasks are not; a renamed file
    counts as deleted under the old name and created under the new one.
    """
    binary = set(
        re.findall(r"^Binary files (?:a/)?(.+) and (?:b/)?(.+) differ$", patch, re.MULTILINE)
    )
    skipped = {part for pair in binary for part in pair}
    blocks = _BINARY.findall(patch)
    skipped |= set(blocks)
    files: dict[str, str] = {}
    left_out = 0
    for verb, path, target in diff_steps(patch):
        for one, action in (
            ((path, "deleted"), (target, "created"))
            if verb == "move"
            else ((path, _ACTIONS[verb]),)
        ):
            if one in skipped or is_left_out(one, name):
                left_out += 1
            else:
                files.setdefault(one, action)
    return files, left_out


def final_patches(path: str) -> list[str]:
    """The final patch of each session in a recording, in order; "" where none is recorded."""
    with lines_of(path) as lines:
        data = b"".join(lines)
    return [_patch(row) for row in _rows(data)]


def _rows(data: bytes) -> Iterator[Any]:
    try:
        document = codec.parse(data)
    except ValueError:
        for line in data.splitlines():
            if line.strip():
                try:
                    yield codec.parse(line)
                except ValueError:
                    continue
        return
    if isinstance(document, list) and all(
        isinstance(row, dict) and ("messages" in row or "history" in row) for row in document
    ):
        yield from document
    else:
        yield document


def _patch(row: Any) -> str:
    """The agent's own final patch (never the reference solution of the task)."""
    if not isinstance(row, dict):
        return ""
    result, info = row.get("test_result"), row.get("info")
    places = (
        result.get("git_patch") if isinstance(result, dict) else None,
        row.get("git_patch"),
        info.get("submission") if isinstance(info, dict) else None,
        row.get("patch") if "messages" in row else None,
    )
    for found in places:
        if isinstance(found, str) and "diff --git " in found:
            return found
    return ""


def sidecar_of(path: str) -> str | None:
    """The file of commits beside a recording, if there is one."""
    beside = Path(path.removesuffix(".gz") + SIDECAR)
    return str(beside) if beside.is_file() else None


def commits(path: str) -> list[Change]:
    """The commits that a sidecar names, oldest first.

    Raises:
        SourceError: the file cannot be read, or is no such sidecar.
    """
    try:
        document = codec.parse(Path(path).read_bytes())
        listed = document["checkpoints"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path}: not a file of commits ({error})") from error
    found: dict[str, Change] = {}
    for checkpoint in listed:
        for commit in checkpoint.get("commits") or ():
            files: dict[str, str] = {}
            for row in commit.get("files") or ():
                status = str(row.get("status") or "M")[:1]
                if status == "R" and row.get("from"):
                    files[row["from"]] = "deleted"
                    files[row["path"]] = "created"
                else:
                    files[row["path"]] = _STATUS.get(status, "modified")
            found[commit["sha"]] = Change(
                commit["sha"],
                seconds(commit["date"]),
                files,
                int(commit.get("n_checkpoint_trailers") or 1),
            )
    return sorted(found.values(), key=lambda c: (c.when, c.sha))


def seconds(text: str) -> float:
    """Seconds since the epoch of an ISO 8601 time; a time without zone is UTC.

    Raises:
        ValueError: it is none.
    """
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return when.timestamp()
