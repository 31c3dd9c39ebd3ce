"""What the collector knows of one session, or of one subagent in it."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import ClassVar

from msgspec import Struct, field

from leftoff import codec
from leftoff.extraction.evidence import Called
from leftoff.extraction.evidence_log import EvidenceLog
from leftoff.extraction.extractor import Extractor, extractors, remember
from leftoff.formats.thread import Packed, Thread
from leftoff.model import MAX_COUNT, Message, SessionFacts, Usage
from leftoff.tokens import estimate_tokens

# At least so many of the latest record ids are remembered, to detect repeated lines.
RECENT_IDS = 512


# So many calls are remembered after their result, for records that add to them later.
MAX_ANSWERED = 32

# Subagents of one recording that are held apart; the messages of further ones are read as those
# of one subagent, `FURTHER`. Each takes about 10 KB until the end of the summary. Chosen by
# hand for the memory.
MAX_AGENTS = 4096

# The id of the subagent that stands for all after the first `MAX_AGENTS`.
FURTHER = "further subagents"

# Parts of one message that are read, and calls without a result that are remembered. Chosen by
# hand for the memory, about 1.5 KB for a part.
MAX_PARTS = MAX_PENDING = 10_000

# For each extractor, sentences or matches of rules in the words of one message that are looked
# at. Chosen by hand for the time, about 0.1 ms each.
MAX_CLAIMS = 1000

# Sessions of one recording that are held: the latest. Each takes 2 KB and more. Chosen by hand
# for the memory.
MAX_SESSIONS = 10_000

# Names of models that are listed.
MAX_MODELS = 100


class Lines(Struct):
    """Counts of physical lines by outcome; `total` is the sum of the others. In one-document
    recordings the elements of the message list are counted instead."""

    total: int = 0
    parsed: int = 0
    unknown: int = 0
    repaired: int = 0
    skipped: int = 0


class Header(Struct):
    """Facts of the session as a whole. `acted`: when something happened last, notices apart, ""
    where the recorder gives the agent's words no time."""

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
    acted: str = ""
    window: int | None = None
    models: list[str] = field(default_factory=list)
    linked_titles: list[tuple[str, str]] = field(default_factory=list)
    queued: tuple[str, ...] = ()
    ended_jobs: list[str] = field(default_factory=list)

    def pass_time(self, message: Message) -> None:
        """Takes up the time of a message."""
        time = message.time
        if time > self.ended:
            self.ended = time
            self.started = self.started or time
        if message.origin in {"prompt", "agent", "tool", "interruption"}:
            if time > self.acted:
                self.acted = time
            elif not time and message.origin == "agent":
                self.acted = ""

    def update(self, facts: SessionFacts) -> None:
        """Merges facts: the first value of each, but the last title, branch and version."""
        if facts.link:
            self.linked_titles.append((facts.link, facts.title))
            return
        for name in ("id", "cwd", "commit", "parent_id", "forked_from", "started"):
            setattr(self, name, getattr(self, name) or getattr(facts, name))
        for name in ("branch", "agent_version", "title"):
            setattr(self, name, getattr(facts, name) or getattr(self, name))
        self.queued = self.queued if facts.queued is None else facts.queued
        if facts.ended:
            self.ended_jobs = [*self.ended_jobs[-63:], facts.ended]
        self.set_window(facts.window)

    def set_window(self, size: int | None) -> None:
        """Takes up a size of the context window that can be one."""
        if size and 0 < size <= MAX_COUNT:
            self.window = size


class ContextOccupancy(Struct):
    """How full the context window is: the last API call and what was recorded after it.

    Attributes:
        last: usage of the last call, None before the first.
        response: id of the response that `last` belongs to.
        tokens: estimate for texts after the last call that are not in `texts` any more.
        earlier: where no usage is recorded, the estimate for all text before the last
            compaction.
        texts: texts after the last call that are not estimated yet.
        packed: those of a session that has ended, compressed."""

    last: Usage | None = None
    response: str = ""
    tokens: int = 0
    earlier: int = 0
    texts: list[str] = field(default_factory=list)
    packed: bytes = b""

    MAX_TEXTS: ClassVar[int] = 64

    def estimate_texts(self) -> int:
        """Replaces the texts by their estimate; returns the estimate for everything after the
        last call."""
        if self.packed:
            self.texts = codec.unpack_state(zlib.decompress(self.packed), list[str])
            self.packed = b""
        self.tokens += sum(map(estimate_tokens, self.texts))
        self.texts.clear()
        return self.tokens

    def pack_texts(self) -> None:
        """Compresses the texts: of the sessions of a file few are asked for their estimate,
        which takes ten times as long."""
        if self.texts:
            self.packed = zlib.compress(codec.pack_state(self.texts), 1)
            self.texts = []


