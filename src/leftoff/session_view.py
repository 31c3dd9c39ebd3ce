"""One session's evidence, looked at from all sides at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from leftoff.extraction.evidence import Called, Returned, Said, Shown
from leftoff.extraction.session_state import Recording
from leftoff.model import Ref

E = TypeVar("E")


class Story:
    """A recording with what follows from the whole of it.

    Args:
        recording: main thread or subagent.
        source: index into `session.sources`.

    Attributes:
        abandoned: messages of rewound branches.
        copies: messages that repeat history already in the recording.
        children: the stories of its subagents.
    """

    def __init__(
        self, recording: Recording, source: int = 0, children: Sequence[Story] = ()
    ) -> None:
        self.children = tuple(children)
        self.recording = recording
        self.thread = recording.thread
        self.source = source
        self.abandoned = self.thread.abandoned()
        self.copies = self.thread.copies()
        self._held: dict[type, list[Any]] = {}

    def all(self, kind: type[E]) -> list[E]:
        """Evidence of one kind in file order, copies left out, abandoned branches included."""
        found: list[E] | None = self._held.get(kind)
        if found is None:
            found = self.recording.evidence.of(kind)
            if self.copies:
                found = [e for e in found if self.message_of(e) not in self.copies]
            if not self.recording.evidence.vast:
                self._held[kind] = found
        return found

    def forget(self) -> None:
        """Lets go of what was made of vast evidence: who asks for it again gets it again."""
        if self.recording.evidence.vast:
            for name in ("calls", "outcomes", "turns"):
                self.__dict__.pop(name, None)

    def told(self, kind: type[E]) -> list[E]:
        """Evidence of one kind on the branch that was kept."""
        found = self.all(kind)
        if not self.abandoned:
            return found
        return [item for item in found if self.message_of(item) not in self.abandoned]

    def each(self, kind: type[E], *, rewound: bool = False) -> Iterator[E]:
        """What `told` gives, or `all` with `rewound`, one by one: of vast evidence little is
        held at a time."""
        if not self.recording.evidence.vast:
            yield from self.all(kind) if rewound else self.told(kind)
            return
        left_out = self.copies if rewound else self.copies | self.abandoned
        for item in self.recording.evidence.each(kind):
            if self.message_of(item) not in left_out:
                yield item

    def said(self, topic: str) -> Sequence[Said]:
        """Sentences of one topic on the branch that was kept."""
        return self._topics.get(topic, ())

    @cached_property
    def _topics(self) -> Mapping[str, Sequence[Said]]:
        left_out = self.abandoned | self.copies
        return self.recording.evidence.grouped(
            Said, lambda said: None if said.ref.message in left_out else said.topic
        )

    @staticmethod
    def message_of(item: object) -> int:
        """Index of the message that a piece of evidence is from."""
        ref = getattr(item, "ref", None)
        index: int = ref.message if ref is not None else item.message  # type: ignore[attr-defined]
        return index

    def ref(self, ref: Ref) -> Ref:
        """A reference with this story's source."""
        return msgspec.structs.replace(ref, source=self.source) if self.source else ref

    @cached_property
    def calls(self) -> dict[tuple[int, int], Called]:
        """Every call by message and part."""
        return {(c.message, c.part): c for c in self.all(Called)}

    @cached_property
    def outcomes(self) -> dict[tuple[int, int], Returned]:
        """How each call came back, by the call's message and part; calls without a result
        are missing."""
        return {(r.call_message, r.call_part): r for r in self.all(Returned)}

    @cached_property
    def turns(self) -> dict[int, int]:
        """Agent message to turn number."""
        return self.thread.turns()

    def worked(self, message: int, part: int) -> bool:
        """Whether a call is known to have come back without failing."""
        outcome = self.outcomes.get((message, part))
        return outcome is not None and outcome.status in {"ok", "unknown", "running"}

    def shown(self, kinds: Iterable[str]) -> list[Shown]:
        """Results that tools showed, of the given kinds."""
        wanted = set(kinds)
        return [s for s in self.all(Shown) if s.kind in wanted]
