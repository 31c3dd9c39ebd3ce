"""Paths as transcripts spell them, brought to one spelling. Pure: no file system is asked."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

_DRIVE = re.compile(r"^(?:/mnt)?[/\\]?([A-Za-z])(?::[/\\]|[/\\](?=[^/\\]))")
_WINDOWS = re.compile(r"^[A-Za-z]:[/\\]|^\\\\")


@lru_cache(maxsize=16384)
def absolute(path: str, cwd: str) -> str:
    """`path` with forward slashes, without `.` and `..`, from the root where `cwd` is known.

    "" stays "". `~` is kept: the home directory of the recording is not ours.
    """
    if not path:
        return ""
    path = path.removeprefix("file://")
    if _WINDOWS.match(path) or _WINDOWS.match(cwd) and "\\" in path:
        path = path.replace("\\", "/")
    cwd = cwd.replace("\\", "/") if _WINDOWS.match(cwd) else cwd
    if not (path.startswith(("/", "~")) or re.match(r"[A-Za-z]:/", path)) and cwd:
        path = f"{cwd}/{path}"
    path = posixpath.normpath(path)
    if path.startswith("//"):
        path = path[1:]
    if re.match(r"[a-z]:/", path):
        path = path[0].upper() + path[1:]
    return path


def relative(path: str, root: str) -> str:
    """`path` as seen from `root`; unchanged if it is not below it."""
    if not root:
        return path
    root = absolute(root, "")
    if path == root:
        return "."
    prefix = root if root.endswith("/") else root + "/"
    return path.removeprefix(prefix)


_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|testing|e2e)/|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec"
    r"|\.test|\.spec|Tests?)\.[A-Za-z]+|conftest\.py)$"
)


def is_test(path: str) -> bool:
    """Whether a path is that of a test, by its name or folder."""
    return _TESTS.search(path) is not None