class Head(Struct):
    """The section of a saved session state that resuming needs."""

    agent: str
    header: Header
    tail: ContextOccupancy
    pending: dict[str, Called]
    answered: dict[str, Called]
    recent: list[list[str]]
    extractors: dict[str, bytes]
    first_words: str
    last_words: str
    first_at: int = -1
    last_at: int = -1


# Code points of a subagent's first request, and of an agent's last words, that are saved.
MAX_QUOTE = 2000


class SessionState:
    """One session or subagent: header, thread, evidence and the state of its extractors.

    Attributes:
        agent: id of the subagent, "" for the main thread.
        pending: calls without a result, by id.
        answered: the latest calls with a result, by id.
        first_words: the first text in the person's place, message `first_at`, that is no notice
            and that no person typed: the request to a subagent.
        last_words: the agent's last text, in message `last_at`."""

    def __init__(self, agent: str, names: tuple[str, ...]) -> None:
        self.agent = agent
        self.header = Header()
        self.thread = Thread()
        self.evidence = EvidenceLog()
        self.occupancy = ContextOccupancy()
        self.pending: dict[str, Called] = {}
        self.answered: dict[str, Called] = {}
        self.first_words = ""
        self.last_words = ""
        self.first_at = self.last_at = -1
        self._newest: set[str] = set()
        self._before: set[str] = set()
        self.extractors: dict[str, Extractor] = {name: extractors.get(name)() for name in names}
        self._wanting: dict[int, list[Extractor]] = {}

    @property
    def text_tokens(self) -> int:
        """Estimate for the whole conversation, where no usage is recorded."""
        return self.occupancy.earlier + self.occupancy.estimate_texts()

    def extractors_for(self, flags: int) -> list[Extractor]:
        """The extractors that want a message with these feature bits."""
        found = self._wanting.get(flags)
        if found is None:
            found = [e for e in self.extractors.values() if e.wants & flags]
            self._wanting[flags] = found
        return found

    def complete_call(self, call_id: str) -> Called | None:
        """The pending call of that id, moved to `answered`; None if there is none."""
        call = self.pending.pop(call_id, None)
        if call is not None:
            remember(self.answered, call_id, call, MAX_ANSWERED)
        return call

    def is_repeat(self, identity: str) -> bool:
        """Whether a record of that id is among the latest ones; remembers it if not."""
        newest = self._newest
        if identity in newest or identity in self._before:
            return True
        newest.add(identity)
        if len(newest) == RECENT_IDS:
            self._before, self._newest = newest, set()
        return False

    def finish(self) -> None:
        """Drops what only further messages need: a file may hold ten thousand sessions."""
        self.extractors, self._wanting = {}, {}
        self._newest, self._before = set(), set()
        self.pending, self.answered = {}, {}
        self.occupancy.pack_texts()

    # -- saving ----------------------------------------------------------------------------

    def head(self) -> Head:
        """The section that resuming needs."""
        return Head(
            self.agent,
            self.header,
            self.occupancy,
            self.pending,
            self.answered,
            [sorted(self._before), sorted(self._newest)],
            {name: codec.pack_state(e) for name, e in self.extractors.items()},
            self.first_words,
            self.last_words,
            self.first_at,
            self.last_at,
        )

    @classmethod
    def restore(cls, head: Head, thread: Packed, evidence: EvidenceLog) -> SessionState:
        """The state of which `head`, thread and evidence were saved."""
        state = cls(head.agent, ())
        state.header, state.occupancy = head.header, head.tail
        state.first_words, state.last_words = head.first_words, head.last_words
        state.first_at, state.last_at = head.first_at, head.last_at
        state.pending, state.answered = head.pending, head.answered
        state._before, state._newest = map(set, head.recent)
        state.extractors = {
            name: codec.unpack_state(state, extractors.get(name))
            for name, state in head.extractors.items()
        }
        state.thread, state.evidence = Thread.unpack(thread), evidence
        return state

    def fork(self) -> SessionState:
        """A copy that may grow without changing this one; it shares the frozen evidence."""
        head = codec.unpack_state(codec.pack_state(self.head()), Head)
        return SessionState.restore(head, self.thread.pack(), self.evidence.copy())


def pack_large(states: Collection[SessionState]) -> bool:
    """Compresses what was found in a recording that has ended, and drops what only further
    messages need, if it is large: it may have thousands of subagents. Says whether it is."""
    large = any(state.evidence.large for state in states)
    if large:
        for state in states:
            state.evidence.pack()
            state.occupancy.pack_texts()
            state._newest, state._before = set(), set()
    return large
