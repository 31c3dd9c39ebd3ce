"""Runs `leftoff eval resume`: from labels to the scores of every cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

from msgspec import Struct

from leftoff import codec
from leftoff._version import __version__
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError, UsageError
from leftoff.evaluation.labels import Labels, digest, find_recordings
from leftoff.evaluation.resume_cuts import TokenCounter, tail, tail_without_calls
from leftoff.evaluation.resume_grounds import GroundingSource
from leftoff.evaluation.resume_scores import (
    LabelledStatement,
    LabelledStatements,
    TextScore,
    labelled_before,
    score,
    states,
)
from leftoff.evaluation.resume_truth import Truth, truth
from leftoff.handover.stated_facts import (
    names_file,
    stated_and_outdated,
    states_fact,
    text_items,
)
from leftoff.handover.text_match import TextMatcher, names
from leftoff.live.compactions import Cut, cuts
from leftoff.summary import ContextSummary, Source
from leftoff.tokens import max_tokens

System: TypeAlias = Callable[[ContextSummary, int], str]
"""A system under test: takes a summary and a token budget (upper bound), returns a text."""

BUDGET = 3000
"""Token budget at an artificial cut, where no recorder's summary gives one. Chosen by hand."""

MIN_LENGTH_RATIO = 4
"""Minimum ratio of the text before a cut to the budget: if nearly everything fits, the measure
cannot tell systems apart. Chosen by hand."""

COUNT_TOKENS: TokenCounter = max_tokens


class CutScore(Struct, frozen=True):
    """The scores of all texts about one cut, by name of the system.

    Attributes:
        place: the first line or item after the cut.
        messages: number of messages before it.
        digest: 16 hex digits of the hash of the bytes before it.
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
    """Something that our text does not state, or states wrongly.

    Attributes:
        what: decision | directive | file | name | relation | stale | ungrounded.
        where: fields of the summary that contain it; if there are any, rendering missed it,
            otherwise it was not detected.
    """

    session: str
    cut: str
    system: str
    what: str
    kind: str
    text: str
    where: tuple[str, ...]


class ResumeReport(Struct, frozen=True):
    """Scores of every cut, with the version and labels.

    Attributes:
        systems: names of the systems, ours first.
        left_out: sessions and cuts that were not evaluated, each with the reason.
        misses: the misses of our systems; never part of a run.
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
    """Scores systems, recorders' own summaries and tails on labelled sessions.

    Args:
        directory: where the recordings are.
        natural, artificial: which cuts to evaluate.
        budget: token budget at an artificial cut.

    Raises:
        UsageError: no cut could be measured.
    """
    paths = find_recordings(directory, (label.file for label in labels))
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
                cut_budget = COUNT_TOKENS(cut.recorded) if cut.natural else budget
                reason = _too_short(cut, cut_budget)
                if reason:
                    left_out.append(f"{label.file}, {cut.name}: {reason}")
                    continue
                summary = summary_of(cut, path)
                rules = summary.rules
                score_here, missed = _score_cut(label, cut, cut_budget, summary, systems)
                scores.append(score_here)
                misses += missed
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


def _too_short(cut: Cut, cut_budget: int) -> str:
    size = 0
    for line in cut.data:
        size += len(line)
    # Four characters are about one token; the upper bound would be slow for megabytes.
    if size < MIN_LENGTH_RATIO * 4 * cut_budget:
        return (
            f"the text before it is no {MIN_LENGTH_RATIO} times as long as {cut_budget} tokens"
        )
    return "" if cut.future or cut.natural else "nothing comes after it"


def summary_of(cut: Cut, path: str) -> ContextSummary:
    """Leftoff's summary of the prefix alone.

    Raises:
        FormatError: the prefix is not a recording.
    """
    reading = Pass(path)
    reading.feed_lines(cut.data)
    reading.close()
    return reading.conclude((Source(path),))


