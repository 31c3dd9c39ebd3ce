"""Documents as objects: `s3://` and whatever else fsspec knows (`pip install 'leftoff[s3]'`).

Object stores replace objects atomically, but have no locks and no transactions. So each
document is one object. Its markdown is a second one, which `load` returns only while it
belongs to the document, and of two concurrent saves of one id the last one wins. The pin and
the time of saving stand in the document, so `list` reads all documents."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from leftoff.errors import LeftoffError, StateError, UnknownName, UsageError
from leftoff.redaction.redactor import Redactor
from leftoff.registry import imported
from leftoff.stores.envelope import RedactorFactory, read_header, redactor_for
from leftoff.stores.naming import JSON, MARKDOWN, file_stem, location_of, parse_file_name
from leftoff.stores.protocol import stores
from leftoff.stores.sealed import Change, Row, SealedStore


def filesystem(url: str, **options: object) -> tuple[Any, str]:
    """The file system of a URL, and the path in it. `options`: of fsspec's file system.
    `UsageError` where fsspec, or what it needs for this URL, is not installed, or it does not
    know this URL (`__cause__` is a ValueError)."""
    fsspec = imported("fsspec", f"{url}: URLs need", "s3")
    try:
        # A cached listing would not show what other processes save.
        system, path = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url}: {error}") from error
    return system, path


def _known(scheme: str) -> bool:
    import fsspec

    return scheme in fsspec.available_protocols()


def changed_at(info: Mapping[str, object]) -> float:
    """When an object was last changed, in seconds since 1970, as its file system says; 0 if it
    does not."""
    # As s3fs, local files, gcsfs, adlfs and the file system in memory name it.
    for key in ("LastModified", "mtime", "updated", "last_modified", "created"):
        value = info.get(key)
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, datetime):
            return value.timestamp()
    return 0.0


class ObjectStore(SealedStore):
    """Documents as objects under a URL.

    Args:
        url: such as s3://bucket/prefix.
        gate: makes the redactor for a document of a kind.
        options: of fsspec's file system, such as `endpoint_url`.

    Raises:
        UsageError: fsspec, or what it needs for this URL, is not installed.
        UnknownName: it does not know this URL."""

    def __init__(
        self, url: str, *, gate: RedactorFactory = redactor_for, **options: object
    ) -> None:
        super().__init__(gate)
        self._scheme = url.partition("://")[0]
        try:
            self._system, root = filesystem(url, **options)
        except UsageError as error:
            if isinstance(error.__cause__, ImportError) or _known(self._scheme):
                raise  # the options or the rest of the URL are at fault
            raise UnknownName(
                "store", self._scheme, [*stores.names(), "s3", "memory"]
            ) from error
        self._root = root.rstrip("/")

    seals_time = True

    def _read(self, kind: str, id: str) -> Row | None:
        with self._translate_errors(self._where(kind, id)):
            data = self._get(self._path(kind, id) + JSON)
        return None if data is None else _row(kind, data)

    def _read_text(self, kind: str, id: str) -> str:
        with self._translate_errors(self._where(kind, id)):
            return (self._get(self._path(kind, id) + MARKDOWN) or b"").decode(errors="replace")

    def _rows(self, kind: str) -> Iterator[tuple[str, Row]]:
        folder = f"{self._root}/{location_of(kind).folder}"
        with self._translate_errors(folder):
            try:
                found = self._system.ls(folder, detail=True)
            except FileNotFoundError:
                return
            known = {info["name"].rpartition("/")[2]: info for info in found}
            split = [parse_file_name(kind, name) for name in sorted(known)]
            ids = [parts[0] for parts in split if parts is not None and parts[1] == JSON]
            paths = [self._path(kind, name) + JSON for name in ids]
            read = self._system.cat_ranges(paths, None, None, on_error="return")
        for name, data in zip(ids, read, strict=True):
            # Removed since it was listed.
            if isinstance(data, FileNotFoundError):
                continue
            stem = file_stem(kind, name)
            sizes = (known.get(stem + ending, {}).get("size") for ending in (JSON, MARKDOWN))
            row = _row(kind, data if isinstance(data, bytes) else b"")
            saved = row.saved if row.saved >= 0 else changed_at(known[stem + JSON])
            yield name, replace(row, saved=saved, size=sum(size or 0 for size in sizes))

    def _change(self, kind: str, id: str, change: Change) -> Row | None:
        path = self._path(kind, id)
        with self._translate_errors(self._where(kind, id)):
            row = change(before := self._read(kind, id))
            if row is None:
                self._remove(path + MARKDOWN)
                self._remove(path + JSON)
            elif isinstance(row, Row):
                # First the document: `load` leaves out markdown that does not belong to it.
                self._system.pipe_file(path + JSON, row.data)
                if row.text:
                    self._system.pipe_file(path + MARKDOWN, row.text.encode())
                elif row.text is not None:
                    self._remove(path + MARKDOWN)
        return before

    def _path(self, kind: str, id: str) -> str:
        return f"{self._root}/{location_of(kind).folder}/{file_stem(kind, id)}"

    def _where(self, kind: str, id: str) -> str:
        return f"{self._scheme}://{self._path(kind, id).lstrip('/')}{JSON}"

    def _get(self, path: str) -> bytes | None:
        try:
            data: bytes = self._system.cat_file(path)
        except FileNotFoundError:
            return None
        return data

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            if self._system.exists(path):
                self._system.rm_file(path)

    @contextmanager
    def _translate_errors(self, where: str) -> Iterator[None]:
        try:
            yield
        except LeftoffError:
            raise
        except Exception as error:  # each file system has its own errors
            words = Redactor().text(f"{type(error).__name__}: {error}")
            raise StateError(f"{where}: the object store failed: {words}") from error


def _row(kind: str, data: bytes) -> Row:
    """The row of an object: pin and time (-1 where none is known) are in its document."""
    header = None
    with suppress(StateError):
        header = read_header(kind, data, "")
    if header is None:
        return Row(data, None, -1.0, pinned=False)
    return Row(data, None, -1.0 if header.saved is None else header.saved, header.pinned)
