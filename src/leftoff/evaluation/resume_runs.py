"""One measurement of what is worth resuming from: from labels to scores of every cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

from msgspec import Struct

from leftoff import codec
from leftoff._version import __version__
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError, UsageError
from leftoff.evaluation.labels import Labels, digest, transcripts
from leftoff.evaluation.resume_cuts import Cut, Measure, cuts, tail, words_of_tail
from leftoff.evaluation.resume_grounds import Ground
from leftoff.evaluation.resume_scores import (
    Asked,
    TextScore,
    Wanted,
    holds,
    items,
    names_file,
    says,
    score,
    stated,
    wanted,
)
from leftoff.evaluation.resume_texts import Reading, names
from leftoff.evaluation.resume_truth import Truth, truth
from leftoff.summary import ContextSummary, Source
from leftoff.tokens import max_tokens

System: TypeAlias = Callable[[ContextSummary, int], str]
"""What is under test: a summary and a budget of tokens (upper bound) in, a text out."""

BUDGET = 3000
"""Tokens at an artificial cut, where no recorder's summary gives a length."""

LEAST = 4
"""A cut counts only if the text before it is so many times as long as the budget: where nearly
everything fits, nothing is measured."""

MEASURE: Measure = max_tokens


class CutScore(Struct, frozen=True):
    """All texts about one cut, by name of the system.

    Attributes:
        place: the first line or item after it.
        messages: how many stand before it.
        digest: 16 hex digits of the bytes before it.
    """

    session: str
    repository: str
    natural: bool
    cut: str
    place: int
    budget: int
    messages: int
    digest: str
    texts: dict[str, TextScore]


class Miss(Struct, frozen=True):
    """Something that our text does not keep.

    Attributes:
        what: decision | directive | file | name | relation | stale | ungrounded.
        where: fields of the summary that hold it, so that it was lost by rendering; none:
            it was not detected.
    """

    session: str
    cut: str
    system: str
    what: str
    kind: str
    text: str
    where: tuple[str, ...]


class ResumeReport(Struct, frozen=True):
    """Scores of every cut, with what they were measured on.

    Attributes:
        systems: ours first.
        left_out: sessions and cuts that were not measured, each with the reason.
        misses: of our systems; never part of a run.
    """

    leftoff: str
    rules: str
    labels: str
    systems: tuple[str, ...]
    cuts: tuple[CutScore, ...]
    left_out: tuple[str, ...]
    misses: tuple[Miss, ...]


def evaluate_resume(
    labels: Sequence[Labels],
    directory: str,
    systems: Mapping[str, System],
    *,
    natural: bool = True,
    artificial: bool = False,
    budget: int = BUDGET,
    progress: Callable[[str], None] | None = None,
) -> ResumeReport:
    """What systems, recorders' own summaries and plain tails keep of labelled sessions.

    Args:
        directory: where the recordings are.
        natural, artificial: which cuts.
        budget: tokens at an artificial cut.

    Raises:
        UsageError: no cut could be measured.
    """
    paths = transcripts(directory, (label.file for label in labels))
    scores: list[CutScore] = []
    left_out: list[str] = []
    misses: list[Miss] = []
    rules = ""
    for label in labels:
        path = paths.get(label.file)
        if path is None:
            left_out.append(f"{label.file}: no such recording under {directory}")
            continue
        if progress is not None:
            progress(label.file)
        try:
            for cut in cuts(path, natural=natural, artificial=artificial):
                room = MEASURE(cut.recorded) if cut.natural else budget
                reason = _too_short(cut, room)
                if reason:
                    left_out.append(f"{label.file}, {cut.name}: {reason}")
                    continue
                summary = summary_of(cut, path)
                rules = summary.rules
                one, lost = _measured(label, cut, room, summary, systems)
                scores.append(one)
                misses += lost
        except InputError as error:
            left_out.append(f"{label.file}: {str(error).split(';')[0].replace(path, '')}")
    if not scores:
        raise UsageError("there is no cut to measure: " + "; ".join(left_out[:3]))
    return ResumeReport(
        leftoff=__version__,
        rules=rules,
        labels=digest(labels),
        systems=tuple(systems),
        cuts=tuple(scores),
        left_out=tuple(left_out),
        misses=tuple(misses),
    )


