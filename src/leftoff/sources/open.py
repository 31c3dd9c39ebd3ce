"""Opening what people point at: a file, a session's directory, a compressed file, stdin.

A file in UTF-16 or UTF-32 is read as the same text in UTF-8."""

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from leftoff.codec import MAX_DOCUMENT, MAX_LINE
from leftoff.errors import SourceError
from leftoff.sources.encodings import GZIP, ZSTD, Utf8Reader, is_plain, wide_encoding
from leftoff.sources.multi_file import is_multi_file, join_files

STDIN = "-"
NO_NAME = "the name is empty: name a file, or - for standard input"

# Bytes that a compressed recording may unpack to.
# Chosen by hand; not measured.
MAX_UNPACKED = 4 << 30

# Bytes that are read at once.
# Chosen by hand; not measured.
BLOCK = 1 << 20

# Recordings of a directory that an error names.
# Chosen by hand.
MAX_NAMED = 5

_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".json.zst")


@contextmanager
def open_lines(path: str) -> Iterator[Iterator[bytes]]:
    """The lines of a recording, unpacked where it is compressed; a line of more than
    `codec.MAX_LINE` bytes comes in pieces. `SourceError` where it is missing, unreadable or a
    directory, or its compression is damaged."""
    if is_multi_file(path):
        yield iter((join_files(path),))
        return
    with open_recoded(path) as (stream, _):
        yield lines_of(stream, path)


@contextmanager
def open_recoded(path: str, size: int = BLOCK) -> Iterator[tuple[IO[bytes], Utf8Reader | None]]:
    """The bytes of a file, unpacked where it is compressed and in UTF-8 where it is in UTF-16
    or UTF-32, and what turned them into UTF-8 (None where they are as they were). `size`: bytes
    that are read at once. `SourceError` as for `open_lines`."""
    with _opened(path, size) as stream:
        try:
            peek = getattr(stream, "peek", None)  # what stands in for stdin may have none
            encoding = wide_encoding(peek(4096)[:4096]) if peek else ""
        except (EOFError, OSError) as error:
            raise SourceError(f"{path}: cannot be read ({_why(error)})") from error
        if encoding:
            reader = Utf8Reader(stream, encoding, path)
            yield io.BufferedReader(reader, BLOCK), reader
        else:
            yield stream, None


def read_head(path: str, size: int) -> bytes:
    """The first `size` bytes of a recording, unpacked; fewer if it has no more. `SourceError`
    as for `open_lines`."""
    if is_multi_file(path):
        return join_files(path)
    # Not through `_opened`: its buffer is far larger than a header.
    with _regular(path, 0) as plain:
        try:
            head = plain.read(size)
        except OSError as error:
            raise SourceError(f"{path}: {_why(error)}") from error
    if is_plain(head[:4096]):
        return head
    with open_recoded(path, size) as (stream, _):
        try:
            return stream.read(size)
        except (EOFError, OSError) as error:
            raise SourceError(f"{path}: cannot be read ({_why(error)})") from error


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """What a file that is named holds, as it is. `SourceError` as for `open_regular`, or it is
    larger than `codec.MAX_DOCUMENT`."""
    with open_regular(path) as file:
        data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise SourceError(f"{path}: larger than {MAX_DOCUMENT >> 20} MiB")
    return data


@contextmanager
def open_regular(
    path: str | os.PathLike[str], *, any_encoding: bool = False
) -> Iterator[BinaryIO]:
    """A regular file, open for reading as it is. `SourceError` where it is missing, no regular
    file, unreadable, in UTF-16 or UTF-32 (unless `any_encoding`), or where reading on fails."""
    with _regular(path, 1 << 16) as file:
        try:
            encoding = wide_encoding(cast("io.BufferedReader", file).peek(4096)[:4096])
            if encoding and not any_encoding:
                name = encoding[:6].upper()
                raise SourceError(f"{path}: is in {name}; here only UTF-8 is read: convert it")
            yield file
        except OSError as error:
            if error.filename not in (None, path):
                raise
            raise SourceError(f"{path}: {_why(error)}") from error


def _regular(path: str | os.PathLike[str], buffering: int) -> BinaryIO:
    """A pipe or a device is not opened: it could block, or never end."""
    if not os.fspath(path):
        raise SourceError(NO_NAME)
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - as its user spells it
        if not stat.S_ISREG(mode):
            hint = "; pass it on standard input, as -" if stat.S_ISFIFO(mode) else ""
            raise SourceError(f"{path}: not a regular file{hint}")
        return open(path, "rb", buffering)  # noqa: PTH123
    except OSError as error:
        raise SourceError(f"{path}: {_why(error)}") from error
    except ValueError as error:  # a zero byte, or a character that names cannot have
        raise SourceError(f"{path!r}: {error}") from error


def lines_of(stream: IO[bytes], path: str) -> Iterator[bytes]:
    """The lines of an open file, as `open_lines` gives them."""
    try:
        yield from iter(partial(stream.readline, MAX_LINE), b"")
    except (EOFError, OSError) as error:
        raise SourceError(f"{path}: cannot be read to its end ({_why(error)})") from error


