"""Data sets and request logs of OpenAI-style chats: docs/formats/openai_logs.md.

A data set is a list (or one object on each line) of rows, each a whole session: `messages`
and its outcome. A request log has one line for each request and one for each response, and
each request repeats the whole conversation so far."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from leftoff.codec import repair
from leftoff.formats.chat import ChatReader, is_message
from leftoff.formats.lenient_json import Fields, dict_of, dicts_of, items_of, text_of
from leftoff.formats.openai_parts import content_text, usage_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.formats.thread import key64
from leftoff.formats.vocabulary import KINDS, final_call
from leftoff.model import Message, NewSession, Record, ToolCall, Turn, Unknown

# Code points of the instructions that identify an agent; the rest may change between requests.
# Chosen by hand; not measured.
_INSTRUCTIONS_PREFIX = 200
# Requests that must repeat a message to confirm it if no tool result follows it. Chosen by
# hand; not measured.
CONFIRMING_REQUESTS = 5

_INSTRUCTS = frozenset({"system", "developer"})
_IDS = ("instance_id", "traj_id", "trajectory_id", "run_id", "session_id", "id", "task_id")
# Fields beside `messages` that make an object a row of a data set.
ROW_FIELDS = KINDS["openai_row_fields"]


class OpenAIRowsReader(Struct):
    """Reads one row on each line, or the rows of a document. It has no state."""

    record: ClassVar[type] = dict

    def read(self, record: bytes | dict[str, object], cursor: Cursor) -> Iterator[Record]:
        """A message of a document has an `item`; on a line of its own, all messages of the row
        share the line."""
        if isinstance(record, dict):
            row = Fields(record)
            given = row.get("messages")
            objects = [Fields(m) for m in given] if isinstance(given, list) else []
            yield from _row(row, objects, f"row-{cursor.line}", cursor)
            return
        listed: Iterable[bytes | Raw] = items_of(record) or [record]
        for number, row in enumerate(map(Fields.of, listed)):
            messages = cursor.objects(row.raw("messages"))
            yield from _row(row, messages, f"row-{number}", cursor)


def _row(
    row: Fields, messages: Iterable[Fields], name: str, cursor: Cursor
) -> Iterator[Record]:
    if not isinstance(row.get("messages"), list):
        yield Unknown("row without messages")
        return
    ids = map(row.get, _IDS)
    yield NewSession(next((str(i) for i in ids if i and isinstance(i, (str, int))), name))
    reader = ChatReader(model=row.text("model"))
    final = ""
    for message in messages:
        if not message.value:
            yield Unknown("message that is no object")
        for record in reader.noted(message, cursor) if message.value else ():
            if isinstance(record, Message) and record.role != "tool":
                final = final_call(record.parts)
            yield record
    if final:  # a row is a run that is over: no person's words follow
        yield Turn("ended", final)


class PendingMessage(Struct):
    """A message of a log that later requests have neither confirmed nor dropped yet.

    Attributes:
        line: the line on which it first appeared.
        digest: see `_digest`.
        message: as JSON.
        time: of the entry.
        response: of a reply, what is recorded of the call of the model, as JSON.
        repeated: how many later requests of the conversation repeated it.
        dropped: a later request of the conversation lacks it."""

    line: int
    digest: int
    message: bytes
    time: str
    response: bytes = b""
    repeated: int = 0
    dropped: bool = False


class Conversation(Struct):
    """One conversation of a log.

    Attributes:
        agent: "" for the first conversation, an id of our own for the others.
        reader: numbers the replies and pairs results that name no call.
        said: how often each message was added to the conversation, by its digest.
        answered: a response was seen.
        held: the messages that were not emitted yet, in order.
        lines: the bytes of the lines that hold them, by line number."""

    agent: str
    reader: ChatReader
    said: dict[int, int] = {}
    answered: bool = False
    held: list[PendingMessage] = []
    lines: dict[int, bytes] = {}

    def hold(
        self, m: Fields, digest: int, entry: Fields, cursor: Cursor, response: bytes = b""
    ) -> None:
        """Adds a message, with the bytes of its line."""
        encoded, time = msgspec.json.encode(m.value), entry.text("timestamp")
        self.held.append(PendingMessage(cursor.line, digest, encoded, time, response))
        self.lines[cursor.line] = bytes(cursor.raw)


class OpenAIRequestLogReader(Struct):
    """Reads a log of requests and responses. Fields are its state between lines.

    A client that rejects a reply (no tool call, or an invalid one) repeats it with its
    objection in the next requests and then drops both. So the messages that a request adds are
    held back until a later tool result or `CONFIRMING_REQUESTS` requests confirm them. A
    dropped message has the origin "meta": its tokens were spent, but its calls never ran."""

    record: ClassVar[type] = bytes

    talks: list[Conversation] = []
    known: dict[int, int] = {}
    """Index in `talks` of the newest conversation that begins so."""
    current: int = -1  # index in `talks` of the conversation of the newest request

    def read(self, line: bytes, cursor: Cursor) -> Iterable[Record]:
        if cursor.ended:
            for conversation in self.talks:
                yield from _release(conversation, None, cursor)
            return
        if not line.strip():
            return
        for entry in _entries(line):
            kind = entry.get("type")
            if kind == "request":
                yield from self._request(entry, cursor)
            elif kind == "response":
                self._response(entry, cursor)
            else:
                yield Unknown(text_of(kind))

    def _request(self, entry: Fields, cursor: Cursor) -> Iterator[Record]:
        listed = entry.get("request_params.messages")
        messages = list(map(Fields, listed)) if isinstance(listed, list) else []
        if not messages:
            yield Unknown("request without messages")
            return
        digests, roles = list(map(_digest, messages)), list(map(_role, messages))
        # A conversation is known by its instructions and its first message.
        first = next((n for n, role in enumerate(roles) if role not in _INSTRUCTS), len(roles))
        beginning = key64(",".join(map(str, digests[: first + 1])))
        place = self.known.get(beginning, -1)
        begins = "assistant" not in roles
        if place < 0 or (begins and self.talks[place].answered):
            # A run that starts again from its beginning is a conversation of its own.
            if place >= 0:
                yield from _release(self.talks[place], None, cursor)
            place = len(self.talks)
            self.talks.append(Conversation(f"agent-{place + 1}" if place else "", ChatReader()))
            self.known[beginning] = place
        self.current, conversation = place, self.talks[place]
        ran = max((n for n, role in enumerate(roles) if role == "tool"), default=-1)
        confirmed = {digest: number <= ran for number, digest in enumerate(digests)}
        yield from _release(conversation, confirmed, cursor)
        conversation.reader.model = entry.text("request_params.model")
        said: Counter[int] = Counter()
        for digest, message in zip(digests, messages, strict=True):
            said[digest] += 1
            if said[digest] > conversation.said.get(digest, 0):
                conversation.said[digest] = said[digest]
                conversation.hold(message, digest, entry, cursor)

    def _response(self, entry: Fields, cursor: Cursor) -> None:
        if self.current < 0:  # the log was cut: it starts with a response
            self.current = len(self.talks)
            self.talks.append(Conversation("", ChatReader()))
        conversation = self.talks[self.current]
        choices = entry.each("response.choices")
        if choices and "message" in choices[0].value:  # else the call failed
            reply = Fields({**choices[0].at("message").value, "role": "assistant"})
            conversation.answered = True
            digest = _digest(reply)
            conversation.said[digest] = conversation.said.get(digest, 0) + 1
            about = {k: entry.get(f"response.{k}") for k in ("id", "model", "usage")}
            conversation.hold(reply, digest, entry, cursor, msgspec.json.encode(about))


def _release(
    conversation: Conversation, confirmed: dict[int, bool] | None, cursor: Cursor
) -> Iterator[Record]:
    """Emits, in order, the held messages that are confirmed or dropped.

    Args:
        conversation: the conversation.
        confirmed: for each digest of the next request, whether a tool result stands at or after
            its message; None if there is no next one.
        cursor: numbers the messages."""
    known, open_before = 0, False
    for held in conversation.held:
        if confirmed is not None and held.digest not in confirmed and not held.dropped:
            held.dropped = True
            count = conversation.said.get(held.digest, 0)
            conversation.said[held.digest] = max(0, count - 1)
        held.repeated += 1
        stays = (
            confirmed is None
            or confirmed.get(held.digest, False)
            or held.repeated >= CONFIRMING_REQUESTS
        )
        open_before = open_before or not (held.dropped or stays)
        known += not open_before
    given, conversation.held = conversation.held[:known], conversation.held[known:]
    for held in given:
        yield from _message_records(conversation, held, cursor)
    waiting = {held.line for held in conversation.held}
    conversation.lines = {
        line: raw for line, raw in conversation.lines.items() if line in waiting
    }


def _message_records(
    conversation: Conversation, held: PendingMessage, cursor: Cursor
) -> Iterator[Record]:
    raw, message = conversation.lines[held.line], Fields.of(held.message)
    facts: dict[str, object] = {"time": held.time}
    if held.response:
        response = Fields.of(held.response)
        named = {"response": response.text("id"), "model": response.text("model")}
        facts |= {name: value for name, value in named.items() if value}
        facts["usage"] = usage_of(response.get("usage"))
    if held.dropped:
        facts |= {"origin": "meta", "typed": ()}
    for found in conversation.reader.item(message, Cursor(held.line, raw=raw)):
        if not isinstance(found, Message):
            yield found
            continue
        if held.dropped:  # its calls never ran
            facts["parts"] = tuple(p for p in found.parts if type(p) is not ToolCall)
        index = cursor.take(conversation.agent)
        yield replace(found, index=index, agent=conversation.agent, **facts)


def _entries(line: bytes) -> list[Fields]:
    """The entries of a line: one, or several if the line's end was lost."""
    try:
        return [Fields(msgspec.json.decode(line))]
    except (ValueError, RecursionError):
        return [Fields(value) for value in repair(line)[0]] or [Fields(None)]


