"""Committed runs of `eval resume` hold numbers and names, no words of a recording."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leftoff.evaluation.handover_scores import MEASURES
from leftoff.evaluation.report import as_text, from_json
from leftoff.evaluation.resume_runs import ResumeRun

RUNS = sorted(
    (Path(__file__).parents[2] / "benchmarks" / "accuracy" / "resume" / "runs").glob("*.json")
)
WORDS = re.compile(r"[\w.,'()>=+/%: -]{0,160}")


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run_holds_no_sentences_and_all_measures(run: Path) -> None:
    data = run.read_bytes()
    value = msgspec.json.decode(data)
    assert value["date"]
    assert value["machine"]
    reasons = value.pop("left_out")
    assert all(re.search("fewer than 10 messages|in another file", r) for r in reasons)
    for word in strings(value):
        assert WORDS.fullmatch(word), word
        assert len(word.split()) <= 6, word
    for group in value["groups"]:
        for form in group["forms"].values():
            assert tuple(form["figures"]) == MEASURES
        for text in ("log, recorder's length", "both, equal length"):
            # An upper bound of tokens, on average over the cuts.
            assert (
                group["forms"][text]["tokens"] <= group["forms"]["recorder's summary"]["tokens"]
            )
    assert "not tuned on" in as_text(from_json(data, ResumeRun).blocks())


def test_there_are_runs() -> None:
    assert {run.name for run in RUNS} == {"before.json", "now.json"}