def _too_short(cut: Cut, room: int) -> str:
    size = 0
    for line in cut.data:
        size += len(line)
    # Four characters are about a token; the bound need not be worked out for megabytes.
    if size < LEAST * 4 * room:
        return f"the text before it is no {LEAST} times as long as {room} tokens"
    return "" if cut.future or cut.natural else "nothing comes after it"


def summary_of(cut: Cut, path: str) -> ContextSummary:
    """What the engine makes of the prefix alone.

    Raises:
        FormatError: the prefix is no recording.
    """
    reading = Pass(path)
    reading.feed_lines(cut.data)
    reading.close()
    return reading.conclude((Source(path),))


def _measured(
    label: Labels,
    cut: Cut,
    room: int,
    summary: ContextSummary,
    systems: Mapping[str, System],
) -> tuple[CutScore, list[Miss]]:
    labelled, true, ground = wanted(label, cut), truth(cut), Ground(cut.data)
    ours = {name: system(summary, room) for name, system in systems.items()}
    beside = {
        **({RECORDED: cut.recorded} if cut.natural else {}),
        TAIL: tail(cut, room, MEASURE),
        WORDS: words_of_tail(cut, room, MEASURE),
    }
    scored: dict[str, TextScore] = {}
    lost: list[Miss] = []
    for name, text in {**ours, **beside}.items():
        grounded, wrong = ground.share(text)
        scored[name] = score(text, labelled, true, grounded, budget=room, measure=MEASURE)
        if name in ours:
            about = _Lost(label.file, cut.name, name, summary)
            lost += about.of(text, labelled, true)
            lost += [about.miss("ungrounded", c.kind, c.text, ()) for c in wrong]
    found = CutScore(
        session=label.file,
        repository=label.repository,
        natural=cut.natural,
        cut=cut.name,
        place=cut.place,
        budget=room,
        messages=len(cut.prefix),
        digest=blake2b(b"".join(cut.data), digest_size=8).hexdigest(),
        texts=scored,
    )
    return found, lost


RECORDED, TAIL, WORDS = "recorder's summary", "plain tail", "tail of words"


# -- what was lost, and whether it had been found --------------------------------------------


class _Lost:
    """What one of our texts lost, and which fields of the summary hold it."""

    def __init__(self, session: str, cut: str, system: str, summary: ContextSummary) -> None:
        self._about = session, cut, system
        plain = codec.plain(summary)
        self._fields = {
            name: Reading("\n".join(_texts(value)))
            for name, value in plain.items()
            if value and name not in _BOOKKEEPING
        }

    def miss(self, what: str, kind: str, text: str, where: Sequence[str]) -> Miss:
        """A `Miss` of this text."""
        return Miss(*self._about, what, kind, text, tuple(where))

    def of(self, text: str, labelled: Wanted, true: Truth) -> Iterator[Miss]:
        """Everything that the text does not keep."""
        reading, listed = Reading(text), items(text)
        for what, some in (
            ("decision", labelled.decisions),
            ("directive", labelled.directives),
        ):
            for asked in some:
                if not says(reading, asked):
                    yield self.miss(what, asked.kind, asked.text, self._saying(asked))
        for path in true.files:
            if not names_file(text, path, true.files):
                yield self.miss("file", "", path, self._naming(names(path) or {path}))
        for name in true.names:
            if name.name not in reading.names:
                kind = "in code" if name.in_code else ""
                yield self.miss("name", kind, name.name, self._naming({name.name}))
        for fact in true.facts:
            if fact.used and not holds(listed, fact):
                where = self._saying(Asked("", fact.subject))
                yield self.miss("relation", fact.kind, f"{fact.subject}: {fact.value}", where)
        for fact in stated(listed, true.facts)[1]:
            yield self.miss(
                "stale", fact.kind, f"{fact.subject}: {' > '.join(fact.values)}", ()
            )

    def _saying(self, asked: Asked) -> list[str]:
        return [name for name, field in self._fields.items() if says(field, asked)]

    def _naming(self, wanted: set[str]) -> list[str]:
        return [name for name, field in self._fields.items() if wanted & field.names]


_BOOKKEEPING = frozenset(
    ("schema", "leftoff", "rules", "stats", "tool_counts", "context", "issues", "formatted")
)


def _texts(value: Any) -> Iterator[str]:
    """The texts of a part of a summary, each on a line of its own."""
    if isinstance(value, str):
        yield " ".join(value.split())
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
