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
from msgspec.structs import replace

from leftoff import codec
from leftoff.errors import Damaged, NotPlainName, StateError, TooNew, Unsure
from leftoff.model import Issue
from leftoff.settings import Settings, load_here
from leftoff.stores import envelope
from leftoff.stores.atomic import LOCK_TIMEOUT, Directory, error_text, make_directories
from leftoff.stores.naming import (
    BACKUP,
    DAMAGED,
    GZIPPED,
    JSON,
    MARKDOWN,
    check_id,
    file_stem,
    fold_id,
    ids_collide,
    location_of,
    parse_file_name,
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
        with self._held(kind, id, "cannot be saved", create=True) as (files, before):
            assert files is not None
            good = files.check_replaceable(before)
            return self._write(files, given, before, pinned=good is not None and good.pinned)

    def load(self, kind: str, id: str) -> StoredDocument | None:
        where = self._where(kind, id)
        with _translate_errors(where, "cannot be read"), self._reading(kind) as folder:
            if folder is None:
                return None
            for _ in range(_READ_ATTEMPTS):
                document = _Files(folder, kind, id).load()
                if document is None or all(i.code != "text_differs" for i in document.issues):
                    break
                # Seconds; chosen by hand, not measured.
                time.sleep(0.002)  # a writer has replaced the JSON and not yet the markdown
            return document

    def list(self, kind: str) -> list[Entry]:
        where = str(self.folder(kind))
        with _translate_errors(where, "cannot be listed"), self._reading(kind) as folder:
            return [] if folder is None else newest_first(_entries(folder, kind))

    def delete(self, kind: str, id: str) -> bool:
        with self._held(kind, id, "cannot be removed") as (files, found):
            return files is not None and not files.is_of_other(found) and files.remove()

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Pins or unpins a document. False if there is none."""
        with self._held(kind, id, "cannot be pinned") as (files, found):
            if files is None or found is None or files.is_of_other(found):
                return False
            if found.opened is None:
                raise found.error or AssertionError
            if found.pinned != pinned:
                sealed = envelope.reseal(
                    kind, id, found.opened, files.text(), self._gate, pinned=pinned
                )
                data = codec.dumps(sealed, indent=2)
                if found.name.endswith(GZIPPED):
                    data = gzip.compress(data, mtime=0)
                files.folder.replace(found.name, data, mtime_ns=found.changed)
                with _unsure(files.folder.path / found.name):
                    files.folder.fsync()
            return True

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        with self._held(kind, entry.id, "cannot be removed", backup=True) as (files, found):
            if files is None or found is None or found.opened is None or found.pinned:
                return False
            return found.changed / 1e9 == entry.saved and files.remove()

    def accept(self, kind: str, id: str) -> Accepted:
        """Seals a document again that was changed by hand; the one before stays the backup.

        Raises:
            Damaged: it is no JSON object, or there is none."""
        with self._held(kind, id, "cannot be accepted") as (files, found):
            where = self._where(kind, id)
            if files is None or found is None:
                raise Damaged(f"{where}: there is none to accept")
            if found.data is None:
                raise found.error or AssertionError
            opened = envelope.unseal(kind, found.data, where, accept=True)
            backup = files.read(BACKUP)
            given = envelope.sanitize(kind, opened.document, files.text(), self._gate)
            written = self._write(files, given, found, pinned=opened.pinned)
        before = backup.opened if backup else None
        changed = envelope.differing_paths(before.document, given.document) if before else None
        return Accepted(written, given.document, changed)

    # -- folders and locks -----------------------------------------------------------------

    def _where(self, kind: str, id: str) -> str:
        return str(self.folder(kind) / (file_stem(kind, check_id(kind, id)) + JSON))

    @contextmanager
    def _reading(self, kind: str) -> Iterator[Directory | None]:
        """The folder of a kind, None if there is none. What killed writers left in it is
        removed when it is first opened."""
        own = self._places.get(kind)
        place = (own,) if own else (self.root, location_of(kind).folder)
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(Directory.open(*place))
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
    ) -> "Iterator[tuple[_Files | None, FoundDocument | None]]":
        """The files of a document, locked (None if there is no folder of its kind), and what
        they hold."""
        with _translate_errors(self._where(kind, id), failure), ExitStack() as stack:
            if create:
                make_directories(self.folder(kind))
            folder = stack.enter_context(self._reading(kind))
            if folder is not None:
                files = _Files(folder, kind, id)
                stack.enter_context(self._locked(folder, files.stem))
                yield files, files.find(backup=backup)
            elif create:
                raise FileNotFoundError(2, "No such folder", str(self.folder(kind)))
            else:
                yield None, None

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

    def _write(
        self,
        files: "_Files",
        given: envelope.Sanitized,
        before: "FoundDocument | None",
        *,
        pinned: bool,
    ) -> str:
        """Seals and writes a document; returns its path."""
        data = codec.dumps(envelope.seal(files.kind, files.id, given, pinned=pinned), indent=2)
        ending, other = JSON, GZIPPED
        if len(data) >= self._compress.get(files.kind, math.inf):
            # Without a time the same document gives the same bytes.
            data, ending, other = gzip.compress(data, mtime=0), GZIPPED, JSON
        folder, stem, path = files.folder, files.stem, files.path(ending)
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


# -- the files of a document -----------------------------------------------------------------


class FoundDocument(Struct):
    """A document's file with its content, or the error that reading it gave.

    Attributes:
        data: None if the bytes could not be read.
        changed: modification time in nanoseconds since 1970."""

    name: str
    data: bytes | None
    opened: envelope.Unsealed | None
    error: StateError | None = None
    changed: int = 0

    @property
    def pinned(self) -> bool:
        """Whether it can be read and is pinned."""
        return self.opened is not None and self.opened.pinned

    @property
    def lost(self) -> bool:
        """Whether the backup has to be used."""
        return self.opened is None and not isinstance(self.error, TooNew)


class _Files:
    """The files of one document in an open folder."""

    def __init__(self, folder: Directory, kind: str, id: str) -> None:
        self.folder, self.kind, self.id = folder, kind, id
        self.stem = file_stem(kind, id)

    def path(self, ending: str = JSON) -> Path:
        """The path of the file with this ending."""
        return self.folder.path / (self.stem + ending)

    def read(self, ending: str) -> FoundDocument | None:
        """What the file with this ending holds; None if there is none."""
        name, where = self.stem + ending, str(self.path(ending))
        try:
            data = self.folder.read(name, codec.MAX_DOCUMENT)
            changed = self.folder.stat(name).st_mtime_ns
        except FileNotFoundError:
            return None
        except OSError as error:
            why = StateError(f"{where}: cannot be read ({error_text(error)})")
            why.__cause__ = error
            return FoundDocument(name, None, None, why)
        try:
            opened = envelope.unseal(self.kind, data, where)
            return FoundDocument(name, data, opened, None, changed)
        except (Damaged, TooNew) as error:
            return FoundDocument(name, data, None, error, changed)

    def find(self, *, backup: bool = False) -> FoundDocument | None:
        """What the document holds; its backup if `backup` is set and the document is missing or
        damaged."""
        # `.json` is tried before `.json.gz` and once more after it, because a writer may change
        # from one to the other meanwhile.
        for ending in (JSON, GZIPPED, JSON):
            found = self.read(ending)
            if found is not None:
                break
        if backup and (found is None or found.lost):
            good = self.read(BACKUP)
            if good is not None and (good.opened is not None or found is None):
                return good
        return found

    def text(self) -> str:
        """The markdown beside the document, "" if there is none."""
        try:
            data = self.folder.read(self.stem + MARKDOWN, codec.MAX_DOCUMENT)
        except OSError:
            return ""
        return data.decode(errors="replace")

    def is_of_other(self, found: FoundDocument | None) -> bool:
        """Whether what was found belongs to another id that has the same file name on this file
        system."""
        known = found.opened.header if found is not None and found.opened else None
        return known is not None and ids_collide(known.id, self.id)

    def load(self) -> StoredDocument | None:
        """The document with its markdown, unless that is of another save."""
        first = found = self.find()
        if first is None or first.lost:
            found = self.find(backup=True)
        if found is None or self.is_of_other(found):
            return None
        if found.opened is None:
            if found.error is not None and (not found.lost or found.data is None):
                raise found.error
            raise Damaged(f"{found.error}; there is no good backup of it; the files stay")
        opened, where = found.opened, str(self.folder.path / found.name)
        if found is not first:
            why = str(first.error) if first else f"{self.path()}: missing"
            issue = Issue("backup_used", "error", f"{why}; this is the last good one, {where}")
            opened = replace(opened, issues=(*opened.issues, issue))
        return envelope.with_text(opened, where, self.text())

    def check_replaceable(self, found: FoundDocument | None) -> FoundDocument | None:
        """Checks that a save may replace what was found; returns the last good document.

        Raises:
            TooNew: a newer leftoff wrote it.
            NotPlainName: it is the document of another id."""
        if found is None:
            return None
        if isinstance(found.error, TooNew):
            raise found.error
        # A link is replaced; it is never read.
        if found.data is None and not self._is_link(found.name):
            raise found.error or AssertionError  # replacing it could lose a good document
        if self.is_of_other(found):
            raise NotPlainName(
                f"{self.id!r} cannot be the id of a {self.kind}: "
                f"{self.folder.path / found.name} has the same name on this file system, "
                "which does not tell capitals or accents apart"
            )
        return found if found.opened is not None else self.read(BACKUP)

    def _is_link(self, name: str) -> bool:
        try:
            return S_ISLNK(self.folder.stat(name).st_mode)
        except OSError:
            return False

    def remove(self) -> bool:
        """Removes the document; False if there was none."""
        # The backup before the document: after a kill in between, `load` would take it for a
        # document that was lost.
        order = (MARKDOWN, DAMAGED, BACKUP, GZIPPED, JSON)
        removed = [self.folder.remove(self.stem + ending) for ending in order]
        with _unsure(self.path(), _MAY_BE_BACK):
            self.folder.fsync()
        return any(removed[2:])


def _entries(folder: Directory, kind: str) -> Iterator[Entry]:
    """Every document of a kind, in no order."""
    files: dict[str, str] = {}
    for name in folder.listdir():
        known = parse_file_name(kind, name)
        # The same id again: the plain one comes before the compressed one, and the backup
        # counts only where there is neither.
        if known is not None:
            files[known[0]] = min(
                known[1], files.get(known[0], BACKUP), key=(JSON, GZIPPED, BACKUP).index
            )
    for name, ending in files.items():
        with suppress(OSError):  # removed meanwhile
            yield _entry(folder, kind, name, ending)


def _entry(folder: Directory, kind: str, id: str, ending: str) -> Entry:
    stem = file_stem(kind, id)
    for name in (stem + ending, stem + BACKUP):
        where = str(folder.path / name)
        try:
            data = folder.read(name, codec.MAX_DOCUMENT)
            known = folder.stat(name)
            sealed = envelope.read_header(kind, data, where)
        except TooNew:
            # Its backup is older than what the newer leftoff saved.
            break
        except (OSError, Damaged):
            continue
        size = known.st_size
        with suppress(OSError):
            size += folder.stat(stem + MARKDOWN).st_size
        # A file system may give a name back with its accents spelled otherwise.
        own = sealed.id if sealed and ids_collide(sealed.id, id) else id
        pinned = sealed is not None and sealed.pinned
        return Entry(own, where, known.st_mtime_ns / 1e9, size, pinned)
    known = folder.stat(stem + ending)
    where = str(folder.path / (stem + ending))
    return Entry(id, where, known.st_mtime_ns / 1e9, known.st_size, readable=False)


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


# -- which store -----------------------------------------------------------------------------


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
