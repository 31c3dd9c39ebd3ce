"""Gemini API histories: a list of `Content`, role and parts: docs/formats/gemini_api.md.

Gemini CLI writes them as checkpoints and exports, alone or under `history` or `clientHistory`
of an object; `Message.item` counts that list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Raw, Struct, field

from leftoff.codec import LineDecoder
from leftoff.formats.gemini_parts import SNAPSHOT, GeminiParts
from leftoff.formats.lenient_json import fields_of, items_of, text_of
from leftoff.formats.reader import Cursor, Format, Sample, mostly
from leftoff.model import Record, Role, Text, Unknown

# Keys that hold the list when the document is an object.
LISTS = ("clientHistory", "history")

_STOCK_REPLY = Text("Got it. Thanks for the additional context!")


class Item(Struct, gc=False):
    role: object = None
    parts: object = None


_ITEM = LineDecoder(Item)


class GeminiApiReader(Struct):
    """Reads one document."""

    record: ClassVar[Any] = bytes

    parts: GeminiParts = field(default_factory=GeminiParts)

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        listed: bytes | Raw | None = data
        if fields := fields_of(data):
            listed = next((fields[key] for key in LISTS if items_of(fields.get(key))), None)
        for item in cursor.each(listed, _ITEM):
            if item is None or item.role not in ("user", "model"):
                yield Unknown(f"role/{text_of(item.role) if item else 'no object'}")
            else:
                yield from self._item(item, cursor)

    def _item(self, item: Item, cursor: Cursor) -> Iterable[Record]:
        content = self.parts.content(item.parts, item.role == "user")
        typed = content.typed
        if item.role == "model":
            # The recorder's own stock reply to the context that it puts in front.
            origin = "meta" if content.parts == (_STOCK_REPLY,) else "agent"
        elif content.results:
            origin = "tool"
        elif any(type(p) is Text and p.text.startswith(SNAPSHOT) for p in content.parts):
            origin, typed = "compaction", ()
            yield cursor.compaction()
        else:
            origin = ""
        role: Role = "user" if item.role == "user" else "assistant"
        yield cursor.message(role, content.parts, origin, typed, response=None)


def _detect(sample: Sample) -> bool:
    return mostly(
        lambda item: item.get("role") in ("user", "model") and "parts" in item,
        sample.listed(*LISTS),
    )


FORMAT = Format("gemini_api", "document", GeminiApiReader, _detect)
