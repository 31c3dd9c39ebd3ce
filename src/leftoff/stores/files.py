"""Documents in files: the default store.

A document is `{folder of its kind}/{prefix}{id}.json`, or `.json.gz` where it is compressed,
with its markdown beside it in `.md`. The JSON is authoritative: it is replaced first, then the
markdown, and `load` drops markdown that does not belong to the JSON. A save copies the good
document that it replaces to `.json.bak`, a damaged one to `.json.damaged`.

Writers of one id take a lock in `.locks`; the kernel releases it when its holder ends or is
killed. Readers take no lock: they see the old document or the new one."""

import gzip
import math
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
from leftoff.settings import Settings, load_here
from leftoff.stores import envelope
from leftoff.stores.atomic import LOCK_TIMEOUT, Directory, make_directories
from leftoff.stores.lookup import (
    FoundDocument,
    error_text,
    find_document,
    has_other_id,
    list_entries,
    load_document,
    read_document_file,
    read_text,
)
from leftoff.stores.naming import (
    BACKUP,
    DAMAGED,
    GZIPPED,
    JSON,
    MARKDOWN,
    check_id,
    file_stem,
    fold_id,
    location_of,
)
from leftoff.stores.protocol import Entry, StoredDocument, newest_first

_LOCKS: Final = ".locks"
# Lock files in a folder. Ids share them by hash, so that no lock file has to be removed with a
# document.
_LOCK_STRIPES: Final = 256
# How often a document and its markdown are read before they are reported to differ.
_READ_ATTEMPTS: Final = 3


class Accepted(Struct, frozen=True):
    """A damaged document that was sealed again; `changed`: where it differs from the last good
    one, as paths, None if there is no such."""

    where: str
    document: codec.JsonObject
    changed: list[str] | None


