"""Documents in files: the default store.

A document is `{folder of its kind}/{prefix}{id}.json`, or `.json.gz` where it is compressed,
with its markdown beside it in `.md`. The JSON is the truth: it is put in its place first, the
markdown after it, and a markdown that does not belong to the JSON is not given out. The good
document that a save replaces is kept as `.json.bak`, a damaged one as `.json.damaged`.

Writers of one id take turns by a lock in `.locks`, which its holder's end frees however it
comes. Readers take no lock: they see the old document or the new one.
"""

from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from stat import S_ISLNK
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from leftoff import codec
from leftoff.errors import Damaged, NotPlainName, StateError, TooNew, Unsure
from leftoff.settings import Settings
from leftoff.stores.atomic import Folder, NotSynced, make_folders
from leftoff.stores.envelope import Gate, changes, clean, gate_of, resealed, seal, unseal
from leftoff.stores.lookup import (
    Found,
    find,
    list_entries,
    look,
    other,
    read_text,
    reason,
    take,
    unpack,
)
from leftoff.stores.naming import (
    ASIDE,
    BACKUP,
    JSON,
    PACKED,
    TEXT,
    folded,
    place_of,
    plain,
    stem,
)
from leftoff.stores.protocol import Entry, Kept

PATIENCE: Final = 10.0
"""Seconds to wait for another writer of the same document."""

_LOCKS: Final = ".locks"
_STRIPES: Final = 256
"""Locks in a folder. Ids share them, so that they need not be removed with a document."""

_GLANCES: Final = 3
"""How often a document and its markdown are read before they are said to differ."""


class Accepted(Struct, frozen=True):
    """A damaged document that was sealed again.

    Attributes:
        changed: where it differs from the last good one, as paths; None if there is no such.
    """

    where: str
    document: dict[str, Any]
    changed: list[str] | None


