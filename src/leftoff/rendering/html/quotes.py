"""The messages that a page quotes: where they stand, what of them is shown, what is marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from leftoff.model import Media, Message, Reasoning, Ref, Text, ToolCall, ToolResult
from leftoff.rendering.messages import call_text, status_of, who
from leftoff.summary import ContextSummary
from leftoff.text.sanitize import clean
from leftoff.text.truncation import whole

MOST = 1_500
"""Messages that one page quotes."""

ROOM = 400_000
"""Characters of all quotations together, more or less."""

CALM = 1_600
"""Characters of one message where there are few."""

REACH = 20_000
"""Characters of a very long text to either side of what is quoted that the gate sees."""

_SPACE = re.compile(r"\s")

Key: TypeAlias = tuple[int, int]
"""Source and index of a message."""


class Segment(Struct, frozen=True):
    """A piece of a quoted text; what a claim was taken from is marked."""

    text: str
    marked: bool = False


def refs(summary: ContextSummary, others: tuple[int, ...] = ()) -> list[Ref]:
    """What a page cites, the most important first: each place once.

    Args:
        others: indexes of more messages of the main thread, such as those at which a
            threshold was crossed.
    """
    home = source_of(summary)
    found = dict.fromkeys(_refs(summary, home))
    found |= dict.fromkeys(Ref(home, message=index) for index in others)
    return list(found)


def source_of(summary: ContextSummary) -> int:
    """The source that holds the end of the thread that a summary tells of: that of its last
    stage, else of its last request."""
    known: list[Any] = [*summary.user_requests[-1:], *summary.progress.timeline[-1:]]
    return known[-1].ref.source if known else 0


def _refs(s: ContextSummary, home: int) -> Iterator[Ref]:
    yield from (d.ref for d in sorted(s.key_decisions, key=lambda d: -d.confidence))
    yield from (r.ref for r in s.user_requests)
    yield from (n.ref for n in s.next_steps)
    yield from (m.ref for m in s.progress.milestones)
    yield from (c.ref for c in s.context.compactions)
    yield from (e.ref for e in s.errors)
    yield from (f.ref for f in s.key_findings)
    yield from (c.ref for c in s.working_set.commands)
    if s.working_set.last_words.message >= 0:
        yield Ref(home, message=s.working_set.last_words.message)
    changed = [f for f in s.file_modifications if f.action != "read"]
    yield from (f.refs[-1] for f in changed if f.refs)
    yield from (f.refs[0] for f in changed if f.refs)
    yield from (e.refs[-1] for e in s.unknown_effects if e.refs)
    yield from (d.ref for child in s.session.children for d in child.decisions)
    # A change of stage is a point in the session: the message is known by its number only.
    yield from (Ref(c.ref.source, message=c.ref.message) for c in s.progress.timeline)


def material(
    summary: ContextSummary, wanted: list[Ref], messages: Mapping[Ref, Message]
) -> list[dict[str, Any]]:
    """What of each message may be shown, as plain raw values for the gate, in the order of
    `wanted`.

    Each is `{key, who, notes, parts: [{kind, title, text}], marks: [[part, words, at]]}`: `at`
    is where the words stand, as a share of the text. Where a message is not at hand, its parts
    are the words that the summary holds.
    """
    held = dict(_words(summary))
    quotes: dict[Key, dict[str, Any]] = {}
    places: dict[Key, list[Ref]] = {}
    for ref in wanted:
        key = (ref.source, ref.message)
        if key in places or len(places) < MOST:
            places.setdefault(key, []).append(ref)
    for key, there in places.items():
        message = next((messages[ref] for ref in there if ref in messages), None)
        if message is None:
            words = list(dict.fromkeys(held[ref] for ref in there if held.get(ref)))
            if not words:
                continue
            parts = [{"kind": "words", "title": "", "text": text} for text in words]
            quotes[key] = {"who": "", "notes": [], "parts": parts, "marks": []}
        else:
            quotes[key] = _quote(message, there)
        quotes[key]["key"] = list(key)
    return list(quotes.values())


def _words(summary: ContextSummary) -> Iterator[tuple[Ref, str]]:
    s = summary
    lists: tuple[tuple[Any, ...], ...] = (
        s.key_decisions,
        s.user_requests,
        s.next_steps,
        s.progress.milestones,
        s.errors,
        s.key_findings,
        s.working_set.commands,
        *(child.decisions for child in s.session.children),
    )
    for items in lists:
        yield from ((item.ref, item.text) for item in items)
    last = s.working_set.last_words
    if last.message >= 0:
        yield Ref(source_of(s), message=last.message), last.text


def _quote(message: Message, there: list[Ref]) -> dict[str, Any]:
    marks: list[list[Any]] = []
    spans: dict[int, list[tuple[int, int]]] = {}
    for ref in there:
        if ref.part is not None and ref.start is not None and ref.end is not None:
            spans.setdefault(ref.part, []).append((ref.start, ref.end))
    parts: list[dict[str, Any]] = []
    for number, part in enumerate(message.parts):
        shown = _part(part)
        if shown is None:
            continue
        text = shown["text"]
        cited = sorted(set(spans.get(number, ())))
        first, last = _reach(text, cited)
        shown["text"] = text[first:last]
        for start, end in cited:
            if first <= start < end <= last:
                at = (start - first) / max(1, last - first)
                marks.append([len(parts), text[start:end], at])
        parts.append(shown)
    notes = [note for note in (message.model, message.time[:19].replace("T", " ")) if note]
    return {"who": who(message), "notes": notes, "parts": parts, "marks": marks}


def _reach(text: str, cited: list[tuple[int, int]]) -> tuple[int, int]:
    """What of a text the gate must see, so that it judges what is shown as it would judge the
    whole: all of it, or much more than is shown."""
    if len(text) <= 3 * REACH:
        return 0, len(text)
    first = max(0, cited[0][0] - REACH) if cited else 0
    last = min(len(text), cited[-1][1] + REACH) if cited else REACH
    # Cut between words: half of a key is no key to any rule.
    begin = _SPACE.search(text, first, cited[0][0]) if first else None
    end = first + len(whole(text[first : last + 1], last - first))
    return begin.end() if begin else first, max(end, cited[-1][1]) if cited else end


def _part(part: Any) -> dict[str, Any] | None:
    if isinstance(part, Text):
        return {"kind": "text", "title": "", "text": part.text}
    if isinstance(part, Reasoning):
        return {"kind": "thought", "title": "thought", "text": part.text} if part.text else None
    if isinstance(part, ToolCall):
        return {"kind": "call", "title": part.name, "text": "", "input": part.input}
    if isinstance(part, ToolResult):
        return {"kind": "result", "title": status_of(part), "text": part.text}
    if isinstance(part, Media):
        return {"kind": "media", "title": part.media_type or "media", "text": ""}
    return None


# -- after the gate --------------------------------------------------------------------------


class Quote(Struct, frozen=True):
    """A quoted message, redacted: `parts` are (kind, title, segments)."""

    key: Key
    who: str
    notes: tuple[str, ...]
    parts: tuple[tuple[str, str, tuple[Segment, ...]], ...]

    @property
    def anchor(self) -> str:
        """The id of its place in the page."""
        return anchor(*self.key)


def anchor(source: int, message: int) -> str:
    """The id of a quoted message."""
    return f"m{message + 1}" if source == 0 else f"s{source}-m{message + 1}"


def quotations(found: list[dict[str, Any]], share: float = 1.0) -> list[Quote]:
    """The quotes in order of their messages, cut to what a page may hold.

    Args:
        found: redacted `material`.
        share: of `MOST` and `ROOM`.
    """
    kept = sorted(found[: max(1, round(MOST * share))], key=lambda quote: quote["key"])
    room = max(160, min(CALM, round(ROOM * share) // max(1, len(kept))))
    made = []
    for quote in kept:
        texts = [_shown(part) for part in quote["parts"]]
        marked: dict[int, list[tuple[int, int]]] = {}
        for part, words, at in quote["marks"]:
            marked.setdefault(part, []).append(_find(texts[part], clean(words), at))
        cited = [n for n in range(len(texts)) if n in marked]
        left = room
        parts: list[tuple[str, str, tuple[Segment, ...]]] = []
        for n, part in enumerate(quote["parts"]):
            # Parts without a claim are told in short beside those that have one.
            share = 120 if cited and n not in marked else max(120, left)
            segments = _excerpt(texts[n], marked.get(n, []), share)
            left -= sum(len(s.text) for s in segments)
            parts.append((part["kind"], part["title"], tuple(segments)))
        key = (quote["key"][0], quote["key"][1])
        made.append(Quote(key, quote["who"], tuple(quote["notes"]), tuple(parts)))
    return made


def _shown(part: dict[str, Any]) -> str:
    text = call_text(part["title"], part["input"]) if part["kind"] == "call" else part["text"]
    return clean(text).strip("\n")


def _find(text: str, words: str, at: float) -> tuple[int, int]:
    """Where the words stand in a text that redaction may have made shorter or longer: the
    occurrence nearest to where they stood; nothing of that place where they are gone."""
    words = words.strip()
    near = round(at * len(text))
    best, place, tries = -1, text.find(words) if words else -1, 0
    while place >= 0 and tries < 100:
        if best < 0 or abs(place - near) < abs(best - near):
            best = place
        place, tries = text.find(words, place + 1), tries + 1
    return (best, best + len(words)) if best >= 0 else (near, near)


def _excerpt(text: str, spans: list[tuple[int, int]], room: int) -> list[Segment]:
    """The marked words with what stands around them, in about `room` characters; very long
    ones are cut, and where there are very many, the last are left out."""
    if not spans:
        end = _word(text, room, 1) if len(text) > room else len(text)
        return _segments(text, [(0, end)], [])
    spans = [(s, e if e - s <= room else _word(text, s + room, 1)) for s, e in sorted(spans)]
    spans = _joined(spans)
    spoken = sum(end - start for start, end in spans)
    around = max(60, (room - spoken) // (2 * len(spans)))
    windows, shown = [], 0
    for start, end in spans:
        windows.append((_word(text, start - around, -1), _word(text, end + around, 1)))
        shown += windows[-1][1] - windows[-1][0]
        if shown > 2 * room:
            break
    return _segments(text, _joined(windows), spans)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _word(text: str, at: int, step: int) -> int:
    """The next place between words, at most 24 characters further out."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    for place in range(at, at + 24 * step, step):
        if not 0 < place < len(text):
            return max(0, min(place, len(text)))
        if text[place - 1].isspace() or text[place].isspace():
            return place
    return at


