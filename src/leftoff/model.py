"""Core data types: messages, their parts, and the other records of a session.

All values are frozen and compare by content. They contain no reference cycles, so the garbage
collector does not track them (`gc=False`)."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple, fields

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]
Severity: TypeAlias = Literal["info", "warning", "error"]


def parse_time(text: str) -> datetime | None:
    """A recorded time, ISO 8601, as a datetime with its zone, UTC where none is recorded; None
    if it is no time."""
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    # Times with and without a zone cannot be compared.
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def utc_time(text: str) -> str:
    """A recorded time in UTC, so that two times of one session compare as they are shown; as
    recorded where it is no time, or has no zone."""
    found = parse_time(text)
    if found is None or not found.utcoffset():
        return text
    try:
        return found.astimezone(UTC).isoformat()
    except OverflowError:
        return text


# Code points of a text in the `repr` of a value. Chosen by hand.
MAX_SHOWN = 60


class Shown(Struct, frozen=True):
    """A value with a short `repr`: what differs from the default, long texts cut, other values
    by how many there are."""

    def __repr__(self) -> str:
        """As a debugger and a notebook show it."""
        # Defaults say nothing, and a value has up to twenty fields.
        known = fields(self)
        shown = [
            f"{field.name}={_short(value)}"
            for field in known
            if (value := getattr(self, field.name)) not in (field.default, "", (), {}, None)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: object) -> str:
    if isinstance(value, str):
        cut = value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 1] + "…"
        return repr(cut)
    if isinstance(value, Ref):
        place = value.line if value.line is not None else value.item
        return f"<#{value.message + 1}{'' if place is None else f' at {place}'}>"
    if isinstance(value, (tuple, dict)):
        plain = len(value) <= 3 and all(isinstance(one, (str, int)) for one in value)
        return repr(value) if plain and isinstance(value, tuple) else f"<{len(value)}>"
    return f"<{type(value).__name__}>" if isinstance(value, Struct) else repr(value)


class Text(Struct, frozen=True, gc=False, tag=True):
    """Words that the person or the agent can see."""

    text: str


class Reasoning(Struct, frozen=True, gc=False, tag=True):
    """Words that the model wrote for itself."""

    text: str


class ToolCall(Struct, frozen=True, gc=False, tag=True):
    """The agent asks for a tool.

    Attributes:
        id: pairs the call with its result; "" where the recorder gives none.
        name: the tool's name as recorded.
        kind: what the tool does, from the vocabulary (`formats.tools`): read, search, edit,
            write, patch, shell, plan, ask, subagent, fetch, ... or "other".
        input: the arguments as recorded, usually a dict; a str for raw-text tools."""

    id: str
    name: str
    kind: str = "other"
    input: Any = None


class ToolResult(Struct, frozen=True, gc=False, tag=True):
    """What came back from a tool call.

    Attributes:
        call_id: the `ToolCall.id` it answers; "" where the recorder gives none.
        text: the result as text; images and other media are left out.
        status: ok | error | denied | interrupted | timeout | running | unknown, as far as the
            recorder tells.
        exit_code: of a command, where recorded.
        detail: recorder-given facts about the result in our words, e.g. {"created": True},
            {"agent": "a5bdbc1"}, {"unseen": True} where the model was not called with it."""

    call_id: str
    text: str = ""
    status: str = "unknown"
    exit_code: int | None = None
    detail: dict[str, Any] | None = None


class Media(Struct, frozen=True, gc=False, tag=True):
    """An image or other attachment; its bytes are dropped."""

    media_type: str = ""


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Media


class Typed(Struct, frozen=True, gc=False):
    """Where in a message the person's own typed words stand.

    `via`: prompt | queued | rejection | answer | command | client (a command that the client
    carries out itself, so that no agent answers). `start` and `end` count code points in the
    text of part `part`."""

    part: int
    start: int
    end: int
    via: str = "prompt"


# No recorded count, of tokens or of anything, is larger: such a number is damage.
MAX_COUNT = 1 << 53


class Usage(Struct, frozen=True, gc=False):
    """Tokens of one API call. `input` excludes what was read from or written to the cache;
    `output` includes `reasoning`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """Every token of the call, input and output."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def possible(self) -> bool:
        """Whether these can be counts at all: damaged recordings hold others."""
        return min(astuple(self)) >= 0 and self.total <= MAX_COUNT

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(int.__add__, astuple(self), astuple(other)))

    def __sub__(self, other: Usage) -> Usage:
        """What is more than in the other, never less than 0."""
        # Counts of an API are not always monotonous; less than nothing would be a lie.
        counts = zip(astuple(self), astuple(other), strict=True)
        return Usage(*(max(0, one - two) for one, two in counts))


class Message(Struct, frozen=True, gc=False):
    """One recorded line or item that carries words, calls or results.

    Attributes:
        index: 0-based number of the message in its session, in file order, never renumbered.
        role: who speaks.
        parts: in recorded order.
        line: 1-based physical line (line-based recorders), else None.
        item: 0-based index in the list that holds the messages (one-document recorders),
            else None.
        origin: prompt | agent | tool | injected | compaction | meta; a prompt is typed by a
            person, an injected message is put into the conversation by the recorder.
        typed: where the person's own words stand, if any do.
        key, parent: the recorder's id of this record and of the record that it follows.
        response: id of the API response that this line is part of.
        time: as recorded, ISO 8601.
        agent: id of the subagent that speaks; "" on the main thread.
        model, cwd: as recorded at this message.
        usage: tokens of the API call that produced this message, where recorded.
        raw: the record's bytes, for references; not part of the content.
        stop: what the recorder says of the agent's turn after this message: end, more, or ""
            where it says nothing."""

    index: int
    role: Role
    parts: tuple[Part, ...]
    line: int | None = None
    item: int | None = None
    origin: str = "agent"
    typed: tuple[Typed, ...] = ()
    key: str = ""
    parent: str = ""
    response: str = ""
    time: str = ""
    agent: str = ""
    model: str = ""
    cwd: str = ""
    usage: Usage | None = None
    raw: bytes = b""
    stop: str = ""

    @property
    def recorded_at(self) -> datetime | None:
        """`time` as a datetime with its zone; None where there is none."""
        return parse_time(self.time)

    @property
    def text(self) -> str:
        """The visible words of the message, parts joined by blank lines."""
        return "\n\n".join(p.text for p in self.parts if type(p) is Text)


class SessionFacts(Struct, frozen=True, omit_defaults=True):
    """What a record says about the session as a whole; the first value of a field is used.

    `title` and `queued` are the exceptions: the last one is used. `queued`: prompts that were
    typed while the agent was at work and wait to be delivered; None: nothing is said of them.
    `ended`: a job in the background that has ended."""

    id: str = ""
    cwd: str = ""
    branch: str = ""
    commit: str = ""
    agent_version: str = ""
    title: str = ""
    parent_id: str = ""
    forked_from: str = ""
    started: str = ""
    window: int | None = None
    link: str = ""
    queued: tuple[str, ...] | None = None
    ended: str = ""


class Compaction(Struct, frozen=True):
    """The recorder replaced the conversation so far by a summary.

    Attributes:
        line, item: where the recorder says so.
        trigger: auto | manual | "" if unknown.
        recorded: the recorder's own count of tokens before, or None."""

    line: int | None = None
    item: int | None = None
    trigger: str = ""
    recorded: int | None = None
    raw: bytes = b""


