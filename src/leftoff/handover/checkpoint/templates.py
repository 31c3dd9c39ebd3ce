"""The words of checkpoints and dumps, as data: `templates.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

_PLACE = re.compile(r"\{([^{}\n]{1,80})\}")


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """How a checkpoint of one capacity is written down.

    Attributes:
        dump: what is asked of the agent, and what we write without it.
        project, specific: the sections of the two files; "" where the level has none.
    """

    capacity: str
    dump: str
    project: str
    specific: str = ""

    @property
    def headings(self) -> tuple[str, ...]:
        """The third-level headings of a dump, without the marks around them."""
        found = re.findall(r"(?m)^### ([^\n]+?):?$", self.dump)
        return tuple(h.partition(" (")[0] for h in found)

    @property
    def places(self) -> tuple[str, ...]:
        """What a dump leaves to be filled in by who writes it: the places named in words."""
        return tuple(p for p in _PLACE.findall(self.dump) if " " in p or p == "step")


class Words(Struct, frozen=True, forbid_unknown_fields=True):
    """Every text of the file."""

    handoff: str
    block: str
    frame: str
    ask: str
    ask_sections: str
    level: tuple[Level, ...]

    def at(self, capacity: str) -> Level:
        """The level of a capacity: "90", "95" or "98"."""
        return next(level for level in self.level if level.capacity == capacity)


def fill(template: str, names: Mapping[str, str]) -> str:
    """A template with what is in braces filled in; what nobody gives stands as it is.

    What is filled in is not looked at again, so that no value can stand for another.
    """
    return _PLACE.sub(lambda m: names.get(m[1], m[0]), template)


def _load() -> Words:
    text = Path(__file__).with_name("templates.toml").read_text("utf-8")
    words = msgspec.convert(tomllib.loads(text), Words)
    levels = tuple(
        msgspec.structs.replace(
            level,
            dump=level.dump.strip("\n"),
            project=level.project.strip("\n"),
            specific=level.specific.strip("\n"),
        )
        for level in words.level
    )
    return msgspec.structs.replace(
        words, level=levels, block=words.block.strip("\n"), ask=words.ask.strip("\n")
    )


WORDS = _load()