class FileStore:
    """Documents in files under one folder.

    Args:
        root: the folder; made when something is saved. It may be a link, nothing in it is.
        places: kinds of which the documents stand in a folder of their own.
        compress: kinds that are compressed, with the size in bytes from which they are.
        gate: makes the redactor for a document of a kind.
        timeout: seconds to wait for another writer of the same document."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        places: Mapping[str, str | os.PathLike[str]] | None = None,
        compress: Mapping[str, int] | None = None,
        gate: envelope.RedactorFactory = envelope.redactor_for,
        timeout: float = LOCK_TIMEOUT,
    ) -> None:
        self.root = Path(root)
        self._places = {kind: Path(path) for kind, path in (places or {}).items()}
        self._compress = dict(compress or {})
        for kind in (*self._places, *self._compress):
            location_of(kind)
        self._gate = gate
        self._timeout = timeout
        self._cleaned: set[str] = set()

    def folder(self, kind: str) -> Path:
        """The folder of a kind."""
        return self._places.get(kind) or self.root / location_of(kind).folder

    # -- the four and two ------------------------------------------------------------------

    def save(
        self, kind: str, id: str, document: Mapping[str, object], *, text: str = ""
    ) -> str:
        given = envelope.sanitize(kind, document, text, self._gate)
        with self._held(kind, id, "cannot be saved", create=True) as (folder, stem, before):
            assert folder is not None
            self._check_replaceable(folder, kind, id, before)
            good = before
            if before is not None and before.opened is None:
                good = read_document_file(folder, kind, stem + BACKUP)
            pinned = good is not None and good.pinned
            return self._write(folder, kind, id, given, before, pinned=pinned)

    def load(self, kind: str, id: str) -> StoredDocument | None:
        stem = file_stem(kind, check_id(kind, id))
        where = str(self.folder(kind) / (stem + JSON))
        with _translate_errors(where, "cannot be read"), self._reading(kind) as folder:
            if folder is None:
                return None
            for _ in range(_READ_ATTEMPTS):
                document = load_document(folder, kind, id)
                if document is None or all(i.code != "text_differs" for i in document.issues):
                    break
                # Seconds; chosen by hand, not measured.
                time.sleep(0.002)  # a writer has replaced the JSON and not yet the markdown
            return document

    def list(self, kind: str) -> list[Entry]:
        with (
            _translate_errors(str(self.folder(kind)), "cannot be listed"),
            self._reading(kind) as folder,
        ):
            entries = [] if folder is None else list(list_entries(folder, kind))
        return newest_first(entries)

    def delete(self, kind: str, id: str) -> bool:
        with self._held(kind, id, "cannot be removed") as (folder, stem, found):
            if folder is None or (found is not None and has_other_id(found, id)):
                return False
            return self._remove(folder, stem)

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Pins or unpins a document. False if there is none."""
        with self._held(kind, id, "cannot be pinned") as (folder, stem, found):
            if folder is None or found is None or has_other_id(found, id):
                return False
            if found.opened is None:
                raise found.error or AssertionError
            if found.pinned != pinned:
                text = read_text(folder, stem)
                sealed = envelope.reseal(
                    kind, id, found.opened, text, self._gate, pinned=pinned
                )
                data = codec.dumps(sealed, indent=2)
                if found.name.endswith(GZIPPED):
                    data = gzip.compress(data, mtime=0)
                folder.replace(found.name, data, mtime_ns=found.changed)
                with _unsure(folder.path / found.name):
                    folder.fsync()
            return True

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        with self._held(kind, entry.id, "cannot be removed", backup=True) as found_in:
            folder, stem, found = found_in
            if folder is None or found is None or found.opened is None or found.pinned:
                return False
            return found.changed / 1e9 == entry.saved and self._remove(folder, stem)

    def accept(self, kind: str, id: str) -> Accepted:
        """Seals a document again that was changed by hand; the one before stays the backup.

        Raises:
            Damaged: it is no JSON object, or there is none."""
        with self._held(kind, id, "cannot be accepted") as (folder, stem, found):
            where = str(self.folder(kind) / (stem + JSON))
            if folder is None or found is None:
                raise Damaged(f"{where}: there is none to accept")
            if found.data is None:
                raise found.error or AssertionError
            opened = envelope.unseal(kind, found.data, where, accept=True)
            backup = read_document_file(folder, kind, stem + BACKUP)
            text = read_text(folder, stem)
            given = envelope.sanitize(kind, opened.document, text, self._gate)
            written = self._write(folder, kind, id, given, found, pinned=opened.pinned)
        before = backup.opened if backup else None
        changed = envelope.differing_paths(before.document, given.document) if before else None
        return Accepted(written, given.document, changed)

    # -- folders and locks -----------------------------------------------------------------

    @contextmanager
    def _reading(self, kind: str) -> Iterator[Directory | None]:
        """The folder of a kind, None if there is none. What killed writers left in it is
        removed when it is first opened."""
        own = self._places.get(kind)
        with ExitStack() as stack:
            try:
                if own is not None:
                    folder = stack.enter_context(Directory.open(own))
                else:
                    root = stack.enter_context(Directory.open(self.root))
                    folder = stack.enter_context(root.subdirectory(location_of(kind).folder))
            except FileNotFoundError:
                yield None
                return
            if kind not in self._cleaned:
                self._cleaned.add(kind)
                with suppress(OSError):
                    folder.remove_stale_temporaries()
            yield folder

    @contextmanager
    def _held(
        self, kind: str, id: str, failure: str, *, backup: bool = False, create: bool = False
    ) -> Iterator[tuple[Directory | None, str, FoundDocument | None]]:
        """The folder of a kind (None if there is none), locked for one document, the stem of
        its file names, and what is there of it."""
        stem = file_stem(kind, check_id(kind, id))
        where = str(self.folder(kind) / (stem + JSON))
        with _translate_errors(where, failure), ExitStack() as stack:
            if create:
                make_directories(self.folder(kind))
            folder = stack.enter_context(self._reading(kind))
            if folder is not None:
                stack.enter_context(self._locked(folder, stem))
                yield folder, stem, find_document(folder, kind, stem, backup=backup)
            elif create:
                raise FileNotFoundError(2, "No such folder", str(self.folder(kind)))
            else:
                yield None, stem, None

    @contextmanager
    def _locked(self, folder: Directory, stem: str) -> Iterator[None]:
        # Of the folded name: ids that one file system takes for the same share a lock. Not by
        # `hash`, which differs from process to process.
        name = f"{zlib.crc32(fold_id(stem).encode()) % _LOCK_STRIPES:02x}.lock"
        folder.mkdir(_LOCKS)
        with folder.subdirectory(_LOCKS) as locks, ExitStack() as stack:
            try:
                stack.enter_context(locks.lock(name, self._timeout))
            except TimeoutError:
                raise StateError(
                    f"{folder.path / stem}: another process has been writing for "
                    f"{self._timeout:g} s ({locks.path / name} is locked); try again"
                ) from None
            yield

    # -- writing ---------------------------------------------------------------------------

    def _check_replaceable(
        self, folder: Directory, kind: str, id: str, found: FoundDocument | None
    ) -> None:
        """Checks that a save may replace what was found.

        Raises:
            TooNew: a newer leftoff wrote it.
            NotPlainName: it is the document of another id."""
        if found is None:
            return
        if isinstance(found.error, TooNew):
            raise found.error
        # A link is replaced; it is never read.
        if found.data is None and not _link(folder, found.name):
            raise found.error or AssertionError  # replacing it could lose a good document
        if has_other_id(found, id):
            raise NotPlainName(
                f"{id!r} cannot be the id of a {kind}: {folder.path / found.name} has the same "
                "name on this file system, which does not tell capitals or accents apart"
            )

    def _write(
        self,
        folder: Directory,
        kind: str,
        id: str,
        given: envelope.Sanitized,
        before: FoundDocument | None,
        *,
        pinned: bool,
    ) -> str:
        """Seals and writes a document; returns its path."""
        data = codec.dumps(envelope.seal(kind, id, given, pinned=pinned), indent=2)
        stem, (ending, other) = file_stem(kind, id), (JSON, GZIPPED)
        if len(data) >= self._compress.get(kind, math.inf):
            # Without a time the same document gives the same bytes.
            data, ending, other = gzip.compress(data, mtime=0), GZIPPED, JSON
        path = folder.path / (stem + ending)
        with ExitStack() as stack:
            # Both files are written in full before one is renamed: a full disk leaves the old
            # ones.
            words = None
            if given.text:
                words = stack.enter_context(folder.stage(stem + MARKDOWN, given.text.encode()))
            main = stack.enter_context(folder.stage(path.name, data))
            if before is not None and before.data is not None:
                # Only a good document becomes the backup.
                aside = BACKUP if before.opened is not None else DAMAGED
                folder.link_or_copy(before.name, stem + aside, before.data)
            main.commit()
            with _unsure(path):
                if words is not None:
                    words.commit()
                else:
                    folder.remove(stem + MARKDOWN)
                folder.remove(stem + other)
                folder.fsync()
        return str(path)

    @staticmethod
    def _remove(folder: Directory, stem: str) -> bool:
        # The backup before the document: after a kill in between, `load` would take it for a
        # document that was lost.
        order = (MARKDOWN, DAMAGED, BACKUP, GZIPPED, JSON)
        removed = [folder.remove(stem + ending) for ending in order]
        with _unsure(folder.path / (stem + JSON), _MAY_BE_BACK):
            folder.fsync()
        return any(removed[2:])


