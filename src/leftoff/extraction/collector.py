"""The collector: bytes of a recording in, evidence out, in one pass.

Bytes, lines, damage and detection are the business of `lines.LineReader`, what is found in a
message that of the extractors; what it means is decided in `analysis`, which sees the whole
session. Here stands what is between: bookkeeping (thread, header, usage, pending calls,
compactions) and dispatch.

A pass is a fold over whole lines: each record updates the `SessionState` of the main thread or
of the subagent that it names. For a message, a bit set of features is built (`TYPED`, `CALL`,
`HIT`, ...), the fused gate scans the agent's text once for all rules, and only the extractors
whose `wants` meets the bits are called. A file may hold several sessions one after the other
(`NewSession`); the last of `sessions` is the one being read.

The state has three sections that are saved apart: the *head* (offset, reader, cursor,
counters, pending calls; its size does not grow with the recording), the *thread* (packed keys)
and the *evidence* (append-only). `resume` needs the head alone, `load` all three.

Invariants
----------
* The result depends on the bytes, never on how they were cut into `feed` calls or on where the
  pass was saved and loaded: a save is valid only after a whole line, and `offset` is its end.
* Evidence is append-only, frozen and in file order; `thread` gets each message before its
  evidence. Nothing here looks forward.
* A record that a recorder repeats is counted once (`is_repeat`), and the message number that
  its reader took is given back (`give_back`); so is the usage of a response (`_record_usage`).
* No input raises anything but `FormatError`; damage becomes an `Issue`.

Before you edit
---------------
`_message` and the functions that it calls for each part are the hottest of the package (measure
with `python -m benchmarks.speed`). A new field of `Head`, `CollectorHead` or of a
piece of evidence needs a default and stands last: older saved passes are read by field name
(Structs) or by position (`array_like` evidence), and the tags of evidence are part of the saved
format. `fork` copies every mutable attribute by hand."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from itertools import islice, starmap
from sys import intern
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from leftoff import codec
from leftoff import lazy_re as re
from leftoff import model as rec
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
    Turned,
)
from leftoff.extraction.evidence_log import EvidenceLog
from leftoff.extraction.extractor import (
    CALL,
    CROWDED,
    EDIT,
    FAILED,
    FILE,
    HIT,
    OUTPUT,
    PLAN,
    RESULT,
    STAGE,
    TEXT,
    TYPED,
    View,
    remember,
)
from leftoff.extraction.files import was_created
from leftoff.extraction.lines import LineReader
from leftoff.extraction.rule_sets import OUTPUTS, gate_for
from leftoff.extraction.rules import Gate, Hit
from leftoff.extraction.session_state import (
    FURTHER,
    MAX_AGENTS,
    MAX_CLAIMS,
    MAX_MODELS,
    MAX_PARTS,
    MAX_PENDING,
    MAX_QUOTE,
    MAX_SESSIONS,
    ContextOccupancy,
    Head,
    Lines,
    SessionState,
)
from leftoff.formats.injected import is_event, typed_spans
from leftoff.formats.reader import Cursor, formats
from leftoff.formats.thread import Packed
from leftoff.formats.vocabulary import EDITS, KINDS, text_argument
from leftoff.model import (
    MAX_COUNT,
    Media,
    Message,
    Record,
    Ref,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    record_hash,
)
from leftoff.text.truncation import ends, whole

BUILTIN = ("requests", "decisions", "progress", "files", "edits", "insights", "checks")

# Code points of the recorder's words for a failed turn that are recorded.
MAX_REASON = 300


class State(Struct, frozen=True):
    """A saved pass. `head` alone is enough to resume; a summary needs the rest, too."""

    offset: int
    head: bytes
    thread: bytes
    evidence: bytes


class CollectorHead(Struct):
    """The head section: everything whose size does not grow with the recording."""

    format: str
    offset: int
    reader: bytes
    cursor: Cursor
    lines: Lines
    issues: list[rec.Issue]
    recordings: list[Head]


class Collector(LineReader):
    """Reads one recording and collects the evidence of its sessions.

    Args:
        where: the name of the recording for error messages, e.g. its path.
        format: name of the format, or None to recognise it by content.
        extra: names of plug-in extractors to run beside the built-in ones.
        builtin: names of the built-in extractors to run; what the others would have found is
            missing from the summary.

    Attributes:
        sessions: the sessions found: for each, the main thread under "" and its subagents by
            id. Most recordings hold exactly one.
        earlier: number of sessions before these in the recording that are not in memory."""

    earlier: int = 0

    def __init__(
        self,
        where: str = "<bytes>",
        format: str | None = None,
        extra: Sequence[str] = (),
        builtin: Sequence[str] = BUILTIN,
    ) -> None:
        self.names = (*builtin, *extra)
        self.sessions: list[dict[str, SessionState]] = []
        self._gate: Gate = gate_for(self.names)
        super().__init__(where)
        self._start_session()
        if format is not None:
            self._set_format(formats.get(format))

    # -- records ---------------------------------------------------------------------------

    def _start_session(self) -> None:
        for state in self.sessions[-1].values() if self.sessions else ():
            state.finish()
        self._main = SessionState("", self.names)
        self.sessions.append({"": self._main})
        if len(self.sessions) > MAX_SESSIONS:
            del self.sessions[0]
            self.earlier += 1
        self.cursor.taken = {}

    def _subagent(self, agent: str) -> SessionState:
        """The state of a subagent; after the first `MAX_AGENTS`, that of all further ones."""
        states = self.sessions[-1]
        found = states.get(agent)
        if found is None:
            if len(states) > MAX_AGENTS:
                agent = FURTHER
            found = states.setdefault(agent, SessionState(agent, self.names))
        return found

    def _link(self, link: rec.Link) -> None:
        self._main.thread.link(link.key, link.parent)

    def _message(self, m: Message) -> None:
        session = self._subagent(m.agent) if m.agent else self._main
        if m.key and session.is_repeat(m.key):
            self.cursor.give_back(m.agent)
            self._issue("repeated_record")
            return
        if session.agent != m.agent:
            self._issue("many_subagents")
            m = replace(m, agent=session.agent, index=len(session.thread))
        if len(m.parts) > MAX_PARTS:
            self._issue("many_parts", count=len(m.parts) - MAX_PARTS)
            typed = tuple(t for t in m.typed if t.part < MAX_PARTS)
            m = replace(m, parts=m.parts[:MAX_PARTS], typed=typed)
        session.thread.add(m)
        header = session.header
        header.pass_time(m)
        if m.model and m.model not in header.models and len(header.models) < MAX_MODELS:
            header.models.append(m.model)
        if m.usage is not None:
            self._record_usage(session, m, m.usage)
        view = View(m)
        flags = TYPED if m.typed or m.origin == "injected" and is_event(m.text) else 0
        for number, part in enumerate(m.parts):
            if type(part) is ToolCall:
                flags |= self._record_call(session, view, number, part)
            elif type(part) is ToolResult:
                flags |= self._record_result(session, view, number, part)
            elif type(part) is Text:
                flags |= self._record_text(session, view, number, part.text)
            elif type(part) is Media and "/" not in part.media_type:
                if part.media_type not in KINDS["media"]:
                    self._issue("unknown_kind", f"part/{part.media_type}")
        if len(session.occupancy.texts) > ContextOccupancy.MAX_TEXTS:
            session.occupancy.estimate_texts()
        for extractor in session.extractors_for(flags) if flags else ():
            if extractor.wants != TEXT:
                for item in extractor.see(view):  # mostly none, sometimes one
                    session.evidence.append(item)
                continue
            stated = iter(extractor.see(view))
            session.evidence.extend(islice(stated, MAX_CLAIMS))
            flags |= CROWDED if next(stated, None) is not None else 0
        if flags & CROWDED:
            self._issue("many_claims")
        if session.agent == FURTHER:  # of many subagents, none has the first or the last word
            session.first_words = session.last_words = ""

    def _record_text(self, session: SessionState, view: View, number: int, text: str) -> int:
        """Records a text; returns the feature bits that it adds to its message."""
        m = view.message
        view.texts.append((number, text))
        if m.origin != "agent":
            given = m.role == "user" and m.origin == "injected" and session.last_at < 0
            if (given or m.agent) and not session.first_words and typed_spans(number, text):
                session.first_words, session.first_at = whole(text, MAX_QUOTE), m.index
            if m.role != "assistant":
                session.occupancy.texts.append(text)
            return STAGE if m.role == "system" and "stage:" in text.casefold() else 0
        flags = TEXT
        session.last_words, session.last_at = ends(text, MAX_QUOTE), m.index
        if session.occupancy.last is None:
            session.occupancy.texts.append(text)
        for name, named in self._gate.scan(text, number).items():
            known = view.hits.setdefault(name, [])
            known += named
            flags |= HIT if len(known) <= MAX_CLAIMS else HIT | CROWDED
            del known[MAX_CLAIMS:]
        return flags

    def _record_call(
        self, session: SessionState, view: View, number: int, call: ToolCall
    ) -> int:
        kind = call.kind
        text = whole(text_argument(call, _ARGUMENTS.get(kind, "path")), 300)
        # Few names, many calls.
        called = Called(view.message.index, number, intern(call.name), kind, text)
        view.tools.append((number, call, called))
        session.evidence.append(called)
        if call.id:
            remember(session.pending, call.id, called, MAX_PENDING)
        return CALL | _CALL_FLAGS.get(kind, 0)

    def _record_result(
        self, session: SessionState, view: View, number: int, result: ToolResult
    ) -> int:
        call = session.complete_call(result.call_id) or _UNKNOWN_CALL
        if result.status == "unknown" and "python" in call.text and _raised(result.text):
            result = replace(result, status="error")
        view.tools.append((number, result, call))
        view.calls[number] = call
        flags = RESULT | _RESULT_FLAGS.get(call.kind, 0)
        if result.status in _FAILURES:
            flags |= FAILED
        text = result.text
        if not (result.detail and result.detail.get("unseen")):
            session.occupancy.texts.append(text)
        code = result.exit_code
        if code is not None and abs(code) > MAX_COUNT:
            code = None
            self._issue("odd_count")
        output = ""
        if text and call.kind in _RUNNERS:
            if found := scan_output(text, number):
                flags |= OUTPUT
                view.outputs[number] = found
            if len(text) <= MAX_OUTPUT and _may_name_files(call.text, text):
                output = text
        at, status, new = view.message.index, result.status, was_created(result, call.kind)
        session.evidence.append(Returned(at, number, *call.call, status, code, new, output))
        return flags

    def _record_usage(self, session: SessionState, m: Message, usage: Usage) -> None:
        occupancy = session.occupancy
        known = bool(m.response) and m.response == occupancy.response
        if (known and usage == occupancy.last) or not usage.total:
            return  # the usage of a response is repeated on each of its lines
        if not usage.possible:
            self._issue("odd_count")
            return
        session.evidence.append(Spent(m.index, m.response, intern(m.model), usage))
        if not known or occupancy.last is None:
            session.occupancy = ContextOccupancy(last=usage, response=m.response)
        elif usage.total > occupancy.last.total:
            occupancy.last = usage

    def _fact(self, found: Record) -> None:
        main = self._main
        last = max(0, len(main.thread) - 1)
        if isinstance(found, rec.SessionFacts):
            main.header.update(found)
        elif isinstance(found, rec.TokenCount):
            if not (found.last.possible and found.total.possible):
                self._issue("odd_count")
                return
            main.header.set_window(found.window)
            main.evidence.append(Counted(len(main.thread), found.last, found.total))
            if found.last.total:
                main.occupancy = ContextOccupancy(last=found.last)
        elif isinstance(found, rec.Compaction):
            ref = _ref(found, len(main.thread))
            occupancy = occupancy_of(main)
            recorded = found.recorded
            if recorded is not None and not 0 <= recorded <= MAX_COUNT:
                recorded = None
                self._issue("odd_count")
            main.evidence.append(Compacted(ref, found.trigger, occupancy, recorded))
            # The texts before it have left the window, but still belong to the session.
            earlier = main.text_tokens if main.occupancy.last is None else 0
            main.occupancy = ContextOccupancy(earlier=earlier)
        elif isinstance(found, rec.Changes):
            made = main.pending.get(found.call_id) or main.answered.get(found.call_id)
            call = made or _UNKNOWN_CALL
            ref = replace(_ref(found, call.message if made else last), part=found.part)
            done, files = found.succeeded, found.files
            applied = Applied(ref, *call.call, done, files, found.deleted, found.counts)
            main.evidence.append(applied)
        elif isinstance(found, rec.Presence):
            main.evidence.append(Stood(_ref(found, last), found.files))
        elif isinstance(found, rec.Turn):
            main.evidence.append(Turned(last, found.state, whole(found.why, MAX_REASON)))
        elif isinstance(found, rec.NewSession):
            if len(main.thread):
                self._start_session()
            self._main.header.id = found.id

    # -- the end ---------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the input: reads an unterminated last line, or a whole document.

        Raises:
            FormatError: no known format, or not one message."""
        super().close()
        found = [s for s in self.sessions if any(len(r.thread) for r in s.values())]
        self.sessions = found or self.sessions[-1:]  # the last may have begun without a message
        if not found:
            name = self.format.name if self.format else "any format"
            raise FormatError(
                f"{self.where}: read as {name}, but there is no message in it "
                f"({self.lines.total} lines: {self.lines.unknown} of unknown kinds, "
                f"{self.lines.skipped} unreadable)"
            )
        self._check_drift(self._main.header.agent_version)

    def fork(self) -> Self:
        """A copy that may be closed without changing this one."""
        twin = copy(self)
        for name in ("cursor", "lines", "reader", "_buffer", "_partial_line"):
            setattr(twin, name, deepcopy(getattr(self, name, None)))
        twin.issues = dict(self.issues)
        states = {agent: state.fork() for agent, state in self.sessions[-1].items()}
        twin.sessions, twin._main = [*self.sessions[:-1], states], states[""]
        return twin

    # -- saving ----------------------------------------------------------------------------

    def save(self) -> State:
        """The state after the last whole line; what follows `offset` must be fed again.

        Of a document, and while the format is not known, the state is empty: offset 0."""
        if self._strict is None or self.format is None:
            return State(0, b"", b"", b"")
        states = self.sessions[-1]
        head = CollectorHead(
            self.format.name,
            self.offset,
            codec.pack_state(self.reader),
            replace(self.cursor, raw=b""),  # not needed any more, and it is not redacted
            self.lines,
            list(self.issues.values()),
            [r.head() for r in states.values()],
        )
        threads = [state.thread.pack() for state in states.values()]
        evidence = [list(state.evidence) for state in states.values()]
        parts = ((head, list(self.issues)), threads, evidence)
        return State(self.offset, *map(codec.pack_state, parts))

    @classmethod
    def load(
        cls,
        state: State,
        where: str = "<bytes>",
        extra: Sequence[str] = (),
        builtin: Sequence[str] = BUILTIN,
    ) -> Self:
        """The pass that `save` gave; feed it from `offset` on.

        Raises:
            StateError: the state is damaged."""
        if not state.offset:
            return cls(where, None, extra, builtin)
        with _damage_of(where):
            threads = codec.unpack_state(state.thread, list[Packed])
            evidence = codec.unpack_state(state.evidence, list[list[Evidence]])
            logs = map(EvidenceLog, evidence)
            return cls.restore(state.head, threads, logs, where, extra, builtin)

    @classmethod
    def restore(
        cls,
        head: bytes,
        threads: Iterable[Packed],
        evidence: Iterable[EvidenceLog],
        where: str = "<bytes>",
        extra: Sequence[str] = (),
        builtin: Sequence[str] = BUILTIN,
    ) -> Self:
        """As `load`, of threads and evidence that were unpacked, in their order in the head;
        `ValueError` where it is damaged."""
        collector = cls(where, None, extra, builtin)
        found, keys = codec.unpack_state(head, tuple[CollectorHead, list[tuple[str, str]]])
        collector._set_format(formats.get(found.format))
        collector.reader = codec.unpack_state(found.reader, type(collector.reader))
        collector.offset, collector.cursor = found.offset, found.cursor
        collector.lines = found.lines
        collector.issues = dict(zip(keys, found.issues, strict=True))
        parts = zip(found.recordings, threads, evidence, strict=True)
        collector.sessions = [{s.agent: s for s in starmap(SessionState.restore, parts)}]
        collector._main = collector.sessions[-1][""]
        return collector

    @classmethod
    def resume(cls, head: bytes, counts: Sequence[int], where: str = "<bytes>") -> Self:
        """The pass that `save` gave, by its head alone: its own `save` gives, beside the head,
        only what was found since. It can be fed and saved, but not summarised.

        Args:
            counts: messages of each session state so far.

        Raises:
            StateError: the state is damaged."""
        with _damage_of(where):
            blank: list[Packed] = [(b"", b"", b"", b"", b"", b"")] * len(counts)
            collector = cls.restore(head, blank, [EvidenceLog() for _ in counts], where)
            for session, count in zip(collector.sessions[-1].values(), counts, strict=True):
                session.thread.before = count
            return collector


