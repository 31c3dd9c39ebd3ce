"""Which files there are: what paths, folders, patterns and URLs come to.

Nothing is opened here. Files of a folder are taken by their endings; files that somebody names
are taken as they are. URLs go through fsspec (`s3://bucket/sessions`, `file:///…`).
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from leftoff.batch.jobs import File
from leftoff.errors import SourceError, UsageError
from leftoff.sources.discover import Recorded, recordings, recordings_in
from leftoff.sources.multi_file import conversations, in_pieces

ENDINGS = (".jsonl", ".ndjson", ".json", ".md", ".traj", ".eval")
"""Endings of recordings, before one of `PACKED`."""

PACKED = ("", ".gz", ".zst")
_TAKEN = tuple(ending + packed for ending in ENDINGS for packed in PACKED)

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_MAGIC = re.compile(r"[*?\[]")


class Found:
    """The files of a batch.

    Attributes:
        files: by path, each once.
        left_out: files in folders that have other endings, or names that are no text.
    """

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.left_out = 0

    def add(self, file: File) -> None:
        try:
            file.path.encode()
        except UnicodeEncodeError as error:  # no output and no index could name it
            if file.named:
                raise SourceError(f"{file.path}: the name is no text; rename it") from error
            self.left_out += 1
            return
        known = self.files.get(file.path)
        if known is None or (file.named and not known.named):
            self.files[file.path] = file


def is_url(path: str) -> bool:
    """Whether a path is to be opened by fsspec."""
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", path) is not None


def find(paths: Iterable[str | os.PathLike[str]], environ: Mapping[str, str]) -> Found:
    """The files that the paths come to; those of all default places if there are no paths.

    A path that leads nowhere is among them: that it cannot be read is found out, and told,
    when its turn comes.
    """
    found = Found()
    given = [os.fspath(path) for path in paths]
    for path in given:
        if is_url(path):
            _remote(path, found)
            continue
        path = os.path.expanduser(path)  # noqa: PTH111 - may be no path at all
        if _MAGIC.search(path) and not os.path.lexists(path):
            for match in sorted(glob.glob(path, recursive=True)):  # noqa: PTH207
                _local(match, found, environ, named=False)
        else:
            _local(path, found, environ, named=True)
    if not given:
        for recorded in recordings(environ):
            found.add(_recorded(recorded))
    return found


def _local(path: str, found: Found, environ: Mapping[str, str], *, named: bool) -> None:
    if os.path.isdir(path):  # noqa: PTH112
        home = recordings_in(path, environ)
        if home:
            for recorded in home:
                found.add(_recorded(recorded))
                for side in _sides(recorded.path):
                    found.add(told(side))
        else:
            _walk(path, found)
    elif path.endswith(".sqlite3"):
        _database(path, found)
    else:
        found.add(told(path, named=named))


def _sides(path: str) -> list[str]:
    """Files of subagents beside a session."""
    stem = path
    for ending in (".gz", ".zst", ".jsonl"):
        stem = stem.removesuffix(ending)
    return sorted(glob.glob(glob.escape(stem) + "/subagents/agent-*.jsonl*"))  # noqa: PTH207


def _walk(folder: str, found: Found) -> None:
    """Everything below a folder that may be a recording, in order of name."""
    try:
        with os.scandir(folder) as entries:
            here = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        found.add(File(folder, named=True))  # told when it is read
        return
    names = {entry.name for entry in here}
    # A task of Cline's stands in one file, which the others of its folder repeat.
    only = "ui_messages.json" if "ui_messages.json" in names else ""
    pieces = {"message", "part"} if {"session", "message"} <= names else set()
    for entry in here:
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and entry.name not in pieces:
                    _walk(entry.path, found)
            elif not entry.is_file():
                continue
            elif entry.name.endswith(".sqlite3"):
                _database(entry.path, found)
            elif (only and entry.name != only and entry.name.endswith(".json")) or (
                entry.name.startswith("agent-") and entry.name.endswith(".meta.json")
            ):
                found.left_out += 1
            elif entry.name.endswith(_TAKEN):
                found.add(_file(entry.path, entry.stat()))
            else:
                found.left_out += 1
        except OSError:
            continue  # gone meanwhile


def _database(path: str, found: Found) -> None:
    try:
        for one in conversations(path):
            modified = round(one.modified * 1e9)
            found.add(File(f"{path}:{one.id}", one.size, modified, "database"))
    except SourceError:
        found.left_out += 1  # a database of somebody else's


def _recorded(recorded: Recorded) -> File:
    if ".sqlite3:" in recorded.path:
        modified = round(recorded.modified * 1e9)
        return File(recorded.path, recorded.size, modified, "database")
    return told(recorded.path)


def told(path: str, *, named: bool = False) -> File:
    """A file of this machine as its folder tells it; one that is not there is told, too."""
    try:
        return _file(path, os.stat(path), named=named)  # noqa: PTH116
    except (OSError, ValueError):
        return File(path, named=named)


def _file(path: str, state: os.stat_result, *, named: bool = False) -> File:
    if in_pieces(path) or not stat.S_ISREG(state.st_mode):
        return File(path, state.st_size, named=named)  # its own time tells nothing
    place = f"{state.st_dev}:{state.st_ino}"
    return File(path, state.st_size, state.st_mtime_ns, place, named)


# -- fsspec ----------------------------------------------------------------------------------


def filesystem(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it.

    Raises:
        UsageError: fsspec is not installed, or what it needs for this URL.
    """
    try:
        import fsspec
    except ImportError as error:
        raise UsageError(f"{url}: URLs need: pip install 'leftoff[s3]'") from error
    try:
        system, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url}: {error}") from error
    return system, path


def _remote(url: str, found: Found) -> None:
    system, path = filesystem(url)
    try:
        if _MAGIC.search(path):
            listed = system.glob(path, detail=True)
            named = False
        elif system.isfile(path):
            listed, named = {path: system.info(path)}, True
        else:
            listed, named = system.find(path, detail=True), False
    except Exception as error:  # each file system has errors of its own
        raise SourceError(f"{url}: {type(error).__name__}: {error}") from error
    if not listed:
        found.add(File(url, named=True))
    for name, info in sorted(listed.items()):
        if info.get("type") == "directory":
            continue
        if not named and not name.endswith(_TAKEN):
            found.left_out += 1
            continue
        place = str(info.get("ETag") or info.get("etag") or "remote")
        size = int(info.get("size") or 0)
        path = system.unstrip_protocol(name)
        found.add(File(path, size, _changed(info), place, named))


def _changed(info: Mapping[str, Any]) -> int:
    for key in ("LastModified", "mtime", "updated", "last_modified", "created"):
        value = info.get(key)
        if isinstance(value, (int, float)):
            return int(value * 1e9)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1e9)
    return 0


@contextmanager
def at_hand(path: str) -> Iterator[str]:
    """The path under which a file can be opened here: its own, or that of a copy which is
    gone afterwards.

    Raises:
        SourceError: it cannot be fetched.
        UsageError: nothing can open such a URL.
    """
    if not is_url(path):
        yield path
        return
    system, inner = filesystem(path)
    descriptor, copy = tempfile.mkstemp(prefix="leftoff-")
    try:
        with open(descriptor, "wb") as here:  # noqa: PTH123 - an open file
            try:
                with system.open(inner, "rb") as there:
                    shutil.copyfileobj(there, here, 1 << 20)
            except Exception as error:  # each file system has errors of its own
                raise SourceError(f"{path}: {_why(error)}") from error
        yield copy
    finally:
        Path(copy).unlink(missing_ok=True)


def _why(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return f"{type(error).__name__}: {error}"