class FileStore:
    """Documents in files under one folder.

    Args:
        root: the folder; made when something is saved. It may be a link, nothing in it is.
        places: kinds of which the documents stand in a folder of their own.
        compress: kinds that are compressed, with the size in bytes from which they are.
        gate: makes the redactor for a document of a kind.
        patience: seconds to wait for another writer of the same document.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        places: Mapping[str, str | os.PathLike[str]] | None = None,
        compress: Mapping[str, int] | None = None,
        gate: Gate = gate_of,
        patience: float = PATIENCE,
    ) -> None:
        self.root = Path(root)
        self._places = {kind: Path(path) for kind, path in (places or {}).items()}
        self._compress = dict(compress or {})
        for kind in (*self._places, *self._compress):
            place_of(kind)
        self._gate = gate
        self._patience = patience
        self._swept: set[str] = set()

    def folder(self, kind: str) -> Path:
        """The folder of a kind."""
        return self._places.get(kind) or self.root / place_of(kind).folder

    # -- the four and two ------------------------------------------------------------------

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        given = clean(kind, document, text, self._gate)
        begin = stem(kind, plain(kind, id))
        where = str(self.folder(kind) / (begin + JSON))
        with _told(where, "cannot be saved"):
            make_folders(self.folder(kind))
            with self._changing(kind, begin) as folder:
                before = self._before(folder, kind, id)
                pinned = self._pinned(folder, kind, begin, before)
                data = codec.dumps(seal(kind, id, given, pinned=pinned), indent=2)
                name = self._write(folder, kind, begin, data, given.text, before)
        return str(self.folder(kind) / name)

    def load(self, kind: str, id: str) -> Kept | None:
        begin = stem(kind, plain(kind, id))
        where = str(self.folder(kind) / (begin + JSON))
        with _told(where, "cannot be read"), self._reading(kind) as folder:
            if folder is None:
                return None
            for glances_left in reversed(range(_GLANCES)):
                kept, whole = look(folder, kind, id)
                if whole or not glances_left:
                    return kept
                time.sleep(0.002)  # a writer is between the JSON and the markdown
        raise AssertionError

    def list(self, kind: str) -> list[Entry]:
        with _told(str(self.folder(kind)), "cannot be listed"), self._reading(kind) as folder:
            entries = [] if folder is None else list(list_entries(folder, kind))
        return sorted(entries, key=lambda e: (-e.saved, e.id))

    def delete(self, kind: str, id: str) -> bool:
        begin = stem(kind, plain(kind, id))
        with (
            _told(str(self.folder(kind) / (begin + JSON)), "cannot be removed"),
            self._reading(kind) as known,
        ):
            if known is None:
                return False
            with self._locked(known, begin):
                found = find(known, kind, begin)
                if found is not None and other(found, id):
                    return False
                return self._remove(known, begin)

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Protects a document from retention, or no longer. False if there is none."""
        begin = stem(kind, plain(kind, id))
        with (
            _told(str(self.folder(kind) / (begin + JSON)), "cannot be pinned"),
            self._reading(kind) as known,
        ):
            if known is None:
                return False
            with self._locked(known, begin):
                found = find(known, kind, begin)
                if found is None or other(found, id):
                    return False
                if found.opened is None:
                    raise found.error or AssertionError
                self._pin(known, kind, id, found, pinned=pinned)
        return True

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        begin = stem(kind, plain(kind, entry.id))
        with (
            _told(entry.where, "cannot be removed"),
            self._reading(kind) as known,
        ):
            if known is None:
                return False
            with self._locked(known, begin):
                found = find(known, kind, begin, backup=True)
                if found is None or found.opened is None or found.opened.pinned:
                    return False
                if found.changed / 1e9 != entry.saved:
                    return False
                return self._remove(known, begin)

    def accept(self, kind: str, id: str) -> Accepted:
        """Seals a document again that was changed by hand; the one before stays the backup.

        Raises:
            Damaged: it is no JSON object, or there is none.
        """
        begin = stem(kind, plain(kind, id))
        where = str(self.folder(kind) / (begin + JSON))
        with _told(where, "cannot be accepted"), self._changing(kind, begin) as folder:
            found = find(folder, kind, begin)
            if found is None:
                raise Damaged(f"{where}: there is none to accept")
            if found.data is None:
                raise found.error or AssertionError
            opened = unseal(kind, unpack(found.data, where), where, accept=True)
            backup = take(folder, kind, begin + BACKUP)
            text = read_text(folder, begin)
            given = clean(kind, opened.document, text, self._gate)
            data = codec.dumps(seal(kind, id, given, pinned=opened.pinned), indent=2)
            name = self._write(folder, kind, begin, data, given.text, found)
        before = backup.opened if backup else None
        changed = changes(before.document, given.document) if before else None
        return Accepted(str(self.folder(kind) / name), given.document, changed)

    # -- folders and locks -----------------------------------------------------------------

    @contextmanager
    def _reading(self, kind: str) -> Iterator[Folder | None]:
        """The folder of a kind, None if there is none. What killed writers left in it is
        removed when it is first opened."""
        own = self._places.get(kind)
        with ExitStack() as stack:
            try:
                if own is not None:
                    folder = stack.enter_context(Folder.opened(own))
                else:
                    root = stack.enter_context(Folder.opened(self.root))
                    folder = stack.enter_context(root.inner(place_of(kind).folder))
            except FileNotFoundError:
                yield None
                return
            if kind not in self._swept:
                self._swept.add(kind)
                with suppress(OSError):
                    folder.sweep()
            yield folder

    @contextmanager
    def _changing(self, kind: str, begin: str) -> Iterator[Folder]:
        """The folder of a kind, locked for one document."""
        with self._reading(kind) as folder:
            if folder is None:
                raise FileNotFoundError(2, "No such folder", str(self.folder(kind)))
            with self._locked(folder, begin):
                yield folder

    @contextmanager
    def _locked(self, folder: Folder, begin: str) -> Iterator[None]:
        name = f"{zlib.crc32(folded(begin).encode()) % _STRIPES:02x}.lock"
        folder.make(_LOCKS)
        with folder.inner(_LOCKS) as locks, ExitStack() as stack:
            try:
                stack.enter_context(locks.locked(name, self._patience))
            except TimeoutError:
                raise StateError(
                    f"{folder.path / begin}: another process has been writing for "
                    f"{self._patience:g} s ({locks.path / name} is locked); try again"
                ) from None
            yield

    # -- writing ---------------------------------------------------------------------------

    def _before(self, folder: Folder, kind: str, id: str) -> Found | None:
        """What is there and will be replaced.

        Raises:
            TooNew: it must not be.
            NotPlainName: it is the document of another id.
        """
        found = find(folder, kind, stem(kind, id))
        if found is None:
            return None
        if isinstance(found.error, TooNew):
            raise found.error
        if found.data is None and not _link(folder, found.name):
            raise found.error or AssertionError  # who knows what would be lost
        if other(found, id):
            raise NotPlainName(
                f"{id!r} cannot be the id of a {kind}: {folder.path / found.name} has the same "
                "name on this file system, which does not tell capitals or accents apart"
            )
        return found

    def _pinned(self, folder: Folder, kind: str, begin: str, before: Found | None) -> bool:
        if before is not None and before.opened is None:
            before = take(folder, kind, begin + BACKUP)
        return before is not None and before.opened is not None and before.opened.pinned

    def _packed(self, kind: str, data: bytes) -> bytes:
        least = self._compress.get(kind)
        if least is None or len(data) < least:
            return data
        return gzip.compress(data, mtime=0)

    def _write(
        self,
        folder: Folder,
        kind: str,
        begin: str,
        data: bytes,
        text: str,
        before: Found | None,
    ) -> str:
        """Puts a document and its markdown in their places; gives the name of its file."""
        packed = self._packed(kind, data)
        name = begin + (JSON if packed is data else PACKED)
        with ExitStack() as stack:
            words = None
            if text:
                words = stack.enter_context(folder.stage(begin + TEXT, text.encode()))
            main = stack.enter_context(folder.stage(name, packed))
            if before is not None and before.data is not None:
                # Only a good one becomes the last good one.
                aside = BACKUP if before.opened is not None else ASIDE
                folder.copy(before.name, begin + aside, before.data)
            main.commit()
            try:
                if words is not None:
                    words.commit()
                else:
                    folder.remove(begin + TEXT)
                folder.remove(begin + (PACKED if packed is data else JSON))
                folder.sync()
            except OSError as error:
                raise _unsure(folder.path / name, error) from error
        return name

    def _pin(self, folder: Folder, kind: str, id: str, found: Found, *, pinned: bool) -> None:
        assert found.opened is not None
        if found.opened.pinned == pinned:
            return
        if found.opened.seal is None:
            text = read_text(folder, stem(kind, id))
            given = clean(kind, found.opened.document, text, self._gate)
            sealed = seal(kind, id, given, pinned=pinned)
        else:
            sealed = resealed(found.opened, pinned=pinned)
        data = codec.dumps(sealed, indent=2)
        if found.name.endswith(PACKED):
            data = gzip.compress(data, mtime=0)
        with folder.stage(found.name, data, found.changed) as staged:
            staged.commit()
        try:
            folder.sync()
        except NotSynced as error:
            raise _unsure(folder.path / found.name, error) from error

    @staticmethod
    def _remove(folder: Folder, begin: str) -> bool:
        """Removes every file of a document, the document itself last."""
        order = (TEXT, ASIDE, BACKUP, PACKED, JSON)
        removed = [folder.remove(begin + ending) for ending in order]
        try:
            folder.sync()
        except NotSynced as error:
            where = folder.path / (begin + JSON)
            raise Unsure(
                f"{where}: removed, but may be back after a power cut ({reason(error)})"
            ) from error
        return any(removed[2:])


