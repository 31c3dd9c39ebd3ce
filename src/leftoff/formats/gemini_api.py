"""Gemini API histories: a list of `Content`, role and parts: docs/formats/gemini_api.md.

Gemini CLI writes them as checkpoints and exports, alone or under `history` or `clientHistory`
of an object; `Message.item` counts that list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct, field

from leftoff.codec import LineDecoder
from leftoff.formats.gemini_parts import GeminiParts
from leftoff.formats.lenient_json import fields_of, items_of, text_of
from leftoff.formats.reader import Cursor, Sample
from leftoff.model import Compaction, Message, Record, Text, Unknown

LISTS = ("clientHistory", "history")
"""Keys that hold the list when the document is an object."""

_SNAPSHOT = "<state_snapshot>"
_STOCK_REPLY = Text("Got it. Thanks for the additional context!")


class Item(Struct, gc=False):
    role: Any = None
    parts: Any = None


_ITEM = LineDecoder(Item)


class GeminiApiReader(Struct):
    """Reads one document."""

    record: ClassVar[Any] = bytes

    parts: GeminiParts = field(default_factory=GeminiParts)

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        items = items_of(data)
        if not items:
            fields = fields_of(data)
            items = next((i for k in LISTS if (i := items_of(fields.get(k)))), [])
        for number, raw in enumerate(items):
            decoded = _ITEM.decode(bytes(raw))[0]
            if not decoded or decoded[0].role not in ("user", "model"):
                role = text_of(decoded[0].role) if decoded else "no object"
                yield Unknown(f"role/{role}")
                continue
            yield from self._item(decoded[0], number, bytes(raw), cursor)

    def _item(self, item: Item, number: int, raw: bytes, cursor: Cursor) -> Iterable[Record]:
        content = self.parts.content(item.parts, item.role == "user")
        typed = content.typed
        if item.role == "model":
            # The recorder's own stock reply to the context that it puts in front.
            origin = "meta" if content.parts == (_STOCK_REPLY,) else "agent"
        elif content.results:
            origin = "tool"
        elif any(type(p) is Text and p.text.startswith(_SNAPSHOT) for p in content.parts):
            origin, typed = "compaction", ()
            yield Compaction(item=number, raw=raw)
        else:
            origin = "prompt" if typed else "injected"
        index = cursor.take()
        yield Message(
            index=index,
            role="user" if item.role == "user" else "assistant",
            parts=content.parts,
            item=number,
            origin=origin,
            typed=typed,
            response=f"r{index}" if item.role == "model" else "",
            raw=raw,
        )


class GeminiApi(Struct, frozen=True):
    """Registry entry: detects and reads this format."""

    name: str = "gemini_api"
    shape: str = "document"
    reader: type[GeminiApiReader] = GeminiApiReader

    def detect(self, sample: Sample) -> bool:
        items: Any = sample.items
        if not items and isinstance(sample.document, dict):
            lists = [sample.document.get(k) for k in LISTS]
            found = next((v for v in lists if isinstance(v, list) and v), [])
            items = [v for v in found[: sample.LINES] if isinstance(v, dict)]
        matches = [i.get("role") in ("user", "model") and "parts" in i for i in items]
        # One damaged item does not make it another format.
        return bool(matches) and sum(matches) * 2 > len(matches)


FORMAT = GeminiApi()
