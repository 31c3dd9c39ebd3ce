"""The pass: bytes in, evidence out, one message at a time.

A `Fold` is resumable. Its state is a fold over whole lines and has three sections: the head
(offset, reader, counters, pending calls), the thread (packed keys), the evidence (append-only).
To read on, only the head is needed; to summarise, all three.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from sys import intern
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff.errors import FormatError, StateError
from leftoff.extraction.evidence import (
    Applied,
    Called,
    Compacted,
    Counted,
    Evidence,
    Returned,
    Spent,
    Stood,
)
from leftoff.extraction.extractor import (
    CALL,
    FAILED,
    FILE,
    HIT,
    OUTPUT,
    PLAN,
    RESULT,
    TEXT,
    TYPED,
    Pending,
    View,
)
from leftoff.extraction.lines import Intake
from leftoff.extraction.rule_sets import OUTPUTS, gate_for
from leftoff.extraction.rules import Gate, Hit
from leftoff.extraction.session_state import WORDS, Head, Lines, Recording, Tail
from leftoff.formats.reader import Cursor, formats
from leftoff.formats.thread import Packed
from leftoff.formats.vocabulary import EDITS, text_argument
from leftoff.model import (
    MAX_COUNT,
    Changes,
    Compaction,
    Issue,
    Link,
    Message,
    NewSession,
    Presence,
    Record,
    Ref,
    SessionFacts,
    Text,
    TokenCount,
    ToolCall,
    ToolResult,
    Usage,
    record_hash,
)
from leftoff.text.truncation import whole

BUILTIN = ("requests", "decisions", "progress", "files", "insights", "names")

DRIFT_LINES, DRIFT_SHARE = 4, 0.05
"""From so many lines of unknown kinds, and such a share of all, the format has changed."""


class State(Struct, frozen=True):
    """A saved pass. `head` alone is enough to read on; the rest is for the summary."""

    offset: int
    head: bytes
    thread: bytes
    evidence: bytes


class FoldHead(Struct):
    """The head section: everything that grows with nothing."""

    format: str
    offset: int
    reader: bytes
    cursor: Cursor
    lines: Lines
    issues: list[Issue]
    recordings: list[Head]


class Fold(Intake):
    """Reads one recording: messages in, evidence out.

    Args:
        where: the name of the recording for error messages, e.g. its path.
        format: name of the format, or None to recognise it by content.
        extra: names of plug-in extractors to run beside the built-in ones.
        builtin: names of the built-in extractors to run; what the others would have found is
            missing from the summary.

    Attributes:
        sessions: the sessions found: for each, the main recording under "" and its subagents
            by id. Most recordings hold exactly one.
        earlier: sessions that stand before these in the recording and are not held.
    """

    earlier: int = 0

    def __init__(
        self,
        where: str = "<bytes>",
        format: str | None = None,
        extra: Sequence[str] = (),
        builtin: Sequence[str] = BUILTIN,
    ) -> None:
        self.names = (*builtin, *extra)
        self.sessions: list[dict[str, Recording]] = []
        self._gate: Gate = gate_for(self.names)
        super().__init__(where, None)
        self._begin()
        if format is not None:
            self._use(formats.get(format))

    # -- records ---------------------------------------------------------------------------

    def _begin(self) -> None:
        """A new session starts."""
        self._main = Recording("", self.names)
        self.sessions.append({"": self._main})
        self.cursor.taken = {}

    def _child(self, agent: str) -> Recording:
        recordings = self.sessions[-1]
        if agent not in recordings:
            recordings[agent] = Recording(agent, self.names)
        return recordings[agent]

    def _link(self, link: Link) -> None:
        self._main.thread.link(link.key, link.parent)

    def _message(self, m: Message) -> None:
        recording = self._child(m.agent) if m.agent else self._main
        if m.key and recording.is_repeat(m.key):
            self.cursor.give_back(m.agent)
            self._issue("repeated_record")
            return
        recording.thread.add(m)
        header = recording.header
        if m.time > header.ended:
            header.ended = m.time
            header.started = header.started or m.time
        if m.model and m.model not in header.models:
            header.models.append(m.model)
        if m.usage is not None:
            self._spent(recording, m, m.usage)
        flags = TYPED if m.typed else 0
        # Most messages need none of these, and some have ten thousand parts.
        hits = calls = outputs = _NONE
        number = -1
        for part in m.parts:
            number += 1
            kind = type(part)
            if kind is ToolCall:
                flags |= self._called(recording, m, number, part)  # type: ignore[arg-type]
            elif kind is ToolResult:
                call = recording.answer(part.call_id) or _UNCALLED  # type: ignore[union-attr]
                found = self._returned(recording, m, number, part, call)  # type: ignore[arg-type]
                flags |= RESULT | _FLAGS_BACK.get(call.kind, 0)
                if part.status in _BAD:  # type: ignore[union-attr]
                    flags |= FAILED
                calls = calls or {}
                calls[number] = call
                if found:
                    flags |= OUTPUT
                    outputs = outputs or {}
                    outputs[number] = found
            elif kind is Text:
                text = part.text  # type: ignore[union-attr]
                if m.origin == "agent":
                    flags |= TEXT
                    recording.last_words, recording.last_at = whole(text, WORDS), m.index
                    if recording.tail.last is None:
                        recording.tail.texts.append(text)
                    for name, named in self._gate.scan(text, number).items():
                        flags |= HIT
                        hits = hits or {}
                        hits.setdefault(name, []).extend(named)
                else:
                    if m.agent and not recording.first_words:
                        recording.first_words = whole(text, WORDS)
                    if m.role != "assistant":
                        recording.tail.texts.append(text)
        if len(recording.tail.texts) > Tail.HELD:
            recording.tail.settle()
        if flags:
            wanting = recording.wanting(flags)
            if wanting:
                view = View(m, hits, calls, outputs)
                for extractor in wanting:
                    recording.evidence.extend(extractor.see(view))

    def _called(self, recording: Recording, m: Message, number: int, call: ToolCall) -> int:
        """Records a call; returns what the message has because of it."""
        kind = call.kind
        text = whole(text_argument(call, _ABOUT.get(kind, "path")), 300)
        name = intern(call.name)  # few names, many calls
        recording.evidence.append(Called(m.index, number, name, kind, text))
        if call.id:
            recording.pending[call.id] = Pending(m.index, number, name, kind, text)
        return CALL | _FLAGS.get(kind, 0)

    def _returned(
        self, recording: Recording, m: Message, number: int, result: ToolResult, call: Pending
    ) -> list[Hit]:
        """Records the outcome of a call; returns what its output shows."""
        text = result.text
        recording.tail.texts.append(text)
        created = result.detail.get("created") if result.detail else None
        code = result.exit_code
        if code is not None and abs(code) > MAX_COUNT:
            code = None
            self._issue("odd_count")
        output = ""
        found: list[Hit] = []
        if text and call.kind in _RUNNERS:
            found = scan_output(text, number)
            if len(text) <= OUTPUT_KEPT and _tells_of_files(call.text, text):
                output = text
        recording.evidence.append(
            Returned(
                m.index,
                number,
                call.message,
                call.part,
                result.status,
                code,
                created if isinstance(created, bool) else None,
                output,
            )
        )
        return found

    def _spent(self, recording: Recording, m: Message, usage: Usage) -> None:
        tail = recording.tail
        known = bool(m.response) and m.response == tail.response
        if (known and usage == tail.last) or not usage.total:
            return  # the usage of a response is repeated on each of its lines
        if not usage.possible:
            self._issue("odd_count")
            return
        recording.evidence.append(Spent(m.index, m.response, intern(m.model), usage))
        if not known or tail.last is None:
            recording.tail = Tail(last=usage, response=m.response)
        elif usage.total > tail.last.total:
            tail.last = usage

    def _fact(self, found: Record) -> None:
        main = self._main
        if isinstance(found, SessionFacts):
            main.header.learn(found)
        elif isinstance(found, TokenCount):
            if not (found.last.possible and found.total.possible):
                self._issue("odd_count")
                return
            if found.window and 0 < found.window <= MAX_COUNT:
                main.header.window = found.window
            main.evidence.append(Counted(len(main.thread), found.last, found.total))
            if found.last.total:
                main.tail = Tail(last=found.last)
        elif isinstance(found, Compaction):
            ref = _ref(found, len(main.thread))
            occupancy = occupancy_of(main)
            recorded = found.recorded
            if recorded is not None and not 0 <= recorded <= MAX_COUNT:
                recorded = None
                self._issue("odd_count")
            main.evidence.append(Compacted(ref, found.trigger, occupancy, recorded))
            # The texts before it are gone from the window, not from the session.
            earlier = main.text_tokens if main.tail.last is None else 0
            main.tail = Tail(earlier=earlier)
        elif isinstance(found, Changes):
            call = main.pending.get(found.call_id) or main.answered.get(found.call_id)
            main.evidence.append(
                Applied(
                    _ref(found, call.message if call else max(0, len(main.thread) - 1)),
                    call.message if call else -1,
                    call.part if call else -1,
                    found.succeeded,
                    found.files,
                )
            )
        elif isinstance(found, Presence):
            ref = _ref(found, max(0, len(main.thread) - 1))
            main.evidence.append(Stood(ref, found.files))
        elif isinstance(found, NewSession):
            if len(main.thread):
                self._begin()
            self._main.header.id = found.id

    # -- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """There is nothing more: reads an unterminated last line, a whole document.

        Raises:
            FormatError: no known format, or not one message.
        """
        super().close()
        told = [s for s in self.sessions if any(len(r.thread) for r in s.values())]
        self.sessions = told or self.sessions[-1:]  # one may have begun and held nothing
        if not told:
            name = self.format.name if self.format else "any format"
            raise FormatError(
                f"{self.where}: read as {name}, but there is no message in it "
                f"({self.lines.total} lines: {self.lines.unknown} of unknown kinds, "
                f"{self.lines.skipped} unreadable)"
            )
        self._drift()

    def _drift(self) -> None:
        """Many lines of unknown kinds: the recorder has changed how it writes."""
        unknown, total = self.lines.unknown, self.lines.total
        if unknown < DRIFT_LINES or unknown < DRIFT_SHARE * total:
            return
        kinds = sorted(detail for code, detail in self.issues if code == "unknown_kind")
        version = self._main.header.agent_version or "unknown"
        what = (
            f"{unknown} of {total} lines are of kinds that leftoff does not know "
            f"({', '.join(kinds[:8])}); recorded by version {version}"
        )
        self.issues["drift", ""] = Issue("drift", "error", what, unknown)

    def fork(self) -> Self:
        """A copy that may be closed without touching this one."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.cursor = codec.thaw(codec.freeze(self.cursor), Cursor)
        twin.lines = codec.thaw(codec.freeze(self.lines), Lines)
        twin.issues = dict(self.issues)
        twin.sessions = [
            *self.sessions[:-1],
            {k: r.fork() for k, r in self.sessions[-1].items()},
        ]
        twin._main = twin.sessions[-1][""]
        twin._held, twin._tail = bytearray(self._held), bytearray(self._tail)
        if self.format is not None:
            twin.reader = codec.thaw(codec.freeze(self.reader), type(self.reader))
        return twin

    # -- saving ----------------------------------------------------------------------------

    def save(self) -> State:
        """The state after the last whole line; what follows it must be fed again.

        Raises:
            StateError: a one-document recording has no state between its beginning and end.
        """
        if self._strict is None or self.format is None:
            return State(0, b"", b"", b"")
        session = self.sessions[-1]
        head = FoldHead(
            self.format.name,
            self.offset,
            codec.freeze(self.reader),
            replace(self.cursor, raw=b""),  # the last line has been read, and nobody redacts it
            self.lines,
            list(self.issues.values()),
            [r.head() for r in session.values()],
        )
        return State(
            self.offset,
            codec.freeze((head, list(self.issues))),
            codec.freeze([r.thread.pack() for r in session.values()]),
            codec.freeze([list(r.evidence) for r in session.values()]),
        )

    @classmethod
    def load(
        cls,
        state: State,
        where: str = "<bytes>",
        extra: Sequence[str] = (),
        builtin: Sequence[str] = BUILTIN,
    ) -> Self:
        """The pass that was saved; feed it from `offset` on.

        Raises:
            StateError: the state is damaged.
        """
        fold = cls(where, None, extra, builtin)
        if not state.offset:
            return fold
        try:
            head, keys = codec.thaw(state.head, tuple[FoldHead, list[tuple[str, str]]])
            threads = codec.thaw(state.thread, list[Packed])
            evidence = codec.thaw(state.evidence, list[list[Evidence]])
            fold._use(formats.get(head.format))
            fold.reader = codec.thaw(head.reader, type(fold.reader))
        except ValueError as error:
            raise StateError(f"{where}: the saved state is damaged ({error})") from error
        fold.offset, fold.cursor, fold.lines = head.offset, head.cursor, head.lines
        fold.issues = dict(zip(keys, head.issues, strict=True))
        fold.sessions = [
            {
                saved.agent: Recording.revive(saved, thread, found)
                for saved, thread, found in zip(head.recordings, threads, evidence, strict=True)
            }
        ]
        fold._main = fold.sessions[-1][""]
        return fold

    @classmethod
    def read_on(
        cls,
        state: State,
        counts: Sequence[int],
        where: str = "<bytes>",
        extra: Sequence[str] = (),
    ) -> Self:
        """The pass that was saved, by its head alone: `save` then gives, beside the head, only
        what was found since. It can be read on and saved, not summarised.

        Args:
            counts: messages of each recording so far, in their order in the head.

        Raises:
            StateError: the state is damaged.
        """
        nothing = Packed(b"", b"", b"", b"", b"", b"")
        blank = State(
            state.offset,
            state.head,
            codec.freeze([nothing for _ in counts]),
            codec.freeze([[] for _ in counts]),
        )
        try:
            fold = cls.load(blank, where, extra)
            for recording, count in zip(fold.sessions[-1].values(), counts, strict=True):
                recording.thread.before = count
        except ValueError as error:
            raise StateError(f"{where}: the saved state is damaged ({error})") from error
        return fold


