"""Where a recording is cut, and what stands before and after the cut.

A *natural* cut lies where the recorder itself replaced the conversation by a summary that a
model wrote. An *artificial* cut lies after a share of the messages of a session without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from leftoff.api import Collector
from leftoff.evaluation.sessions import place_of
from leftoff.formats import native
from leftoff.model import Message, ToolCall
from leftoff.sources.open import lines_of

Measure: TypeAlias = Callable[[str], int]
"""How long a text is."""

SHARES = (0.25, 0.5, 0.75)
"""Of the messages of a session, before an artificial cut."""


class Cut(Struct, frozen=True):
    """A session up to some place, and after it.

    Attributes:
        name: `compaction 1`, `50 %`: which cut of its session.
        natural: whether the recorder made it.
        place: the first line or item that is not read any more.
        prefix: the messages before it, in file order, subagents' among them.
        future: the messages after it, up to the next compaction; the summary is none.
        recorded: the recorder's own summary of the prefix; "" at an artificial cut.
        data: the prefix as bytes that can be read as a recording.
    """

    name: str
    natural: bool
    place: int
    prefix: tuple[Message, ...]
    future: tuple[Message, ...]
    recorded: str
    data: tuple[bytes, ...]


class _Read(Struct):
    """A recording, and how far its messages had come after each of its lines."""

    messages: list[Message]
    lines: list[bytes]
    counts: list[int]


def _read(path: str) -> _Read:
    reading = Collector(path, None)
    found = _Read([], [], [0])
    with lines_of(path) as lines:
        for line in lines:
            found.lines.append(line)
            reading.feed_lines((line,))
            found.messages += reading.take()
            found.counts.append(len(found.messages))
    reading.close()
    found.messages += reading.take()
    return found


def cuts(path: str, *, natural: bool = True, artificial: bool = True) -> Iterator[Cut]:
    """The cuts of one recording, in file order.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it holds no message in a known format.
    """
    found = _read(path)
    marks = [n for n, m in enumerate(found.messages) if m.origin == "compaction" and m.text]
    marks = [n for n in marks if len(found.messages[n].text) > SHORTEST]
    if marks and natural:
        ends = [*marks[1:], len(found.messages)]
        for number, (mark, end) in enumerate(zip(marks, ends, strict=True), 1):
            yield _cut(found, f"compaction {number}", mark, end)
    if not marks and artificial:
        main = [n for n, m in enumerate(found.messages) if not m.agent]
        places = [main[int(share * len(main))] for share in SHARES] if main else []
        for share, at in zip(SHARES, places, strict=False):
            if at:
                yield _cut(found, f"{share:.0%}", at, len(found.messages))


SHORTEST = 500
"""Characters of a summary; what is shorter only announces that one follows."""


def _cut(found: _Read, name: str, at: int, end: int) -> Cut:
    first = found.messages[at]
    recorded = first.text if first.origin == "compaction" else ""
    place = place_of(first)
    if first.line is None:
        # One document: its messages up to here as a recording of their own, so that nothing
        # that the document tells of the whole session gets in.
        prefix = found.messages[:at]
        data: tuple[bytes, ...] = tuple(native.write(prefix).splitlines(keepends=True))
    else:
        prefix = found.messages[: found.counts[place - 1]]
        data = tuple(found.lines[: place - 1])
    known = {m.index for m in prefix if not m.agent}
    future = [m for m in found.messages[at:end] if m.index not in known or m.agent]
    if recorded:
        future = [m for m in future if m.origin != "compaction"]
    return Cut(name, bool(recorded), place, tuple(prefix), tuple(future), recorded, data)


CALL = 200
"""Characters of a tool call's arguments in a plain tail."""


def tail(cut: Cut, fits: int, measure: Measure) -> str:
    """The plain end of the session: the last words and, on one line each, the last tool calls
    that fit. Results are left out: with them hardly a word would fit."""
    return _tail(cut, fits, measure, calls=True)


def words_of_tail(cut: Cut, fits: int, measure: Measure) -> str:
    """The last words of person and agent that fit, without tool calls."""
    return _tail(cut, fits, measure, calls=False)


def _tail(cut: Cut, fits: int, measure: Measure, *, calls: bool) -> str:
    kept: list[str] = []
    room = fits
    for message in reversed(cut.prefix):
        block = _block(message, calls=calls)
        price = measure(block)
        if price <= room:
            kept.append(block)
            room -= price
            continue
        # The first of the messages begins where there is room for the rest of it.
        lines = block.splitlines(keepends=True)
        while lines and measure("".join(lines)) > room:
            del lines[0]
        kept.append("".join(lines))
        break
    return "".join(reversed(kept))


def _block(message: Message, *, calls: bool) -> str:
    if message.agent or message.origin not in ("prompt", "agent"):
        return ""
    said = [message.text] if message.text.strip() else []
    for part in message.parts if calls else ():
        if type(part) is ToolCall:
            given = " ".join(flat(part.input).split())
            cut = "…" if len(given) > CALL else ""
            said.append(f"[{part.name} {given[:CALL]}{cut}]")
    return f"{message.role}: " + "\n".join(said) + "\n" if said else ""


def flat(value: Any) -> str:
    """Every text in a call's arguments, one below the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(flat(v) for v in value.values())
    if isinstance(value, list):
        return "\n".join(flat(v) for v in value)
    return "" if value is None else str(value)
