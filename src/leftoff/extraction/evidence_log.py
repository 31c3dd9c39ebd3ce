"""The evidence log: all evidence of a session in the order of its discovery, mostly packed.

It is the container that `SessionState.evidence` is, and knows nothing of what a piece means.

As Python objects the pieces of a huge session would take more memory than everything else. So
`append` collects pieces as objects, and `BLOCK` of them are packed as `_Block`s of `UNIT`: for
each part (a kind; of sentences a topic) one compressed msgpack array, and the part of each
piece in order. Most sessions never fill a block. Three ways lead out: `each` (the pieces of a
kind, one block at a time; `of` as a list), `latest` (from the end) and `grouped` (by topic; in
a large log a `_LazyItems`, which unpacks a part of a block when one of its pieces is read).

* Append-only: packed blocks never change, so that `copy` may share them.
* Reading never packs and never caches: what was unpacked belongs to the caller. Above `LARGE`
  pieces a caller should not hold it for long either; `SessionView` asks `large` and drops its
  indexes.
* A part has a topic because the candidates for decisions take more room than all other kinds
  together, and who wants milestones should not unpack them.
* `Noted` (plug-ins) is never packed: its values are the plug-in's own objects.
* `BLOCK` and `LARGE` trade memory against time (docs/speed.md, "How cost grows"); tests set
  them low to reach the packed paths. Where memory is at hand, a log may be given more than
  `BLOCK`, and is not large below that.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, islice
from sys import intern
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

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

# Pieces that wait as objects before they are packed. A session of about 40 MB never packs any;
# packed, they take a ninth of the memory (docs/speed.md).
BLOCK = 16_384

# Pieces that are unpacked together. Chosen by hand for the memory.
UNIT = 4_096

# From so many pieces on (a session of about 50 MB), callers should not hold unpacked evidence
# for long: unpacking it again costs 7 % of the time of a summary, and sessions of 100 and of
# 200 MB take 92 and 107 MB instead of 108 and 145.
LARGE = 30_000

# Pieces of a group of a large log up to which it is held unpacked: judges read it often. About
# 400 bytes each. Chosen by hand for the memory.
FEW = 4096

_Part: TypeAlias = tuple[type, str]
"""The pieces of a kind, of sentences those of a topic."""

# Fields with few different values: a list of all pieces then holds each value once.
_INTERNED: dict[type, tuple[str, ...]] = {
    Said: ("topic", "rule", "value"),
    Called: ("name", "kind"),
    Touched: ("tool", "verb", "path"),
    Ran: ("tool", "cwd", "language"),
    Returned: ("status",),
    Shown: ("kind", "rule"),
    Spent: ("model",),
}


class _Block(NamedTuple):
    """A stretch of the log: the pieces of each part, and the number of each piece's part."""

    order: array[int]
    parts: dict[_Part, bytes | list[object]]

    def of(self, kind: type) -> list[Any]:
        found = {n: self.part(part) for n, part in enumerate(self.parts) if part[0] is kind}
        if len(found) < 2:
            return next(iter(found.values()), [])
        pieces = {number: iter(several) for number, several in found.items()}
        return [next(pieces[number]) for number in self.order if number in pieces]

    def part(self, part: _Part) -> list[Any]:
        found = self.parts.get(part, [])
        if not isinstance(found, bytes):
            return found
        return codec.unpack_state(zlib.decompress(found), list[part[0]])  # type: ignore[no-any-return, valid-type]

    def __iter__(self) -> Iterator[Any]:
        pieces = [iter(self.part(part)) for part in self.parts]
        return (next(pieces[number]) for number in self.order)


