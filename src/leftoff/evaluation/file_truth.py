"""Ground truth for files, recorded beside a session: final patches and commits."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from leftoff import codec
from leftoff.errors import SourceError
from leftoff.model import parse_time
from leftoff.sources.open import open_lines

# Suffix of a file of commits, after the name of its recording (without ``.gz``).
SIDECAR = ".groundtruth.json"

# Output of builds and test runs: most projects ignore it, and no tool call names it.
_GENERATED = re.compile(
    r"(?:^|/)(?:build|_build|dist|__pycache__|node_modules|\.pytest_cache|[^/]+\.egg-info)/"
    r"|\.(?:pyc|pyo|so|o|class)$"
)

# Files in a final diff that the task's environment changed before the agent began, by a word in
# the recording's name. This is known about the data sets; no recording states it.
_SET_UP: dict[str, tuple[str, ...]] = {"sphinx": ("setup.py", "tox.ini")}
_FILE_HEADER = re.compile(r"^diff --git ", re.MULTILINE)
_IS_BINARY = re.compile(r"^(?:Binary files .* differ|GIT binary patch)$", re.MULTILINE)
_STATUS = {"A": "created", "M": "modified", "D": "deleted", "T": "modified"}


class Commit(Struct, frozen=True):
    """A commit that a sidecar names: full hash, date, action by path
    (a renamed file counts under both names), and the number of checkpoint trailers in its
    message; more than 1 if it also covers other sessions."""

    sha: str
    when: datetime
    files: Mapping[str, str]
    sessions: int


def is_excluded(path: str, name: str = "") -> bool:
    """Whether a path is excluded: a generated file, or the set-up of a data set's tasks."""
    if _GENERATED.search(path) is not None:
        return True
    return any(word in name and path in files for word, files in _SET_UP.items())


def patch_files(patch: str, name: str = "") -> tuple[dict[str, str], int]:
    """Action by path of a final patch, and the number of its excluded files: binary and
    generated ones, and the set-up of a data set's tasks. A renamed file is deleted and
    created."""
    files: dict[str, str] = {}
    left_out = 0
    for part in _FILE_HEADER.split(patch.replace("\r\n", "\n"))[1:]:
        header = part.partition("\n@@ ")[0]
        for one, action in _actions_in_header(header):
            if _IS_BINARY.search(part) is not None or is_excluded(one, name):
                left_out += 1
            else:
                files.setdefault(one, action)
    return files, left_out


def _actions_in_header(header: str) -> list[tuple[str, str]]:
    """The (path, action) pairs in the header of one file's part of a git diff.

    Shares no code with the patch reader under test, because it is the ground truth."""
    renamed = re.search(r"^rename from (.+)\nrename to (.+)$", header, re.MULTILINE)
    if renamed is not None:
        return [(renamed[1], "deleted"), (renamed[2], "created")]
    first = header.partition("\n")[0]
    path = first[len(first) // 2 + 3 :]
    if first != f"a/{path} b/{path}":
        return []
    if "\nnew file mode" in header:
        return [(path, "created")]
    if "\ndeleted file mode" in header:
        return [(path, "deleted")]
    return [(path, "modified")] if "\nindex " in header else []


def final_patches(path: str) -> list[str]:
    """The final patch of each session in a recording, in order; "" if none is recorded."""
    with open_lines(path) as lines:
        data = b"".join(lines)
    return [_patch(row) for row in _rows(data)]


def _rows(data: bytes) -> Iterator[object]:
    try:
        document = msgspec.json.decode(data)
    except ValueError:
        for line in data.splitlines():
            with suppress(ValueError):
                yield msgspec.json.decode(line)
        return
    if isinstance(document, list) and all(
        isinstance(row, dict) and ("messages" in row or "history" in row) for row in document
    ):
        yield from document
    else:
        yield document


def _patch(row: object) -> str:
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


def commits(path: str) -> list[Commit]:
    """The commits that a sidecar names, oldest first; `SourceError` where the file cannot be
    read or is not a sidecar."""
    try:
        document = codec.parse(Path(path).read_bytes())
        listed = document["checkpoints"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path}: not a file of commits ({error})") from error
    found: dict[str, Commit] = {}
    for checkpoint in listed:
        for commit in checkpoint.get("commits") or ():
            when = parse_time(commit["date"])
            if when is None:
                raise SourceError(f"{path}: {commit['date']!r} is no time of a commit")
            files: dict[str, str] = {}
            for row in commit.get("files") or ():
                status = str(row.get("status") or "M")[:1]
                if status == "R" and row.get("from"):
                    files[row["from"]] = "deleted"
                    files[row["path"]] = "created"
                else:
                    files[row["path"]] = _STATUS.get(status, "modified")
            trailers = int(commit.get("n_checkpoint_trailers") or 1)
            found[commit["sha"]] = Commit(commit["sha"], when, files, trailers)
    return sorted(found.values(), key=lambda c: (c.when, c.sha))
