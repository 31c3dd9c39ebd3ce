"""Inspect AI logs, `.json` and `.eval` (a ZIP archive): docs/formats/inspect.md.

A log holds many samples, and each sample is a session. The conversation is a sample's
`messages`; its `events` repeat every message many times and are read only for the tokens and
times of the model calls."""

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import ClassVar

from msgspec import Raw, Struct

from leftoff import lazy_re as re
from leftoff import model as rec
from leftoff.codec import MAX_DOCUMENT
from leftoff.formats.injected import typed_parts
from leftoff.formats.lenient_json import Fields, items_of, text_of, usage_by
from leftoff.formats.openai_parts import blocks_of, content_text, decode_arguments, part_of
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import PROGRAMS, kind_of, tool_call

_ATTACHMENT = re.compile(r"attachment://([0-9a-fA-F]{8,128})")

# Members of an archive that are read. Chosen by hand; not measured.
MAX_MEMBERS = 100_000

# Bytes of all samples of an archive together, unpacked.
MAX_ARCHIVE = 4 * MAX_DOCUMENT


# What unpacking a damaged archive raises.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


class Call(Struct):
    """One call of a model, as an event records it."""

    id: str
    text: str
    model: str
    time: str
    usage: rec.Usage | None


class InspectReader(Struct):
    record: ClassVar[type] = bytes

    model: str = ""
    task: str = ""
    version: str = ""
    created: str = ""
    status: str = ""  # of the whole log
    turns: int = 0
    replied: str = ""  # the model that gave the last reply, as the events name it

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        """The whole log: a JSON document or the bytes of an archive."""
        if data.startswith(b"PK"):
            yield from self._archive(data, cursor)
            return
        document = Fields.of(data)
        self._header(document)
        for sample in items_of(document.raw("samples")):
            yield from self._sample(Fields.of(sample), cursor)

    def _archive(self, data: bytes, cursor: Cursor) -> Iterator[rec.Record]:
        try:
            archive = zipfile.ZipFile(BytesIO(data))
            # A sample that was written again is listed twice; the last entry is the valid one.
            members = {m.filename: m for m in archive.infolist()[:MAX_MEMBERS]}
        except _DAMAGE:
            yield rec.Unknown("damaged archive")
            return
        named = (n for n in ("header.json", "_journal/start.json") if n in members)
        if (header := next(named, None)) is not None:
            self._header(Fields.of(_unpack(archive, members[header], MAX_DOCUMENT)))
        remaining = MAX_ARCHIVE
        for name, member in members.items():
            if not name.startswith("samples/") or not name.endswith(".json"):
                continue
            allowed = min(remaining, MAX_DOCUMENT)
            sample = Fields.of(_unpack(archive, member, allowed))
            # A damaged one counts too: it was unpacked to find out.
            remaining -= member.file_size if member.file_size <= allowed else 0
            if sample.value:
                yield from self._sample(sample, cursor)
            else:
                yield rec.Unknown("damaged or oversized sample")

    def _header(self, log: Fields) -> None:
        self.status, header = log.text("status"), log.at("eval")
        self.task, self.model = header.text("task"), header.text("model")
        self.created = header.text("created")
        self.version = header.text("packages.inspect_ai")

    def _sample(self, sample: Fields, cursor: Cursor) -> Iterator[rec.Record]:
        listed = sample.raw("messages")
        identity, epoch = sample.get("id"), sample.get("epoch")
        named = identity if isinstance(identity, str | int) else "sample"
        name = f"{named}_epoch_{epoch if isinstance(epoch, int) else 1}"
        yield rec.NewSession(name)
        # Logs of 2024 keep the events in a `transcript`.
        holder = sample if "events" in sample.value else Fields.of(sample.raw("transcript"))
        events = holder.raw("events")
        # The eval begins long before the last of its samples does.
        first = next(map(Fields.of, items_of(events)), Fields(None))
        started = sample.text("started_at") or first.text("timestamp") or self.created
        yield rec.SessionFacts(
            id=name, title=self.task, agent_version=self.version, started=started
        )
        attachments = sample.at("attachments").value
        calls, tools = _calls(events, attachments)
        self.replied = self.model
        items = [
            (item, cursor.item, cursor.raw)
            for item in cursor.objects(listed)
            if item.text("role") in {"system", "user", "assistant", "tool"}
        ]
        yield from [rec.Unknown("message")] * (len(items_of(listed)) - len(items))
        asked = [
            _joined(event.text("input"))
            for event in map(Fields.of, items_of(events))
            if event.get("event") == "input"
        ]
        marked = any(
            item.get("role") == "user" and item.get("source") == "input" for item, *_ in items
        )
        has_usage = prompted = False
        for item, cursor.item, cursor.raw in items:
            if attachments:
                item.value["content"] = _with_attachments(item.get("content"), attachments)
            role, source = item.text("role"), item.get("source")
            if role == "assistant":
                message = self._assistant_message(item, calls, cursor)
                has_usage = has_usage or message.usage is not None
            elif role == "tool":
                message = _tool_message(item, tools, cursor)
            else:
                parts = tuple(_parts(item.get("content")))
                words = _joined(content_text(item.get("content")))
                is_prompt = role == "user" and (
                    source in ("input", "operator")
                    or not marked
                    and not prompted
                    # What a person types at the console of the log's own prompt has no source.
                    or not source
                    and words != ""
                    and any(one.endswith(words) for one in asked)
                )
                prompted = prompted or is_prompt
                message = cursor.message(
                    "system" if role == "system" else "user",
                    parts,
                    typed=typed_parts(parts) if is_prompt else (),
                    key=item.text("id"),
                )
            yield message
        if not has_usage:
            total = rec.Usage()
            for usage in sample.at("model_usage").value.values():
                total += _usage(Fields(usage)) or rec.Usage()
            if total.total:
                yield rec.TokenCount(rec.Usage(), total)
        # How the log says that a sample ended: no person is waited for.
        if why := sample.text("error.message"):
            yield rec.Turn("failed", why)
        elif kind := sample.text("limit.type"):
            yield rec.Turn("failed", f"{kind} limit of {sample.get('limit.limit')}")
        elif sample.get("scores") or self.status == "success":
            yield rec.Turn("ended", "scored" if sample.get("scores") else self.status)

    def _assistant_message(
        self, item: Fields, calls: list[Call], cursor: Cursor
    ) -> rec.Message:
        self.turns += 1
        identity, text = item.text("id"), content_text(item.get("content"))
        parts = list(_parts(item.get("content")))
        for call in item.each("tool_calls"):
            name = call.text("function", "function.name")
            given = decode_arguments(call.get("arguments"))
            parts.append(tool_call(call.text("id"), name, given))
        is_input = item.get("source") == "input"
        reply = Call("", "", "", "", None)
        for place, known in enumerate(() if is_input else calls):
            if identity and known.id == identity or not known.id and known.text == text:
                reply = known
                del calls[: place + 1]
                break
        # The log names a model with its provider and the events without: both would read as two
        # models.
        self.replied = item.text("model") or reply.model or self.replied
        return cursor.message(
            "assistant",
            tuple(parts),
            "injected" if is_input else "agent",
            key=identity,
            response=f"r{self.turns}",
            time=reply.time,
            model=self.replied,
            usage=reply.usage,
        )


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    """The bytes of a member; none if it is damaged or larger than the limit.

    The size in the directory is not trusted: at most `limit` bytes are unpacked."""
    if member.file_size > limit:
        return b""
    try:
        with archive.open(member) as stream:
            data = stream.read(limit + 1)
    except _DAMAGE:
        return b""
    return data if len(data) <= limit else b""


