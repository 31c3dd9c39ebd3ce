"""What the pass has collected of one session, or of one subagent in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct, field

from leftoff import codec
from leftoff.extraction.evidence import Evidence
from leftoff.extraction.evidence_log import EvidenceLog
from leftoff.extraction.extractor import Extractor, Pending, extractors
from leftoff.formats.thread import Packed, Thread
from leftoff.model import MAX_COUNT, SessionFacts, Usage
from leftoff.tokens import estimate_tokens

RECENT = 512
"""How many record ids at least are remembered to know a repeated line from a new one."""


ANSWERED = 32
"""How many calls are remembered after their result, for what recorders add about them."""


class Lines(Struct):
    """Every physical line ends in one of these; `total` is their sum. In one-document
    recordings the elements of the message list are counted instead."""

    total: int = 0
    parsed: int = 0
    unknown: int = 0
    repaired: int = 0
    skipped: int = 0


class Header(Struct):
    """What is known of the session as a whole."""

    id: str = ""
    cwd: str = ""
    branch: str = ""
    commit: str = ""
    agent_version: str = ""
    title: str = ""
    parent_id: str = ""
    forked_from: str = ""
    started: str = ""
    ended: str = ""
    window: int | None = None
    models: list[str] = field(default_factory=list)
    linked_titles: list[tuple[str, str]] = field(default_factory=list)

    def learn(self, facts: SessionFacts) -> None:
        """Takes in facts: the first of each stands, but the last title, branch and version."""
        if facts.link:
            self.linked_titles.append((facts.link, facts.title))
            return
        self.id = self.id or facts.id
        self.cwd = self.cwd or facts.cwd
        self.commit = self.commit or facts.commit
        self.parent_id = self.parent_id or facts.parent_id
        self.forked_from = self.forked_from or facts.forked_from
        self.started = self.started or facts.started
        self.branch = facts.branch or self.branch
        self.agent_version = facts.agent_version or self.agent_version
        self.title = facts.title or self.title
        if facts.window and 0 < facts.window <= MAX_COUNT:
            self.window = facts.window


class Tail(Struct):
    """The window's filling: the last API call and what was recorded after it.

    `tokens` is the estimate for what is no longer held as text. Where no usage is recorded,
    everything said counts, and `earlier` is what stood before the last compaction.
    """

    last: Usage | None = None
    response: str = ""
    tokens: int = 0
    earlier: int = 0
    texts: list[str] = field(default_factory=list)

    HELD: ClassVar[int] = 64

    def settle(self) -> int:
        """Turns held texts into their estimate; returns the estimate for all that followed
        the last call."""
        self.tokens += sum(map(estimate_tokens, self.texts))
        self.texts.clear()
        return self.tokens


class Head(Struct):
    """The section of a saved recording that reading on needs."""

    agent: str
    header: Header
    tail: Tail
    pending: dict[str, Pending]
    answered: dict[str, Pending]
    recent: list[list[str]]
    extractors: dict[str, bytes]
    first_words: str
    last_words: str
    last_at: int = -1


WORDS = 2000
"""Code points kept of what a subagent was asked first, and of an agent's last words."""


class Recording:
    """One session or subagent: header, thread, evidence and the state of its extractors.

    `first_words` is what a subagent was asked; `last_words`, in message `last_at`, is what the
    agent said last.
    """

    def __init__(self, agent: str, names: tuple[str, ...]) -> None:
        self.agent = agent
        self.header = Header()
        self.thread = Thread()
        self.evidence = EvidenceLog()
        self.tail = Tail()
        self.pending: dict[str, Pending] = {}
        self.answered: dict[str, Pending] = {}
        self.first_words = ""
        self.last_words = ""
        self.last_at = -1
        self._newest: set[str] = set()
        self._before: set[str] = set()
        self.extractors: dict[str, Extractor] = {name: extractors.get(name)() for name in names}
        self._wanting: dict[int, list[Extractor]] = {}

    @property
    def text_tokens(self) -> int:
        """Estimate for everything that was said, where no usage is recorded."""
        return self.tail.earlier + self.tail.settle()

    def wanting(self, flags: int) -> list[Extractor]:
        """The extractors that want to see a message with these features."""
        found = self._wanting.get(flags)
        if found is None:
            found = [e for e in self.extractors.values() if e.wants & flags]
            self._wanting[flags] = found
        return found

    def answer(self, call_id: str) -> Pending | None:
        """The pending call of that id, which is pending no more; None if there is none."""
        call = self.pending.pop(call_id, None)
        if call is not None:
            self.answered[call_id] = call
            if len(self.answered) > ANSWERED:
                del self.answered[next(iter(self.answered))]
        return call

    def is_repeat(self, identity: str) -> bool:
        """Whether a record of that id was read a short while ago; remembers it if not."""
        newest = self._newest
        if identity in newest or identity in self._before:
            return True
        newest.add(identity)
        if len(newest) == RECENT:
            self._before, self._newest = newest, set()
        return False

    # -- saving ----------------------------------------------------------------------------

    def head(self) -> Head:
        """What reading on needs."""
        return Head(
            self.agent,
            self.header,
            self.tail,
            self.pending,
            self.answered,
            [sorted(self._before), sorted(self._newest)],
            {name: codec.freeze(e) for name, e in self.extractors.items()},
            self.first_words,
            self.last_words,
            self.last_at,
        )

    @classmethod
    def revive(
        cls, head: Head, thread: Packed | None, evidence: Iterable[Evidence]
    ) -> Recording:
        """The recording of which `head`, thread and evidence were saved."""
        recording = cls(head.agent, ())
        recording.header, recording.tail = head.header, head.tail
        recording.first_words, recording.last_words = head.first_words, head.last_words
        recording.last_at = head.last_at
        recording.pending, recording.answered = head.pending, head.answered
        recording._before, recording._newest = map(set, head.recent)
        recording.extractors = {
            name: codec.thaw(state, extractors.get(name))
            for name, state in head.extractors.items()
        }
        if thread is not None:
            recording.thread = Thread.unpack(thread)
        recording.evidence.extend(evidence)
        return recording

    def fork(self) -> Recording:
        """A copy that may grow without touching this one. Evidence itself is shared: frozen."""
        head = codec.thaw(codec.freeze(self.head()), Head)
        twin = Recording.revive(head, self.thread.pack(), ())
        twin.evidence = self.evidence.copy()
        return twin