def _segments(
    text: str, windows: list[tuple[int, int]], marks: list[tuple[int, int]]
) -> list[Segment]:
    found: list[Segment] = []
    for number, (start, end) in enumerate(windows):
        if start > 0:
            found.append(Segment("… " if number == 0 else " … "))
        at = start
        for first, last in marks:
            if first >= start and last <= end:
                found.append(Segment(text[at:first]))
                found.append(Segment(text[first:last], marked=True))
                at = last
        found.append(Segment(text[at:end]))
    if windows and windows[-1][1] < len(text):
        found.append(Segment(" …"))
    return [segment for segment in found if segment.text]


def in_context(quote: Quote | None, words: str, around: int = 130) -> tuple[str, str]:
    """What stands before and after a claim's words in its paragraph, on one line, cut to
    `around` characters; both "" where the words are not found."""
    wanted = clean(words).strip()
    if quote is None or not wanted:
        return "", ""
    for _, _, segments in quote.parts:
        text = "".join(segment.text for segment in segments)
        place = text.find(wanted)
        if place < 0:
            continue
        before = text[:place].rpartition("\n\n")[2]
        after = text[place + len(wanted) :].partition("\n\n")[0]
        start = _word(before, len(before) - around, -1)
        end = _word(after, around, 1)
        head = ("… " if start else "") + before[start:]
        tail = after[:end] + (" …" if end < len(after) else "")
        return " ".join(head.split()), " ".join(tail.split())
    return "", ""