def _score_cut(
    label: Labels,
    cut: Cut,
    cut_budget: int,
    summary: ContextSummary,
    systems: Mapping[str, System],
) -> tuple[CutScore, list[Miss]]:
    labelled, true = labelled_before(label, cut), truth(cut)
    source = GroundingSource(cut.data)
    ours = {name: system(summary, cut_budget) for name, system in systems.items()}
    baselines = {
        **({RECORDED: cut.recorded} if cut.natural else {}),
        TAIL: tail(cut, cut_budget, COUNT_TOKENS),
        WORDS: tail_without_calls(cut, cut_budget, COUNT_TOKENS),
    }
    scored: dict[str, TextScore] = {}
    missed: list[Miss] = []
    for name, text in {**ours, **baselines}.items():
        grounded, wrong = source.grounded_share(text)
        scored[name] = score(
            text, labelled, true, grounded, budget=cut_budget, count_tokens=COUNT_TOKENS
        )
        if name in ours:
            finder = _MissFinder(label.file, cut.name, name, summary)
            missed += finder.find(text, labelled, true)
            missed += [finder.miss("ungrounded", c.kind, c.text, ()) for c in wrong]
    found = CutScore(
        session=label.file,
        repository=label.repository,
        natural=cut.natural,
        cut=cut.name,
        place=cut.place,
        budget=cut_budget,
        messages=len(cut.prefix),
        digest=blake2b(b"".join(cut.data), digest_size=8).hexdigest(),
        texts=scored,
    )
    return found, missed


RECORDED, TAIL, WORDS = "recorder's summary", "plain tail", "tail of words"


# -- what was missed, and whether it had been found --------------------------------------------


class _MissFinder:
    """Finds what one of our texts misses, and the fields of the summary that contain it."""

    def __init__(self, session: str, cut: str, system: str, summary: ContextSummary) -> None:
        self._cut = session, cut, system
        plain = codec.to_builtins(summary)
        self._fields = {
            name: TextMatcher("\n".join(_texts(value)))
            for name, value in plain.items()
            if value and name not in _METADATA_FIELDS
        }

    def miss(self, what: str, kind: str, text: str, where: Sequence[str]) -> Miss:
        """Builds a `Miss` of this text."""
        return Miss(*self._cut, what, kind, text, tuple(where))

    def find(self, text: str, labelled: LabelledStatements, true: Truth) -> Iterator[Miss]:
        """Yields everything that the text misses or states as outdated."""
        matcher, listed = TextMatcher(text), text_items(text)
        for what, statements in (
            ("decision", labelled.decisions),
            ("directive", labelled.directives),
        ):
            for statement in statements:
                if not states(matcher, statement):
                    yield self.miss(
                        what, statement.kind, statement.text, self._fields_stating(statement)
                    )
        for path in true.files:
            if not names_file(text, path, true.files):
                yield self.miss("file", "", path, self._fields_naming(names(path) or {path}))
        for name in true.names:
            if name.name not in matcher.names:
                kind = "in code" if name.in_code else ""
                yield self.miss("name", kind, name.name, self._fields_naming({name.name}))
        for fact in true.facts:
            if fact.used and not states_fact(listed, fact):
                where = self._fields_stating(LabelledStatement("", fact.subject))
                yield self.miss("relation", fact.kind, f"{fact.subject}: {fact.value}", where)
        for fact in stated_and_outdated(listed, true.facts)[1]:
            yield self.miss(
                "stale", fact.kind, f"{fact.subject}: {' > '.join(fact.values)}", ()
            )

    def _fields_stating(self, statement: LabelledStatement) -> list[str]:
        return [name for name, field in self._fields.items() if states(field, statement)]

    def _fields_naming(self, searched: set[str]) -> list[str]:
        return [name for name, field in self._fields.items() if searched & field.names]


_METADATA_FIELDS = frozenset(
    ("schema", "leftoff", "rules", "stats", "tool_counts", "context", "issues", "formatted")
)


def _texts(value: Any) -> Iterator[str]:
    """The strings in a part of a summary, each without line feeds."""
    if isinstance(value, str):
        yield " ".join(value.split())
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
