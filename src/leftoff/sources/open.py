"""Opening what people point at: a file, a session's directory, a compressed file, stdin."""

from __future__ import annotations

import gzip
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
from leftoff.sources.multi_file import is_multi_file, join_files

STDIN = "-"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

MAX_UNPACKED = 4 << 30
"""Bytes that a compressed recording may unpack to."""


@contextmanager
def open_lines(path: str) -> Iterator[Iterator[bytes]]:
    """The lines of a recording, unpacked where it is compressed; a line of more than
    `codec.MAX_LINE` bytes comes in pieces.

    Raises:
        SourceError: missing, unreadable, a directory, or damaged compression.
    """
    if is_multi_file(path):
        yield iter((join_files(path),))
        return
    with _opened(path) as stream:
        yield _lines(stream, path)


def read_head(path: str, size: int) -> bytes:
    """The first `size` bytes of a recording, unpacked; fewer if it has no more.

    Raises:
        SourceError: as for `open_lines`.
    """
    if is_multi_file(path):
        return join_files(path)
    # Not through `_opened`: its buffer is far larger than a header.
    with _regular(path, 0) as plain:
        try:
            head = plain.read(size)
        except OSError as error:
            raise SourceError(f"{path}: {_why(error)}") from error
    if head[:2] != _GZIP and head[:4] != _ZSTD:
        return head
    with _opened(path) as stream:
        try:
            return stream.read(size)
        except (EOFError, gzip.BadGzipFile, OSError) as error:
            raise SourceError(f"{path}: cannot be read ({_why(error)})") from error


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """What a file that is named holds, as it is.

    Raises:
        SourceError: as for `open_regular`, or it is larger than `codec.MAX_DOCUMENT`.
    """
    with open_regular(path) as file:
        data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise SourceError(f"{path}: larger than {MAX_DOCUMENT >> 20} MiB")
    return data


@contextmanager
def open_regular(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A regular file, open for reading as it is.

    Raises:
        SourceError: missing, no regular file, unreadable; also where reading on fails.
    """
    with _regular(path, 1 << 16) as file:
        try:
            yield file
        except OSError as error:
            if error.filename not in (None, path):
                raise
            raise SourceError(f"{path}: {_why(error)}") from error


def _regular(path: str | os.PathLike[str], buffering: int) -> BinaryIO:
    """A pipe or a device is not opened: it could block, or never end."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - as its user spells it
            raise SourceError(f"{path}: not a regular file")
        return open(path, "rb", buffering)  # noqa: PTH123
    except OSError as error:
        raise SourceError(f"{path}: {_why(error)}") from error


def _lines(stream: IO[bytes], path: str) -> Iterator[bytes]:
    try:
        yield from iter(partial(stream.readline, MAX_LINE), b"")
    except (EOFError, gzip.BadGzipFile, OSError) as error:
        raise SourceError(f"{path}: cannot be read to its end ({_why(error)})") from error


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    if os.path.isdir(path):  # noqa: PTH112
        raise SourceError(f"{path}: is a directory with no session in it")
    with cast("io.BufferedReader", _regular(path, 1 << 20)) as file:
        magic = file.peek(6)[:6]
        if magic[:2] == _GZIP:
            with _gunzip(file) as unpacked:
                yield unpacked
        elif magic[:4] == _ZSTD:
            with _unzstd(file, path) as unpacked:
                yield unpacked
        else:
            yield file


def _gunzip(file: IO[bytes]) -> IO[bytes]:
    try:
        from isal import igzip  # several times faster, where installed
    except ImportError:
        return _bounded(gzip.GzipFile(fileobj=file, mode="rb"))
    return _bounded(igzip.IGzipFile(fileobj=file, mode="rb"))  # type: ignore[no-untyped-call]


def _unzstd(file: IO[bytes], path: str) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise SourceError(
            f"{path}: zstd-compressed; reading it needs `pip install 'leftoff[zst]'`"
        ) from None
    opened = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
    return _bounded(opened)


def _bounded(opened: Any) -> IO[bytes]:
    return io.BufferedReader(_Bounded(opened), buffer_size=1 << 20)


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
    """The main file of a session and its subagents' files as (agent id, path).

    A session's directory may be named instead of its file: `<id>/` beside `<id>.jsonl`.
    """
    if path == STDIN:
        return path, []
    place = Path(path)
    if place.is_dir():
        beside = place.with_name(place.name + ".jsonl")
        if beside.is_file():
            return str(beside), _subagents(place)
        inside = sorted(place.glob("*.jsonl"))
        if len(inside) == 1:
            return session_paths(str(inside[0]))
        return path, []
    stem = place.name
    for suffix in (".gz", ".zst", ".jsonl"):
        stem = stem.removesuffix(suffix)
    return path, _subagents(place.with_name(stem))


def _subagents(folder: Path) -> list[tuple[str, str]]:
    try:
        found = sorted((folder / "subagents").glob("agent-*.jsonl*"))
    except OSError:
        return []
    return [(_agent_id(p.name), str(p)) for p in found if p.is_file()]


def _agent_id(name: str) -> str:
    return name.removeprefix("agent-").split(".jsonl", 1)[0]
