"""Reading documents from the file store's folders. Nothing here takes a lock or writes."""

import errno
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from leftoff.codec import MAX_DOCUMENT
from leftoff.errors import Damaged, StateError, TooNew
from leftoff.model import Issue
from leftoff.stores.atomic import Directory
from leftoff.stores.envelope import Unsealed, read_header, unseal, with_text
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
    def pinned(self) -> bool:
        """Whether it can be read and is pinned."""
        return self.opened is not None and self.opened.pinned

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
        opened = unseal(kind, data, where)
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


def load_document(folder: Directory, kind: str, id: str) -> StoredDocument | None:
    """The document with its markdown, unless that is of another save."""
    stem = file_stem(kind, id)
    first = found = find_document(folder, kind, stem)
    if first is None or first.lost:
        found = find_document(folder, kind, stem, backup=True)
    if found is None or has_other_id(found, id):
        return None
    where = str(folder.path / found.name)
    if found.opened is None:
        if found.error is not None and (not found.lost or found.data is None):
            raise found.error
        raise Damaged(f"{found.error}; there is no good backup of it; the files stay")
    opened = found.opened
    if found is not first:
        why = str(first.error) if first else f"{folder.path / (stem + JSON)}: missing"
        message = f"{why}; this is the last good one, {where}"
        issue = Issue("backup_used", "error", message)
        opened = replace(opened, issues=(*opened.issues, issue))
    return with_text(opened, where, read_text(folder, stem))


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
            sealed = read_header(kind, data, where)
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
    with suppress(OSError):  # removed meanwhile
        known = folder.stat(stem + ending)
        where = str(folder.path / (stem + ending))
        return Entry(id, where, known.st_mtime_ns / 1e9, known.st_size, readable=False)
    return None


def error_text(error: OSError) -> str:
    """The message of an operating system error."""
    if error.errno == errno.ELOOP:  # from O_NOFOLLOW
        return "is a link, which is not followed"
    return error.strerror or str(error)
