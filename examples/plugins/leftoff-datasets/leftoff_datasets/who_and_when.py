"""Who&When logs of several agents, one JSON document each: docs/formats/who_and_when.md.

An orchestrator leads and other agents work for it. It speaks on the main thread with the
person; each of the others has a thread of its own, as subagents do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct

from leftoff.codec import LineDecoder
from leftoff.formats.lenient_json import dicts_of, fields_of, items_of, text_of, value_of
from leftoff.formats.openai_parts import content_text
from leftoff.formats.reader import Cursor, Format, Sample
from leftoff.model import (
    Message,
    Part,
    Reasoning,
    Record,
    SessionFacts,
    Text,
    Turn,
    Typed,
    Unknown,
)


class Item(Struct, gc=False):
    """One message."""

    role: str = ""
    name: Any = None
    content: Any = None


_ITEM = LineDecoder(Item)
_ORCHESTRATOR = "orchestrator"
_TERMINATION = "termination condition"
_PERSON_ROLES = frozenset({"human", "user"})


class WhoAndWhenReader(Struct):
    """Reads one log. Fields are its state."""

    record: ClassVar[Any] = bytes

    turns: int = 0
    prompted: bool = False

    def read(self, data: bytes, cursor: Cursor) -> Iterable[Record]:
        document = fields_of(data)
        identity = text_of(value_of(document.get("question_ID")))
        if identity:
            yield SessionFacts(id=identity)
        items = [bytes(item) for item in items_of(document.get("history"))]
        found = [_ITEM.decode(raw)[0] for raw in items]
        # Without an orchestrator all agents share one conversation.
        has_orchestrator = any(
            m and _speaker(m[0].role)[0].casefold() == _ORCHESTRATOR for m in found
        )
        for number, (raw, item) in enumerate(zip(items, found, strict=True)):
            cursor.raw = raw
            if item and item[0].role:
                yield self._message(item[0], number, has_orchestrator, cursor)
                if _speaker(item[0].role)[1] == _TERMINATION:
                    yield _run_end(content_text(item[0].content))
            else:
                yield Unknown("message")

    def _message(
        self, item: Item, number: int, has_orchestrator: bool, cursor: Cursor
    ) -> Message:
        speaker, note = _speaker(item.role)
        text = content_text(item.content)
        part: Part = Text(text)
        typed: tuple[Typed, ...] = ()
        role: Any = "assistant"
        agent, origin = "", "agent"
        if speaker.casefold() in _PERSON_ROLES and not text_of(item.name):
            role, origin = "user", "prompt"
            typed = (Typed(0, 0, len(text.rstrip())),) if text.strip() else ()
        elif note == "thought":
            part = Reasoning(text)
        elif note == _TERMINATION:  # written by the program, not by an agent
            role, origin = "system", "meta"
        if has_orchestrator and role == "assistant" and speaker.casefold() != _ORCHESTRATOR:
            agent = speaker
        self.turns += role == "assistant"
        return Message(
            cursor.take(agent),
            role,
            (part,),
            item=number,
            origin=origin,
            typed=typed,
            response=f"r{self.turns}" if role == "assistant" else "",
            agent=agent,
            raw=cursor.raw,
        )


def _run_end(text: str) -> Turn:
    """How the program ended the run: a limit cut the agents off."""
    why = text.strip().split("\n", 1)[0]
    return Turn("failed" if why.startswith("Max ") else "ended", why)


def _speaker(role: str) -> tuple[str, str]:
    """Who speaks, and what a role like "Orchestrator (thought)" says about it in brackets."""
    name, _, note = role.partition("(")
    return name.strip(), note.strip().removesuffix(")")


def _detect(sample: Sample) -> bool:
    if not {"history", "mistake_agent"} <= sample.keys:
        return False
    return any("role" in m for m in dicts_of(sample.document["history"])[:3])


FORMAT = Format("who_and_when", "document", WhoAndWhenReader, _detect)
