"""What every layout shares: places, invented times and ids, and the registry of layouts."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from benchmarks.gold.dialogues import Dialogue


@dataclass(frozen=True)
class Place:
    """Where a step was written: its first record, and the one that holds its words (None if
    it has none), as lines or items."""

    first: int
    words: int | None


Written: TypeAlias = tuple[bytes, list[Place]]
Writer: TypeAlias = Callable[[Dialogue], Written]

LAYOUTS: dict[str, tuple[str, Writer]] = {}
"""Name of a format: the ending of its files, and what writes them."""


def layout(name: str, ending: str) -> Callable[[Writer], Writer]:
    """Adds a layout under the name that dialogues give as their format."""

    def add(writer: Writer) -> Writer:
        LAYOUTS[name] = (ending, writer)
        return writer

    return add


class Maker:
    """Times and ids that depend on nothing but the dialogue's name and the order of asking."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.name = dialogue.name
        self.cwd = dialogue.head["cwd"]
        self.model = dialogue.head["model"]
        self.now = datetime.fromisoformat(dialogue.head["started"])
        self.asked = 0
        self.session = self.uuid()

    def bytes(self) -> bytes:
        self.asked += 1
        return hashlib.sha256(f"{self.name}/{self.asked}".encode()).digest()

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=self.bytes()[:16], version=4))

    def id(self, before: str, length: int = 22) -> str:
        letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
        return before + "".join(letters[b % len(letters)] for b in self.bytes()[:length])

    def hex(self, length: int) -> str:
        return self.bytes().hex()[:length]

    def time(self, seconds: float = 0.0) -> str:
        """The time now, after some seconds and a little more have passed."""
        self.now += timedelta(seconds=seconds, milliseconds=5 * self.bytes()[0])
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.now.microsecond // 1000:03d}Z"

    def millis(self, seconds: float = 0.0) -> int:
        self.time(seconds)
        return int(self.now.timestamp() * 1000)


def tokens(text: str) -> int:
    """A plausible number of tokens for words that no model wrote."""
    return len(text.encode()) // 4 + 3


def lines(values: list[Any]) -> bytes:
    rows = [json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in values]
    return ("\n".join(rows) + "\n").encode()


def document(value: Any, indent: int = 1) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode()
