"""How much of a cut a text keeps: labelled statements, files, names, facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from leftoff.evaluation.labels import Labels
from leftoff.evaluation.resume_cuts import Cut, Measure
from leftoff.evaluation.resume_texts import LONGEST, Reading, content_words, words
from leftoff.evaluation.resume_truth import Fact, Name, Truth

IMPORTANT = 2
"""Decisions below this importance are minor; a log may do without them."""

STANDING = ("constraint", "correction", "choice")
"""Kinds of directives that bind all that follows."""

MEASURES = (
    "decisions",
    "directives",
    "standing directives",
    "files",
    "names",
    "names outside code",
    "names by weight",
    "oracle of names by weight",
    "relations",
    "stale",
    "grounded",
    "density",
    "redundancy",
)

_WORDS_OF = {
    "created": "created create creates new added add wrote written",
    "modified": "modified modify changed change edited edit updated update added fixed "
    "extended rewrote rewritten replaced refactored removed renamed",
    "deleted": "deleted delete removed remove dropped",
    "passed": "pass passed passes passing ok succeeded succeeds success green clean works "
    "worked",
    "failed": "fail failed fails failing failure failures error errors broken broke red",
    "pending": "pending todo open remaining next left",
    "in_progress": "in_progress progress current currently ongoing",
    "completed": "completed complete done finished finish",
}
VALUE_WORDS = {value: frozenset(some.split()) for value, some in _WORDS_OF.items()}

_HEADING = re.compile(r"\s*(?:#+ |\*\*[^*]+\*\*:?\s*$|(?![-*+•])(?:\d+\. )?[^.!?]{1,80}:\s*$)")


class Share(Struct, frozen=True):
    """A part of a whole; they add up over cuts and sessions."""

    part: float = 0.0
    whole: float = 0.0

    def __add__(self, other: Share) -> Share:
        return Share(self.part + other.part, self.whole + other.whole)

    @property
    def value(self) -> float | None:
        """Part over whole, None of nothing."""
        return self.part / self.whole if self.whole else None


class TextScore(Struct, frozen=True):
    """One text about one cut.

    Attributes:
        tokens, characters: how long it is; tokens as the upper bound.
        shares: by name of `MEASURES`.
    """

    tokens: int
    characters: int
    shares: dict[str, Share]


class Item(Struct, frozen=True):
    """A line of a text with what is indented below it, and the heading it stands under."""

    text: str
    words: frozenset[str]
    heading: frozenset[str]


class Asked(Struct, frozen=True):
    """Something that a text should keep: kind, words, and how it is looked for."""

    kind: str
    text: str


class Wanted(Struct, frozen=True):
    """What the labels say before a cut."""

    decisions: tuple[Asked, ...]
    directives: tuple[Asked, ...]


def wanted(labels: Labels, cut: Cut) -> Wanted:
    """The labelled decisions that matter and the directives before a cut."""
    return Wanted(
        tuple(
            Asked(d.type, d.quote)
            for d in labels.decisions
            if d.line < cut.place and d.importance >= IMPORTANT
        ),
        tuple(Asked(d.kind, d.quote) for d in labels.directives if d.line < cut.place),
    )


def says(reading: Reading, asked: Asked) -> bool:
    """Whether a text still says a labelled statement."""
    return reading.keeps(content_words(asked.text))


def score(
    text: str, labelled: Wanted, true: Truth, grounded: Share, *, budget: int, measure: Measure
) -> TextScore:
    """Everything about one text.

    Args:
        grounded: how many of its paths, numbers, ids and quotes stand in the prefix.
        budget: the length that it was allowed.
    """
    reading = Reading(text)
    listed = items(text)
    told, stale = stated(listed, true.facts)
    used = [fact for fact in true.facts if fact.used]
    kept = reading.names
    weights = sum(name.weight for name in true.names)
    repeated, runs = reading.redundancy
    shares = {
        "decisions": _kept(reading, labelled.decisions),
        "directives": _kept(reading, labelled.directives),
        "standing directives": _kept(
            reading, [d for d in labelled.directives if d.kind in STANDING]
        ),
        "files": Share(
            sum(names_file(text, path, true.files) for path in true.files), len(true.files)
        ),
        "names": Share(sum(n.name in kept for n in true.names), len(true.names)),
        "names outside code": Share(
            sum(n.name in kept for n in true.names if not n.in_code),
            sum(not n.in_code for n in true.names),
        ),
        "names by weight": Share(sum(n.weight for n in true.names if n.name in kept), weights),
        "oracle of names by weight": Share(oracle(true.names, budget, measure), weights),
        "relations": Share(sum(holds(listed, f) and f not in stale for f in used), len(used)),
        "stale": Share(len(stale), len(told)),
        "grounded": grounded,
        "density": Share(len(kept & true.written), len(kept)),
        "redundancy": Share(repeated, runs),
    }
    return TextScore(measure(text), len(text), shares)


def _kept(reading: Reading, some: Iterable[Asked]) -> Share:
    found = [says(reading, asked) for asked in some]
    return Share(sum(found), len(found))


def _components(path: str) -> list[str]:
    """The folders and the name in a path of any system."""
    return [part for part in path.replace("\\", "/").split("/") if part]


def names_file(text: str, path: str, files: Sequence[str]) -> bool:
    """Whether a text names a file so that it cannot be taken for another changed one."""
    text = text.replace("\\", "/")
    parts = _components(path)
    alike = [_components(other) for other in files if other != path]
    for size in range(1, len(parts) + 1):
        end = parts[-size:]
        if size == len(parts) or not any(other[-size:] == end for other in alike):
            name = re.escape("/".join(end))
            return re.search(rf"(?<![\w.-]){name}(?![\w-]|\.\w)", text) is not None
    return False


def oracle(some: Sequence[Name], budget: int, measure: Measure) -> float:
    """The greatest weight of names that any text of that length could hold."""
    room = float(budget)
    held = 0.0
    priced = [(name.weight, measure(f"{name.name} ")) for name in some]
    for weight, price in sorted(priced, key=lambda pair: -pair[0] / pair[1]):
        taken = min(1.0, room / price)
        held += weight * taken
        room -= price * taken
    return held


# -- facts -----------------------------------------------------------------------------------


def items(text: str) -> list[Item]:
    """The lines of a text as items: each with the lines indented below it."""
    lines = [line for line in text.splitlines() if line.strip()]
    found: list[Item] = []
    heading: frozenset[str] = frozenset()
    for number, line in enumerate(lines):
        if _HEADING.match(line) and not line.startswith((" ", "\t")):
            heading = frozenset(words(line))
        depth = _indent(line)
        block = [line]
        for below in lines[number + 1 : number + 12]:
            if _indent(below) <= depth:
                break
            block.append(below)
        flat = " ".join(" ".join(block).split()).replace("`", "")
        found.append(Item(flat, frozenset(words(flat)), heading))
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def holds(listed: Sequence[Item], fact: Fact) -> bool:
    """Whether one item names the subject together with its value at the cut."""
    return any(_about(item, fact) and _values(item, fact, fact.value) for item in listed)


def stated(listed: Sequence[Item], facts: Iterable[Fact]) -> tuple[list[Fact], list[Fact]]:
    """The facts of which a text states some value, and those where that value is outdated."""
    told: list[Fact] = []
    stale: list[Fact] = []
    for fact in facts:
        about = [item for item in listed if _about(item, fact)]
        now = any(_values(item, fact, fact.value) for item in about)
        old = [v for v in dict.fromkeys(fact.values) if _overturned(fact, v)]
        then = any(_values(item, fact, value) for item in about for value in old)
        if now or then:
            told.append(fact)
            if not now:
                stale.append(fact)
    return told, stale


def _overturned(fact: Fact, value: str) -> bool:
    """Whether an earlier value is untrue at the cut. Created, then modified is both."""
    if fact.kind == "file":
        return (value == "deleted") != (fact.value == "deleted")
    if fact.kind == "commit":
        return False  # an earlier commit is still one
    return value != fact.value


def _about(item: Item, fact: Fact) -> bool:
    if fact.kind == "file":
        return names_file(item.text, fact.subject, ())
    if fact.kind == "command":
        return fact.subject.replace("`", "").replace('"', "'") in item.text.replace('"', "'")
    if fact.kind == "todo":
        some = content_words(fact.subject)
        if len(item.words) > LONGEST:
            return False  # in so much text the words of any short item are found
        return len(some & item.words) >= 0.6 * len(some) - 1e-9
    return fact.kind in item.words or fact.kind in item.heading


def _values(item: Item, fact: Fact, value: str) -> bool:
    if fact.kind in ("branch", "commit"):
        short = value[:7] if fact.kind == "commit" else value
        return re.search(rf"(?<![\w/-]){re.escape(short)}", item.text) is not None
    said = VALUE_WORDS.get(value, frozenset((value,)))
    if fact.kind == "file" and "created" in fact.values and value == "modified":
        said |= VALUE_WORDS["created"]
    subject = frozenset(words(fact.subject))
    return bool(said & (item.words - subject)) or bool(said & item.heading)