@contextmanager
def _damage_of(where: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise StateError(f"{where}: the saved state is damaged ({error})") from error


# Code points of a command's output that is recorded as evidence of what the command did to
# files. A longer output is not recorded at all: the part that would be cut off could show the
# opposite. Chosen by hand; not measured.
MAX_OUTPUT = 4000

_RUNNERS = frozenset({"shell", "powershell", "script", "python", "poll", "other"})
_ARGUMENTS = dict.fromkeys(_RUNNERS, "command") | {"subagent": "agent"}
_CALL_FLAGS = {"plan": PLAN, "read": FILE, "shell": FILE, "powershell": FILE, "script": FILE}
_CALL_FLAGS |= {"python": FILE} | dict.fromkeys(EDITS, FILE | EDIT)
_RESULT_FLAGS = {"plan": PLAN}
_FAILURES = frozenset({"error", "timeout"})
_UNKNOWN_CALL = Called(-1, -1, "", "", "")
# Programs whose output names files.
_FILE_PROGRAMS = re.compile(r"\b(?:git|ls|find|rm|mv|cp|mkdir|ln|patch|unzip|tar)\b")

_FILE_WORDS = (
    "o such file",
    "o matches found",
    "not permitted",
    "annot ",
    "can't ",
    "not found",
    "ermission denied",
    "patching ",
    "Wrote to ",
    " bytes)",
    " saved [",
    "CategoryInfo",
    "-Content: ",
    "-Item: ",
    "Out-File: ",
    "introduced new syntax error",
)


def _raised(output: str) -> bool:
    """Whether Python ended with an exception, as its last lines say."""
    before, _, last = output[-MAX_TRACEBACK:].rstrip().rpartition("\n")
    return "Traceback (most recent call last):" in before and _EXCEPTION.match(last) is not None


# Code points at the end of an output in which a traceback is looked for. Chosen by hand; frames
# take some 100 each.
MAX_TRACEBACK = 4000
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)(?::|\Z)")


