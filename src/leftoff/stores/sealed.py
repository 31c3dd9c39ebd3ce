"""What stores without files of their own have in common: sealing, pins, retention's promises.

A store says how one document is read, replaced in a transaction, and listed; everything else
stands here."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff.errors import StateError
from leftoff.stores import envelope
from leftoff.stores.naming import check_id, location_of
from leftoff.stores.protocol import Entry, StoredDocument, newest_first


class Row(Struct, frozen=True):
    """A stored document as a store holds it.

    Attributes:
        data: the sealed document.
        text: its markdown; None where it was not read, and to leave it as it is.
        saved: seconds since 1970.
        size: bytes that it takes; known of rows in a list."""

    data: bytes
    text: str | None
    saved: float
    pinned: bool
    size: int = 0


# What a change returns that changes nothing.
SAME: Final = "same"
# What becomes of a document (None: there is none): a row, None to remove it, or `SAME`. It may
# be called again where another process was faster.
Change: TypeAlias = Callable[[Row | None], "Row | str | None"]


class SealedStore:
    """A store of sealed documents; `gate` makes the redactor for one of a kind."""

    seals_time = False  # whether the time of saving has to stand in the document

    def __init__(self, gate: envelope.RedactorFactory) -> None:
        self._gate = gate

    # -- what a store provides -------------------------------------------------------------

    def _where(self, kind: str, id: str) -> str:
        raise NotImplementedError

    def _read(self, kind: str, id: str) -> Row | None:
        raise NotImplementedError

    def _read_text(self, kind: str, id: str) -> str:
        raise NotImplementedError

    def _change(self, kind: str, id: str, change: Change) -> Row | None:
        """Replaces a document by what `change` makes of it, in a transaction; returns what was
        there."""
        raise NotImplementedError

    def _rows(self, kind: str) -> Iterable[tuple[str, Row]]:
        raise NotImplementedError

    # -- what stores promise ---------------------------------------------------------------

    def save(
        self, kind: str, id: str, document: Mapping[str, object], *, text: str = ""
    ) -> str:
        given = envelope.sanitize(kind, document, text, self._gate)
        where = self._where(kind, check_id(kind, id))

        def change(row: Row | None) -> Row:
            if row is not None:
                envelope.read_header_or_none(kind, row.data, where)  # a newer one stays
            pinned, now = row is not None and row.pinned, time.time()
            saved = now if self.seals_time else None
            data = codec.dumps(envelope.seal(kind, id, given, pinned=pinned, saved=saved))
            return Row(data, given.text, now, pinned)

        self._change(kind, id, change)
        return where

    def load(self, kind: str, id: str) -> StoredDocument | None:
        where = self._where(kind, check_id(kind, id))
        row = self._read(kind, id)
        if row is None:
            return None
        opened = envelope.unseal(kind, row.data, where)
        text = row.text
        if text is None:
            expected = opened.header is not None and opened.header.text
            text = self._read_text(kind, id) if expected else ""
        return envelope.with_text(opened, where, text)

    def list(self, kind: str) -> list[Entry]:
        location_of(kind)
        entries = []
        for name, row in self._rows(kind):
            where, readable = self._where(kind, name), _readable(kind, row)
            entries.append(Entry(name, where, row.saved, row.size, row.pinned, readable))
        return newest_first(entries)

    def delete(self, kind: str, id: str) -> bool:
        return self._change(kind, check_id(kind, id), lambda _: None) is not None

    def pin(self, kind: str, id: str, pinned: bool) -> bool:
        """Pins or unpins a document. False if there is none."""
        where = self._where(kind, check_id(kind, id))

        def change(row: Row | None) -> Row | str:
            if row is None:
                return SAME
            opened = envelope.unseal(kind, row.data, where)
            text = row.text or ""
            sealed = envelope.reseal(kind, id, opened, text, self._gate, pinned=pinned)
            return replace(row, data=codec.dumps(sealed), pinned=pinned)

        return self._change(kind, id, change) is not None

    def drop(self, kind: str, entry: Entry) -> bool:
        """Removes a document if it is still the one of that entry, readable and not pinned."""

        def is_due(row: Row | None) -> bool:
            same = row is not None and row.saved == entry.saved and not row.pinned
            return same and row is not None and _readable(kind, row)

        id_ = check_id(kind, entry.id)
        return is_due(self._change(kind, id_, lambda row: None if is_due(row) else SAME))


def _readable(kind: str, row: Row) -> bool:
    try:
        envelope.read_header(kind, row.data, "")
    except StateError:
        return False
    return True
