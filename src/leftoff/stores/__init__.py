"""Document stores: one protocol, in files, SQLite, Redis or an object store."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from leftoff.stores.protocol import (
        KINDS,
        Entry,
        PrunableStore,
        Store,
        StoredDocument,
        StoreOpener,
        open_store,
        stores,
    )

__all__ = [
    "KINDS",
    "Entry",
    "PrunableStore",
    "Store",
    "StoreOpener",
    "StoredDocument",
    "open_store",
    "stores",
]


def __getattr__(name: str) -> object:
    """The names above, which hooks do without."""
    if name in __all__:
        return getattr(import_module("leftoff.stores.protocol"), name)
    raise AttributeError(f"module 'leftoff.stores' has no attribute {name!r}")
