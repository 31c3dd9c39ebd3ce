"""Runs `leftoff eval resume`: from recordings to the scores of every form at every cut."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from textwrap import wrap
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from leftoff._version import __version__
from leftoff.analysis.session_pass import Pass
from leftoff.errors import InputError, UsageError
from leftoff.evaluation.handover_scores import (
    MEASURES,
    GroundingSource,
    Share,
    TextScore,
    labelled_before,
    score,
)
from leftoff.evaluation.intervals import RESAMPLES, bootstrap, paired
from leftoff.evaluation.labels import Labels, digest
from leftoff.evaluation.recordings import recording_paths
from leftoff.evaluation.report import Block, Bounds, Run, Table, bounds, cell, rounded, span
from leftoff.evaluation.resume_forms import BOTH, RECORDED, Form, made
from leftoff.evaluation.resume_truth import truth
from leftoff.extraction.rule_sets import rules_digest
from leftoff.live.compactions import Cut, cuts
from leftoff.summary import ContextSummary, Source

# Messages before a cut. A file that begins with a compaction has nothing to measure there.
# Chosen by hand.
MIN_MESSAGES = 10


T = TypeVar("T")


class MeasuredCut(Struct, Generic[T], frozen=True):
    """A cut of a recording and the texts about it by name of the form: `place` is the first
    line or item after it, `messages` the number of those before it, `digest` 16 hex digits of
    the hash of the bytes before it."""

    session: str
    repository: str
    natural: bool
    cut: str
    place: int
    messages: int
    digest: str
    labelled: bool
    texts: dict[str, T]


ScoredCut: TypeAlias = MeasuredCut[TextScore]
# A text in a run: its tokens, bytes, and shares in the order of `MEASURES`.
TextRow: TypeAlias = tuple[int | tuple[float, int], ...]


class Value(Struct, frozen=True):
    """A figure with its interval, and the number of items it is measured on."""

    value: float | None
    interval: Bounds
    items: int


class FormFigures(Struct, frozen=True):
    """The mean length of a form, and its figures by measure."""

    tokens: int
    bytes: int
    figures: dict[str, Value]


class Compared(Struct, frozen=True):
    """One form minus another in one measure; `p`: two-sided randomisation test."""

    value: float
    interval: Bounds
    p: float


class Group(Struct, frozen=True):
    """The figures over one kind of cut."""

    name: str
    sessions: int
    cuts: int
    labelled: int
    forms: dict[str, FormFigures]
    differences: dict[str, dict[str, Compared]]


class ResumeRun(Run, frozen=True, kw_only=True, tag="leftoff.eval.resume/2"):
    """Figures with intervals, and shares by cut."""

    rules: str
    labels: str  # digest of the labels; "" for none
    recordings: str  # hash over the prefixes of all cuts
    tuned: tuple[str, ...]  # repositories that were looked at while leftoff was built
    measures: tuple[str, ...]
    groups: tuple[Group, ...]
    cuts: tuple[MeasuredCut[TextRow], ...]

    def blocks(self) -> Iterator[Block]:
        """Measures down, forms across."""
        yield (
            f"leftoff {self.leftoff}, rules {self.rules}, labels {self.labels}, "
            f"recordings {self.recordings}"
        )
        for group in self.groups:
            yield ""
            yield (
                f"{group.name}: {group.cuts} cuts in {group.sessions} sessions, "
                f"{group.labelled} labelled"
            )
            yield self._forms(group)
            for which, figures in group.differences.items():
                rows = [
                    (f"    {name}", cell(f.value, "+.3f"), span(f.interval, "+.3f"), f"p {f.p}")
                    for name, f in figures.items()
                ]
                yield Table((f"  {which}", "", "", ""), rows)
        yield from (f"left out: {what}" for what in self.left_out)

    def _forms(self, group: Group) -> Table:
        forms = group.forms.values()
        rows = [
            ["  tokens", *(f"{form.tokens:,}" for form in forms), ""],
            ["  bytes", *(f"{form.bytes:,}" for form in forms), ""],
        ]
        for measure in self.measures:
            found = [form.figures[measure] for form in forms]
            cells = [cell(figure.value, ".2f") for figure in found]
            items = str(max(figure.items for figure in found))
            rows.append([f"  {measure}", *cells, items])
        names = ("\n".join(wrap(name, WIDTH)) for name in group.forms)
        return Table(("", *names, "items"), rows)


# Columns of the name of a form in the table.
WIDTH = 10


def evaluate_resume(
    paths: Sequence[str],
    labels: Sequence[Labels],
    forms: Mapping[str, Form],
    *,
    natural: bool = True,
    artificial: bool = False,
    progress: Callable[[str], None] | None = None,
    tuned: Collection[str] = (),
    resamples: int = RESAMPLES,
) -> ResumeRun:
    """Scores every form at the cuts of recordings; a cut that is recorded twice (the session
    was continued in another file) counts once, and of two labels of a file the first. The
    figures of repositories that were not `tuned` (looked at while leftoff was built) are also
    there by themselves. `UsageError` where no cut could be measured."""
    by_file: dict[str, Labels] = {}
    for label in labels:
        by_file.setdefault(label.file.removesuffix(".gz"), label)
    scores: dict[str, ScoredCut] = {}
    left_out: list[str] = []
    for path in recording_paths(paths):
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
                known = by_file.get(name.removesuffix(".gz"))
                true, labelled = truth(cut), labelled_before(known, cut)
                source = GroundingSource(cut.data)
                scores[key] = MeasuredCut(
                    session=name,
                    repository="__".join(name.split("__")[:2]),
                    natural=cut.natural,
                    cut=cut.name,
                    place=cut.place,
                    messages=len(cut.prefix),
                    digest=key,
                    labelled=known is not None,
                    texts={
                        form: score(text, cut, true, labelled, source.grounded_share(text)[0])
                        for form, text in made(cut, summary, forms).items()
                    },
                )
        except InputError as error:
            if path in paths:
                left_out.append(f"{name}: {str(error).split(';')[0].replace(path, '')}")
    if not scores:
        raise UsageError("there is no cut to measure: " + "; ".join(left_out[:3]))
    found = tuple(scores.values())
    prefixes = sorted(f"{c.session} {c.cut} {c.digest}\n" for c in found)
    return ResumeRun(
        leftoff=__version__,
        rules=rules_digest(),
        labels=digest(labels) if labels else "",
        recordings=blake2b("".join(prefixes).encode(), digest_size=8).hexdigest(),
        tuned=tuple(sorted(tuned)),
        measures=MEASURES,
        groups=_groups(found, tuned, resamples),
        cuts=tuple(map(_row, found)),
        left_out=tuple(left_out),
    )


def summary_of(cut: Cut, path: str) -> ContextSummary:
    """Leftoff's summary of the prefix alone; `FormatError` where it is not a recording."""
    reading = Pass(path)
    reading.feed_lines(cut.data)
    reading.close()
    return reading.conclude((Source(path),))