class EvidenceLog:
    """An append-only sequence of evidence; packed blocks are unpacked on each access."""

    __slots__ = ("_blocks", "_most", "_newest", "_whole")

    def __init__(self, evidence: Iterable[Evidence] = (), most: int = 0) -> None:
        self._blocks: tuple[_Block, ...] = ()
        self._newest: list[Evidence] = []
        self._whole = False
        self._most = most or BLOCK
        self.extend(evidence)

    @property
    def large(self) -> bool:
        """Whether there are so many pieces, here or in the logs of the same recording, that
        callers should not hold them for long."""
        if not self._blocks:
            return self._whole
        return self._whole or len(self) >= max(LARGE, self._most)

    def append(self, item: Evidence) -> None:
        self._newest.append(item)
        if len(self._newest) >= self._most:
            self._pack()

    def extend(self, items: Iterable[Evidence]) -> None:
        # A message may have a hundred thousand pieces: not all of them in memory at once.
        items = iter(items)
        while True:
            self._newest.extend(islice(items, self._most - len(self._newest)))
            if len(self._newest) < self._most:
                return
            self._pack()

    def of(self, kind: type[E]) -> list[E]:
        """The pieces of one kind, in order."""
        return list(self.each(kind))

    def by_kind(self) -> dict[type, list[Any]]:
        """The pieces of every kind, each in order: for callers that want most of them."""
        kinds = {kind for block in self._blocks for kind, _ in block.parts}
        found: dict[type, list[object]] = {kind: self.of(kind) for kind in kinds}
        for item in self._newest:
            kind = type(item)
            if kind not in kinds:
                found.setdefault(kind, []).append(item)
        return found

    def each(self, kind: type[E]) -> Iterator[E]:
        """The pieces of one kind, in order, unpacked a block at a time."""
        for block in self._blocks:
            yield from interned(block.of(kind))
        yield from self._unpacked_of(kind)

    def latest(self, kind: type[E]) -> Iterator[E]:
        """The pieces of one kind, the last first, unpacked a block at a time."""
        yield from reversed(self._unpacked_of(kind))
        for block in reversed(self._blocks):
            yield from reversed(block.of(kind))

    def grouped(self, kind: type[E], wanted: Callable[[E], bool]) -> Mapping[str, Sequence[E]]:
        """The wanted pieces of one kind by topic ("" for those that have none), each group in
        order. A snapshot: it does not grow with the log. In a large log the groups are unpacked
        block by block as they are read, but for those of few pieces."""
        if not self.large:
            found: dict[str, list[E]] = {}
            for item in filter(wanted, self.of(kind)):
                found.setdefault(_part_of(item)[1], []).append(item)
            return found
        newest = self._unpacked_of(kind)
        parts = {part: None for block in self._blocks for part in block.parts}
        parts.update(dict.fromkeys(map(_part_of, newest)))
        groups = {
            part[1]: _LazyItems(
                self._blocks, part, [item for item in newest if _part_of(item) == part], wanted
            )
            for part in parts
            if part[0] is kind
        }
        return {topic: group.items or group for topic, group in groups.items() if len(group)}

    def _unpacked_of(self, kind: type[E]) -> list[E]:
        return [item for item in self._newest if type(item) is kind]

    def __iter__(self) -> Iterator[Evidence]:
        for block in self._blocks:
            yield from block
        yield from self._newest

    def __len__(self) -> int:
        return sum(len(block.order) for block in self._blocks) + len(self._newest)

    def copy(self) -> EvidenceLog:
        """A log that may grow without changing this one; it shares the frozen pieces."""
        copy = EvidenceLog(most=self._most)
        copy._blocks, copy._newest = self._blocks, list(self._newest)
        return copy

    def pack(self) -> None:
        """Packs what is left, since nothing more is found; from now on the log is large."""
        self._whole = True
        self._pack()

    def _pack(self) -> None:
        while self._newest:
            self._blocks += (_block(self._newest[:UNIT]),)
            del self._newest[:UNIT]


class _LazyItems(Sequence[E]):
    """The wanted pieces of one part of a log, unpacked when they are read; fastest if read in
    order.

    `places` holds for each the number of its block (high 32 bits; the number after the last
    block stands for the pieces not packed now) and its index in its part there (low 32 bits);
    `items` the pieces themselves as long as there are few of them."""

    def __init__(
        self,
        blocks: Sequence[_Block],
        part: _Part,
        newest: list[E],
        wanted: Callable[[E], bool],
    ) -> None:
        # Two blocks: a result may stand in the one after its call.
        @lru_cache(maxsize=2)
        def unpacked(number: int) -> list[E]:
            return blocks[number].part(part) if number < len(blocks) else newest

        self._unpacked = unpacked
        self.places = array("q")
        self.items: list[E] = []
        for number in range(len(blocks) + 1):
            items = unpacked(number)
            at = [at for at, item in enumerate(items) if wanted(item)]
            self.places.extend(number << 32 | place for place in at)
            if len(self.places) <= FEW:
                self.items += map(items.__getitem__, at)
            else:
                self.items = []

    def __iter__(self) -> Iterator[E]:
        for number, places in groupby(self.places, lambda place: place >> 32):
            items = self._unpacked(number)
            for place in places:
                yield items[place & 0xFFFFFFFF]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> E: ...
    @overload
    def __getitem__(self, at: slice) -> list[E]: ...
    def __getitem__(self, at: int | slice) -> E | list[E]:
        if type(at) is slice:
            return [self[one] for one in range(*at.indices(len(self)))]
        place = self.places[at]
        return self._unpacked(place >> 32)[place & 0xFFFFFFFF]


def interned(items: list[Any]) -> list[Any]:
    """Pieces that were unpacked just now, to which nothing else refers, with one string for
    each value of the fields that have few."""
    for item in items:
        for name in _INTERNED.get(type(item), ()):
            force_setattr(item, name, intern(getattr(item, name)))
    return items


def _part_of(item: object) -> _Part:
    return type(item), item.topic if type(item) is Said else ""


def _block(items: Sequence[Evidence]) -> _Block:
    parts: dict[_Part, list[object]] = {}
    for item in items:
        parts.setdefault(_part_of(item), []).append(item)
    numbers = {part: number for number, part in enumerate(parts)}
    order = array("H", (numbers[_part_of(item)] for item in items))
    packed: dict[_Part, bytes | list[object]] = {
        part: found if part[0] is Noted else zlib.compress(codec.pack_state(found), 1)
        for part, found in parts.items()
    }
    return _Block(order, packed)
