"""Where documents are kept: one protocol, by kind and id, in files, SQLite, Redis or an object
store. What is saved is redacted and sealed (`sealing`); what is damaged is said.

    store = open_store(".leftoff")
    where = store.save("task", "t1", {"goal": "sort the invoices"})
    kept = store.load("task", "t1")
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from leftoff.errors import UnknownName
from leftoff.model import Issue
from leftoff.registry import Registry
from leftoff.stores.naming import PLACES

__all__ = [
    "KINDS",
    "Entry",
    "Keeping",
    "Kept",
    "Opener",
    "Store",
    "open_store",
    "stores",
]

KINDS = tuple(PLACES)
"""What can be kept."""


class Kept(Struct, frozen=True):
    """A document as it was saved.

    Attributes:
        document: without the key that the store added.
        issues: what is to be said of it: it had no checksum (`unsealed`), is the last good
            one before a damaged one (`backup_used`), its markdown is another's
            (`text_differs`), or it had to be mended (`mended`).
        where: what it was read from.
        text: the markdown kept beside it; "" if there is none, or another's.
    """

    document: dict[str, Any]
    issues: tuple[Issue, ...]
    where: str
    text: str = ""


class Entry(Struct, frozen=True):
    """A kept document in a list.

    Attributes:
        where: what it is read from.
        saved: when, in seconds since 1970.
        size: bytes that it takes, with its markdown.
        pinned: retention never removes it.
        readable: False if it is damaged or a newer leftoff wrote it; retention lets it be.
    """

    id: str
    where: str
    saved: float
    size: int
    pinned: bool = False
    readable: bool = True


class Store(Protocol):
    """What keeps documents. Methods may be called from any thread and process at once; a
    document is always one that somebody saved, whole.

    Every method raises `UnknownName` for a kind that is none of `KINDS`, `NotPlainName` for
    an id that is not one plain path component, and `StateError` when the store fails.
    """

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        """Keeps a document, redacted, over the one of that id; a pinned one stays pinned.

        Args:
            document: plain values; unknown keys are kept.
            text: its markdown, kept beside it.

        Returns:
            where it is.

        Raises:
            TooNew: a newer leftoff wrote the one that is there; it stays.
            Unsure: it is in place, but not certain to stay.
        """
        ...

    def load(self, kind: str, id: str) -> Kept | None:
        """The document of that id, None if there is none.

        Raises:
            Damaged: it is not what was saved; it stays as it is.
            TooNew: a newer leftoff wrote it.
        """
        ...

    def list(self, kind: str) -> list[Entry]:
        """Every document of a kind, newest first, ties by id."""
        ...

    def delete(self, kind: str, id: str) -> bool:
        """Removes a document, pinned or not; False if there is none."""
        ...


@runtime_checkable
class Keeping(Store, Protocol):
    """A store that retention can work with safely; all of ours are. See `retention`."""

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Protects a document from retention, or no longer; when it was saved stays. False
        if there is none."""
        ...

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""
        ...


class Opener(Protocol):
    """Opens a store of one sort."""

    def __call__(self, where: str, **options: Any) -> Store:
        """The store at a URL or path.

        Raises:
            UsageError: what it needs is not installed.
        """
        ...


stores: Registry[Opener] = Registry(
    "store",
    {
        "files": "leftoff.stores.files:open_files",
        "sqlite": "leftoff.stores.sqlite:open_sqlite",
        "redis": "leftoff.stores.redis:open_redis",
        "objects": "leftoff.stores.objects:open_objects",
    },
)
"""What opens stores. Another package's answers to URLs that begin with its name."""

_SCHEMES = {"file": "files", "rediss": "redis", "unix": "redis"}


def open_store(where: str | os.PathLike[str], **options: Any) -> Store:
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
        UsageError: what the store needs is not installed.
    """
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