def _may_name_files(command: str, output: str) -> bool:
    if _FILE_PROGRAMS.search(command) is not None:
        return True
    if "python" in command and len(output) < 400:  # it may say which branch ran; chosen by hand
        return True
    return any(map(output.__contains__, _FILE_WORDS))


# Code points at either end of a long output that are scanned: results stand at its end. Chosen
# by hand; not measured.
_OUTPUT_HEAD, _OUTPUT_TAIL = 800, 3000


def scan_output(text: str, part: int) -> list[Hit]:
    """The last match of each output rule in a tool result; of rules on git, every match."""
    pieces = {0: text}
    if len(text) > _OUTPUT_HEAD + _OUTPUT_TAIL:
        pieces = {0: text[:_OUTPUT_HEAD], len(text) - _OUTPUT_TAIL: text[-_OUTPUT_TAIL:]}
    found: dict[tuple[str, int], Hit] = {}
    for shift, piece in pieces.items():
        for hit in OUTPUTS.scan(piece, part).get("output", ()):
            start = hit.start + shift
            place = start if hit.rule.topic == "git" else 0
            found[hit.rule.id, place] = hit._replace(start=start, end=hit.end + shift)
    return list(found.values())


def occupancy_of(session: SessionState) -> int | None:
    """Tokens in the window now: those of the last call and an estimate for what was recorded
    after it; None where no usage was recorded."""
    occupancy = session.occupancy
    return None if occupancy.last is None else occupancy.last.total + occupancy.estimate_texts()


def _ref(found: rec.Compaction | rec.Changes | rec.Presence, message: int) -> Ref:
    return Ref(0, found.line, found.item, message, None, None, None, record_hash(found.raw))
