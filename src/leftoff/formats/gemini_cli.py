"""Gemini CLI sessions, `chats/session-*.json` and `.jsonl`: docs/formats/gemini_cli.md.

Earlier versions write one pretty-printed JSON document; `Message.item` counts its list
`messages`. A call and its result stand in one item and so in one message. Newer versions write
each item on a line, and append the whole item again when it has grown: written from the
recorder's open source.

Its checkpoints and exports are histories of the Gemini API, docs/formats/gemini_api.md: a list
of `Content`, role and parts, alone or under `history` or `clientHistory` of an object;
`Message.item` counts that list."""

from collections.abc import Iterable
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import field

from leftoff import model as rec
from leftoff.formats.gemini_parts import (
    SNAPSHOT,
    STATUS,
    Content,
    GeminiPartsReader,
    response_texts,
    result_of,
    usage_of,
)
from leftoff.formats.injected import answer_spans
from leftoff.formats.lenient_json import Fields, text_of
from leftoff.formats.openai_parts import decode_arguments
from leftoff.formats.reader import Cursor, Format, holds_results, items_under

T = TypeVar("T")

_HEADER = {"sessionId", "projectHash", "messages"}
_NOTICES = frozenset({"info", "error", "warning"})
_TOKENS = "input output cached thoughts tool"
# Number of last messages that may be appended again; the recorder repeats only the very last.
_MAX_REPEATABLE = 32
# Messages that a rewind can go back. Chosen by hand; not measured.
_MAX_REWIND = 4096


class GeminiReader(GeminiPartsReader):
    subagent: bool = False  # another agent started the session, so its prompts were not typed

    def head(self, document: Fields) -> Iterable[rec.Record]:
        return (self._facts(document),)

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        return (self._message(item, cursor),)

    def _facts(self, facts: Fields) -> rec.SessionFacts:
        self.subagent = self.subagent or facts.get("kind") == "subagent"
        return facts.facts(id="sessionId", title="summary", started="startTime")

    def _message(self, item: Fields, cursor: Cursor) -> rec.Message | rec.Unknown:
        kind = item.text("type")
        role: rec.Role = "user"
        typed: tuple[rec.Typed, ...] = ()
        origin = ""
        if kind == "user":
            parts, typed = self._user_parts(item)
        elif kind == "gemini":
            parts, typed = self._assistant_parts(item)
            role = "assistant"
        elif kind in _NOTICES:
            parts, _ = self.content(item.get("content"))
            cancelled = parts == (rec.Text("Request cancelled."),)
            role, origin = "system", "interruption" if cancelled else "meta"
        else:
            return rec.Unknown(f"message/{kind}")
        return cursor.message(
            role,
            parts,
            origin,
            typed,
            key=item.text("id"),
            response=None,
            time=item.text("timestamp"),
            model=item.text("model"),
            usage=usage_of(item.get("tokens"), _TOKENS),
        )

    def _user_parts(self, item: Fields) -> Content:
        waiting = dict(self.waiting)
        parts, typed = self.content(item.get("content"), person=not self.subagent)
        if holds_results(parts):
            # Synchronised history repeats results that are already recorded with their calls.
            known = (p for p in parts if type(p) is not rec.ToolResult or p.call_id in waiting)
            return tuple(known), ()
        match self.content(item.get("displayContent")):
            case (rec.Text(text=shown),), _ if shown and not self.subagent:
                # The displayed part of the prompt was typed; the recorder inserted the rest.
                for number, part in enumerate(parts):
                    at = part.text.find(shown) if type(part) is rec.Text else -1
                    if at >= 0:
                        return parts, (rec.Typed(number, at, at + len(shown)),)
        return parts, typed

    def _assistant_parts(self, item: Fields) -> Content:
        parts: list[rec.Part] = []
        for thought in item.each("thoughts"):
            words = (thought.text("subject"), thought.text("description"))
            parts.append(rec.Reasoning("\n".join(filter(None, words))))
        calls = item.each("toolCalls")
        call_ids = {call.identity("id") for call in calls}
        for part in self.content(item.get("content"))[0]:
            # These calls follow, with their results.
            repeated = type(part) is rec.ToolCall and part.id in call_ids
            if not repeated and part != rec.Text(""):
                parts.append(part)
        typed: tuple[rec.Typed, ...] = ()
        for call in calls:
            tool_call = self.function_call(call)
            # Its result, if any, is in this record.
            self.waiting = [w for w in self.waiting if w[0] != tool_call.id]
            parts.append(tool_call)
            result = _result(call, tool_call)
            if result is not None:
                if tool_call.kind == "ask" and result.status == "ok":
                    answers = Fields(decode_arguments(result.text)).at("answers").value
                    typed += answer_spans(answers.values(), result.text, len(parts), '"', '"')
                parts.append(result)
        return tuple(parts), typed


def _result(call: Fields, asked: rec.ToolCall) -> rec.ToolResult | None:
    text, failed = response_texts(call.get("result"))
    text = text or text_of(call.get("resultDisplay"))
    status = STATUS.get(call.text("status"), "running")
    if status == "running" and not text:
        return None
    if status == "ok" and failed:
        status = "error"
    new = call.get("resultDisplay.isNewFile")
    known = isinstance(new, bool) and status == "ok"
    detail: dict[str, object] | None = {"created": new} if known else None
    return result_of(asked.id, asked.name, text, status, detail)


