"""The protocol of document stores: documents by kind and id, in files, SQLite, Redis or an
object store. A saved document is redacted and gets a checksum (`envelope`).

    store = open_store(".leftoff")
    where = store.save("task", "t1", {"goal": "sort the invoices"})
    found = store.load("task", "t1")"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from leftoff.codec import JsonObject
from leftoff.errors import UnknownName
from leftoff.model import Issue
from leftoff.registry import Registry
from leftoff.stores.naming import LOCATIONS

# The kinds of document.
KINDS = tuple(LOCATIONS)


class StoredDocument(Struct, frozen=True):
    """A document as it was saved.

    Attributes:
        document: without the key that the store added.
        issues: `unsealed`: it has no checksum; `backup_used`: the document is damaged, and
            this is its last good version; `text_differs`: its markdown belongs to another
            version; `mended`: its JSON was repaired.
        where: the path or URL that it was read from.
        text: the markdown saved with it; "" if there is none or it differs."""

    document: JsonObject
    issues: tuple[Issue, ...]
    where: str
    text: str = ""


class Entry(Struct, frozen=True):
    """A document in a list.

    Attributes:
        where: the path or URL that it is read from.
        saved: time of the save, in seconds since 1970.
        size: bytes that it takes, with its markdown.
        pinned: retention never removes it.
        readable: False if it is damaged or a newer leftoff wrote it; retention ignores it."""

    id: str
    where: str
    saved: float
    size: int
    pinned: bool = False
    readable: bool = True


class Store(Protocol):
    """A document store. Methods may be called concurrently from any thread and process; a
    reader always gets a whole document of one save.

    Every method raises `UnknownName` for a kind that is none of `KINDS`, `NotPlainName` for
    an id that is not one plain path component, and `StateError` when the store fails."""

    def save(
        self, kind: str, id: str, document: Mapping[str, object], *, text: str = ""
    ) -> str:
        """Saves a redacted copy of a document, replacing the one with that id; a pinned one
        stays pinned.

        Args:
            document: plain values; unknown keys are saved too.
            text: its markdown, saved with it.

        Returns:
            Its path or URL.

        Raises:
            TooNew: a newer leftoff wrote the one that is there; it stays.
            Unsure: it is in place, but may not survive a power cut."""
        ...

    def load(self, kind: str, id: str) -> StoredDocument | None:
        """The document of that id, None if there is none.

        Raises:
            Damaged: it is not what was saved; it stays as it is.
            TooNew: a newer leftoff wrote it."""
        ...

    def list(self, kind: str) -> list[Entry]:
        """Every document of a kind, newest first, ties by id."""
        ...

    def delete(self, kind: str, id: str) -> bool:
        """Removes a document, pinned or not; False if there is none."""
        ...


@runtime_checkable
class PrunableStore(Store, Protocol):
    """A store that retention can work with safely; all built-in stores are. See
    `retention`."""

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Pins or unpins a document; its time of saving stays. False if there is none."""
        ...

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        ...


def newest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Entries in the order of a list: newest first, ties by id."""
    return sorted(entries, key=lambda entry: (-entry.saved, entry.id))


def load_first(among: Sequence[Store], kind: str, id: str) -> StoredDocument | None:
    """The document of that id in the first store that has it."""
    found = (store.load(kind, id) for store in among)
    return next((document for document in found if document is not None), None)


def list_together(among: Sequence[Store], kind: str) -> list[Entry]:
    """Every document of a kind in several stores, newest first; those of the first store hide
    those of the same id in the others."""
    if len(among) == 1:
        return among[0].list(kind)  # in the order of a store that knows no times, too
    known = {entry.id: entry for store in reversed(among) for entry in store.list(kind)}
    return newest_first(known.values())


class StoreOpener(Protocol):
    """Opens stores of one type."""

    def __call__(self, where: str, **options: object) -> Store:
        """The store at a URL or path. `UsageError` where what it needs is not installed."""
        ...


# What opens stores. Another package's answers to URLs that begin with its name.
stores: Registry[StoreOpener] = Registry(
    "store",
    {
        "files": "leftoff.stores.files:open_files",
        "sqlite": "leftoff.stores.sqlite:open_sqlite",
        "redis": "leftoff.stores.redis:RedisStore",
        "objects": "leftoff.stores.objects:ObjectStore",
    },
)

_SCHEMES = {"file": "files", "rediss": "redis", "unix": "redis"}


def open_store(where: str | os.PathLike[str], **options: object) -> Store:
    """The store at a path or URL.

    A path or `file:` URL names a folder; `sqlite:///relative.db` and `sqlite:////absolute.db`
    a database; `redis://host:port/0`, `rediss://` and `unix://` a Redis server; the name of a
    store of another package and `://` that store; any other URL (`s3://bucket/prefix`) an
    object store that fsspec knows.

    Args:
        options: go to the store's opener, such as `gate` (all of ours), `places` and
            `compress` (files), or those of the file system (objects).

    Raises:
        UnknownName: nothing answers to the URL's scheme.
        UsageError: what the store needs is not installed."""
    url = os.fspath(where)
    scheme, found, _ = url.partition("://")
    if not found:
        scheme = "file"
    scheme = scheme.lower()
    try:
        opener = stores.get(_SCHEMES.get(scheme, scheme))
    except UnknownName:
        opener = stores.get("objects")
    return opener(url, **options)
