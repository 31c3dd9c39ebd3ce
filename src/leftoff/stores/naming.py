"""File names and folders of documents by kind, and which ids are valid."""

import unicodedata
from typing import Final

from msgspec import Struct

from leftoff.errors import NotPlainName, UnknownName
from leftoff.text.file_names import why_not_plain

# Bytes of an id in UTF-8. File systems allow 255 for a name; prefix, suffix and the name of a
# temporary file need the rest.
MAX_ID: Final = 200

JSON, GZIPPED, BACKUP, DAMAGED, MARKDOWN = ".json .json.gz .json.bak .json.damaged .md".split()


class KindLocation(Struct, frozen=True):
    """Folder and file names of the documents of one kind.

    Attributes:
        folder: relative to the root of the store.
        prefix: of every file name, before the id.
        reserved: ids whose file names belong to something else."""

    folder: str
    prefix: str = ""
    reserved: tuple[str, ...] = ()


# Every kind of document.
LOCATIONS: Final[dict[str, KindLocation]] = {
    "resume_log": KindLocation("resume-logs", "session-"),
    "checkpoint": KindLocation("context-checkpoints"),
    "resume_state": KindLocation("resume", reserved=("cleanup_metadata",)),
    "review": KindLocation("reviews"),
    "task": KindLocation("tasks"),
}


def location_of(kind: str) -> KindLocation:
    """Folder and file names of a kind; `UnknownName` where there is no such kind."""
    try:
        return LOCATIONS[kind]
    except KeyError:
        raise UnknownName("kind of document", kind, LOCATIONS) from None


def check_id(kind: str, id: str) -> str:
    """Returns the id if it is valid for this kind: one plain path component on every system.

    Raises:
        NotPlainName: it is not valid; the message says why.
        UnknownName: there is no such kind."""
    why = _why_invalid(id)
    if not why and id.casefold() in location_of(kind).reserved:
        why = "a file of that name is something else"
    if why:
        raise NotPlainName(f"{id[:80]!r} cannot be the id of a {kind}: {why}")
    return id


def _why_invalid(id: str) -> str:
    if why := why_not_plain(id, MAX_ID):
        return why
    from leftoff.redaction.redactor import Redactor

    return "it looks like a credential" if Redactor().text(id) != id else ""


def fold_id(id: str) -> str:
    """An id as a file system sees it that ignores case and Unicode normalization."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", id).casefold())


def ids_collide(id: str, other: str) -> bool:
    """Whether two ids differ but are the same name on some file systems."""
    return id != other and fold_id(id) == fold_id(other)


def file_stem(kind: str, id: str) -> str:
    """The file name of a document without its suffix."""
    return location_of(kind).prefix + id


def parse_file_name(kind: str, name: str) -> tuple[str, str] | None:
    """The id and the suffix of a document's file; None for any other file."""
    place = LOCATIONS[kind]
    for ending in (GZIPPED, BACKUP, JSON):
        if name.startswith(place.prefix) and name.endswith(ending):
            found = name[len(place.prefix) : -len(ending)]
            fits = not _why_invalid(found) and found.casefold() not in place.reserved
            return (found, ending) if fits else None
    return None
