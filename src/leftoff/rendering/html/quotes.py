"""The messages that a page quotes: which ones, their excerpts, and the marked spans.

`cited` and `quotable_messages` run before redaction, `build_quotes` after it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.budget.account import Account
from leftoff.codec import JsonObject
from leftoff.model import Message, Part, Reasoning, Ref, Text, ToolCall, ToolResult
from leftoff.rendering.messages import call_text, recorded_time, speaker_of, status_of
from leftoff.rendering.overview import main_source
from leftoff.summary import ContextSummary
from leftoff.text.sanitize import clean
from leftoff.text.truncation import whole

# Messages that one page quotes.
MAX_QUOTES = 1_500
# Characters of all quotes together, approximately. With the other limits here it keeps a page
# below `session.MAX_PAGE_BYTES`; chosen by hand.
MAX_TOTAL_LENGTH = 400_000
# Characters of one quoted message; less where there are many.
MAX_QUOTE_LENGTH = 1_600
# Characters before and after a cited span that are given to the redactor: enough context for
# its rules without redacting megabytes. Chosen by hand.
GATE_MARGIN = 20_000
# Characters beside the words of a claim. Chosen by hand.
MAX_AROUND = 130
_SPACE = re.compile(r"\s")
# Source index and message index.
MessageKey: TypeAlias = tuple[int, int]


class Segment(Struct, frozen=True):
    """A run of a quoted text; `marked` if a claim of the summary was taken from it."""

    text: str
    marked: bool = False


def cited(summary: ContextSummary, account: Account | None = None) -> list[Ref]:
    """The references whose messages a page quotes, the most important first, without
    duplicates; last those of the account. One without line and item refers to the message by
    its number."""
    return list(dict.fromkeys(_refs_by_importance(summary, account)))


def _refs_by_importance(s: ContextSummary, account: Account | None) -> Iterator[Ref]:
    home = main_source(s)
    decisions = sorted(s.key_decisions, key=lambda d: -d.confidence)
    lists: tuple[Iterable[Any], ...] = (
        *(decisions, s.user_requests, s.next_steps, s.progress.milestones),
        *(s.context.compactions, s.errors, s.key_findings, s.checks[-200:], s.git),
    )
    yield from (item.ref for items in lists for item in items)
    if s.turn.ref is not None:
        yield Ref(s.turn.ref.source, message=s.turn.ref.message)
    yield from (t.ref for t in s.working_set.to_dos)
    yield from (c.ref for c in s.working_set.commands)
    if s.working_set.last_words.message >= 0:
        yield Ref(home, message=s.working_set.last_words.message)
    changed = [f for f in s.file_modifications if f.action != "read"]
    yield from (f.refs[-1] for f in changed if f.refs)
    yield from (f.refs[0] for f in changed if f.refs)
    yield from (e.refs[-1] for e in s.unknown_effects if e.refs)
    yield from (d.ref for child in s.session.children for d in child.decisions)
    # A change of stage has no span: only the message is cited.
    yield from (Ref(c.ref.source, message=c.ref.message) for c in s.progress.timeline)
    yield from (Ref(home, message=c.message) for c in (account.crossed if account else ()))


def quotable_messages(
    summary: ContextSummary, wanted: list[Ref], messages: Mapping[Ref, Message]
) -> list[JsonObject]:
    """The messages to quote as plain values, not yet redacted, in the order of `wanted`.

    Each is `{key, who, notes, parts: [{kind, title, text}], marks: [[part, words, at]]}`; `at`
    is the position of the words as a fraction of the text, 0 to 1. Without the message, its
    parts are the texts that the summary itself holds."""
    summary_texts = dict(_summary_texts(summary))
    quotes: list[JsonObject] = []
    refs_of_message: dict[MessageKey, list[Ref]] = {}
    for ref in wanted:
        key = (ref.source, ref.message)
        # A message that is quoted anyway may have any number of marks.
        if key in refs_of_message or len(refs_of_message) < MAX_QUOTES:
            refs_of_message.setdefault(key, []).append(ref)
    for key, refs in refs_of_message.items():
        message = next((messages[ref] for ref in refs if ref in messages), None)
        if message is not None:
            quotes.append({**_raw_quote(message, refs), "key": list(key)})
            continue
        words = dict.fromkeys(summary_texts[ref] for ref in refs if summary_texts.get(ref))
        parts = [{"kind": "words", "title": "", "text": text} for text in words]
        if parts:
            held = {"who": "", "notes": [], "parts": parts, "marks": []}
            quotes.append({**held, "key": list(key)})
    return quotes


def _summary_texts(summary: ContextSummary) -> Iterator[tuple[Ref, str]]:
    s = summary
    lists: tuple[tuple[Any, ...], ...] = (
        *(s.key_decisions, s.user_requests, s.next_steps, s.progress.milestones, s.errors),
        *(s.key_findings, s.working_set.commands),
        *(child.decisions for child in s.session.children),
    )
    for items in lists:
        yield from ((item.ref, item.text) for item in items)
    last = s.working_set.last_words
    if last.message >= 0:
        yield Ref(main_source(s), message=last.message), last.text


def _raw_quote(message: Message, refs: list[Ref]) -> JsonObject:
    marks: list[list[object]] = []
    spans: dict[int, list[tuple[int, int]]] = {}
    for ref in refs:
        if ref.part is not None and ref.start is not None and ref.end is not None:
            spans.setdefault(ref.part, []).append((ref.start, ref.end))
    parts: list[JsonObject] = []
    for number, part in enumerate(message.parts):
        shown = _raw_part(part)
        if shown is None:
            continue
        text = shown["text"]
        cited_spans = sorted(set(spans.get(number, ())))
        first, last = _redaction_window(text, cited_spans)
        shown["text"] = text[first:last]
        for start, end in cited_spans:
            if first <= start < end <= last:
                at = (start - first) / max(1, last - first)
                marks.append([len(parts), text[start:end], at])
        parts.append(shown)
    notes = [note for note in (message.model, recorded_time(message.time)) if note]
    return {"who": speaker_of(message), "notes": notes, "parts": parts, "marks": marks}


def _redaction_window(text: str, cited_spans: list[tuple[int, int]]) -> tuple[int, int]:
    """Start and end of the text that is given to the redactor, so that it finds the same
    secrets as in the whole text: all of it, or `GATE_MARGIN` around the cited spans."""
    if len(text) <= 3 * GATE_MARGIN:
        return 0, len(text)
    first = max(0, cited_spans[0][0] - GATE_MARGIN) if cited_spans else 0
    last = min(len(text), cited_spans[-1][1] + GATE_MARGIN) if cited_spans else GATE_MARGIN
    # Cut between words: no redaction rule recognises half of a key.
    begin = _SPACE.search(text, first, cited_spans[0][0]) if first else None
    end = first + len(whole(text[first : last + 1], last - first))
    return begin.end() if begin else first, max(end, cited_spans[-1][1]) if cited_spans else end


def _raw_part(part: Part) -> JsonObject | None:
    if isinstance(part, Text):
        return {"kind": "text", "title": "", "text": part.text}
    if isinstance(part, Reasoning):
        return {"kind": "thought", "title": "thought", "text": part.text} if part.text else None
    if isinstance(part, ToolCall):
        return {"kind": "call", "title": part.name, "text": "", "input": part.input}
    if isinstance(part, ToolResult):
        return {"kind": "result", "title": status_of(part), "text": part.text}
    return {"kind": "media", "title": part.media_type or "media", "text": ""}


# -- after the gate --------------------------------------------------------------------------


class Quote(Struct, frozen=True):
    """A quoted message, redacted; `parts` are (kind, title, segments)."""

    key: MessageKey
    speaker: str
    notes: tuple[str, ...]
    parts: tuple[tuple[str, str, tuple[Segment, ...]], ...]

    @property
    def anchor(self) -> str:
        """The id of its element in the page."""
        source, message = self.key
        return f"m{message + 1}" if source == 0 else f"s{source}-m{message + 1}"


def build_quotes(found: list[JsonObject], share: float = 1.0) -> list[Quote]:
    """The quotes of what `quotable_messages` returned, redacted, in order of their messages,
    truncated to a share of the limits of a page."""
    chosen = found[: max(1, round(MAX_QUOTES * share))]
    selected = sorted(chosen, key=lambda quote: quote["key"])
    each = round(MAX_TOTAL_LENGTH * share) // max(1, len(selected))
    quote_length = max(160, min(MAX_QUOTE_LENGTH, each))
    quotes = []
    for quote in selected:
        texts = [_part_text(part) for part in quote["parts"]]
        marked: dict[int, list[tuple[int, int]]] = {}
        for part, words, at in quote["marks"]:
            marked.setdefault(part, []).append(_locate(texts[part], clean(words), at))
        remaining_length = quote_length
        parts: list[tuple[str, str, tuple[Segment, ...]]] = []
        for n, part in enumerate(quote["parts"]):
            # Next to parts with a marked span, the others are only shown in short.
            short = 120 if marked and n not in marked else max(120, remaining_length)
            segments = _excerpt(texts[n], marked.get(n, []), short)
            remaining_length -= sum(len(s.text) for s in segments)
            parts.append((part["kind"], part["title"], tuple(segments)))
        key = (quote["key"][0], quote["key"][1])
        quotes.append(Quote(key, quote["who"], tuple(quote["notes"]), tuple(parts)))
    return quotes


def _part_text(part: JsonObject) -> str:
    text = call_text(part["title"], part["input"]) if part["kind"] == "call" else part["text"]
    return clean(text).strip("\n")


def _locate(text: str, words: str, at: float) -> tuple[int, int]:
    """The span of the words in a text whose length redaction may have changed: the occurrence
    nearest to `at`, else an empty span there."""
    words = words.strip()
    near = round(at * len(text))
    places: list[int] = []
    place = text.find(words) if words else -1
    # A word that stands thousands of times must not take time with their number.
    while place >= 0 and len(places) < 100:
        places.append(place)
        place = text.find(words, place + 1)
    best = min(places, default=None, key=lambda one: abs(one - near))
    return (near, near) if best is None else (best, best + len(words))


def _excerpt(text: str, spans: list[tuple[int, int]], quote_length: int) -> list[Segment]:
    """The marked spans with context, in about `quote_length` characters. A span that is longer
    is truncated; of very many, the last are left out."""
    if not spans:
        end = _word_boundary(text, quote_length, 1) if len(text) > quote_length else len(text)
        return _segments(text, [(0, end)], [])
    spans = _merged(
        (s, e if e - s <= quote_length else _word_boundary(text, s + quote_length, 1))
        for s, e in sorted(spans)
    )
    marked_length = sum(end - start for start, end in spans)
    around = max(60, (quote_length - marked_length) // (2 * len(spans)))
    windows, shown = [], 0
    for start, end in spans:
        first = _word_boundary(text, start - around, -1)
        windows.append((first, _word_boundary(text, end + around, 1)))
        shown += windows[-1][1] - first
        if shown > 2 * quote_length:
            break
    return _segments(text, _merged(windows), spans)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _word_boundary(text: str, at: int, step: int) -> int:
    """The nearest word boundary in the direction of `step`, at most 24 characters away."""
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


def surrounding_text(quote: Quote | None, words: str) -> tuple[str, str]:
    """The text before and after a claim's words in their paragraph, each on one line of at most
    `MAX_AROUND` characters; both "" if the words are not found."""
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
        start = _word_boundary(before, len(before) - MAX_AROUND, -1)
        end = _word_boundary(after, MAX_AROUND, 1)
        head = ("… " if start else "") + before[start:]
        tail = after[:end] + (" …" if end < len(after) else "")
        return " ".join(head.split()), " ".join(tail.split())
    return "", ""
