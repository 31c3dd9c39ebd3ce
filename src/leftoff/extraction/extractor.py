"""The protocol of an extractor, and `View`, its access to one message.

`View` holds what several extractors need: references, hits of the fused gate, the call that a
result belongs to."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol, TypeVar

from msgspec.structs import replace

from leftoff.extraction.evidence import Called, Evidence
from leftoff.extraction.rules import Hit
from leftoff.model import Message, Ref, ToolCall, ToolResult, record_hash, slice_hash
from leftoff.registry import Registry
from leftoff.text.markdown import Layout

T = TypeVar("T")

# Code points; a longer span is not taken for a sentence. Chosen by hand; not measured.
MAX_SENTENCE = 600

# Feature bits of a message; an extractor names in `wants` the ones that it needs.
# TYPED: a person's words, an accepted plan, a notice about a job in the background. TEXT: the
# agent's visible words. HIT: a rule fired on them. CALL, RESULT: of any tool. FILE: a call that
# reads, changes or runs something, EDIT: one that changes a file by itself. PLAN: a call that
# writes the to-do list. FAILED: a result that is an error. OUTPUT: an output rule fired. STAGE:
# a system message names a stage. CROWDED, which none needs: more was found than is looked at.
TYPED, CALL, RESULT, HIT, TEXT, FILE, EDIT, PLAN, FAILED, OUTPUT, STAGE, CROWDED = (
    1 << n for n in range(12)
)


class View:
    """One message as the extractors see it.

    Attributes:
        message: the message.
        texts: its texts, each with the number of its part.
        tools: its calls and results in order, each with the number of its part, and with the
            call itself or the one that the result answers.
        calls: the call that each tool result answers, by part index.
        hits: matches of the fused rules in the agent's visible text, by extractor.
        outputs: matches of the output rules in tool results, by part index."""

    __slots__ = ("_record_hash", "calls", "hits", "message", "outputs", "texts", "tools")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.texts: list[tuple[int, str]] = []
        self.tools: list[tuple[int, ToolCall | ToolResult, Called]] = []
        self.calls: dict[int, Called] = {}
        self.hits: dict[str, list[Hit]] = {}
        self.outputs: dict[int, list[Hit]] = {}
        self._record_hash = ""

    def output_hits(self, topic: str) -> Iterator[tuple[Hit, str, Called]]:
        """The matches of a topic's output rules, each with the output and its call."""
        for number, part, call in self.tools if self.outputs else ():
            for hit in self.outputs.get(number, ()):
                if hit.rule.topic == topic:
                    yield hit, getattr(part, "text", ""), call

    def record_ref(self, part: int | None = None) -> Ref:
        """A reference to a whole part that is no text: a tool call, a compaction."""
        m = self.message
        self._record_hash = self._record_hash or record_hash(m.raw)
        return Ref(0, m.line, m.item, m.index, part, None, None, self._record_hash)

    def text_place(self, part: int, start: int, end: int) -> Ref:
        """A reference to a slice of a part's text without its hash, for evidence that is mostly
        discarded; `slice_hash` gives the hash later."""
        m = self.message
        return Ref(0, m.line, m.item, m.index, part, start, end)

    def text_ref(self, part: int, start: int, end: int) -> Ref:
        """A reference to a slice of a part's text."""
        text: str = getattr(self.message.parts[part], "text", "")
        return replace(self.text_place(part, start, end), hash=slice_hash(text[start:end]))

    def sentences(
        self, extractor: str, *, either_end: bool = False
    ) -> Iterator[tuple[Hit, Layout, int, int]]:
        """Each hit of an extractor's rules in prose, with the layout of its part and the start
        and end of its sentence. Hits in code and block quotes are left out; of a rule's hits in
        one sentence only the first is given.

        Args:
            either_end: a hit may begin or end in code ("`go test` passes"); it is enough if one
                of its ends is in prose, and its sentence is that of the last one that is."""
        given: set[tuple[str, int, int]] = set()
        # By rule, the latest sentence that was looked at: a hit inside it needs no look-up.
        settled: dict[str, tuple[int, int]] = {}
        part, layout = -1, Layout("")
        for hit in self.hits.get(extractor, ()):
            last = max(hit.start, hit.end - 1) if either_end else hit.start
            if hit.part != part:
                part = hit.part
                layout = Layout(getattr(self.message.parts[part], "text", ""))
                settled.clear()
            start, end = settled.get(hit.rule.id, (0, 0))
            if start <= hit.start and last < end:
                continue
            start = end = 0
            for place in (last, hit.start):
                if start == end and not layout.in_code(place):
                    start, end = layout.sentence_at(place)
            if start == end:
                continue
            settled[hit.rule.id] = start, end
            if end - start <= MAX_SENTENCE and (hit.rule.id, hit.part, start) not in given:
                given.add((hit.rule.id, hit.part, start))
                yield hit, layout, start, end


def remember(known: dict[str, T], key: str, value: T, most: int) -> None:
    """Adds an entry; of too many, the oldest is forgotten."""
    known[key] = value
    while len(known) > most:
        del known[next(iter(known))]


class Extractor(Protocol):
    """Finds one kind of evidence in a session.

    A msgspec Struct: its fields are all its state between messages. It gets each message with
    a feature that it wants, in file order; it must not read files and must not judge by what
    comes later. For malformed input it yields less, never an exception. Every piece of evidence
    has a `Ref`."""

    name: ClassVar[str]
    wants: ClassVar[int]

    def see(self, view: View) -> Iterable[Evidence]:
        """The evidence in one message."""
        ...


# Every known extractor. `written_lines`, `seen`, `spacy` and those of other packages run only
# when named.
extractors: Registry[type[Extractor]] = Registry(
    "extractor",
    {
        "requests": "leftoff.extraction.requests:Requests",
        "decisions": "leftoff.extraction.decisions:Decisions",
        "progress": "leftoff.extraction.progress:Progress",
        "files": "leftoff.extraction.files:Files",
        "edits": "leftoff.extraction.edits:Edits",
        "insights": "leftoff.extraction.insights:Insights",
        "checks": "leftoff.extraction.checks:Checks",
        "written_lines": "leftoff.extraction.edits:WrittenLines",
        "seen": "leftoff.extraction.edits:Seen",
        "spacy": "leftoff.extraction.decision_spacy:SpacyDecisions",
    },
)