class Link(Struct, frozen=True, gc=False):
    """A record that stands in the parent chain without being a message."""

    key: str
    parent: str


class Changes(Struct, frozen=True):
    """Files that the recorder itself says were changed, apart from what the call asked for.

    Attributes:
        call_id: the call that did it, or "".
        files: (path, created | modified | deleted, former path or "").
        succeeded: False where the recorder says that nothing was applied.
        part: without a call, the part of the last message before which it was done, or None.
        deleted: lines of each deleted file whose last content the recorder keeps.
        counts: (path, lines added, lines removed) of files where the recorder counted them."""

    call_id: str
    files: tuple[tuple[str, str, str], ...]
    succeeded: bool = True
    line: int | None = None
    item: int | None = None
    raw: bytes = b""
    part: int | None = None
    deleted: tuple[tuple[str, int], ...] = ()
    counts: tuple[tuple[str, int, int], ...] = ()


class Presence(Struct, frozen=True):
    """Where the recorder itself looked whether files are there; it does not say who made or
    removed them.

    Attributes:
        files: (path, whether there is such a file now)."""

    files: tuple[tuple[str, bool], ...]
    line: int | None = None
    item: int | None = None
    raw: bytes = b""


class TokenCount(Struct, frozen=True):
    """The recorder's own running total (as Codex writes it), apart from any message.

    `total` is cumulative over the session, `last` is one call; `window` is the model's."""

    last: Usage
    total: Usage
    window: int | None = None


class Turn(Struct, frozen=True):
    """The recorder says what became of the agent's turn, apart from any message.

    `state`: started | ended | interrupted | failed; `why`: the recorder's words for a failure
    or for the end of a run."""

    state: str
    why: str = ""


class NewSession(Struct, frozen=True):
    """From here on the file holds another session (containers of many sessions)."""

    id: str


class Unknown(Struct, frozen=True, gc=False):
    """A record of a kind that the format does not know; counted, never fatal."""

    kind: str


class Uncertain(Struct, frozen=True, gc=False):
    """A reader could not tell how to read a line; becomes an `Issue`, never fatal.

    `code` names the issue; `line` is the 1-based physical line that it is about."""

    code: str
    line: int


Record: TypeAlias = (
    Message
    | SessionFacts
    | Compaction
    | Changes
    | Presence
    | Link
    | TokenCount
    | NewSession
    | Turn
    | Unknown
    | Uncertain
)


class Ref(Struct, frozen=True, gc=False):
    """The place in a recording that a claim came from.

    Attributes:
        source: index into `session.sources`.
        line: 1-based physical line, or None.
        item: 0-based index of the item, or None; never both.
        message: index of the message.
        part: index of the part in the message, or None for the whole record.
        start, end: code points in the text of that part; None for a tool call.
        hash: 8 hex digits of the raw slice (see `slice_hash`)."""

    source: int = 0
    line: int | None = None
    item: int | None = None
    message: int = 0
    part: int | None = None
    start: int | None = None
    end: int | None = None
    hash: str = ""

    @property
    def place(self) -> tuple[int, int, int]:
        """What orders references of one thread: message, part, start."""
        return self.message, self.part or 0, self.start or 0


class Issue(Struct, frozen=True):
    """Something that the input got wrong, counted and located; never fatal by itself.

    `places` holds the first 20 as "line 17", "item 3" or "message 5"."""

    code: str
    severity: Severity
    what: str
    count: int = 1
    places: tuple[str, ...] = ()


def slice_hash(raw: str | bytes) -> str:
    """8 hex digits (CRC-32) of a raw slice: a text slice in UTF-8, or a record's bytes.

    It detects that a recording was changed under a reference; it is no secret and no proof."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogatepass")
    return f"{zlib.crc32(raw):08x}"


def record_hash(raw: bytes) -> str:
    """`slice_hash` of a whole record, without the line's end."""
    end = len(raw)
    # One recording may come from Windows and from git with other line ends.
    while end and raw[end - 1] in b"\r\n":
        end -= 1
    return f"{zlib.crc32(memoryview(raw)[:end]):08x}"
