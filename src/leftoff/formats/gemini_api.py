"""Gemini API histories: a list of `Content`, role and parts: docs/formats/gemini_api.md.

Gemini CLI writes them as checkpoints and exports, alone or under `history` or `clientHistory`
of an object; `Message.item` counts that list."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import field

from leftoff.formats.gemini_parts import SNAPSHOT, GeminiParts
from leftoff.formats.lenient_json import Fields
from leftoff.formats.reader import Cursor, Format, ItemReader, items_under
from leftoff.model import Record, Text, Unknown

_STOCK_REPLY = Text("Got it. Thanks for the additional context!")


class GeminiApiReader(ItemReader):
    """Reads one document."""

    lists = ("clientHistory", "history")

    parts: GeminiParts = field(default_factory=GeminiParts)

    def item(self, item: Fields, cursor: Cursor) -> Iterable[Record]:
        role = item.text("role")
        if role not in ("user", "model"):
            yield Unknown(f"role/{role}")
            return
        content = self.parts.content(item.get("parts"), role == "user")
        if role == "model":
            # The recorder's own stock reply to the context that it puts in front.
            origin = "meta" if content.parts == (_STOCK_REPLY,) else "agent"
            yield cursor.message("assistant", content.parts, origin, response=None)
        elif not content.results and any(
            type(p) is Text and p.text.startswith(SNAPSHOT) for p in content.parts
        ):
            yield cursor.compaction()
            yield cursor.message("user", content.parts, "compaction")
        else:
            origin = "tool" if content.results else ""
            yield cursor.message("user", content.parts, origin, content.typed)


def _is_content(item: dict[str, object]) -> bool:
    return item.get("role") in ("user", "model") and "parts" in item


FORMAT = Format(
    "gemini_api", "document", GeminiApiReader, items_under(_is_content, *GeminiApiReader.lists)
)