def _calls(events: Raw, attachments: dict[str, object]) -> tuple[list[Call], dict[str, str]]:
    calls: list[Call] = []
    tools: dict[str, str] = {}
    for event in map(Fields.of, items_of(events)):
        kind = event.get("event")
        if kind not in ("tool", "model"):
            continue  # most events are large and hold nothing that is read
        time = event.text("completed", "timestamp")
        if kind == "tool":
            if isinstance(identity := event.get("id"), str):
                tools[identity] = time
            continue
        output = event.at("output")
        reply = next((c for c in output.each("choices") if c.at("message").value), None)
        if reply is not None:
            said = _with_attachments(reply.get("message.content"), attachments)
            identity, text = reply.text("message.id"), content_text(said)
            usage = _usage(output.at("usage"))
            calls.append(Call(identity, text, output.text("model"), time, usage))
    return calls, tools


_TOKENS = (
    "input_tokens output_tokens input_tokens_cache_read input_tokens_cache_write "
    "reasoning_tokens"
)


def _usage(given: Fields) -> rec.Usage | None:
    """A recorded usage. Whether its input includes what came from the cache changed between
    versions; the recorded total shows which."""
    plain = given.count("input_tokens") + given.count("output_tokens")
    inclusive = given.count("total_tokens") == plain
    return usage_by(given.value, _TOKENS, inclusive=inclusive) if plain else None


def _parts(content: object) -> Iterator[rec.Part]:
    for block in blocks_of(content):
        if block.get("type") != "tool_use":
            yield part_of(block)
            continue
        # A tool that the provider ran itself.
        call, given = block.text("id"), decode_arguments(block.get("arguments"))
        yield tool_call(call, block.text("name"), given)
        status = "error" if block.get("error") else "ok"
        yield rec.ToolResult(call, content_text(block.get("result")), status)


_STATUS = {"timeout": "timeout", "approval": "denied", "cancelled": "interrupted"}


def _tool_message(item: Fields, tools: dict[str, str], cursor: Cursor) -> rec.Message:
    call, text = item.text("tool_call_id"), content_text(item.get("content"))
    # Programs are recorded without their exit codes.
    status = "unknown" if kind_of(item.text("function")) in PROGRAMS else "ok"
    # A result that was too long is cut, and the call has worked.
    if item.get("error") and item.text("error.type") != "output_limit":
        status = _STATUS.get(item.text("error.type"), "error")
        text = text or item.text("error.message")
    result = (rec.ToolResult(call, text, status),)
    return cursor.message("tool", result, key=item.text("id"), time=tools.get(call, ""))


def _joined(text: str) -> str:
    """A text without white space: the console wraps what an `input` event shows."""
    return "".join(text.split())


def _with_attachments(content: object, attachments: dict[str, object]) -> object:
    """A content, its blocks, or the fields of a block, with the texts that are stored apart."""
    if isinstance(content, list):
        return [_with_attachments(one, attachments) for one in content]
    if isinstance(content, dict):
        return {
            key: _with_attachments(one, attachments) if isinstance(one, str) else one
            for key, one in content.items()
        }
    if not isinstance(content, str):
        return content
    return _ATTACHMENT.sub(lambda m: text_of(attachments.get(m[1])) or m[0], content)


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
