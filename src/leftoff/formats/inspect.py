"""Inspect AI logs, `.json` and `.eval` (a ZIP archive): docs/formats/inspect.md.

A log holds many samples, and each sample is a session. The conversation is a sample's
`messages`; its `events` repeat every message many times and are read only for the tokens and
times of the model calls."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any, ClassVar

from msgspec import Raw, Struct

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.codec import MAX_DOCUMENT, LineDecoder
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import (
    count_of,
    dict_of,
    dicts_of,
    fields_of,
    items_of,
    text_of,
    value_of,
)
from leftoff.formats.openai_parts import content_text, decode_arguments
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import tool_call


class Item(Struct, gc=False):
    id: object = None
    role: str = ""
    content: object = None
    source: object = None
    model: object = None
    tool_calls: object = None
    tool_call_id: object = None
    error: object = None


class Reply(Struct, gc=False):
    id: object = None
    content: object = None


class Choice(Struct, gc=False):
    message: Reply | None = None


class Output(Struct, gc=False):
    model: object = None
    choices: list[Choice] | None = None
    usage: object = None


class Event(Struct, gc=False):
    event: str = ""
    id: object = None
    timestamp: object = None
    completed: object = None
    output: Output | None = None


_ITEM = LineDecoder(Item)
_EVENT = LineDecoder(Event)
_ATTACHMENT = re.compile(r"attachment://([0-9a-fA-F]{8,128})")

# Members of an archive that are read. Chosen by hand; not measured.
MAX_MEMBERS = 100_000

# Bytes of all samples of an archive together, unpacked.
MAX_ARCHIVE = 4 * MAX_DOCUMENT


class Call(Struct):
    """One call of a model, as an event records it."""

    id: str
    text: str
    model: str
    time: str
    usage: rec.Usage | None


class InspectReader(Struct):
    """Reads one log. Fields are its state."""

    record: ClassVar[Any] = bytes

    model: str = ""
    task: str = ""
    version: str = ""
    created: str = ""
    turns: int = 0

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        """The whole log: a JSON document or the bytes of an archive."""
        if data.startswith(b"PK"):
            yield from self._archive(data, cursor)
            return
        document = fields_of(data)
        self._header(value_of(document.get("eval")))
        for sample in items_of(document.get("samples")):
            yield from self._sample(fields_of(sample), cursor)

    def _archive(self, data: bytes, cursor: Cursor) -> Iterator[rec.Record]:
        try:
            archive = zipfile.ZipFile(BytesIO(data))
            # A sample that was written again is listed twice; the last entry is the valid one.
            members = {m.filename: m for m in archive.infolist()[:MAX_MEMBERS]}
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            yield rec.Unknown("damaged archive")
            return
        for name in ("header.json", "_journal/start.json"):
            if name in members:
                header = value_of(Raw(_unpack(archive, members[name], MAX_DOCUMENT) or b"0"))
                self._header(dict_of(header).get("eval"))
                break
        remaining = MAX_ARCHIVE
        for name, member in members.items():
            if not name.startswith("samples/") or not name.endswith(".json"):
                continue
            allowed = min(remaining, MAX_DOCUMENT)
            unpacked = _unpack(archive, member, allowed)
            if member.file_size <= allowed:
                # A damaged one counts too: it was unpacked to find out.
                remaining -= member.file_size
            if unpacked is None:
                yield rec.Unknown("damaged or oversized sample")
                continue
            sample = fields_of(unpacked)
            if sample:
                yield from self._sample(sample, cursor)
            else:
                yield rec.Unknown("damaged or oversized sample")

    def _header(self, header: object) -> None:
        header = dict_of(header)
        self.task = text_of(header.get("task"))
        self.model = text_of(header.get("model"))
        self.created = text_of(header.get("created"))
        self.version = text_of(dict_of(header.get("packages")).get("inspect_ai"))

    def _sample(self, sample: dict[str, Raw], cursor: Cursor) -> Iterator[rec.Record]:
        listed = sample.get("messages", Raw(b""))
        identity, epoch = value_of(sample.get("id")), value_of(sample.get("epoch"))
        named = str(identity) if isinstance(identity, str | int) else "sample"
        name = f"{named}_epoch_{epoch if isinstance(epoch, int) else 1}"
        yield rec.NewSession(name)
        started = text_of(value_of(sample.get("started_at"))) or self.created
        yield rec.SessionFacts(
            id=name, title=self.task, agent_version=self.version, started=started
        )
        attachments: dict[str, Any] = {}
        if b"attachment://" in bytes(listed):
            attachments = dict_of(value_of(sample.get("attachments")))
        calls, tools = _calls(sample.get("events"))
        items = [
            (item, cursor.item, cursor.raw)
            for item in cursor.each(listed, _ITEM)
            if item and item.role in {"system", "user", "assistant", "tool"}
        ]
        yield from [rec.Unknown("message")] * (len(items_of(listed)) - len(items))
        marked = any(item.role == "user" and item.source == "input" for item, *_ in items)
        has_usage = prompted = False
        for item, cursor.item, cursor.raw in items:
            if attachments:
                item.content = _with_attachments(item.content, attachments)
            if item.role == "assistant":
                message = self._assistant_message(item, calls, cursor)
                has_usage = has_usage or message.usage is not None
            elif item.role == "tool":
                message = _tool_message(item, tools, cursor)
            else:
                is_prompt = item.role == "user" and (
                    item.source in ("input", "operator") or not marked and not prompted
                )
                prompted = prompted or is_prompt
                message = _input_message(item, is_prompt, cursor)
            yield message
        if not has_usage:
            total = rec.Usage()
            for usage in dict_of(value_of(sample.get("model_usage"))).values():
                total += _usage(usage) or rec.Usage()
            if total.total:
                yield rec.TokenCount(rec.Usage(), total)

    def _assistant_message(self, item: Item, calls: list[Call], cursor: Cursor) -> rec.Message:
        self.turns += 1
        identity, text = text_of(item.id), content_text(item.content)
        parts = _parts(item.content)
        for call in dicts_of(item.tool_calls):
            name = text_of(call.get("function")) or text_of(
                dict_of(call.get("function")).get("name")
            )
            given = decode_arguments(call.get("arguments"))
            parts.append(tool_call(text_of(call.get("id")), name, given))
        is_input = item.source == "input"
        reply = Call("", "", "", "", None)
        if not is_input:
            for place, known in enumerate(calls):
                if identity and known.id == identity or not known.id and known.text == text:
                    reply = known
                    del calls[: place + 1]
                    break
        return cursor.message(
            "assistant",
            tuple(parts),
            "injected" if is_input else "agent",
            key=identity,
            response=f"r{self.turns}",
            time=reply.time,
            model=text_of(item.model) or reply.model or self.model,
            usage=reply.usage,
        )


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes | None:
    """The bytes of a member; None if it is damaged or larger than the limit.

    The size in the directory is not trusted: at most `limit` bytes are unpacked."""
    if member.file_size > limit:
        return None
    try:
        with archive.open(member) as stream:
            data = stream.read(limit + 1)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,
        ValueError,
    ):
        return None
    return data if len(data) <= limit else None


def _calls(events: Raw | None) -> tuple[list[Call], dict[str, str]]:
    calls: list[Call] = []
    tools: dict[str, str] = {}
    for given in items_of(events):
        found, _ = _EVENT.decode(bytes(given))
        if not found:
            continue
        event = found[0]
        time = text_of(event.completed) or text_of(event.timestamp)
        if event.event == "tool":
            if isinstance(event.id, str):
                tools[event.id] = time
        elif event.event == "model" and event.output is not None:
            reply = next((c.message for c in event.output.choices or () if c.message), None)
            if reply is not None:
                calls.append(
                    Call(
                        text_of(reply.id),
                        content_text(reply.content),
                        text_of(event.output.model),
                        time,
                        _usage(event.output.usage),
                    )
                )
    return calls, tools


def _usage(usage: object) -> rec.Usage | None:
    """A recorded usage. Whether its input includes what came from the cache changed between
    versions; the recorded total shows which."""
    given = dict_of(usage)
    input_, output = count_of(given.get("input_tokens")), count_of(given.get("output_tokens"))
    read = count_of(given.get("input_tokens_cache_read"))
    written = count_of(given.get("input_tokens_cache_write"))
    if not input_ and not output:
        return None
    if count_of(given.get("total_tokens")) == input_ + output:
        input_ = max(0, input_ - read - written)
    return rec.Usage(input_, output, read, written, count_of(given.get("reasoning_tokens")))


def _parts(content: object) -> list[rec.Part]:
    if isinstance(content, str):
        return [rec.Text(content)] if content else []
    parts: list[rec.Part] = []
    for block in dicts_of(content):
        kind = block.get("type")
        if kind == "text":
            parts.append(rec.Text(text_of(block.get("text"))))
        elif kind == "reasoning":
            parts.append(rec.Reasoning(text_of(block.get("reasoning"))))
        elif kind == "tool_use":  # a tool that the provider ran itself
            call, name = text_of(block.get("id")), text_of(block.get("name"))
            given = decode_arguments(block.get("arguments"))
            parts.append(tool_call(call, name, given))
            failed = bool(block.get("error"))
            text = content_text(block.get("result"))
            parts.append(rec.ToolResult(call, text, "error" if failed else "ok"))
        else:
            parts.append(rec.Media(text_of(kind)))
    return parts


def _input_message(item: Item, is_prompt: bool, cursor: Cursor) -> rec.Message:
    parts = tuple(_parts(item.content))
    role: rec.Role = "system" if item.role == "system" else "user"
    typed = typed_parts(parts) if is_prompt else ()
    return cursor.message(role, parts, "", typed, key=text_of(item.id))


def _tool_message(item: Item, tools: dict[str, str], cursor: Cursor) -> rec.Message:
    call, text = text_of(item.tool_call_id), content_text(item.content)
    status = "ok"
    if item.error:
        error = dict_of(item.error)
        kind = text_of(error.get("type"))
        status = {"timeout": "timeout", "approval": "denied", "cancelled": "interrupted"}.get(
            kind, "error"
        )
        text = text or text_of(error.get("message"))
    result = (rec.ToolResult(call, text, status),)
    return cursor.message("tool", result, key=text_of(item.id), time=tools.get(call, ""))


def _with_attachments(content: object, attachments: dict[str, Any]) -> Any:
    def put_back(found: re.Match[str]) -> str:
        text = attachments.get(found[1])
        return text if isinstance(text, str) else found[0]

    if isinstance(content, str):
        return _ATTACHMENT.sub(put_back, content)
    if isinstance(content, list):
        return [
            {k: _ATTACHMENT.sub(put_back, v) if isinstance(v, str) else v for k, v in b.items()}
            if isinstance(b, dict)
            else b
            for b in content
        ]
    return content


def _detect(sample: Sample) -> bool:
    if sample.data[:4] == b"PK\x03\x04":
        # Names stand uncompressed before each member, and again at the end.
        return any(
            name in sample.data
            for name in (b"_journal/start.json", b"header.json", b"_epoch_1.json")
        )
    return {"eval", "status"} <= sample.keys and (
        "samples" in sample.keys or "plan" in sample.keys
    )


FORMAT = Format(
    "inspect", "document", InspectReader, _detect, reads_archives=True, several=True
)