# -- figures ---------------------------------------------------------------------------------

# Forms that are compared in every measure, the second being what an agent has anyway.
COMPARED = ((BOTH, RECORDED),)
SWAPS = 2000


def _groups(
    cuts: Sequence[ScoredCut], tuned: Collection[str], resamples: int
) -> tuple[Group, ...]:
    """Figures by kind of cut: recorded compactions, all and those of repositories that were and
    were not tuned on, and each share of artificial cuts by itself."""
    groups: dict[str, list[ScoredCut]] = {"compactions": [c for c in cuts if c.natural]}
    if tuned:
        for name, wanted in (("not tuned on", False), ("tuned on", True)):
            natural = groups["compactions"]
            groups[name] = [c for c in natural if (c.repository in tuned) == wanted]
    for cut in sorted((c for c in cuts if not c.natural), key=lambda c: c.cut):
        groups.setdefault(cut.cut, []).append(cut)
    return tuple(_group(name, group, resamples) for name, group in groups.items() if group)


def _group(name: str, cuts: Sequence[ScoredCut], resamples: int) -> Group:
    by_session: dict[str, list[ScoredCut]] = {}
    for cut in cuts:
        by_session.setdefault(cut.session, []).append(cut)
    sessions = list(by_session.values())
    forms = dict.fromkeys(form for cut in cuts for form in cut.texts)
    return Group(
        name=name,
        sessions=len(sessions),
        cuts=len(cuts),
        labelled=sum(cut.labelled for cut in cuts),
        forms={form: _form(sessions, form, resamples) for form in forms},
        differences={
            f"{form} minus {other}": {
                measure: found
                for measure in MEASURES
                if (found := _difference(sessions, form, other, measure, resamples))
            }
            for form, other in COMPARED
            if form in forms and other in forms
        },
    )


def _form(sessions: Sequence[Sequence[ScoredCut]], form: str, resamples: int) -> FormFigures:
    texts = [cut.texts[form] for cuts in sessions for cut in cuts if form in cut.texts]
    figures: dict[str, Value] = {}
    for measure in MEASURES:
        every = [_shares(cuts, form, measure) for cuts in sessions]
        found = [shares for shares in every if any(share.whole for share in shares)]
        figures[measure] = Value(
            rounded(_ratio(found)),
            bounds(bootstrap(found, _ratio, resamples=resamples)),
            round(sum(share.whole for shares in found for share in shares)),
        )
    tokens = round(sum(t.tokens for t in texts) / len(texts))
    return FormFigures(tokens, round(sum(t.size for t in texts) / len(texts)), figures)


def _shares(cuts: Sequence[ScoredCut], form: str, measure: str) -> list[Share]:
    """Of one session; a cut without the form has empty ones."""
    return [cut.texts[form].shares[measure] if form in cut.texts else Share() for cut in cuts]


def _ratio(sessions: Sequence[Sequence[Share]]) -> float | None:
    whole = sum(share.whole for shares in sessions for share in shares)
    return sum(s.part for shares in sessions for s in shares) / whole if whole else None


def _difference(
    sessions: Sequence[Sequence[ScoredCut]], form: str, other: str, measure: str, resamples: int
) -> Compared | None:
    # Two parallel lists, so that the test can exchange the texts of a session.
    mine = [_shares(cuts, form, measure) for cuts in sessions]
    theirs = [_shares(cuts, other, measure) for cuts in sessions]
    found = paired(mine, theirs, _ratio, swaps=SWAPS, resamples=resamples)
    if found is None:
        return None
    return Compared(round(found.value, 4), bounds(found.interval), round(found.p, 4))


def _row(cut: MeasuredCut[Any]) -> MeasuredCut[TextRow]:
    texts: dict[str, TextRow] = {}
    for name, text in cut.texts.items():
        shares = map(text.shares.__getitem__, MEASURES)
        rounded_shares = ((round(s.part, 2), round(s.whole)) for s in shares)
        texts[name] = (text.tokens, text.size, *rounded_shares)
    return replace(cut, texts=texts)
