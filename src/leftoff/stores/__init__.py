"""Document stores: one protocol, in files, SQLite, Redis or an object store."""

from __future__ import annotations

from leftoff._moved import moved_name
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
    "KINDS", "Entry", "PrunableStore", "Store", "StoreOpener", "StoredDocument", "open_store",
    "stores",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Former names of this module."""
    return moved_name("stores", name)
