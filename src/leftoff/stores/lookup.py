"""What stands in a folder of documents. Nothing here takes a lock or changes anything."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from leftoff.codec import MAX_DOCUMENT
from leftoff.errors import Damaged, StateError, TooNew
from leftoff.model import Issue
from leftoff.stores.atomic import Folder
from leftoff.stores.envelope import Opened, checksum, glance, unseal
from leftoff.stores.naming import BACKUP, JSON, PACKED, TEXT, named, stem, twins
from leftoff.stores.protocol import Entry, Kept


class Found(Struct):
    """What is there of a document: its file, and what is in it or why nothing is; `data` is
    None where not even the bytes could be read."""

    name: str
    data: bytes | None
    opened: Opened | None
    error: StateError | None = None
    changed: int = 0

    @property
    def lost(self) -> bool:
        """Whether the last good one must do."""
        return self.opened is None and not isinstance(self.error, TooNew)


def take(folder: Folder, kind: str, name: str) -> Found | None:
    """What is in a file; None if there is none."""
    where = str(folder.path / name)
    try:
        data = folder.read(name, MAX_DOCUMENT)
        changed = folder.stat(name).st_mtime_ns
    except FileNotFoundError:
        return None
    except OSError as error:
        why = StateError(f"{where}: cannot be read ({reason(error)})")
        why.__cause__ = error
        return Found(name, None, None, why)
    try:
        opened = unseal(kind, unpack(data, where), where)
        return Found(name, data, opened, None, changed)
    except (Damaged, TooNew) as error:
        return Found(name, data, None, error, changed)


def find(folder: Folder, kind: str, begin: str, *, backup: bool = False) -> Found | None:
    """The document, or its last good one where that is asked for and it has no other.

    `.json` comes before `.json.gz`, and is asked for twice: a writer may change from one
    to the other meanwhile.
    """
    for ending in (JSON, PACKED, JSON):
        found = take(folder, kind, begin + ending)
        if found is not None:
            break
    if backup and (found is None or found.lost):
        good = take(folder, kind, begin + BACKUP)
        if good is not None and (good.opened is not None or found is None):
            return good
    return found


def other(found: Found, id: str) -> bool:
    """Whether it is the document of another id, for which this file system has the same
    name."""
    known = found.opened.seal if found.opened else None
    return known is not None and twins(known.id, id)


def look(folder: Folder, kind: str, id: str) -> tuple[Kept | None, bool]:
    """The document with its markdown, and whether they belong together."""
    begin = stem(kind, id)
    first = find(folder, kind, begin)
    found = first
    if first is None or first.lost:
        found = find(folder, kind, begin, backup=True)
    if found is None or other(found, id):
        return None, True
    where = str(folder.path / found.name)
    if found.opened is None:
        if found.error is not None and (not found.lost or found.data is None):
            raise found.error
        raise Damaged(f"{found.error}; there is no good backup of it; the files are kept")
    opened, issues = found.opened, found.opened.issues
    if found is not first:
        why = str(first.error) if first else f"{folder.path / (begin + JSON)}: missing"
        said = f"{why}; this is the last good one, {where}"
        issues = (*issues, Issue("backup_used", "error", said))
    text = read_text(folder, begin)
    sums = opened.seal.text if opened.seal else checksum(text.encode()) if text else ""
    if not sums:
        return Kept(opened.document, issues, where), True
    if checksum(text.encode()) == sums:
        return Kept(opened.document, issues, where, text), True
    said = f"{folder.path / (begin + TEXT)}: not the markdown of this document; left out"
    issues = (*issues, Issue("text_differs", "warning", said))
    return Kept(opened.document, issues, where), False


def read_text(folder: Folder, begin: str) -> str:
    """The markdown beside a document, "" if there is none."""
    try:
        return folder.read(begin + TEXT, MAX_DOCUMENT).decode(errors="replace")
    except OSError:
        return ""


def list_entries(folder: Folder, kind: str) -> Iterator[Entry]:
    """Every document of a kind, in no order."""
    files: dict[str, str] = {}
    for name in folder.names():
        known = named(kind, name)
        # The same id again: the plain one comes before the compressed one, and the backup
        # counts only where there is neither.
        if known is not None:
            better = files.get(known[0])
            order = (JSON, PACKED, BACKUP)
            if better is None or order.index(known[1]) < order.index(better):
                files[known[0]] = known[1]
    for name, ending in files.items():
        entry = _entry(folder, kind, name, ending)
        if entry is not None:
            yield entry


def _entry(folder: Folder, kind: str, id: str, ending: str) -> Entry | None:
    begin = stem(kind, id)
    for name in (begin + ending, begin + BACKUP):
        where = str(folder.path / name)
        try:
            data = folder.read(name, MAX_DOCUMENT)
            known = folder.stat(name)
            sealed = glance(kind, unpack(data, where), where)
        except TooNew:
            break
        except (OSError, Damaged):
            continue
        size = known.st_size
        with suppress(OSError):
            size += folder.stat(begin + TEXT).st_size
        if sealed is None:
            return Entry(id, where, known.st_mtime_ns / 1e9, size)
        # A file system may give a name back with its accents spelled otherwise.
        own = sealed.id if twins(sealed.id, id) else id
        return Entry(own, where, known.st_mtime_ns / 1e9, size, sealed.pinned)
    try:
        known = folder.stat(begin + ending)
    except OSError:  # removed meanwhile
        return None
    where = str(folder.path / (begin + ending))
    return Entry(id, where, known.st_mtime_ns / 1e9, known.st_size, readable=False)


def unpack(data: bytes, where: str) -> bytes:
    """What a file holds, decompressed if it is compressed.

    Raises:
        Damaged: the compression is, or it would hold too much.
    """
    if data[:2] != b"\x1f\x8b":
        return data
    unpacker = zlib.decompressobj(31)
    try:
        unpacked = unpacker.decompress(data, MAX_DOCUMENT)
    except zlib.error as error:
        raise Damaged(f"{where}: damaged: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise Damaged(f"{where}: damaged: not one whole compressed document")
    return unpacked


def reason(error: OSError) -> str:
    """What went wrong, in words."""
    if error.errno == errno.ELOOP:  # from O_NOFOLLOW
        return "is a link, which is not followed"
    return error.strerror or str(error)
