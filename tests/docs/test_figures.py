"""The pages with figures show what the committed runs hold, and those hold numbers only."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from benchmarks.accuracy.labels import figures as figures_of_labels
from benchmarks.batch import figures as figures_of_batch
from benchmarks.speed.figures import PARTS, rendered

from leftoff.batch.outputs import columns_of
from leftoff.batch.rows import TABLES
from leftoff.evaluation.handover_scores import MEASURES
from leftoff.evaluation.report import as_text, from_json
from leftoff.evaluation.resume_runs import ResumeRun

# The accuracy page shows what the committed runs hold, and those hold numbers only.

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks" / "accuracy" / "labels" / "runs"


def texts(value: Any) -> Iterator[str]:
    """Every string and key in a value."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def test_the_figures_on_the_page_are_those_of_the_runs() -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert "<!-- figures " in page
    assert figures_of_labels.rendered(page) == page


@pytest.mark.parametrize("run", sorted(RUNS.glob("*.json")), ids=lambda run: run.name)
def test_a_committed_run_holds_no_sentences(run: Path) -> None:
    names = re.compile(r"[\w.,'()>=+/ -]{0,160}")
    for word in texts(msgspec.json.decode(run.read_bytes())):
        assert names.fullmatch(word), word
        assert len(word.split()) <= 6, word


# The figures on docs/budget.md are those of the committed run.


def test_the_page_quotes_the_committed_run(root: Path) -> None:
    page = " ".join((root / "docs" / "budget.md").read_text("utf-8").split())
    run = root / "benchmarks" / "accuracy" / "budget" / "runs" / "public.json"
    value: dict[str, Any] = json.loads(run.read_bytes())
    claude = value["spend"]["by_format"]["claude_code"]
    ratio = claude["naive"] / claude["distinct"]
    wanted = [
        f"{claude['recordings']} Claude Code sessions",
        f"{claude['distinct']:,} | {claude['naive']:,} | {ratio:.2f} times too much",
        f"{value['occupancy']['count']} compactions with a median error of "
        f"{value['occupancy']['median']:.2%}".replace("%", " %"),
        f"95th percentile {value['occupancy']['p95']:.1%}".replace("%", " %"),
        f"on {value['forecast']['50%']['calls_left']['count']} stretches",
    ]
    for share, figures in value["forecast"].items():
        cells = [
            f"{100 * f['median']:.{digits}f} % "
            f"({100 * f['interval'][0]:.{digits}f} to {100 * f['interval'][1]:.{digits}f})"
            for name, digits in (("calls_left", 0), ("end", 0), ("tokens_left", 1))
            for f in [figures[name]]
        ]
        wanted.append(f"| {share[:-1]} % of the calls | {' | '.join(cells)} |")
    assert [words for words in wanted if words not in page] == []
    assert value["date"]
    assert value["machine"]
    assert value["corpus"]


# The figures and the columns on docs/scale.md are those of the committed run and the tables.


def test_the_figures_on_the_page_are_those_of_the_run(root: Path) -> None:
    page = (root / "docs" / "scale.md").read_text("utf-8")
    assert "<!-- figures -->" in page
    assert figures_of_batch.rendered(page) == page


def test_every_column_is_on_the_page(root: Path) -> None:
    page = (root / "docs" / "scale.md").read_text("utf-8")
    tables = page.partition("## The tables")[2].partition("## In a program")[0]
    named = set(re.findall(r"`(\w+)`", tables))
    for table in TABLES:
        assert set(columns_of(table)) - named == set()


# The figures on docs/speed.md are those of the committed runs.


def test_the_figures_on_the_page_are_those_of_the_runs_of_speed(root: Path) -> None:
    page = (root / "docs" / "speed.md").read_text("utf-8")
    for part in PARTS:
        assert f"<!-- {part} -->" in page
    assert rendered(page) == page


# Committed runs of `eval resume` hold numbers and names, no words of a recording.

RESUME_RUNS = sorted(
    (Path(__file__).parents[2] / "benchmarks" / "accuracy" / "resume" / "runs").glob("*.json")
)
WORDS = re.compile(r"[\w.,'()>=+/%: -]{0,160}")


@pytest.mark.parametrize("run", RESUME_RUNS, ids=lambda run: run.name)
def test_a_run_holds_no_sentences_and_all_measures(run: Path) -> None:
    data = run.read_bytes()
    value = msgspec.json.decode(data)
    assert value["date"]
    assert value["machine"]
    reasons = value.pop("left_out")
    assert all(re.search("fewer than 10 messages|in another file", r) for r in reasons)
    for word in texts(value):
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
    assert {run.name for run in RESUME_RUNS} == {"before.json", "now.json"}