def _role(message: Fields) -> str:
    return message.text("role").casefold()


def _digest(m: Fields) -> int:
    """Identifies a message across requests: by the ids of its calls or of the call that it
    answers, else by its text. A client may shorten old results and drop fields."""
    role, content = _role(m), m.get("content")
    ids = [call.text("id") for call in m.each("tool_calls")]
    if role == "tool" and m.text("tool_call_id"):
        identifier = m.text("tool_call_id")
    elif any(ids):
        identifier = "\0".join(ids)
    else:
        identifier = content_text(content).strip()
        identifier = identifier or repr(content or m.get("function_call") or "")
        if role in _INSTRUCTS:
            # The rest may contain the time of day.
            identifier = identifier[:_INSTRUCTIONS_PREFIX]
    return key64(f"{role}\0{identifier}")


def _is_row(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    listed = dicts_of(value.get("messages"))[:5]
    return mostly(is_message, listed)


def _detect(sample: Sample) -> bool:
    if isinstance(sample.document, dict):
        row = bool(ROW_FIELDS & sample.keys) and "trajectory_format" not in sample.keys
        return row and _is_row(sample.document)
    return mostly(_is_row, sample.items)


def _detect_requests(sample: Sample) -> bool:
    requests = responses = 0
    for line in sample.lines:
        kind = line.get("type")
        requests += kind == "request" and bool(
            dicts_of(dict_of(line.get("request_params")).get("messages"))
        )
        responses += kind == "response" and ("response" in line or "outputs" in line)
    return requests > 0 and (requests + responses) * 2 > len(sample.lines)


FORMAT = Format("openai_rows", "document", OpenAIRowsReader, _detect, several=True)
LINES = Format(
    "openai_row_lines",
    "lines",
    OpenAIRowsReader,
    # A single object is read as a document.
    lambda sample: len(sample.lines) > 1 and mostly(_is_row, sample.lines),
    several=True,
)
REQUESTS = Format("openai_requests", "text", OpenAIRequestLogReader, _detect_requests)
