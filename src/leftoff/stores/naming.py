"""What documents of each kind are called, where they stand, and which ids can name them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from msgspec import Struct

from leftoff.errors import NotPlainName, UnknownName

MAX_ID: Final = 200
"""Bytes of an id in UTF-8: what file systems allow for a name, less what we add to it."""

JSON, PACKED, BACKUP, ASIDE, TEXT = ".json", ".json.gz", ".json.bak", ".json.damaged", ".md"


class Place(Struct, frozen=True):
    """Where the documents of one kind stand.

    Attributes:
        folder: in the root of the store.
        prefix: of every file's name, before the id.
        taken: ids whose files are something else.
    """

    folder: str
    prefix: str = ""
    taken: tuple[str, ...] = ()


PLACES: Final[dict[str, Place]] = {
    "resume_log": Place("resume-logs", "session-"),
    "checkpoint": Place("context-checkpoints"),
    "resume_state": Place("resume", taken=("cleanup_metadata",)),
    "review": Place("reviews"),
    "task": Place("tasks"),
}
"""Every kind of document."""

# Names that Windows gives to devices, with any extension; and what no name there may hold: a
# colon, for one, would keep the document in a second stream of another file.
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?", re.IGNORECASE
)
_OUTSIDE = re.compile(r"[/\\\x00-\x1f\x7f-\x9f]")
_FOREIGN = re.compile(r'[<>:"|?*]')


def place_of(kind: str) -> Place:
    """Where documents of a kind stand.

    Raises:
        UnknownName: there is no such kind.
    """
    try:
        return PLACES[kind]
    except KeyError:
        raise UnknownName("kind of document", kind, PLACES) from None


def plain(kind: str, id: str) -> str:
    """The id, if it can name a document of this kind: one plain path component, on every
    system.

    Raises:
        NotPlainName: it cannot; says why.
        UnknownName: there is no such kind.
    """
    why = _unfit(id)
    if not why and id.casefold() in place_of(kind).taken:
        why = "a file of that name is something else"
    if why:
        raise NotPlainName(f"{id[:80]!r} cannot be the id of a {kind}: {why}")
    return id


def _unfit(id: str) -> str:
    """Why an id cannot name a file, "" if it can."""
    if not id:
        return "it is empty"
    try:
        size = len(id.encode())
    except UnicodeEncodeError:
        return "it is no valid Unicode"
    if size > MAX_ID:
        return f"it has {size} bytes, more than {MAX_ID}"
    if _OUTSIDE.search(id):
        return "it holds a slash, a backslash or a control character"
    if _FOREIGN.search(id):
        return 'it holds one of < > : " | ? *, which no name on Windows may'
    if id.startswith("."):
        return "it begins with a dot"
    if id[-1] in ". ":
        return "it ends with a dot or a space"
    if _DEVICE.fullmatch(id):
        return "it is the name of a device"
    from leftoff.redaction.redactor import Redactor

    if Redactor().text(id) != id:
        return "it looks like a credential"
    return ""


def folded(id: str) -> str:
    """What an id becomes where capitals and the spelling of accents do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", id).casefold())


def twins(id: str, other: str) -> bool:
    """Whether two ids differ, yet are one name on some file systems."""
    return id != other and folded(id) == folded(other)


def stem(kind: str, id: str) -> str:
    """What the names of a document's files begin with."""
    return place_of(kind).prefix + id


def named(kind: str, name: str) -> tuple[str, str] | None:
    """The id and the ending of a file that keeps a document, None for any other file."""
    place = PLACES[kind]
    for ending in (PACKED, BACKUP, JSON):
        if name.startswith(place.prefix) and name.endswith(ending):
            found = name[len(place.prefix) : -len(ending)]
            fits = not _unfit(found) and found.casefold() not in place.taken
            return (found, ending) if fits else None
    return None
