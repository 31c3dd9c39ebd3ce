"""The interfaces of formats and readers, the registry of formats, and format detection.

A `Format` recognises its files by content, never by name, and makes a `Reader`. A reader turns
one decoded record at a time into messages and facts. All of its state is its own fields, so
that reading can be suspended and resumed.

The readers' limits (how many open calls they retain, in how many characters of a text they look
for a status) bound memory and time. They were chosen by hand; none is measured."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from leftoff import codec
from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.errors import FormatError
from leftoff.formats.lenient_json import Fields, dicts_of, items_of
from leftoff.formats.vocabulary import tool_call
from leftoff.registry import Registry

T = TypeVar("T")
# (path, created | modified | deleted, former path or "").
FileChange: TypeAlias = tuple[str, str, str]

# One JSON object on each line; one JSON document; or plain text such as markdown.
Shape: TypeAlias = Literal["lines", "document", "text"]


_OBJECT: LineDecoder[dict[str, object]] = LineDecoder(dict)

# Calls without a result that a reader remembers.
MAX_WAITING = 256


def holds_results(parts: Iterable[rec.Part]) -> bool:
    """Whether results of tools are among the parts of a message."""
    return any(type(part) is rec.ToolResult for part in parts)


class Cursor(Struct):
    """Position in a recording, and the builder of what is read there.

    The caller numbers the lines, a reader of one-document recordings the items (`each`); the
    cursor numbers the messages and gives every record its line or item and its bytes.

    Attributes:
        line: 1-based physical line, or 0 in one-document recordings.
        taken: how many indices were assigned, by subagent ("" for the main thread).
        raw: the bytes of the record being read.
        ended: True when the recording has no more lines (text formats flush then).
        item: 0-based index in the list of a one-document recording, else None."""

    line: int = 0
    taken: dict[str, int] = {}
    raw: bytes = b""
    ended: bool = False
    item: int | None = None

    def take(self, agent: str = "") -> int:
        """The index of a new message of the main thread, or of a subagent."""
        index = self.taken.get(agent, 0)
        self.taken[agent] = index + 1
        return index

    def give_back(self, agent: str) -> None:
        """Undoes the last `take`: the message was a copy of one already read."""
        self.taken[agent] -= 1

    def at(self, line: int, raw: bytes) -> "Cursor":
        """A cursor with the same numbering on an earlier line: where a block of text began."""
        return Cursor(line, self.taken, raw)

    def each(self, data: bytes | Raw | None, decoder: LineDecoder[T]) -> Iterator[T | None]:
        """The items of a JSON list one at a time, None for one that is damaged.

        The cursor is on each item while it is read. Where the list stands on a line of its own,
        all its items share the position and the bytes of the line."""
        for number, given in enumerate(items_of(data)):
            raw = bytes(given)
            if not self.line:
                self.item, self.raw = number, raw
            found, _ = decoder.decode(raw)
            yield found[0] if found else None

    def objects(self, data: bytes | Raw | None) -> Iterator[Fields]:
        """The items of a JSON list as `each` gives them, without fields for one that is damaged
        or no object."""
        return (Fields(found) for found in self.each(data, _OBJECT))

    def message(
        self,
        role: rec.Role,
        parts: tuple[rec.Part, ...],
        origin: str = "",
        typed: tuple[rec.Typed, ...] = (),
        *,
        key: str = "",
        parent: str = "",
        response: str | None = "",
        time: str = "",
        agent: str = "",
        model: str = "",
        cwd: str = "",
        usage: rec.Usage | None = None,
        stop: str = "",
    ) -> rec.Message:
        """The next message, at this place; arguments as the fields of `Message`.

        Without an `origin` the agent's messages are of the agent, those with results of a tool,
        and all others a prompt if words of a person are in them. Only messages of the assistant
        have a response (None: one of its own), a model, a usage and a stop."""
        index = self.take(agent)
        if role == "assistant":
            origin = origin or "agent"
            response = f"r{index}" if response is None else response
        else:
            response = model = stop = ""
            usage = None
            if not origin:
                answers = role == "tool" or holds_results(parts)
                origin = "tool" if answers else "prompt" if typed else "injected"
        said = index, role, parts, self.line or None, self.item, origin, typed
        about = key, parent, response, time, agent, model, cwd, usage, self.raw, stop
        return rec.Message(*(said + about))

    def compaction(self, trigger: str = "", recorded: int = 0) -> rec.Compaction:
        """A compaction that the recorder notes here; its count of tokens before, 0 for none."""
        return rec.Compaction(self.line or None, self.item, trigger, recorded or None, self.raw)

    def compacted(
        self,
        summary: str,
        trigger: str = "",
        recorded: int = 0,
        message: "Builder | None" = None,
    ) -> Iterator[rec.Record]:
        """A compaction, and the summary that takes the place of what was said, if readable."""
        yield self.compaction(trigger, recorded)
        if summary:
            yield (message or self.message)("user", (rec.Text(summary),), "compaction")

    def changes(
        self,
        call: str,
        files: Iterable[FileChange],
        *,
        succeeded: bool = True,
        part: int | None = None,
        deleted: Iterable[tuple[str, int]] = (),
        counts: Iterable[tuple[str, int, int]] = (),
    ) -> rec.Changes:
        """Changed files that the recorder lists at this place, apart from the calls."""
        place = self.line or None, self.item, self.raw
        return rec.Changes(
            call, tuple(files), succeeded, *place, part, tuple(deleted), tuple(counts)
        )


# `Cursor.message` with some arguments given: those of one record.
Builder: TypeAlias = Callable[..., rec.Message]


class Reader(Protocol):
    """Turns the records of one recording into messages. A msgspec Struct: its fields are its
    whole state between two records."""

    record: ClassVar[type]
    """The Struct type that a record is decoded into, or `bytes` for text and documents."""

    def read(self, record: Any, cursor: Cursor) -> Iterable[rec.Record]:
        """The records of one line or document; () for a known line without content."""
        ...


class ItemReader(Struct):
    """Reads objects one at a time: one on each line, or the items of a document.

    Where the fields of a record are read once, a line needs no Struct of its own: `Fields` are.
    """

    record: ClassVar[type] = dict
    # The fields of a document that may hold its items; a document that is a list holds them
    # itself.
    lists: ClassVar[tuple[str, ...]] = ("messages",)

    model: str = ""  # that spoke last, or speaks all the time
    cwd: str = ""
    turns: int = 0  # number of the last reply
    calls: int = 0  # number of the last id that was made for a call
    waiting: list[tuple[str, str]] = field(default_factory=list)
    """Id and tool name of the calls that have no result yet, oldest first."""

    def read(self, record: bytes | dict[str, object], cursor: Cursor) -> Iterable[rec.Record]:
        """The records of a line, or of a document."""
        if isinstance(record, dict):
            return self.noted(Fields(record), cursor)
        return self._document(record, cursor)

    def noted(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        """The records of one object; on a line, the last one notes that fields were lost."""
        found = tuple(self.item(item, cursor))
        if item.lost and cursor.line:
            return (*found, rec.Uncertain("field_type", cursor.line))
        return found

    def _document(self, data: bytes, cursor: Cursor) -> Iterator[rec.Record]:
        document = Fields.of(data)
        yield from self.head(document)
        for item in cursor.objects(document.raw(*self.lists) if document.value else data):
            yield from self.noted(item, cursor)
        yield from self.end(document, cursor)

    def head(self, document: Fields) -> Iterable[rec.Record]:
        """What a document says of its session beside the items."""
        return ()

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        """The records of one object."""
        raise NotImplementedError

    def call_id(self) -> str:
        """An id of our own, for a call without one."""
        self.calls += 1
        return f"call-{self.calls}"

    def call(self, recorded: str, name: str, given: object) -> rec.ToolCall:
        """A call, which waits for its result from now on; `recorded` is its id, or ""."""
        # Each call counts, so that an id made here does not depend on the others having one.
        own = self.call_id()
        identity = recorded or own
        self.waiting.append((identity, name))
        del self.waiting[:-MAX_WAITING]
        return tool_call(identity, name, given)

    def answered(self, identity: str, name: str = "") -> str:
        """The id of the call that a result answers, which waits no more: by its id, else the
        oldest one, of this tool if it is named."""
        # Some recorders name the tool of a result and no call, some neither.
        for place, (known, tool) in enumerate(self.waiting):
            if known == identity or not identity and name in {"", tool}:
                del self.waiting[place]
                return known
        return identity

    def end(self, document: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        """What follows from a document after its last item."""
        return ()


class Format(Struct, frozen=True):
    """A recorder's format.

    Attributes:
        name: small letters, digits and _.
        shape: how the recording is cut into records.
        reader: the class of its reader.
        detect: whether a sample is surely of this format. Must not raise for any input.
        reads_archives: a document of this format may also be the bytes of a ZIP archive.
        several: one recording may hold several sessions."""

    name: str
    shape: Shape
    reader: type[Any]
    detect: "Callable[[Sample], bool]"
    reads_archives: bool = False
    several: bool = False


class Sample:
    """The beginning of a recording, decoded on demand as lines, as a document or as text.

    Args:
        data: the first bytes; the whole recording if `complete`.
        complete: no more bytes follow.

    Attributes:
        valid: the data was found to be one valid JSON document."""

    LINES = 20
    valid = False

    def __init__(self, data: bytes, complete: bool) -> None:
        self.data = data.removeprefix(b"\xef\xbb\xbf")
        self.complete = complete

    @cached_property
    def lines(self) -> list[dict[str, object]]:
        """The objects on the first lines; [] if the first lines are not one object each."""
        found: list[dict[str, object]] = []
        for line in self.data.split(b"\n", self.LINES * 4)[: self.LINES * 4]:
            # Lines of a pretty-printed document are indented, or hold no whole object.
            if len(found) >= self.LINES or not line.lstrip(b"\x00").startswith(b"{"):
                continue
            try:
                values, codes = [msgspec.json.decode(line)], list[str]()
            except (ValueError, RecursionError):
                values, codes = codec.repair(line)
            if "cut" not in codes:
                found += [v for v in values if isinstance(v, dict)]
        return found

    @cached_property
    def document(self) -> Any:
        """The whole recording as one JSON value, or None if it is not one (or not all here)."""
        if not self.complete:
            return None
        try:
            found = msgspec.json.decode(self.data)
        except (ValueError, RecursionError):
            pass
        else:
            self.valid = True
            return found
        values, codes = codec.repair(self.data, most=1)
        # A mended document counts only if nothing but one value was found.
        return values[0] if len(values) == 1 and "cut" not in codes else None

    @cached_property
    def keys(self) -> frozenset[str]:
        """The top-level keys of the document, or of none."""
        return frozenset(self.document) if isinstance(self.document, dict) else frozenset()

    @cached_property
    def items(self) -> list[dict[str, object]]:
        """The first objects of a document that is a list."""
        if not isinstance(self.document, list):
            return []
        return [v for v in self.document[: self.LINES] if isinstance(v, dict)]

    @cached_property
    def text(self) -> str:
        """The first 64 KiB as text."""
        return self.data[: 64 * 1024].decode(errors="replace")

    def listed(self, *keys: str) -> list[dict[str, object]]:
        """The first objects of a document that is a list, or that has one under a key."""
        if not isinstance(self.document, dict):
            return self.items
        found = (dicts_of(self.document.get(key)) for key in keys)
        return next(filter(None, found), [])[: self.LINES]

    @property
    def binary(self) -> bool:
        """Whether the bytes are not text: more than 10 % are NULs or other control
        characters."""
        head = self.data[:4096]
        return len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 10


def moved(path: str, target: str, action: str) -> FileChange:
    """A change of a file as recorders list it: to another path, where they name one."""
    return (target, action, path) if target else (path, action, "")


def mostly(test: Callable[[Any], bool], values: Sequence[Any]) -> bool:
    """Whether more than half of the values pass a test: a damaged one changes no format."""
    return sum(map(test, values)) * 2 > len(values)


def lines_of(test: Callable[[dict[str, object]], bool]) -> Callable[[Sample], bool]:
    """Detects recordings of which most lines pass a test."""
    return lambda sample: mostly(test, sample.lines)


def items_under(
    test: Callable[[dict[str, object]], bool], *keys: str
) -> Callable[[Sample], bool]:
    """Detects documents of which most items pass a test: of the list that the document is, or
    that it has under a key."""
    return lambda sample: mostly(test, sample.listed(*keys))


_CONTROLS = bytes(b for b in range(32) if b < 9 or 13 < b < 27 or b > 27)


# Name, or name=module:attribute where that is not NAME:FORMAT.
_BUILT_IN = (
    "iflow qwen_code claude_code_list=claude_code:LIST claude_code codex codex_exec "
    "copilot_cli pi factory_droid opencode gemini_cli gemini_cli_jsonl=gemini_cli:LINES "
    "gemini_api=gemini_cli:HISTORY kiro cursor atif mini_swe_agent swe_agent inspect "
    "openhands_output=openhands:OUTPUT openhands openhands_lines=openhands:LINES cline "
    "specstory aider opencode_markdown=markdown_exports:OPENCODE "
    "cursor_markdown=markdown_exports:CURSOR claude_code_export sanitized "
    "leftoff=native:FORMAT langchain semantic_kernel agent_messages "
    "agent_message_lines=agent_messages:LINES copilot_chat "
    "openai_requests=openai_logs:REQUESTS openai_rows=openai_logs:FORMAT "
    "openai_row_lines=openai_logs:LINES chat chat_lines=chat:LINES"
)

_ENTRIES = [entry.partition("=") for entry in _BUILT_IN.split()]
# Every known format. The order is the order in which they are tried: the surest first.
formats: Registry[Format] = Registry(
    "format",
    {name: f"leftoff.formats.{where or f'{name}:FORMAT'}" for name, _, where in _ENTRIES},
)


def detect(sample: Sample) -> Format | None:
    """The format of the sample, or None if no known format claims it.

    Formats of other packages are tried only if no built-in one claims the sample."""
    built_in = map(formats.get, formats.names())
    return next((f for f in built_in if f.detect(sample)), None) or next(
        (f for _, f in formats.outside() if f.detect(sample)), None
    )


# How an object or a list of objects begins, in prose hardly anything.
_JSON = re.compile(rb'\s*(\{\s*"|\[\s*\{)')


def unrecognised(sample: Sample, where: str, skipped: int = 0) -> FormatError:
    """The error for a recording that no format claims; `skipped`: lines that were too long."""
    if not sample.data.strip():
        long = f"nothing but lines of more than {codec.MAX_LINE >> 20} MiB, which are skipped"
        return FormatError(f"{where}: {long if skipped else 'empty, no message in it'}")
    if _JSON.match(sample.data) and sample.document is None and not sample.lines:
        return FormatError(f"{where}: JSON that is cut off or damaged, and no JSON lines")
    looks = "binary data" if sample.binary else "no transcript in a known format"
    return FormatError(
        f"{where}: {looks}; tried all {len(formats.names())}: `leftoff plugins` lists them; "
        "a format of your own can be added (docs/formats/README.md)."
    )
