"""Normalises the paths of transcripts. Pure: no file system is asked."""

import posixpath
from collections.abc import Iterable
from functools import lru_cache

from leftoff import lazy_re as re
from leftoff.text.sanitize import clean

_WINDOWS = re.compile(r"[A-Za-z]:(?:[/\\]|$)|\\\\")
# Drives as Git Bash (`/c/x`), WSL (`/mnt/c/x`) and Cygwin spell them.
_MOUNTED = re.compile(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?=/|$)")
# A drive in the path of a URI, without its scheme or with it: `file:///C:/x`, `/c:/x`.
_URI = re.compile(r"(?:file://)?/(?=[A-Za-z]:(?:[/\\]|$))|file://")
_HOME = re.compile(r"(/(?:Users|home)/[^/]+|/root|[A-Z]:/Users/[^/]+)(?=/|$)")
_PRIVATE = re.compile(r"/private(?=/(?:tmp|var|etc)(?:/|$))")


@lru_cache(maxsize=4096)
def absolute(path: str, cwd: str) -> str:
    """`path` with forward slashes, without `.` and `..`, from the root where `cwd` is known.

    - "" stays "".
    - Beside a Windows directory, ``/c/x``, ``/mnt/c/x`` and ``/cygdrive/c/x`` are ``C:/x``.
    - ``/c:/x``, as editors write it, is ``C:/x``.
    - ``~`` becomes the home directory that `cwd` lies in; otherwise it stays.
    - ``/private/tmp`` and its like, which macOS links to, lose their prefix."""
    if "\x1b" in path:  # colours; what ends a sequence looks like a separator below
        path = clean(path)
    if uri := _URI.match(path):
        path = path[uri.end() :]
    if not path:
        return ""
    windows = _WINDOWS.match(cwd) is not None
    # Two slashes begin the name of a server there; elsewhere `//x` is `/x`.
    unc = windows or path.startswith("\\\\")
    if _WINDOWS.match(path) or (windows and "\\" in path):
        path = _forward(path)
    if windows:
        cwd = _forward(cwd)
        mounted = _MOUNTED.match(path)
        if mounted is not None:
            path = f"{mounted[1]}:{path[mounted.end() :] or '/'}"
    if path[0] == "~" and path[1:2] in ("", "/"):
        path = home_of(cwd) + path[1:] if home_of(cwd) else path
    if not (path[0] in "/~" or _WINDOWS.match(path)) and cwd:
        path = f"{cwd}/{path}"
    path = posixpath.normpath(path)
    if path.startswith("//") and not unc:
        path = path[1:]
    if path[1:2] == ":" and "a" <= path[0] <= "z":
        path = path[0].upper() + path[1:]
    return _PRIVATE.sub("", path, 1) if path.startswith("/private/") else path


def _forward(path: str) -> str:
    """A Windows path with forward slashes, without the prefix of very long ones."""
    path = path.replace("\\", "/")
    return "//" + path[8:] if path[:8].upper() == "//?/UNC/" else path.removeprefix("//?/")


@lru_cache(maxsize=256)
def home_of(cwd: str) -> str:
    """The home directory that a working directory lies in; "" where it lies in none."""
    cwd = _forward(cwd) if _WINDOWS.match(cwd) else cwd
    found = _HOME.match(cwd[:1].upper() + cwd[1:] if cwd[1:2] == ":" else cwd)
    return found[1] if found is not None else ""


def relative(path: str, root: str) -> str:
    """`path` as seen from `root`; unchanged if it is not below it."""
    if not root:
        return path
    root = absolute(root, "")
    prefix = root if root.endswith("/") else root + "/"
    start, whole = path[: len(prefix)], path
    if root[1:2] == ":" or root.startswith("//"):  # Windows: capitals do not count
        root, prefix, start, whole = root.lower(), prefix.lower(), start.lower(), path.lower()
    if whole == root:
        return "."
    return path[len(prefix) :] if start == prefix else path


def is_within(folder: str, root: str) -> bool:
    """Whether a directory is `root` or below it, however either is spelled."""
    path = absolute(folder, "")
    return bool(path) and bool(root) and relative(path, root) != path


def join(base: str | None, path: str) -> str | None:
    """The normal form of `path` seen from `base`; None where `base` is needed and not known."""
    if path[:1] == "/" or path[:1] == "~":
        whole = path
    elif len(path) > 1 and path[1] == ":" and path[0].isalpha():
        whole = path.replace("\\", "/")
    elif base is None:
        return None
    elif base and base != ".":
        whole = base + "/" + path if base[-1] != "/" else base + path
    else:
        whole = path
    if (
        "//" not in whole
        and "/." not in whole
        and whole[-1:] != "/"
        and whole[:1] != "."
        and whole
    ):
        return whole
    # Two slashes may begin the name of a server; here they do not.
    return posixpath.normpath("/" + whole.lstrip("/") if whole[:1] == "/" else whole)


# Limits on the code points and the folders of a path: finding all folders of a longer one would
# take quadratic time.
MAX_PATH_LENGTH, MAX_PATH_DEPTH = 4096, 100


def parent_of(path: str) -> str:
    """The directory that holds `path`; ``.`` for a bare relative name, and for a path that no
    file system has."""
    if len(path) > MAX_PATH_DEPTH and (
        len(path) > MAX_PATH_LENGTH or path.count("/") > MAX_PATH_DEPTH
    ):
        return "."
    head, found, _ = path.rpartition("/")
    if head:
        return head
    return "/" if found else "."


# `tests/a.py`, `a_test.go`, `FooTest.java`, `conftest.py`; not `latest/a.py`, `contest.py`.
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|testing|e2e)/|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec"
    r"|\.test|\.spec|Tests?)\.[A-Za-z]+|conftest\.py)$"
)


def is_test(path: str) -> bool:
    """Whether a path is that of a test, by its name or folder."""
    return _TESTS.search(path) is not None


# The folders for temporary files of Linux, macOS and Windows.
_TEMPORARY = re.compile(
    r"(?:/private)?/(?:(?:var/)?tmp|var/folders)/"
    r"|(?i:[A-Z]:(?:[/\\]Windows|[^\n]*[/\\]AppData[/\\]Local)?[/\\]Temp[/\\])"
)


def is_temporary(path: str, projects: Iterable[str] = ()) -> bool:
    r"""Whether an absolute path lies in a system's folder for temporary files, and in none of
    the `projects` there.

    >>> is_temporary("/private/var/folders/x1/T/out.txt")
    True
    >>> is_temporary(r"C:\Users\ana\AppData\Local\Temp\out.txt")
    True
    >>> is_temporary("tmp/out.txt") or is_temporary(r"C:\shop\temp\out.txt")
    False"""
    return _TEMPORARY.match(path) is not None and not any(
        is_within(path, folder) for folder in projects
    )