@contextmanager
def _opened(path: str, size: int) -> Iterator[IO[bytes]]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    if os.path.isdir(path):  # noqa: PTH112
        raise SourceError(f"{path}: {_about_directory(path)}")
    with cast("io.BufferedReader", _regular(path, size)) as file:
        magic = file.peek(6)[:6]
        if magic.startswith(GZIP):
            with _gunzip(file, size) as unpacked:
                yield unpacked
        elif magic.startswith(ZSTD):
            with _unzstd(file, path, size) as unpacked:
                yield unpacked
        else:
            yield file


def _about_directory(path: str) -> str:
    try:
        with os.scandir(path) as entries:
            kinds = [(e.name, e.is_file(), e.is_dir()) for e in entries]
    except OSError as error:
        return f"is a directory that cannot be read ({_why(error)})"
    held = sorted(name for name, file, _ in kinds if file and name.endswith(_ENDINGS))
    if not held:
        below = "; name a file in one of its folders" * any(folder for *_, folder in kinds)
        return f"is a directory with no session in it{below}"
    named = ", ".join(held[:MAX_NAMED])
    more = f" and {len(held) - MAX_NAMED} more" if len(held) > MAX_NAMED else ""
    files = "one file that may be a recording" if len(held) == 1 else f"{len(held)} recordings"
    return f"is a directory with {files}: {named}{more}; name one file"


def _gunzip(file: IO[bytes], size: int) -> IO[bytes]:
    try:
        from isal import igzip  # several times faster, where installed
    except ImportError:
        import gzip

        return _bounded(gzip.GzipFile(fileobj=file, mode="rb"), size)
    return _bounded(igzip.IGzipFile(fileobj=file, mode="rb"), size)  # type: ignore[no-untyped-call]


def _unzstd(file: IO[bytes], path: str, size: int) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise SourceError(
            f"{path}: zstd-compressed; reading it needs `pip install 'leftoff[zst]'`"
        ) from None
    # The largest window that `zstd -d` takes without `--long` or `--memory`.
    opened = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
    return _bounded(opened, size)


def _bounded(opened: object, size: int) -> IO[bytes]:
    return io.BufferedReader(_Bounded(opened), buffer_size=size)


class _Bounded(io.RawIOBase):
    """A stream that stops with an error past `MAX_UNPACKED` bytes (compression bombs)."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            data = self.inner.read(len(buffer))
        except Exception as error:  # each decompressor has errors of its own
            raise OSError(f"damaged compression: {error}") from error
        self.count += len(data)
        if self.count > MAX_UNPACKED:
            raise OSError(f"it unpacks to more than {MAX_UNPACKED >> 30} GiB")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.inner.close()
        super().close()


def _why(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, PermissionError):
        return "permission denied"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def session_paths(path: str) -> tuple[str, list[tuple[str, str]]]:
    """The main file of a session and its subagents' files as (agent id, path). `SourceError`
    where the path is empty, or names one session of a file where the whole file is meant.

    A session's directory may be named instead of its file: `<id>/` beside `<id>.jsonl`."""
    if not path:
        raise SourceError(NO_NAME)
    if path == STDIN:
        return path, []
    place = Path(path)
    name, mark, which = path.rpartition("@")
    if mark and which and not os.path.lexists(path) and os.path.isfile(name):  # noqa: PTH113
        raise SourceError(f"{path}: here a whole file is read; name it without @{which}")
    if os.path.isdir(path):  # noqa: PTH112 - a name too long is no folder
        named = _with_name(place)
        beside = named.with_name(named.name + ".jsonl") if named.name else named
        if beside.is_file():
            return str(beside), _subagents(place)
        inside = _recordings(place, "*.jsonl*")
        if len(inside) == 1:
            return session_paths(str(inside[0]))
        return path, []
    stem = place.name
    for suffix in (".gz", ".zst", ".jsonl"):
        stem = stem.removesuffix(suffix)
    return path, _subagents(place.with_name(stem))


def _with_name(folder: Path) -> Path:
    """The same directory by a path whose last part is its name: `.` and `..` have none."""
    if folder.name not in ("", ".."):
        return folder
    try:
        return folder.resolve()
    except OSError:  # the current directory was deleted
        return Path("/")


def _recordings(folder: Path, pattern: str) -> list[Path]:
    """The recordings of a pattern: `7.jsonl.gz`, not `7.jsonl.bak`."""
    return sorted(place for place in folder.glob(pattern) if place.name.endswith(_ENDINGS))


def _subagents(folder: Path) -> list[tuple[str, str]]:
    try:
        found = _recordings(folder / "subagents", "agent-*.jsonl*")
    except OSError:
        return []
    return [
        (place.name.removeprefix("agent-").split(".jsonl", 1)[0], str(place))
        for place in found
        if place.is_file()
    ]