OUTPUT_KEPT = 4000
"""Code points of a command's output that are kept as evidence of what it did to files. A longer
one is not kept: the part that is left out could tell the contrary."""

_RUNNERS = frozenset({"shell", "powershell", "script", "python", "poll", "other"})
_ABOUT = dict.fromkeys(_RUNNERS, "command")
_FLAGS = {"plan": PLAN, "read": FILE, "shell": FILE, "powershell": FILE, "script": FILE}
_FLAGS |= dict.fromkeys(("python", *EDITS), FILE)
_FLAGS_BACK = {"plan": PLAN}
_BAD = frozenset({"error", "timeout"})
_UNCALLED = Pending(-1, -1, "", "", "")
_NONE: dict[Any, Any] = {}
_TELLS = re.compile(r"\b(?:git|ls|find|rm|mv|cp|mkdir|ln|patch|unzip|tar)\b")
"""Programs whose output tells of files."""

_COMPLAINTS = (
    "No such file",
    "annot ",
    "can't ",
    "not found",
    "ermission denied",
    "patching ",
    "introduced new syntax error",
)


def _tells_of_files(command: str, output: str) -> bool:
    """Whether an output may tell what its command did to files."""
    if _TELLS.search(command) is not None:
        return True
    return any(mark in output for mark in _COMPLAINTS)


_OUTPUT_HEAD, _OUTPUT_TAIL = 800, 3000
"""Code points of a long output that are looked at: results stand at its end."""


def scan_output(text: str, part: int) -> list[Hit]:
    """What a tool result shows, looked at from both ends: the last match of each rule."""
    if len(text) <= _OUTPUT_HEAD + _OUTPUT_TAIL:
        found = OUTPUTS.scan(text, part).get("output", [])
    else:
        found = OUTPUTS.scan(text[:_OUTPUT_HEAD], part).get("output", [])
        shift = len(text) - _OUTPUT_TAIL
        for hit in OUTPUTS.scan(text[shift:], part).get("output", []):
            found.append(hit._replace(start=hit.start + shift, end=hit.end + shift))
    return list({hit.rule.id: hit for hit in found}.values()) if len(found) > 1 else found


def occupancy_of(recording: Recording) -> int | None:
    """Tokens in the window now: the last call and an estimate of what was recorded after it;
    None where no usage was recorded."""
    tail = recording.tail
    return None if tail.last is None else tail.last.total + tail.settle()


def _ref(found: Compaction | Changes | Presence, message: int) -> Ref:
    return Ref(0, found.line, found.item, message, None, None, None, record_hash(found.raw))
