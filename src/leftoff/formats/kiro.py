"""Kiro CLI (and Amazon Q Developer CLI) conversations: docs/formats/kiro.md.

One JSON document; `Message.item` counts `history`. Each entry holds a message of the person or
the tools and the agent's reply, so up to two messages share an item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from leftoff import model as rec
from leftoff.codec import LineDecoder
from leftoff.formats.injected import typed_spans
from leftoff.formats.lenient_json import (
    dict_of,
    dicts_of,
    fields_of,
    known_id,
    text_of,
    value_of,
)
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.formats.vocabulary import tool_call


class Item(Struct, gc=False):
    user: object = None
    assistant: object = None


_ITEM = LineDecoder(Item)


class KiroReader(Struct):
    """Reads one document."""

    record: ClassVar[Any] = bytes

    made: int = 0
    """Number of ids generated for calls without one."""
    open: list[str] = field(default_factory=list)
    """Generated ids of calls without a result."""
    cwd: str = ""
    model: str = ""

    def read(self, data: bytes, cursor: Cursor) -> Iterable[rec.Record]:
        fields = fields_of(data)
        self.model = text_of(dict_of(value_of(fields.get("model_info"))).get("model_id"))
        yield rec.SessionFacts(id=text_of(value_of(fields.get("conversation_id"))))
        summary = value_of(fields.get("latest_summary"))
        if summary:
            # Stored beside the history; the messages that it replaced are not recorded.
            yield rec.Compaction(raw=bytes(fields["latest_summary"]))
        for item in cursor.each(fields.get("history"), _ITEM):
            if item is None:
                yield rec.Unknown("history/no object")
                continue
            yield from self._user(dict_of(item.user), cursor)
            yield from self._assistant(item.assistant, cursor)

    def _user(self, user: dict[str, Any], cursor: Cursor) -> Iterable[rec.Record]:
        state = dict_of(dict_of(user.get("env_context")).get("env_state"))
        where = text_of(state.get("current_working_directory"))
        if where and where != self.cwd:
            self.cwd = where
            yield rec.SessionFacts(cwd=where)
        content = user.get("content")
        if content is None:  # the agent went on by itself
            return
        parts: list[rec.Part] = []
        typed: tuple[rec.Typed, ...] = ()
        results = False
        for kind, value in dict_of(content).items():
            given = dict_of(value)
            if kind not in ("Prompt", "ToolUseResults", "CancelledToolUses"):
                yield rec.Unknown(f"user/{kind}")
                continue
            for result in dicts_of(given.get("tool_use_results")):
                results = True
                parts.append(self._result(result, cancelled=kind == "CancelledToolUses"))
            prompt = text_of(given.get("prompt"))
            if prompt:
                typed += typed_spans(len(parts), prompt)
                parts.append(rec.Text(prompt))
        if parts:
            yield cursor.message(
                "user",
                tuple(parts),
                "tool" if results else "",
                typed,
                time=text_of(user.get("timestamp")),
                cwd=self.cwd,
            )

    def _assistant(self, assistant: Any, cursor: Cursor) -> Iterable[rec.Record]:
        for kind, value in dict_of(assistant).items():
            given = dict_of(value)
            if kind not in ("Response", "ToolUse"):
                yield rec.Unknown(f"assistant/{kind}")
                continue
            parts: list[rec.Part] = []
            if text_of(given.get("content")):
                parts.append(rec.Text(given["content"]))
            if kind == "ToolUse":
                self.open = []
            for use in dicts_of(given.get("tool_uses")):
                name = text_of(use.get("name")) or text_of(use.get("orig_name"))
                call = known_id(use.get("id"))
                if not call:
                    self.made += 1
                    call = f"call-{self.made}"
                    self.open.append(call)
                arguments = use.get("args") if "args" in use else use.get("orig_args")
                parts.append(tool_call(call, name, arguments))
            yield cursor.message(
                "assistant",
                tuple(parts),
                response=known_id(given.get("message_id")) or None,
                model=self.model,
                cwd=self.cwd,
            )

    def _result(self, result: dict[str, Any], *, cancelled: bool) -> rec.ToolResult:
        call = known_id(result.get("tool_use_id"))
        if not call and self.open:
            call = self.open.pop(0)
        texts: list[str] = []
        code: int | None = None
        for block in dicts_of(result.get("content")):
            if isinstance(block.get("Text"), str):
                texts.append(block["Text"])
            elif "Json" in block:
                text, code = _output(block["Json"], code)
                texts.append(text)
        status = "ok" if text_of(result.get("status")).lower() == "success" else "error"
        if cancelled:
            status = "denied"
        elif code and status == "ok":
            status = "error"
        return rec.ToolResult(call, "\n".join(texts), status, code)


def _output(value: object, code: int | None) -> tuple[str, int | None]:
    given = dict_of(value)
    if "exit_status" in given:
        status = text_of(given["exit_status"]).removeprefix("exit status: ")
        if status.isdecimal() and len(status) < 10:
            code = int(status)
        streams = [text_of(given.get(k)) for k in ("stdout", "stderr")]
        return "\n".join(s for s in streams if s), code
    if isinstance(value, str):
        return value, code
    try:
        return msgspec.json.encode(value).decode(), code
    except (TypeError, ValueError, RecursionError):
        return "", code


def _detect(sample: Sample) -> bool:
    if not {"conversation_id", "history"} <= sample.keys:
        return False
    items = dicts_of(sample.document["history"])[: sample.LINES]
    return bool(items) and any("user" in i and "assistant" in i for i in items)


FORMAT = Format("kiro", "document", KiroReader, _detect)
