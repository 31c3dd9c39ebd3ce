"""Which kept documents may go, one question at a time."""

from collections.abc import Mapping
from typing import Any

import pytest

from leftoff.errors import UsageError
from leftoff.stores.protocol import Entry, StoredDocument
from leftoff.stores.retention import Retention, pin, prune


class Plain:
    """A store that cannot pin: the least that a store may be."""

    def __init__(self, *entries: Entry) -> None:
        self.entries = list(entries)
        self.deleted: list[str] = []

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        raise NotImplementedError

    def load(self, kind: str, id: str) -> StoredDocument | None:
        raise NotImplementedError

    def list(self, kind: str) -> list[Entry]:
        return self.entries

    def delete(self, kind: str, id: str) -> bool:
        self.deleted.append(id)
        return id != "gone"


def entry(id: str, age: float = 0, *, pinned: bool = False, readable: bool = True) -> Entry:
    return Entry(id, id, 1e9 - age, 1, pinned, readable)


def test_the_spared_the_pinned_and_the_unreadable_stay() -> None:
    store = Plain(
        entry("new"),
        entry("kept", pinned=True),
        entry("odd", readable=False),
        entry("mine"),
        entry("gone"),
        entry("old"),
    )
    tried = prune(store, "task", Retention(0), now=1e9, spare="mine", dry_run=True)
    assert [e.id for e in tried.removed] == ["new", "gone", "old"]
    assert store.deleted == []
    done = prune(store, "task", Retention(0), now=1e9, spare="mine")
    assert store.deleted == ["new", "gone", "old"]
    assert [e.id for e in done.removed] == ["new", "old"]
    assert [e.id for e in done.kept] == ["kept", "odd", "mine", "gone"]


def test_a_store_that_cannot_pin_says_so() -> None:
    with pytest.raises(UsageError, match="Plain cannot pin documents"):
        pin(Plain(), "task", "t1")
