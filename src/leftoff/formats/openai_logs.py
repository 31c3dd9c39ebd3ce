"""Data sets and request logs of OpenAI-style chats: docs/formats/openai_logs.md.

A data set is a list (or one object on each line) of rows, each a whole session: `messages`
and its outcome. A request log has one line for each request and one for each response, and
each request repeats the whole conversation so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from leftoff.codec import repair
from leftoff.formats.chat import MESSAGE, ChatMessage, ChatReader, is_message
from leftoff.formats.lenient_json import (
    dict_of,
    dicts_of,
    fields_of,
    items_of,
    text_of,
    value_of,
)
from leftoff.formats.openai_parts import content_text, usage_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.formats.vocabulary import KINDS
from leftoff.model import Message, NewSession, Record, ToolCall, Unknown

# Code points of the instructions that identify an agent; the rest may change between requests.
# Chosen by hand; not measured.
_INSTRUCTIONS_PREFIX = 200
# Requests that must repeat a message to confirm it if no tool result follows it. Chosen by
# hand; not measured.
CONFIRMING_REQUESTS = 5

_IDS = ("instance_id", "traj_id", "trajectory_id", "run_id", "session_id", "id", "task_id")
# Fields beside `messages` that make an object a row of a data set.
ROW_FIELDS = KINDS["openai_row_fields"]


class Row(Struct, gc=False):
    """One row on a line of its own."""

    messages: Raw = Raw(b"")
    instance_id: object = None
    traj_id: object = None
    trajectory_id: object = None
    run_id: object = None
    session_id: object = None
    id: object = None
    task_id: object = None
    model: object = None


class OpenAIRowsReader(Struct):
    """Reads a list of rows, or one row. Fields are its state."""

    record: ClassVar[Any] = bytes

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        if data.lstrip()[:1] == b"[":
            for number, row in enumerate(items_of(data)):
                yield from _row(fields_of(row), f"row-{number}", cursor)
        else:
            yield from _row(fields_of(data), "row-0", cursor)


class OpenAIRowLinesReader(Struct):
    """Reads one row on each line. It has no state."""

    record: ClassVar[Any] = Row

    def read(self, row: Row, cursor: Cursor) -> Iterable[Record]:
        ids = {k: Raw(msgspec.json.encode(getattr(row, k))) for k in (*_IDS, "model")}
        return _row({**ids, "messages": row.messages}, f"row-{cursor.line}", cursor)


def _row(row: dict[str, Raw], name: str, cursor: Cursor) -> Iterator[Record]:
    """One row as a session. A message of a document has an `item`; on a line of its own, all
    messages of the row share the line."""
    listed = row.get("messages")
    if listed is None or not bytes(listed).lstrip().startswith(b"["):
        yield Unknown("row without messages")
        return
    ids = (value_of(row.get(k)) for k in _IDS)
    yield NewSession(next((str(i) for i in ids if i and isinstance(i, (str, int))), name))
    reader = ChatReader(model=text_of(value_of(row.get("model"))))
    for message in cursor.each(listed, MESSAGE):
        yield from reader.message(message, cursor) if message else (Unknown("message"),)


class PendingMessage(Struct):
    """A message of a log that later requests have neither confirmed nor dropped yet.

    Attributes:
        line: the line on which it first appeared.
        place: its index in that request; -1 for the message of a response.
        digest: see `_digest`.
        repeated: how many later requests of the conversation repeated it.
        dropped: a later request of the conversation lacks it."""

    line: int
    place: int
    digest: int
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


class OpenAIRequestLogReader(Struct):
    """Reads a log of requests and responses. Fields are its state between lines.

    A client that rejects a reply (no tool call, or an invalid one) repeats it with its
    objection in the next requests and then drops both. So the messages that a request adds are
    held back until a later tool result or `CONFIRMING_REQUESTS` requests confirm them. A
    dropped message has the origin "meta": its tokens were spent, but its calls never ran."""

    record: ClassVar[Any] = bytes

    talks: list[Conversation] = []
    known: dict[int, int] = {}
    """Index in `talks` of the newest conversation, by `_conversation_key`."""
    current: int = -1
    """Index in `talks` of the conversation of the newest request."""

    def read(self, line: bytes, cursor: Cursor) -> Iterable[Record]:
        if cursor.ended:
            for conversation in self.talks:
                yield from _release(conversation, None, cursor)
            return
        if not line.strip():
            return
        for entry in _entries(line):
            kind = value_of(entry.get("type"))
            if kind == "request":
                yield from self._request(entry, cursor)
            elif kind == "response":
                self._response(entry, cursor)
            else:
                yield Unknown(text_of(kind))

    def _request(self, entry: dict[str, Raw], cursor: Cursor) -> Iterator[Record]:
        params = fields_of(entry.get("request_params", Raw(b"0")))
        messages = [_decode_message(bytes(m)) for m in items_of(params.get("messages"))]
        if not messages:
            yield Unknown("request without messages")
            return
        digests = _occurrences(messages)
        beginning = _conversation_key(messages)
        place = self.known.get(beginning, -1)
        begins = not any(m.role.casefold() == "assistant" for m in messages)
        if place < 0 or (begins and self.talks[place].answered):
            # A run that starts again from its beginning is a conversation of its own.
            if place >= 0:
                yield from _release(self.talks[place], None, cursor)
            place = len(self.talks)
            self.talks.append(Conversation(f"agent-{place + 1}" if place else "", ChatReader()))
            self.known[beginning] = place
        self.current, conversation = place, self.talks[place]
        yield from _release(conversation, _confirmed_digests(messages, digests), cursor)
        conversation.reader.model = text_of(value_of(params.get("model")))
        for number, (digest, occurrence) in enumerate(digests):
            if occurrence > conversation.said.get(digest, 0):
                conversation.said[digest] = occurrence
                conversation.held.append(PendingMessage(cursor.line, number, digest))
                conversation.lines[cursor.line] = bytes(cursor.raw)

    def _response(self, entry: dict[str, Raw], cursor: Cursor) -> None:
        if self.current < 0:  # the log was cut: it starts with a response
            self.current = len(self.talks)
            self.talks.append(Conversation("", ChatReader()))
        conversation = self.talks[self.current]
        reply = _response_message(entry)
        if reply is not None:  # else the call failed
            conversation.answered = True
            digest = _digest(reply)
            conversation.said[digest] = conversation.said.get(digest, 0) + 1
            conversation.held.append(PendingMessage(cursor.line, -1, digest))
            conversation.lines[cursor.line] = bytes(cursor.raw)


def _confirmed_digests(
    messages: list[ChatMessage], digests: list[tuple[int, int]]
) -> dict[int, bool]:
    """For each digest of a request, whether a tool result stands at or after its message."""
    ran = max((n for n, m in enumerate(messages) if m.role.casefold() == "tool"), default=-1)
    return {digest: number <= ran for number, (digest, _) in enumerate(digests)}


def _release(
    conversation: Conversation, confirmed: dict[int, bool] | None, cursor: Cursor
) -> Iterator[Record]:
    """Emits, in order, the held messages that are confirmed or dropped.

    Args:
        conversation: the conversation.
        confirmed: `_confirmed_digests` of the next request; None if there is no next one.
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
    raw = conversation.lines[held.line]
    message, facts = _message_at(raw, held)
    changes: dict[str, Any] = {**facts}
    if held.dropped:
        changes |= {"origin": "meta", "typed": ()}
    for found in conversation.reader.message(message, Cursor(held.line, raw=raw)):
        if not isinstance(found, Message):
            yield found
            continue
        if held.dropped:  # its calls never ran
            changes["parts"] = tuple(p for p in found.parts if type(p) is not ToolCall)
        index = cursor.take(conversation.agent)
        yield replace(found, index=index, agent=conversation.agent, **changes)


