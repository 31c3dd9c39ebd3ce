"""Where documents are saved: one protocol, in files, SQLite, Redis or an object store."""

from __future__ import annotations

from leftoff.stores.protocol import (
    KINDS,
    Entry,
    Keeping,
    Kept,
    Opener,
    Store,
    open_store,
    stores,
)

__all__ = ["KINDS", "Entry", "Keeping", "Kept", "Opener", "Store", "open_store", "stores"]
