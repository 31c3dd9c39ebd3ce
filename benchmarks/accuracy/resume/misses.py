"""What the hook's block lacks at the cuts of recordings, with its words, as lines of JSON.

    python -m benchmarks.accuracy.resume.misses PATH... [--labels DIR] -o FILE

`where` names the fields of the summary that contain it: if there are any, rendering missed it,
otherwise it was not detected. At the end stands how many are missed by kind. The words are
redacted; nothing of the held-out repository is written. For ourselves, never committed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from leftoff import codec
from leftoff.cli.eval import HELD_OUT
from leftoff.errors import InputError
from leftoff.evaluation.handover_scores import GroundingSource, labelled_before, states
from leftoff.evaluation.labels import Labels, load
from leftoff.evaluation.recordings import recording_paths
from leftoff.evaluation.resume_forms import HOOK, forms, made
from leftoff.evaluation.resume_runs import MIN_MESSAGES, summary_of
from leftoff.evaluation.resume_truth import Truth, truth
from leftoff.handover.stated_facts import (
    names_file,
    stated_and_outdated,
    states_fact,
    text_items,
)
from leftoff.handover.text_match import TextMatcher, names
from leftoff.live.compactions import Cut, cuts
from leftoff.redaction.redactor import Redactor
from leftoff.summary import ContextSummary


class Miss(Struct, frozen=True):
    """Something that a text does not state, or states wrongly: a decision, directive, file,
    name, relation, outdated or ungrounded."""

    what: str
    kind: str
    text: str
    where: tuple[str, ...] = ()


_METADATA_FIELDS = frozenset(
    ("schema", "leftoff", "rules", "stats", "tool_counts", "context", "issues", "formatted")
)


class MissFinder:
    """Finds what a text misses, and the fields of the summary that contain it."""

    def __init__(self, summary: ContextSummary) -> None:
        self._fields = {
            name: TextMatcher(
                "\n".join(
                    " ".join(v.split()) for v in codec.leaves(value) if isinstance(v, str)
                )
            )
            for name, value in codec.to_builtins(summary).items()
            if value and name not in _METADATA_FIELDS
        }

    def find(self, text: str, labelled: Labels, true: Truth) -> Iterator[Miss]:
        """Yields everything that the text misses or states as outdated."""
        matcher, listed = TextMatcher(text), text_items(text)
        for what, statements in (
            ("decision", [(d.type, d.quote) for d in labelled.decisions]),
            ("directive", [(d.kind, d.quote) for d in labelled.directives]),
        ):
            for kind, quote in statements:
                if not states(matcher, quote):
                    yield Miss(what, kind, quote, self._stating(quote))
        for path in true.files:
            if not names_file(text, path, true.files):
                yield Miss("file", "", path, self._naming(names(path) or {path}))
        for name in true.names:
            if name.name not in matcher.names:
                kind = "in code" if name.in_code else ""
                yield Miss("name", kind, name.name, self._naming({name.name}))
        for fact in true.facts:
            if fact.used and fact.value != "unknown" and not states_fact(listed, fact):
                where = self._stating(fact.subject)
                yield Miss("relation", fact.kind, f"{fact.subject}: {fact.value}", where)
        known = [f for f in true.facts if f.value != "unknown"]
        for fact in stated_and_outdated(listed, known)[1]:
            yield Miss("outdated", fact.kind, f"{fact.subject}: {' > '.join(fact.values)}")

    def _stating(self, words: str) -> tuple[str, ...]:
        return tuple(name for name, field in self._fields.items() if states(field, words))

    def _naming(self, searched: set[str]) -> tuple[str, ...]:
        return tuple(name for name, field in self._fields.items() if searched & field.names)


def misses(cut: Cut, path: str, label: Labels | None) -> Iterator[Miss]:
    """What the hook's block at a cut misses, and what it says that the recording does not."""
    summary = summary_of(cut, path)
    labelled = labelled_before(label, cut)
    text = made(cut, summary, {HOOK: forms()[HOOK]})[HOOK]
    yield from MissFinder(summary).find(text, labelled, truth(cut))
    for claim in GroundingSource(cut.data).grounded_share(text)[1]:
        yield Miss("ungrounded", claim.kind, claim.text)


def _cuts(path: str) -> Iterator[Cut]:
    with suppress(InputError):  # no recording
        yield from (cut for cut in cuts(path) if len(cut.prefix) >= MIN_MESSAGES)


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--labels", action="append", default=[])
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(args)
    labels: dict[str, Labels] = {}
    for label in (one for folder in given.labels for one in load(folder)):
        labels.setdefault(label.file.removesuffix(".gz"), label)
    gate, counts = Redactor(), Counter[tuple[str, str]]()
    with given.output.open("wb") as out:
        for path in recording_paths(given.paths):
            name = Path(path).name
            known = labels.get(name.removesuffix(".gz"))
            for cut in () if name.startswith(f"{HELD_OUT}__") else _cuts(path):
                for miss in misses(cut, path, known):
                    row = {"session": name, "cut": cut.name, **codec.to_builtins(miss)}
                    out.write(codec.dumps(gate.value(row)))
                    found = "in the summary" if miss.where else "not in the summary"
                    counts[miss.what, found] += 1
    for (what, found), number in sorted(counts.items()):
        print(f"{what:<12} {number:>6} {found}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
