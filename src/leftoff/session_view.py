"""The evidence of one session with indexes over it, as the modules of `analysis` read it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

import msgspec

from leftoff.extraction.evidence import Called, Ran, Returned, Said, Shown
from leftoff.extraction.requests import Requests
from leftoff.extraction.session_state import SessionState
from leftoff.model import Ref, slice_hash

E = TypeVar("E")
T = TypeVar("T")


Call: TypeAlias = tuple[int, int]
"""Message and part of a call."""

_call = attrgetter("call")


class ByCall(Mapping[Call, E]):
    """Pieces of evidence by their call, the last of each; those of a very large session are
    unpacked when they are read, fastest in order."""

    def __init__(self, items: Sequence[E], calls: Iterable[Call]) -> None:
        numbers = array("q", map(number_of, calls))
        self._order: Sequence[int] = range(len(numbers))
        # Most stand in order already; to sort them takes much memory for a moment.
        if any(number > following for number, following in pairwise(numbers)):
            self._order = array("q", sorted(self._order, key=numbers.__getitem__))
            numbers = array("q", map(numbers.__getitem__, self._order))
        self._numbers = numbers
        self._items = items

    def __getitem__(self, call: Call) -> E:
        found: E | None = self.get(call)
        if found is None:
            raise KeyError(call)
        return found

    def get(self, call: Call, default: Any = None) -> Any:
        number = number_of(call)
        at = bisect_right(self._numbers, number) - 1
        if at < 0 or self._numbers[at] != number:
            return default
        return self._items[self._order[at]]

    def between(self, start: Call, end: Call) -> list[E]:
        """The pieces of the calls after one and before another."""
        first = bisect_right(self._numbers, number_of(start))
        last = bisect_left(self._numbers, number_of(end))
        return [self._items[at] for at in self._order[first:last]]

    def __iter__(self) -> Iterator[Call]:
        for number, _ in groupby(self._numbers):
            yield call_of(number)

    def __len__(self) -> int:
        return len(self._numbers)


def number_of(call: Call) -> int:
    """A call as one number, in the same order: an array of them takes a tenth of the memory."""
    return (call[0] << 32) + call[1]


def call_of(number: int) -> Call:
    """The call that `number_of` made a number of."""
    message = (number + 1) >> 32  # a part may be -1
    return message, number - (message << 32)


class SessionView:
    """The state of one session, and what can be derived only when all of it is known.

    Args:
        state: of the main thread or of a subagent.
        source: index into `session.sources`.

    Attributes:
        abandoned: messages of rewound branches.
        copies: messages that repeat history already in the recording.
        children: the views of its subagents.
        written: the files that each message is likely to have changed, once that is known.
        results: what judges found that several ask for (`once`)."""

    def __init__(
        self, state: SessionState, source: int = 0, children: Sequence[SessionView] = ()
    ) -> None:
        self.children = tuple(children)
        self.written: Mapping[int, Collection[str]] = {}
        self.state = state
        self.thread = state.thread
        self.source = source
        self.abandoned = self.thread.abandoned()
        self.copies = self.thread.copies()
        self.results: dict[object, Any] = {}
        self._cache: dict[type, list[Any]] = {}
        self._grouped: dict[type, list[Any]] | None = None

    def all(self, kind: type[E]) -> list[E]:
        """Evidence of one kind in file order, copies left out, abandoned branches included."""
        if self.state.evidence.large:
            return self._without(self.copies, self.state.evidence.of(kind))
        # One walk over the evidence for all kinds; a kind is then held in the cache alone.
        if self._grouped is None:
            self._grouped = self.state.evidence.by_kind()
        found: list[E] | None = self._cache.get(kind)
        if found is None:
            found = self._without(self.copies, self._grouped.pop(kind, []))
            self._cache[kind] = found
        return found

    def _without(self, left_out: set[int], found: list[E]) -> list[E]:
        # Most sessions have none to leave out, and lists may be long.
        return [e for e in found if self.message_of(e) not in left_out] if left_out else found

    def by_call(self, kind: type[E]) -> ByCall[E]:
        """Evidence of one kind by call, copies left out, abandoned branches included."""
        items: Sequence[E]
        if self.state.evidence.large:
            copies = self.copies
            found = self.state.evidence.grouped(
                kind, lambda e: self.message_of(e) not in copies
            )
            items = found.get("", ())
        else:
            items = self.all(kind)
        return ByCall(items, map(_call, items))

    def release(self) -> None:
        """Drops what is derived of a very large session; the next access builds it again."""
        if self.state.evidence.large:
            for name in ("_topics", "calls", "outcomes", "commands", "_succeeded", "turns"):
                self.__dict__.pop(name, None)
            self.results.clear()

    def active(self, kind: type[E]) -> list[E]:
        """Evidence of one kind on the active branch: without copies and abandoned branches."""
        return self._without(self.abandoned, self.all(kind))

    def each(self, kind: type[E], *, rewound: bool = False) -> Iterator[E]:
        """Iterates over `active`, or over `all` with `rewound`. Of a very large session only
        one block is in memory at a time."""
        if not self.state.evidence.large:
            return iter(self.all(kind) if rewound else self.active(kind))
        left_out = self.copies if rewound else self.copies | self.abandoned
        found = self.state.evidence.each(kind)
        return (item for item in found if self.message_of(item) not in left_out)

    def latest(self, kind: type[E]) -> Iterator[E]:
        """Iterates over `active` from the end. Of a very large session only what is read is
        unpacked."""
        if not self.state.evidence.large:
            return reversed(self.active(kind))
        left_out = self.copies | self.abandoned
        found = self.state.evidence.latest(kind)
        return (item for item in found if self.message_of(item) not in left_out)

    def sentences(self, topic: str) -> Sequence[Said]:
        """Sentences of one topic on the active branch."""
        return self._topics.get(topic, ())

    @cached_property
    def _topics(self) -> Mapping[str, Sequence[Said]]:
        left_out = self.abandoned | self.copies
        return self.state.evidence.grouped(Said, lambda said: said.ref.message not in left_out)

    @staticmethod
    def message_of(item: object) -> int:
        """Index of the message that an item of evidence comes from."""
        ref = getattr(item, "ref", None)
        index: int = ref.message if ref is not None else item.message  # type: ignore[attr-defined]
        return index

    def ref(self, ref: Ref) -> Ref:
        """A reference with this session's index into `session.sources`."""
        return msgspec.structs.replace(ref, source=self.source) if self.source else ref

    def ref_within(self, ref: Ref, start: int, text: str) -> Ref:
        """A reference to words that stand at `start` in those of another one."""
        first = (ref.start or 0) + start
        end, found = first + len(text), slice_hash(text)
        return msgspec.structs.replace(self.ref(ref), start=first, end=end, hash=found)

    @cached_property
    def calls(self) -> Mapping[Call, Called]:
        """Every call by message and part."""
        return self._last_of(Called)

    @cached_property
    def outcomes(self) -> Mapping[Call, Returned]:
        """The result of each call, by the call's message and part; calls without a result are
        missing."""
        return self._last_of(Returned)

    @cached_property
    def commands(self) -> Mapping[Call, Ran]:
        """The last command of each call that ran one."""
        return self._last_of(Ran)

    def _last_of(self, kind: type[E]) -> Mapping[Call, E]:
        if self.state.evidence.large:
            return self.by_call(kind)
        return {_call(item): item for item in self.all(kind)}

    @cached_property
    def turns(self) -> array[int]:
        """The number of each message's turn, -1 where the agent does not speak."""
        return self.thread.turns()

    def succeeded(self, call: Call) -> bool:
        """Whether a call returned without an error, as far as the recorder says."""
        number = number_of(call)
        at = bisect_left(self._succeeded, number)
        return at < len(self._succeeded) and self._succeeded[at] == number

    @cached_property
    def _succeeded(self) -> array[int]:
        # A recorder without results by status is believed, or nothing would ever have
        # succeeded. The last result of a call counts.
        last = {
            number_of(r.call): r.status in {"ok", "unknown", "running"}
            for r in self.each(Returned, rewound=True)
        }
        return array("q", sorted(number for number, worked in last.items() if worked))

    @property
    def heard(self) -> Requests:
        """What the extractor of the person's words remembers; where it did not run, only where
        the agent spoke last."""
        heard = self.state.extractors.get("requests")
        return heard if isinstance(heard, Requests) else Requests(said=self.state.last_at)

    def shown(self, kinds: Iterable[str]) -> list[Shown]:
        """Results shown by tools, of the given kinds."""
        wanted = set(kinds)
        return [s for s in self.all(Shown) if s.kind in wanted]


def once(judge: Callable[[SessionView], T]) -> Callable[[SessionView], T]:
    """A function of a view whose result is computed once for each view."""

    @wraps(judge)
    def known(view: SessionView) -> T:
        if judge not in view.results:
            view.results[judge] = judge(view)
        found: T = view.results[judge]
        return found

    return known