def _link(folder: Folder, name: str) -> bool:
    try:
        return S_ISLNK(folder.stat(name).st_mode)
    except OSError:
        return False


def _unsure(path: Path, error: OSError) -> Unsure:
    return Unsure(
        f"{path}: saved, but not certain to stay ({reason(error)}); save it again to be sure"
    )


@contextmanager
def _told(where: str, what: str) -> Iterator[None]:
    """Failures of the system as errors of the store."""
    try:
        yield
    except (OSError, NotImplementedError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise StateError(f"{where}: {what} ({why}); what was there stays") from error


def open_files(where: str, **options: Any) -> FileStore:
    """The file store at a path or `file:` URL."""
    return FileStore(_path_of(where), **options)


def _path_of(where: str, *, windows: bool = os.name == "nt") -> str:
    """The path that a `file:` URL names; any other text is a path."""
    if not where.lower().startswith("file:"):
        return where
    url = urlsplit(where)
    path = unquote(url.path)
    if windows and url.netloc not in {"", "localhost"}:
        return f"//{url.netloc}{path}"
    return path[1:] if windows and path[2:3] == ":" else path


def store_for(settings: Settings, project: str | os.PathLike[str] = ".") -> FileStore:
    """The file store that the settings of a project name.

    Args:
        project: the folder that paths in settings are relative to.
    """
    folder = Path(project)
    logs = settings.context_management.resume_logs
    dump, resume = settings.token_budget.context_dump, settings.resume
    places = {
        "resume_log": logs.storage_dir,
        "checkpoint": dump.checkpoint_dir,
        "resume_state": resume.storage_location,
    }
    compress: dict[str, int] = {}
    if dump.compression == "gzip":
        compress["checkpoint"] = 0
    if resume.enable_compression:
        compress["resume_state"] = resume.max_file_size_bytes
    own = {kind: settings.place(path) for kind, path in places.items()}
    defaults = {kind: f"{settings.place('{home}')}/{place_of(kind).folder}" for kind in own}
    return FileStore(
        folder / settings.place("{home}"),
        places={k: folder / path for k, path in own.items() if path != defaults[k]},
        compress=compress,
    )