class GeminiLinesReader(GeminiReader):
    """Reads the lines of one recording: items, the header, and changes to the header or to the
    conversation."""

    given: dict[str, list[str]] = field(default_factory=dict)
    """What was already emitted of the last messages, by id: "tokens", call ids, "result of"
    call ids."""
    parents: dict[str, str] = field(default_factory=dict)
    last: str = ""

    def item(self, line: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        if isinstance(line.get("$rewindTo"), str):
            # What follows has the same parent as what it replaces.
            self.last = self.parents.get(line.text("$rewindTo"), "")
        elif isinstance(line.get("$set"), dict):
            changed = line.at("$set")
            yield self._facts(changed)
            yield from self._compressed(changed, cursor)
        elif line.text("id"):
            yield from self._item(line, line.text("id"), cursor)
        elif line.text("sessionId"):
            yield self._facts(line)
            self.last = self.last or line.text("sessionId")
            yield rec.Link(line.text("sessionId"), "")
        else:
            yield rec.Unknown("line without id")

    def _item(self, item: Fields, identity: str, cursor: Cursor) -> Iterable[rec.Record]:
        repeated = identity in self.given
        given = self.given.setdefault(identity, [])
        if repeated and item.get("type") != "gemini":
            return  # only the agent's messages grow
        if repeated:
            known = {"id", "content", "thoughts"} | {"tokens"}.intersection(given)
            item = Fields({k: v for k, v in item.value.items() if k not in known})
        found = self._message(item, cursor)
        if not isinstance(found, rec.Message):
            yield found
            return
        parts = _new_parts(found.parts, given)
        if item.get("tokens") is not None:
            given.append("tokens")
        if repeated and not parts and (found.usage is None or not found.usage.total):
            cursor.give_back("")
            return
        parent = identity if repeated else self.last
        if not repeated:
            self.parents[identity], self.last = self.last, identity
            _drop_oldest(self.parents, _MAX_REWIND)
            _drop_oldest(self.given, _MAX_REPEATABLE)
        yield msgspec.structs.replace(
            found,
            parts=parts,
            typed=() if repeated else found.typed,
            parent=parent,
            response=identity if found.role == "assistant" else "",
        )

    def _compressed(self, changed: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        """The conversation was replaced; only the summary of the removed part is new."""
        for message in changed.each("messages"):
            identity = message.identity("id")
            parts, _ = self.content(message.get("content"))
            text = next((p.text for p in parts if type(p) is rec.Text), "")
            if not text.startswith(SNAPSHOT) or identity in self.parents:
                continue
            yield cursor.compaction()
            message_at = partial(cursor.message, key=identity, parent=self.last)
            yield message_at("user", parts, "compaction", time=message.text("timestamp"))
            self.parents[identity], self.last = self.last, identity


def _new_parts(parts: tuple[rec.Part, ...], given: list[str]) -> tuple[rec.Part, ...]:
    new: list[rec.Part] = []
    for part in parts:
        if type(part) is rec.ToolCall:
            part_key = part.id
        elif type(part) is rec.ToolResult:
            part_key = f"result of {part.call_id}" if part.status != "running" else ""
        else:
            new.append(part)
            continue
        if part_key and part_key not in given:
            given.append(part_key)
            new.append(part)
    return tuple(new)


def _drop_oldest(entries: dict[str, T], limit: int) -> None:
    if len(entries) > limit:
        del entries[next(iter(entries))]


_STOCK_REPLY = rec.Text("Got it. Thanks for the additional context!")


class GeminiApiReader(GeminiPartsReader):
    lists = ("clientHistory", "history")

    def item(self, item: Fields, cursor: Cursor) -> Iterable[rec.Record]:
        role = item.text("role")
        if role not in ("user", "model"):
            yield rec.Unknown(f"role/{role}")
            return
        if calls := self._lost_calls(item):
            yield cursor.message("assistant", calls, response=None)
        parts, typed = self.content(item.get("parts"), person=role == "user")
        if role == "model":
            # The recorder's own stock reply to the context that it puts in front.
            origin = "meta" if parts == (_STOCK_REPLY,) else "agent"
            yield cursor.message("assistant", parts, origin, response=None)
        elif not holds_results(parts) and any(
            type(p) is rec.Text and p.text.startswith(SNAPSHOT) for p in parts
        ):
            yield cursor.compaction()
            yield cursor.message("user", parts, "compaction")
        else:
            yield cursor.message("user", parts, "", typed)

    def _lost_calls(self, item: Fields) -> tuple[rec.ToolCall, ...]:
        """The calls that results of an item name and that no item holds: the client leaves some
        out of its history. What they printed counts, so they are read, without arguments."""
        responses = [part.at("functionResponse") for part in item.each("parts")]
        waiting = dict(self.waiting)
        return tuple(
            self.call(identity, response.text("name"), None)
            for response in responses
            if (identity := response.identity("id")) and identity not in waiting
        )


def _is_line(line: dict[str, object]) -> bool:
    match line:
        case {"sessionId": _, "projectHash": _}:
            return "messages" not in line
        case {"type": "gemini", "content": _, "id": _} | {"$set": {"lastUpdated": _}}:
            return True
    return False


FORMAT = Format("gemini_cli", "document", GeminiReader, lambda sample: sample.keys >= _HEADER)
LINES = Format(
    "gemini_cli_jsonl",
    "lines",
    GeminiLinesReader,
    lambda sample: any(map(_is_line, sample.lines)),
)
HISTORY = Format(
    "gemini_api",
    "document",
    GeminiApiReader,
    items_under(
        lambda item: item.get("role") in ("user", "model") and "parts" in item,
        *GeminiApiReader.lists,
    ),
)
