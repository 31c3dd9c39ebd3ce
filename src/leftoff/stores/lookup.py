"""Reading documents from the file store's folders. Nothing here takes a lock or writes."""

import errno
import zlib
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from leftoff.codec import MAX_DOCUMENT, unpacked
from leftoff.errors import Damaged, StateError, TooNew
from leftoff.model import Issue
from leftoff.stores.atomic import Directory
from leftoff.stores.envelope import Unsealed, checksum, read_header, unseal
from leftoff.stores.naming import (
    BACKUP,
    GZIPPED,
    JSON,
    MARKDOWN,
    file_stem,
    ids_collide,
    parse_file_name,
)
from leftoff.stores.protocol import Entry, StoredDocument


class FoundDocument(Struct):
    """A document's file with its content, or the error that reading it gave.

    Attributes:
        data: None if the bytes could not be read.
        changed: modification time in nanoseconds since 1970."""

    name: str
    data: bytes | None
    opened: Unsealed | None
    error: StateError | None = None
    changed: int = 0

    @property
    def lost(self) -> bool:
        """Whether the backup has to be used."""
        return self.opened is None and not isinstance(self.error, TooNew)


def read_document_file(folder: Directory, kind: str, name: str) -> FoundDocument | None:
    """Reads one document file; None if there is none."""
    where = str(folder.path / name)
    try:
        data = folder.read(name, MAX_DOCUMENT)
        changed = folder.stat(name).st_mtime_ns
    except FileNotFoundError:
        return None
    except OSError as error:
        why = StateError(f"{where}: cannot be read ({error_text(error)})")
        why.__cause__ = error
        return FoundDocument(name, None, None, why)
    try:
        opened = unseal(kind, decompress(data, where), where)
        return FoundDocument(name, data, opened, None, changed)
    except (Damaged, TooNew) as error:
        return FoundDocument(name, data, None, error, changed)


def find_document(
    folder: Directory, kind: str, stem: str, *, backup: bool = False
) -> FoundDocument | None:
    """Reads a document; its backup if `backup` is set and the document is missing or damaged.

    `.json` is tried before `.json.gz` and once more after it, because a writer may change
    from one to the other meanwhile."""
    for ending in (JSON, GZIPPED, JSON):
        found = read_document_file(folder, kind, stem + ending)
        if found is not None:
            break
    if backup and (found is None or found.lost):
        good = read_document_file(folder, kind, stem + BACKUP)
        if good is not None and (good.opened is not None or found is None):
            return good
    return found


def has_other_id(found: FoundDocument, id: str) -> bool:
    """Whether the file belongs to another id that has the same file name on this file
    system."""
    known = found.opened.header if found.opened else None
    return known is not None and ids_collide(known.id, id)


def load_document(folder: Directory, kind: str, id: str) -> tuple[StoredDocument | None, bool]:
    """The document with its markdown, and whether both are of the same save."""
    stem = file_stem(kind, id)
    first = find_document(folder, kind, stem)
    found = first
    if first is None or first.lost:
        found = find_document(folder, kind, stem, backup=True)
    if found is None or has_other_id(found, id):
        return None, True
    where = str(folder.path / found.name)
    if found.opened is None:
        if found.error is not None and (not found.lost or found.data is None):
            raise found.error
        raise Damaged(f"{found.error}; there is no good backup of it; the files stay")
    opened, issues = found.opened, found.opened.issues
    if found is not first:
        why = str(first.error) if first else f"{folder.path / (stem + JSON)}: missing"
        message = f"{why}; this is the last good one, {where}"
        issues = (*issues, Issue("backup_used", "error", message))
    text = read_text(folder, stem)
    sums = opened.header.text if opened.header else checksum(text.encode()) if text else ""
    if not sums:
        return StoredDocument(opened.document, issues, where), True
    if checksum(text.encode()) == sums:
        return StoredDocument(opened.document, issues, where, text), True
    message = f"{folder.path / (stem + MARKDOWN)}: not the markdown of this document; left out"
    issues = (*issues, Issue("text_differs", "warning", message))
    return StoredDocument(opened.document, issues, where), False


def read_text(folder: Directory, stem: str) -> str:
    """The markdown beside a document, "" if there is none."""
    try:
        return folder.read(stem + MARKDOWN, MAX_DOCUMENT).decode(errors="replace")
    except OSError:
        return ""


def list_entries(folder: Directory, kind: str) -> Iterator[Entry]:
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
    entries = (_entry(folder, kind, name, ending) for name, ending in files.items())
    yield from (entry for entry in entries if entry is not None)


def _entry(folder: Directory, kind: str, id: str, ending: str) -> Entry | None:
    stem = file_stem(kind, id)
    for name in (stem + ending, stem + BACKUP):
        where = str(folder.path / name)
        try:
            data = folder.read(name, MAX_DOCUMENT)
            known = folder.stat(name)
            sealed = read_header(kind, decompress(data, where), where)
        except TooNew:
            # Its backup is older than what the newer leftoff saved.
            break
        except (OSError, Damaged):
            continue
        size = known.st_size
        with suppress(OSError):
            size += folder.stat(stem + MARKDOWN).st_size
        if sealed is None:
            return Entry(id, where, known.st_mtime_ns / 1e9, size)
        # A file system may give a name back with its accents spelled otherwise.
        own = sealed.id if ids_collide(sealed.id, id) else id
        return Entry(own, where, known.st_mtime_ns / 1e9, size, sealed.pinned)
    try:
        known = folder.stat(stem + ending)
    except OSError:  # removed meanwhile
        return None
    where = str(folder.path / (stem + ending))
    return Entry(id, where, known.st_mtime_ns / 1e9, known.st_size, readable=False)


def decompress(data: bytes, where: str) -> bytes:
    """The content of a file, decompressed if it is gzip or gzip as Base64; `Damaged` where the
    compressed data is damaged or unpacks to more than `MAX_DOCUMENT`."""
    try:
        return unpacked(data)
    except (ValueError, zlib.error) as error:
        raise Damaged(f"{where}: damaged: {error}") from error


def error_text(error: OSError) -> str:
    """The message of an operating system error."""
    if error.errno == errno.ELOOP:  # from O_NOFOLLOW
        return "is a link, which is not followed"
    return error.strerror or str(error)