def _link(folder: Directory, name: str) -> bool:
    try:
        return S_ISLNK(folder.stat(name).st_mode)
    except OSError:
        return False


_MAY_BE_LOST = "saved, but not certain to stay ({}); save it again to be sure"
_MAY_BE_BACK = "removed, but may be back after a power cut ({})"


@contextmanager
def _unsure(path: Path, what: str = _MAY_BE_LOST) -> Iterator[None]:
    """Raises what fails after a document was replaced or removed as `Unsure`."""
    try:
        yield
    except OSError as error:
        raise Unsure(f"{path}: {what.format(error_text(error))}") from error


@contextmanager
def _translate_errors(where: str, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, NotImplementedError) as error:
        why = error_text(error) if isinstance(error, OSError) else str(error)
        raise StateError(f"{where}: {what} ({why}); what was there stays") from error


def open_files(where: str, **options: Any) -> FileStore:
    """The file store at a path or `file:` URL; what it compresses is as the settings in force
    here say, unless `compress` is given."""
    options.setdefault("compress", _compress(load_here().settings))
    return FileStore(_path_of(where), **options)


def _path_of(where: str, *, windows: bool = os.name == "nt") -> str:
    if not where.lower().startswith("file:"):
        return where
    url = urlsplit(where)
    path = unquote(url.path)
    # `file://server/share/x`
    if windows and url.netloc not in {"", "localhost"}:
        return f"//{url.netloc}{path}"
    return path[1:] if windows and path[2:3] == ":" else path


def store_for(settings: Settings, project: str | os.PathLike[str] = ".") -> FileStore:
    """The file store that the settings of a project name; paths in settings are relative to its
    folder."""
    folder = Path(project)
    logs = settings.context_management.resume_logs
    dump, resume = settings.token_budget.context_dump, settings.resume
    places = {
        "resume_log": logs.storage_dir,
        "checkpoint": dump.checkpoint_dir,
        "resume_state": resume.storage_location,
    }
    own = {kind: settings.place(path) for kind, path in places.items()}
    defaults = {kind: f"{settings.place('{home}')}/{location_of(kind).folder}" for kind in own}
    return FileStore(
        folder / settings.place("{home}"),
        places={k: folder / path for k, path in own.items() if path != defaults[k]},
        compress=_compress(settings),
    )


def stores_for(
    settings: Settings, project: str | os.PathLike[str], kind: str, theirs: str
) -> tuple[FileStore, ...]:
    """The file store that the settings of a project name, and that of another program if the
    project has its folder `theirs` of documents of a kind: it is read, never written."""
    ours = store_for(settings, project)
    folder = Path(project) / theirs
    if not folder.is_dir() or folder.resolve() == ours.folder(kind).resolve():
        return (ours,)
    return ours, FileStore(ours.root, places={kind: folder})


def _compress(settings: Settings) -> dict[str, int]:
    """Kinds that are compressed, with the size in bytes from which they are."""
    compress: dict[str, int] = {}
    if settings.token_budget.context_dump.compression == "gzip":
        compress["checkpoint"] = 0
    if settings.resume.enable_compression:
        compress["resume_state"] = settings.resume.max_file_size_bytes
    return compress
