"""The compactions of a recording: the messages before and after each, what its summary lacks,
and what was found out again after it.

A *natural* cut is a compaction: the recorder replaced the conversation with a summary that a
model wrote. An *artificial* cut is placed after a share of the messages of a session that
has no compaction."""

from collections.abc import Iterator

from msgspec import Struct

from leftoff.analysis.session_pass import Pass
from leftoff.api import MessageCollector
from leftoff.errors import FormatError
from leftoff.formats import native
from leftoff.handover.facts import handover_of
from leftoff.handover.lost import Audit, compare, points
from leftoff.handover.rediscovery import Rework, rework
from leftoff.model import Message
from leftoff.sources.open import open_lines
from leftoff.summary import ContextSummary

# Minimum length of a summary; a shorter text only announces one. Chosen by hand.
MIN_SUMMARY_CHARACTERS = 500
# Shares of a session's messages before the artificial cuts. Chosen by hand.
CUT_SHARES = (0.25, 0.5, 0.75)


class Cut(Struct, frozen=True):
    """A session before and after one place."""

    name: str  # `compaction 1` or `50%`
    natural: bool  # whether the cut is a compaction
    place: int  # the first line or item after the cut
    # The messages before it, in file order, with those of subagents.
    prefix: tuple[Message, ...]
    # The messages after it, up to the next compaction, without the summary.
    future: tuple[Message, ...]
    recorded: str  # the recorder's own summary of the prefix; "" at an artificial cut
    data: tuple[bytes, ...]  # the lines of the prefix, a valid recording


class _Recording(Struct):
    """The messages and lines of a recording; `counts`: number of messages after each line."""

    messages: list[Message]
    lines: list[bytes]
    counts: list[int]


def _read(path: str) -> _Recording:
    reading = MessageCollector(path, None)
    found = _Recording([], [], [0])
    with open_lines(path) as lines:
        for line in lines:
            found.lines.append(line)
            reading.feed_lines((line,))
            found.messages += reading.take()
            found.counts.append(len(found.messages))
    reading.close()
    found.messages += reading.take()
    return found


def cuts(path: str, *, natural: bool = True, artificial: bool = True) -> Iterator[Cut]:
    """The cuts of one recording, in file order; `SourceError` or `FormatError` where it cannot
    be read."""
    found = _read(path)
    summaries = [
        n
        for n, m in enumerate(found.messages)
        if m.origin == "compaction" and len(m.text) > MIN_SUMMARY_CHARACTERS
    ]
    if summaries and natural:
        ends = [*summaries[1:], len(found.messages)]
        for number, (start, end) in enumerate(zip(summaries, ends, strict=True), 1):
            yield _cut(found, f"compaction {number}", start, end)
    if not summaries and artificial:
        main = [n for n, m in enumerate(found.messages) if not m.agent]
        places = [main[int(share * len(main))] for share in CUT_SHARES] if main else []
        for share, at in zip(CUT_SHARES, places, strict=False):
            if at:
                yield _cut(found, f"{share:.0%}", at, len(found.messages))


def _cut(found: _Recording, name: str, at: int, end: int) -> Cut:
    first = found.messages[at]
    recorded = first.text if first.origin == "compaction" else ""
    place = place_of(first)
    if first.line is None:
        # One JSON document: the messages before the cut become a recording of their own, so
        # that fields about the whole session are left out.
        prefix = found.messages[:at]
        data: tuple[bytes, ...] = tuple(native.write(prefix).splitlines(keepends=True))
    else:
        # Until the format is known the reader holds messages back, so the count may be 0.
        prefix = found.messages[: found.counts[place - 1] or at]
        data = tuple(found.lines[: place - 1])
    known = {m.index for m in prefix if not m.agent}
    future = [m for m in found.messages[at:end] if m.index not in known or m.agent]
    if recorded:
        future = [m for m in future if m.origin != "compaction"]
    return Cut(name, bool(recorded), place, tuple(prefix), tuple(future), recorded, data)


def place_of(message: Message) -> int:
    """Line or item of a message; -1 for neither."""
    place = message.line if message.line is not None else message.item
    return -1 if place is None else place


def audit_compactions(path: str) -> Iterator[Audit]:
    """Audits every compaction of a recording whose summary can be read, in file order. One at
    the very beginning is left out, because the messages before it are in another file."""
    for number, cut, before in _summarized_cuts(path):
        shares, lost = compare(points(before), cut.recorded)
        yield Audit(number, cut.place, len(cut.recorded), shares, lost)


def rework_after_compactions(path: str) -> Iterator[Rework]:
    """What was found out again after every compaction whose summary can be read, in file
    order."""
    for number, cut, before in _summarized_cuts(path):
        ends = (number, cut.place, cut.prefix, cut.future)
        yield rework(*ends, handover=handover_of(before), recorded=cut.recorded)


def _summarized_cuts(path: str) -> Iterator[tuple[int, Cut, ContextSummary]]:
    """The number of each compaction from 1, its cut, and leftoff's summary of the messages
    before it; cuts without any are left out."""
    reading = Pass(path)
    fed: tuple[bytes, ...] = ()
    for number, cut in enumerate(cuts(path, artificial=False), 1):
        # The lines before a cut begin with those before the one before it, and a pass may be
        # asked for its summary at any time.
        if cut.data[: len(fed)] != fed:
            reading, fed = Pass(path), ()
        reading.feed_lines(cut.data[len(fed) :])
        fed = cut.data
        try:
            before = reading.summary()
        except FormatError:  # no message before the cut
            continue
        yield number, cut, before
