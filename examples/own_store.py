"""Documents kept in a place of one's own: here a dictionary; it could as well be the table of
a database. What is kept is redacted and sealed as in every store; the checks are the same."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff.errors import Damaged
from leftoff.stores import Entry, Store, StoredDocument
from leftoff.stores.envelope import redactor_for, sanitize, seal, unseal
from leftoff.stores.naming import check_id, location_of
from leftoff.testing.stores import check_store


class Row(Struct, frozen=True):
    """A document as it is kept."""

    data: bytes
    text: str
    saved: float


class Drawer:
    """Documents in a dictionary that its users share.

    Args:
        rows: by kind and id.
    """

    def __init__(self, rows: dict[tuple[str, str], Row]) -> None:
        self._rows = rows
        self._turn = Lock()

    def save(self, kind: str, id: str, document: Mapping[str, Any], *, text: str = "") -> str:
        """Keeps a document over the one of that id."""
        given = sanitize(kind, document, text, redactor_for)
        data = codec.dumps(seal(kind, check_id(kind, id), given))
        with self._turn:
            before = self._rows.get((kind, id))
            if before is not None:
                with suppress(Damaged):  # what a newer leftoff wrote stays, and is told
                    unseal(kind, before.data, self._where(kind, id))
            self._rows[kind, id] = Row(data, given.text, time.time())
        return self._where(kind, id)

    def load(self, kind: str, id: str) -> StoredDocument | None:
        """The document of that id, None if there is none."""
        row = self._rows.get((kind, check_id(kind, id)))
        if row is None:
            return None
        where = self._where(kind, id)
        opened = unseal(kind, row.data, where)
        return StoredDocument(opened.document, opened.issues, where, row.text)

    def list(self, kind: str) -> list[Entry]:
        """Every document of a kind, newest first."""
        location_of(kind)
        found = [
            Entry(name, self._where(kind, name), row.saved, len(row.data) + len(row.text))
            for (of, name), row in sorted(self._rows.items())
            if of == kind
        ]
        return sorted(found, key=lambda entry: -entry.saved)

    def delete(self, kind: str, id: str) -> bool:
        """Removes a document; False if there is none."""
        with self._turn:
            return self._rows.pop((kind, check_id(kind, id)), None) is not None

    @staticmethod
    def _where(kind: str, id: str) -> str:
        return f"drawer:{kind}/{id}"


def main() -> None:
    """The promises of a store are checked, and a document goes in and out."""
    rows: dict[tuple[str, str], Row] = {}
    check_store(lambda: Drawer(rows))
    store: Store = Drawer(rows)
    where = store.save("task", "t1", {"goal": "rotate AKIAIOSFODNN7EXAMPLE"})
    kept = store.load("task", "t1")
    assert kept is not None
    print(where, kept.document)


if __name__ == "__main__":
    main()
