"""Input files of a batch: expands paths, folders, patterns and URLs.

Nothing is opened here. Files in a folder are selected by their suffix; files that are named
explicitly are always included. URLs go through fsspec (`s3://bucket/sessions`, `file:///…`)."""

import glob
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from leftoff.batch.jobs import InputFile
from leftoff.errors import SourceError, UsageError
from leftoff.sources.discover import SessionFile, session_files, session_files_in
from leftoff.sources.multi_file import Conversation, conversations, is_multi_file
from leftoff.sources.open import session_paths
from leftoff.stores.objects import changed_at, filesystem

# Suffixes of recordings, before one of `COMPRESSED`.
SUFFIXES = (".jsonl", ".ndjson", ".json", ".md", ".traj", ".eval")
COMPRESSED = ("", ".gz", ".zst")
_SUFFIXES = tuple(ending + packed for ending in SUFFIXES for packed in COMPRESSED)
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
# Levels of folders below one that is named; deeper ones are left out. Chosen by hand.
MAX_DEPTH = 64
# From so many files that are no recordings on, a folder is refused: it is a whole disk or the
# like. Reading so many names takes about ten seconds. Chosen by hand.
MAX_OTHERS = 1_000_000
_WILDCARD = re.compile(r"[*?\[]")


class FoundFiles:
    """The files of a batch by path, and the number of those left out, which have other
    suffixes, or names that are not valid UTF-8."""

    def __init__(self) -> None:
        self.files: dict[str, InputFile] = {}
        self.left_out = 0

    def add(self, file: InputFile) -> None:
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


def find_files(
    paths: Iterable[str | os.PathLike[str]], environ: Mapping[str, str]
) -> FoundFiles:
    """The files at the paths, or at all default locations; a path that does not exist is
    included and reported when it is read.

    Raises:
        UsageError: a folder is that of all files of the machine, or holds very many others.
        SourceError: the name of a file is no text."""
    found = FoundFiles()
    given = [os.fspath(path) for path in paths]
    for path in given:
        if is_url(path):
            _remote(path, found)
            continue
        path = os.path.expanduser(path)  # noqa: PTH111 - may be no path at all
        if _WILDCARD.search(path) and not os.path.lexists(path):
            for match in sorted(glob.glob(path, recursive=True)):  # noqa: PTH207
                _local(match, found, environ, named=False)
        else:
            _local(path, found, environ, named=True)
    if not given:
        for recorded in session_files(environ):
            found.add(_recorded(recorded))
    return found


def _local(path: str, found: FoundFiles, environ: Mapping[str, str], *, named: bool) -> None:
    if os.path.isdir(path):  # noqa: PTH112
        home = session_files_in(path, environ)
        if home:
            for recorded in home:
                found.add(_recorded(recorded))
                for _, side in session_paths(recorded.path)[1]:
                    found.add(file_entry(side))
        elif os.path.realpath(path) == os.path.abspath(os.sep):  # noqa: PTH100
            raise UsageError(f"{path}: is the whole file system; name a folder of recordings")
        else:
            _walk(path, found, MAX_DEPTH)
    elif path.endswith(".sqlite3"):
        _database(path, found)
    else:
        found.add(file_entry(path, named=named))


def _walk(folder: str, found: FoundFiles, depth: int) -> None:
    """Everything below a folder that may be a recording, in order of name."""
    if not depth:
        found.left_out += 1
        return
    if found.left_out > MAX_OTHERS:
        raise UsageError(
            f"{folder}: so far {found.left_out:,} files are no recordings; name a folder of "
            "recordings"
        )
    try:
        with os.scandir(folder) as entries:
            here = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        found.add(InputFile(folder, named=True))  # reported when it is read
        return
    names = {entry.name for entry in here}
    # A task of Cline's stands in one file, which the others of its folder repeat.
    only = "ui_messages.json" if "ui_messages.json" in names else ""
    pieces = {"message", "part"} if {"session", "message"} <= names else set()
    for entry in here:
        try:
            # A link may lead back up, and would be walked for ever.
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and entry.name not in pieces:
                    _walk(entry.path, found, depth - 1)
            elif not entry.is_file():
                continue
            elif entry.name.endswith(".sqlite3"):
                _database(entry.path, found)
            elif (only and entry.name != only and entry.name.endswith(".json")) or (
                entry.name.startswith("agent-") and entry.name.endswith(".meta.json")
            ):
                found.left_out += 1
            elif entry.name.endswith(_SUFFIXES):
                found.add(_file(entry.path, entry.stat()))
            else:
                found.left_out += 1
        except OSError:
            continue  # removed meanwhile


def _database(path: str, found: FoundFiles) -> None:
    try:
        for one in conversations(path):
            found.add(_conversation(f"{path}:{one.id}", one))
    except SourceError:
        found.left_out += 1  # a database of another program


def _recorded(recorded: SessionFile) -> InputFile:
    if ".sqlite3:" in recorded.path:
        return _conversation(recorded.path, recorded)
    return file_entry(recorded.path)


def _conversation(path: str, one: SessionFile | Conversation) -> InputFile:
    return InputFile(path, one.size, round(one.modified * 1e9), "database")


def file_entry(path: str, *, named: bool = False) -> InputFile:
    """A local file with its size and modification time; without them if it does not exist."""
    try:
        return _file(path, os.stat(path), named=named)  # noqa: PTH116
    except (OSError, ValueError):
        return InputFile(path, named=named)


def _file(path: str, state: os.stat_result, *, named: bool = False) -> InputFile:
    if is_multi_file(path) or not stat.S_ISREG(state.st_mode):
        # Its modification time says nothing about its content.
        return InputFile(path, state.st_size, named=named)
    place = f"{state.st_dev}:{state.st_ino}"
    return InputFile(path, state.st_size, state.st_mtime_ns, place, named)


# -- fsspec ----------------------------------------------------------------------------------


def _remote(url: str, found: FoundFiles) -> None:
    system, path = filesystem(url)
    try:
        if _WILDCARD.search(path):
            listed = system.glob(path, detail=True)
            named = False
        elif system.isfile(path):
            listed, named = {path: system.info(path)}, True
        else:
            listed, named = system.find(path, detail=True), False
    except Exception as error:  # each file system has errors of its own
        raise SourceError(f"{url}: {type(error).__name__}: {error}") from error
    if not listed:
        found.add(InputFile(url, named=True))
    for name, info in sorted(listed.items()):
        if info.get("type") == "directory":
            continue
        if not named and not name.endswith(_SUFFIXES):
            found.left_out += 1
            continue
        place = str(info.get("ETag") or info.get("etag") or "remote")
        size = int(info.get("size") or 0)
        path = system.unstrip_protocol(name)
        found.add(InputFile(path, size, int(changed_at(info) * 1e9), place, named))


@contextmanager
def local_copy(path: str) -> Iterator[str]:
    """A local path of a file: its own, or that of a copy that is removed when the block ends;
    `SourceError` where it cannot be fetched; `UsageError` where nothing can open such a URL."""
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
                missing = isinstance(error, FileNotFoundError)
                why = "no such file" if missing else f"{type(error).__name__}: {error}"
                raise SourceError(f"{path}: {why}") from error
        yield copy
    finally:
        Path(copy).unlink(missing_ok=True)
