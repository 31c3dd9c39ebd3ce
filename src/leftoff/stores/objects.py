"""Documents as objects: `s3://` and whatever else fsspec knows (`pip install 'leftoff[s3]'`).

Object stores replace objects atomically, but have no locks and no transactions. So each
document is one object. Its markdown is a second one, which `load` returns only while it
belongs to the document, and of two concurrent saves of one id the last one wins. The pin and
the time of saving stand in the document, so `list` reads all documents.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from leftoff import codec
from leftoff.errors import LeftoffError, StateError, UnknownName, UsageError
from leftoff.model import Issue
from leftoff.redaction.redactor import Redactor
from leftoff.stores.envelope import (
    RedactorFactory,
    Unsealed,
    checksum,
    read_header_or_none,
    redactor_for,
    reseal,
    sanitize,
    seal,
    unseal,
)
from leftoff.stores.naming import (
    JSON,
    MARKDOWN,
    check_id,
    file_stem,
    location_of,
    parse_file_name,
)
from leftoff.stores.protocol import Entry, StoredDocument


class ObjectStore:
    """Documents as objects under a URL.

    Args:
        url: such as s3://bucket/prefix.
        gate: makes the redactor for a document of a kind.
        options: of fsspec's file system, such as `endpoint_url`.

    Raises:
        UsageError: fsspec, or what it needs for this URL, is not installed.
        UnknownName: it does not know this URL.
    """

    def __init__(
        self, url: str, *, gate: RedactorFactory = redactor_for, **options: Any
    ) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise UsageError(f"{url}: needs: pip install 'leftoff[s3]'") from error
        scheme = url.partition("://")[0]
        if scheme not in fsspec.available_protocols():
            from leftoff.stores.protocol import stores

            raise UnknownName("store", scheme, [*stores.names(), "s3", "memory"])
        try:
            self._system: Any
            # A cached listing would not show what other processes save.
            self._system, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
        except ImportError as error:
            raise UsageError(f"{url}: {error}") from error
        self._root = root.rstrip("/")
        self._scheme = scheme
        self._gate = gate

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        given = sanitize(kind, document, text, self._gate)
        path, where = self._path(kind, check_id(kind, id)), self._where(kind, id)
        with self._translate_errors(where):
            pinned = False
            before = self._get(path + JSON)
            if before is not None:
                known = read_header_or_none(kind, before, where)
                pinned = known is not None and known.pinned
            data = codec.dumps(seal(kind, id, given, pinned=pinned, saved=time.time()))
            self._system.pipe_file(path + JSON, data)
            if given.text:
                self._system.pipe_file(path + MARKDOWN, given.text.encode())
            else:
                self._remove(path + MARKDOWN)
        return where

    def load(self, kind: str, id: str) -> StoredDocument | None:
        path, where = self._path(kind, check_id(kind, id)), self._where(kind, id)
        with self._translate_errors(where):
            data = self._get(path + JSON)
            if data is None:
                return None
            opened = unseal(kind, data, where)
            sums = opened.header.text if opened.header else ""
            words = (self._get(path + MARKDOWN) or b"") if sums else b""
        if checksum(words) == sums or not sums:
            return StoredDocument(opened.document, opened.issues, where, words.decode())
        message = f"{where}: its markdown is not of this document; left out"
        issue = Issue("text_differs", "warning", message)
        return StoredDocument(opened.document, (*opened.issues, issue), where)

    def list(self, kind: str) -> list[Entry]:
        folder = f"{self._root}/{location_of(kind).folder}"
        with self._translate_errors(folder):
            try:
                found = self._system.ls(folder, detail=True)
            except FileNotFoundError:
                return []
            known = {info["name"].rpartition("/")[2]: info for info in found}
            split = [parse_file_name(kind, name) for name in sorted(known)]
            ids = [parts[0] for parts in split if parts is not None and parts[1] == JSON]
            paths = [self._path(kind, name) + JSON for name in ids]
            read = self._system.cat_ranges(paths, None, None, on_error="return")
        entries = [
            self._entry(kind, name, data, known)
            for name, data in zip(ids, read, strict=True)
            if not isinstance(data, FileNotFoundError)
        ]
        return sorted(entries, key=lambda e: (-e.saved, e.id))

    def _entry(self, kind: str, id: str, data: Any, known: Mapping[str, Any]) -> Entry:
        name, where = file_stem(kind, id), self._where(kind, id)
        size = sum(known.get(name + ending, {}).get("size") or 0 for ending in (JSON, MARKDOWN))
        opened = _unseal_or_none(kind, data)
        if opened is not None and opened.header is not None and opened.header.saved is not None:
            return Entry(id, where, opened.header.saved, size, opened.pinned)
        return Entry(id, where, _changed(known[name + JSON]), size, readable=opened is not None)

    def delete(self, kind: str, id: str) -> bool:
        path = self._path(kind, check_id(kind, id))
        with self._translate_errors(self._where(kind, id)):
            self._remove(path + MARKDOWN)
            return self._remove(path + JSON)

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Pins or unpins a document. False if there is none."""
        path, where = self._path(kind, check_id(kind, id)), self._where(kind, id)
        with self._translate_errors(where):
            data = self._get(path + JSON)
            if data is None:
                return False
            sealed = reseal(unseal(kind, data, where), pinned=pinned)
            self._system.pipe_file(path + JSON, codec.dumps(sealed))
        return True

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        path = self._path(kind, check_id(kind, entry.id))
        with self._translate_errors(entry.where):
            opened = _unseal_or_none(kind, self._get(path + JSON))
            header = opened.header if opened is not None else None
            if header is None or header.pinned or header.saved != entry.saved:
                return False
            self._remove(path + MARKDOWN)
            return self._remove(path + JSON)

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

    def _remove(self, path: str) -> bool:
        if not self._system.exists(path):
            return False
        try:
            self._system.rm_file(path)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _translate_errors(self, where: str) -> Iterator[None]:
        """Raises errors of the file system as errors of the store."""
        try:
            yield
        except LeftoffError:
            raise
        except Exception as error:  # each file system has its own errors
            words = Redactor().text(f"{type(error).__name__}: {error}")
            raise StateError(f"{where}: the object store failed: {words}") from error


def _unseal_or_none(kind: str, data: Any) -> Unsealed | None:
    if not isinstance(data, bytes):
        return None
    try:
        return unseal(kind, data, "")
    except StateError:
        return None


def _changed(info: Mapping[str, Any]) -> float:
    """When an object was last changed, as its file system says; 0 if it does not."""
    for key in ("LastModified", "mtime", "created", "last_modified"):
        value = info.get(key)
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, datetime):
            return value.timestamp()
    return 0.0


def open_objects(where: str, **options: Any) -> ObjectStore:
    """The store at a URL that fsspec knows."""
    return ObjectStore(where, **options)
