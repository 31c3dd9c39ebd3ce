"""Runs `leftoff eval resume`: from recordings to the scores of every form at every cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff import codec
from leftoff._version import __version__
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError, UsageError
from leftoff.evaluation.file_runs import recording_paths
from leftoff.evaluation.handover_scores import score
from leftoff.evaluation.labels import Labels, digest
from leftoff.evaluation.resume_forms import Form, made
from leftoff.evaluation.resume_grounds import GroundingSource
from leftoff.evaluation.resume_scores import (
    LabelledStatement,
    LabelledStatements,
    TextScore,
    labelled_before,
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

MIN_MESSAGES = 10
"""Messages before a cut. A file that begins with a compaction has nothing to measure there.
Chosen by hand."""


class CutScore(Struct, frozen=True):
    """The scores of all texts about one cut, by name of the form.

    Attributes:
        session: name of the file.
        place: the first line or item after the cut.
        messages: number of messages before it.
        digest: 16 hex digits of the hash of the bytes before it.
        labelled: whether the session has labels.
    """

    session: str
    repository: str
    natural: bool
    cut: str
    place: int
    messages: int
    digest: str
    labelled: bool
    texts: dict[str, TextScore]


class Miss(Struct, frozen=True):
    """Something that our text does not state, or states wrongly.

    Attributes:
        what: decision | directive | file | name | relation | outdated | ungrounded.
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
        labels: digest of the labels; "" for none.
        left_out: sessions and cuts that were not evaluated, each with the reason.
        misses: the misses of our forms; never part of a run.
    """

    leftoff: str
    rules: str
    labels: str
    cuts: tuple[CutScore, ...]
    left_out: tuple[str, ...]
    misses: tuple[Miss, ...]


def evaluate_resume(
    paths: Sequence[str],
    labels: Sequence[Labels],
    forms: Mapping[str, Form],
    *,
    natural: bool = True,
    artificial: bool = False,
    misses_of: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> ResumeReport:
    """Scores every form at the cuts of recordings; a cut that is recorded twice (the session
    was continued in another file) counts once.

    Args:
        paths: recordings, or directories of them.
        labels: of some of them; the first label of a file counts.
        natural, artificial: which cuts to evaluate.
        misses_of: forms whose misses are listed.

    Raises:
        UsageError: no cut could be measured.
    """
    by_file: dict[str, Labels] = {}
    for label in labels:
        by_file.setdefault(_plain_name(label.file), label)
    scores: dict[str, CutScore] = {}
    left_out: list[str] = []
    misses: list[Miss] = []
    rules = ""
    for path in sorted(recording_paths(paths)):
        name = Path(path).name
        try:
            for cut in cuts(path, natural=natural, artificial=artificial):
                if len(cut.prefix) < MIN_MESSAGES:
                    left_out.append(f"{name}, {cut.name}: fewer than {MIN_MESSAGES} messages")
                    continue
                if progress is not None:
                    progress(f"{name}, {cut.name}")
                key = blake2b(b"".join(cut.data), digest_size=8).hexdigest()
                if key in scores:
                    left_out.append(f"{name}, {cut.name}: recorded in another file, too")
                    continue
                summary = summary_of(cut, path)
                rules = summary.rules
                scores[key], missed = _score_cut(
                    name, by_file.get(_plain_name(name)), cut, key, summary, forms, misses_of
                )
                misses += missed
        except InputError as error:
            if path in paths:
                left_out.append(f"{name}: {str(error).split(';')[0].replace(path, '')}")
    if not scores:
        raise UsageError("there is no cut to measure: " + "; ".join(left_out[:3]))
    return ResumeReport(
        leftoff=__version__,
        rules=rules,
        labels=digest(labels) if labels else "",
        cuts=tuple(scores.values()),
        left_out=tuple(left_out),
        misses=tuple(misses),
    )


def _plain_name(name: str) -> str:
    return name.removesuffix(".gz")


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
    name: str,
    label: Labels | None,
    cut: Cut,
    key: str,
    summary: ContextSummary,
    forms: Mapping[str, Form],
    misses_of: Sequence[str],
) -> tuple[CutScore, list[Miss]]:
    none = LabelledStatements((), ())
    labelled, true = labelled_before(label, cut) if label else none, truth(cut)
    source = GroundingSource(cut.data)
    scored: dict[str, TextScore] = {}
    missed: list[Miss] = []
    for form, text in made(cut, summary, forms).items():
        grounded, wrong = source.grounded_share(text)
        scored[form] = score(text, cut, true, labelled, grounded)
        if form in misses_of:
            finder = _MissFinder(name, cut.name, form, summary)
            missed += finder.find(text, labelled, true)
            missed += [finder.miss("ungrounded", c.kind, c.text, ()) for c in wrong]
    found = CutScore(
        session=name,
        repository="__".join(name.split("__")[:2]),
        natural=cut.natural,
        cut=cut.name,
        place=cut.place,
        messages=len(cut.prefix),
        digest=key,
        labelled=label is not None,
        texts=scored,
    )
    return found, missed


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
            if fact.used and fact.value != "unknown" and not states_fact(listed, fact):
                where = self._fields_stating(LabelledStatement("", fact.subject))
                yield self.miss("relation", fact.kind, f"{fact.subject}: {fact.value}", where)
        for fact in stated_and_outdated(
            listed, [f for f in true.facts if f.value != "unknown"]
        )[1]:
            yield self.miss(
                "outdated", fact.kind, f"{fact.subject}: {' > '.join(fact.values)}", ()
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
