"""Who&When logs of several agents, one JSON document each: docs/formats/who_and_when.md.

An orchestrator leads and other agents work for it. It speaks on the main thread with the
person; each of the others has a thread of its own, as subagents do.
"""

from __future__ import annotations

from collections.abc import Iterable

from leftoff.formats.lenient_json import Fields, dicts_of
from leftoff.formats.openai_parts import content_text
from leftoff.formats.reader import Cursor, Format, ItemReader, Sample
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

_ORCHESTRATOR = "orchestrator"
# Written by the program, not by an agent.
_TERMINATION = "termination condition"
_PERSON_ROLES = frozenset({"human", "user"})


class WhoAndWhenReader(ItemReader):
    """Reads one log. Fields are its state."""

    lists = ("history",)

    turns: int = 0
    # Without an orchestrator all agents share one conversation.
    led: bool = False

    def head(self, document: Fields) -> Iterable[Record]:
        if identity := document.text("question_ID"):
            yield SessionFacts(id=identity)
        speakers = (_speaker(m.text("role"))[0] for m in document.each("history"))
        self.led = any(speaker.casefold() == _ORCHESTRATOR for speaker in speakers)

    def item(self, item: Fields, cursor: Cursor) -> Iterable[Record]:
        speaker, note = _speaker(item.text("role"))
        text = content_text(item.get("content"))
        if not speaker:
            yield Unknown("message")
        elif speaker.casefold() in _PERSON_ROLES and not item.text("name"):
            # The question stands in the person's place, whole, even where it is empty.
            typed = (Typed(0, 0, len(text.rstrip())),) if text.strip() else ()
            yield cursor.message("user", (Text(text),), "prompt", typed)
        elif note == _TERMINATION:
            yield cursor.message("system", (Text(text),), "meta")
            yield _run_end(text)
        else:
            yield self._said(
                speaker, Reasoning(text) if note == "thought" else Text(text), cursor
            )

    def _said(self, speaker: str, part: Part, cursor: Cursor) -> Message:
        self.turns += 1
        inner = self.led and speaker.casefold() != _ORCHESTRATOR
        response, agent = f"r{self.turns}", speaker if inner else ""
        return cursor.message("assistant", (part,), response=response, agent=agent)


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