def _message_at(line: bytes, held: PendingMessage) -> tuple[ChatMessage, dict[str, Any]]:
    for entry in _entries(line):
        time = text_of(value_of(entry.get("timestamp")))
        if held.place < 0:
            reply = _response_message(entry)
            if reply is not None and _digest(reply) == held.digest:
                return reply, {**_facts(entry), "time": time}
            continue
        params = fields_of(entry.get("request_params", Raw(b"0")))
        listed = items_of(params.get("messages"))
        if held.place < len(listed):
            return _decode_message(bytes(listed[held.place])), {"time": time}
    return ChatMessage(), {}


def _entries(line: bytes) -> list[dict[str, Raw]]:
    """The entries of a line: one, or several if the line's end was lost."""
    entry = fields_of(line)
    if entry:
        return [entry]
    return [fields_of(msgspec.json.encode(value)) for value in repair(line)[0]] or [{}]


def _facts(entry: dict[str, Raw]) -> dict[str, Any]:
    response = fields_of(entry.get("response", Raw(b"0")))
    facts: dict[str, Any] = {"usage": usage_of(value_of(response.get("usage")))}
    if identity := text_of(value_of(response.get("id"))):
        facts["response"] = identity
    if model := text_of(value_of(response.get("model"))):
        facts["model"] = model
    return facts


def _response_message(entry: dict[str, Raw]) -> ChatMessage | None:
    choices = items_of(fields_of(entry.get("response", Raw(b"0"))).get("choices"))
    raw = fields_of(choices[0]).get("message") if choices else None
    if raw is None:
        return None
    reply = _decode_message(bytes(raw))
    return replace(reply, role="assistant")


def _decode_message(raw: bytes) -> ChatMessage:
    found, _ = MESSAGE.decode(raw)
    return found[0] if found else ChatMessage()


def _occurrences(messages: list[ChatMessage]) -> list[tuple[int, int]]:
    counts: dict[int, int] = {}
    found = []
    for message in messages:
        digest = _digest(message)
        counts[digest] = counts.get(digest, 0) + 1
        found.append((digest, counts[digest]))
    return found


def _digest(m: ChatMessage) -> int:
    """Identifies a message across requests: by the ids of its calls or of the call that it
    answers, else by its text. A client may shorten old results and drop fields."""
    role = m.role.casefold()
    ids = [text_of(c.get("id")) for c in dicts_of(m.tool_calls)]
    if role == "tool" and text_of(m.tool_call_id):
        identifier = text_of(m.tool_call_id)
    elif any(ids):
        identifier = "\0".join(ids)
    else:
        identifier = content_text(m.content).strip() or repr(m.content or m.function_call or "")
        if role in {"system", "developer"}:
            # The rest may contain the time of day.
            identifier = identifier[:_INSTRUCTIONS_PREFIX]
    key = f"{role}\0{identifier}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(key, digest_size=8).digest())


def _conversation_key(messages: list[ChatMessage]) -> int:
    """Identifies a conversation of a log by its instructions and its first message."""
    found = []
    for message in messages:
        found.append(_digest(message))
        if message.role.casefold() not in {"system", "developer"}:
            break
    joined = ",".join(map(str, found)).encode()
    return int.from_bytes(blake2b(joined, digest_size=8).digest())


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


def _detect_lines(sample: Sample) -> bool:
    rows = sum(map(_is_row, sample.lines))
    # A single object is read as a document.
    return rows > 1 and rows * 2 > len(sample.lines)


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
LINES = Format("openai_row_lines", "lines", OpenAIRowLinesReader, _detect_lines, several=True)
REQUESTS = Format("openai_requests", "text", OpenAIRequestLogReader, _detect_requests)
