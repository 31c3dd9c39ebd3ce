"""All evidence of a recording in the order in which it was found, most of it packed."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple, TypeVar, get_args, overload

from msgspec.structs import force_setattr

from leftoff import codec
from leftoff.extraction.evidence import (
    Called,
    Evidence,
    Noted,
    Ran,
    Returned,
    Said,
    Shown,
    Spent,
    Touched,
)

E = TypeVar("E")

BLOCK = 16_384
"""So many pieces are held as objects before they are packed together: a session of some 40 MB
never packs any. Packed, they take a ninth of the memory."""

VAST = 100_000
"""From so many pieces on nobody should hold for long what he was given: unpacking it again
costs a tenth of a summary, holding it a third of the memory."""

_KINDS: tuple[type, ...] = get_args(Evidence)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_REPEATING: dict[type, tuple[str, ...]] = {
    Said: ("topic", "rule", "value"),
    Called: ("name", "kind"),
    Touched: ("tool", "verb", "path"),
    Ran: ("tool", "cwd", "language"),
    Returned: ("status",),
    Shown: ("kind", "rule"),
    Spent: ("model",),
}
"""Fields with few different values: who holds all pieces holds each value once."""


class _Block(NamedTuple):
    """A stretch of the log: the number of each piece's kind, and the pieces of each kind."""

    order: bytes
    pieces: dict[type, bytes | list[Any]]

    def of(self, kind: type) -> list[Any]:
        found = self.pieces.get(kind, [])
        if not isinstance(found, bytes):
            return found
        return codec.thaw(zlib.decompress(found), list[kind])  # type: ignore[no-any-return, valid-type]


class EvidenceLog:
    """Append-only; what was packed is unpacked for who asks for it, and not kept.

    Evidence that a plug-in noted is never packed: its values are the plug-in's own objects.
    """

    def __init__(self, evidence: Iterable[Evidence] = ()) -> None:
        self._blocks: tuple[_Block, ...] = ()
        self._newest: list[Evidence] = []
        self.extend(evidence)

    @property
    def vast(self) -> bool:
        """Whether there is so much that none of it should be held for long."""
        return len(self) >= VAST

    def append(self, item: Evidence) -> None:
        self._newest.append(item)
        if len(self._newest) >= BLOCK:
            self._pack()

    def extend(self, items: Iterable[Evidence]) -> None:
        self._newest.extend(items)
        while len(self._newest) >= BLOCK:
            self._pack()

    def of(self, kind: type[E]) -> list[E]:
        """What is of one kind, in order."""
        found: list[E] = []
        for block in self._blocks:
            items = block.of(kind)
            for name in _REPEATING.get(kind, ()):
                for item in items:  # nobody else has seen them yet
                    force_setattr(item, name, intern(getattr(item, name)))
            found += items
        return found + self._open(kind)

    def each(self, kind: type[E]) -> Iterator[E]:
        """What is of one kind, in order, unpacked a block at a time."""
        for block in self._blocks:
            yield from block.of(kind)
        yield from self._open(kind)

    def grouped(
        self, kind: type[E], key: Callable[[E], str | None]
    ) -> Mapping[str, Sequence[E]]:
        """What is of one kind, grouped by a key, each group in order; what has none is left
        out. Of a vast log it is unpacked block by block when it is asked for. It does not grow
        with the log."""
        if not self.vast:
            found: dict[str, list[E]] = {}
            for item in self.of(kind):
                if (name := key(item)) is not None:
                    found.setdefault(name, []).append(item)
            return found
        some: dict[str, _Some[E]] = {}
        for number, block in enumerate((*self._blocks, None)):
            items = self._open(kind) if block is None else block.of(kind)
            for at, item in enumerate(items):
                if (name := key(item)) is not None:
                    if name not in some:
                        some[name] = _Some(self._unpacker(kind))
                    some[name].places.append(number << 32 | at)
        return some

    def _unpacker(self, kind: type[E]) -> Callable[[int], list[E]]:
        """Gives the pieces of one kind in a block, of which it remembers the latest; after the
        last block, those that are not packed as they are now."""
        blocks, newest = self._blocks, self._open(kind)

        @lru_cache(maxsize=1)
        def unpacked(number: int) -> list[E]:
            return blocks[number].of(kind) if number < len(blocks) else newest

        return unpacked

    def _open(self, kind: type[E]) -> list[E]:
        return [item for item in self._newest if type(item) is kind]

    def __iter__(self) -> Iterator[Evidence]:
        for block in self._blocks:
            pieces = {number: iter(block.of(_KINDS[number])) for number in set(block.order)}
            for number in block.order:
                yield next(pieces[number])
        yield from self._newest

    def __len__(self) -> int:
        return sum(len(block.order) for block in self._blocks) + len(self._newest)

    def copy(self) -> EvidenceLog:
        """A log that may grow without touching this one; pieces are shared, they are frozen."""
        twin = EvidenceLog()
        twin._blocks, twin._newest = self._blocks, list(self._newest)
        return twin

    def _pack(self) -> None:
        self._blocks += (_block(self._newest[:BLOCK]),)
        del self._newest[:BLOCK]


class _Some(Sequence[E]):
    """Pieces that are unpacked when they are asked for; best asked for in order.

    `places` holds for each the number of its block and its place among those of its kind there.
    """

    def __init__(self, unpacked: Callable[[int], list[E]]) -> None:
        self.places = array("q")
        self._unpacked = unpacked

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> E: ...
    @overload
    def __getitem__(self, at: slice) -> list[E]: ...
    def __getitem__(self, at: int | slice) -> E | list[E]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        place = self.places[at]
        return self._unpacked(place >> 32)[place & 0xFFFFFFFF]


def _block(items: Sequence[Evidence]) -> _Block:
    pieces: dict[type, bytes | list[Any]] = {}
    by_kind: dict[type, list[Any]] = {}
    for item in items:
        by_kind.setdefault(type(item), []).append(item)
    for kind, found in by_kind.items():
        pieces[kind] = found if kind is Noted else zlib.compress(codec.freeze(found), 1)
    return _Block(bytes(_NUMBERS[type(item)] for item in items), pieces)
