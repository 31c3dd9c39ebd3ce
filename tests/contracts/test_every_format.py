"""Every real file of every recorder: recognised by content, accounted for, paired, verifiable."""

import csv
import os
import random
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.strategies.varying import varied

from leftoff import FormatError, api
from leftoff.extraction.evidence import Returned
from leftoff.extraction.session_state import Lines
from leftoff.formats.reader import formats
from leftoff.sources.open import open_lines
from leftoff.testing.checks import check_any_input

# One recorder may write several formats, and one folder of the corpus may hold several.
ALSO = {
    "agentbench": {"agentbench"},
    "gemini_cli": {"gemini_cli", "gemini_api"},
    "openhands": {"openhands", "openhands_output"},
    "openai_chat": {"openai_requests", "openai_rows", "chat", "chat_lines"},
}
NO_SESSION = {
    "inspect/UKGovernmentBEIS__inspect_ai__analysis__test_logs__2025-05-12T20-28-13-04-00_no-samples.json",
    "inspect/UKGovernmentBEIS__inspect_ai__scorer__math_cases.json",
}
"""A run without samples and a table for a scorer: refused, not read as empty."""


PLUGIN = {"agentbench", "tau_bench", "toolbench", "who_and_when"}
"""Formats of examples/plugins, which need not be installed."""


def rows(corpus: Path) -> list[dict[str, str]]:
    missing = PLUGIN - formats.owners().keys()
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        listed = csv.DictReader(file, delimiter="\t")
        return [row for row in listed if row["format"] not in missing]


class Facts(NamedTuple):
    """What one file gave: its format (None where it was refused), lines, results."""

    row: dict[str, str]
    name: str | None
    lines: Lines
    issues: list[tuple[str, str]]
    results: int
    lost: int


@pytest.fixture(scope="module")
def facts(public_corpus: Path) -> list[Facts]:
    """Every file read once for all tests."""
    found: list[Facts] = []
    for row in rows(public_corpus):
        try:
            reading = api.open_pass(str(public_corpus / row["file"]))
        except FormatError:
            found.append(Facts(row, None, Lines(), [], 0, 0))
            continue
        returned = [
            e
            for session in reading.sessions
            for recording in session.values()
            for e in recording.evidence
            if isinstance(e, Returned)
        ]
        lost = sum(e.call_message < 0 for e in returned)
        name = reading.format.name if reading.format else ""
        issues = list(reading.issues)
        found.append(Facts(row, name, reading.lines, issues, len(returned), lost))
    return found


def test_the_corpus_has_all_formats(facts: list[Facts]) -> None:
    missing = PLUGIN - formats.owners().keys()
    assert len({fact.row["format"] for fact in facts}) == 24 - len(missing)


def test_recognised_by_content_alone(facts: list[Facts]) -> None:
    for row, name, *_ in facts:
        if row["file"] in NO_SESSION:
            assert name is None, row["file"]
        else:
            assert name in ALSO.get(row["format"], {row["format"]}), row["file"]


def test_every_line_or_element_is_accounted_for(facts: list[Facts]) -> None:
    for row, name, lines, issues, *_ in facts:
        assert lines.total == lines.parsed + lines.unknown + lines.repaired + lines.skipped
        assert lines.unknown == 0, (row["file"], issues)
        assert lines.total > 0 or name is None


def test_results_find_their_calls(facts: list[Facts]) -> None:
    """Results without a call are rare: made-up fixtures, and calls before a compaction."""
    total = sum(fact.results for fact in facts)
    assert total > 15_000
    assert sum(fact.lost for fact in facts) <= total // 200


def test_every_reference_of_every_format_holds(public_corpus: Path) -> None:
    seen: dict[str, int] = {}
    for row in rows(public_corpus):
        if row["file"] in NO_SESSION or seen.get(row["format"], 0) >= 2:
            continue
        seen[row["format"]] = seen.get(row["format"], 0) + 1
        summary = api.summarize(public_corpus / row["file"])
        assert api.verify(summary) == [], row["file"]


def test_names_of_formats_are_tried_in_a_fixed_order() -> None:
    names = formats.names()
    assert names.index("iflow") < names.index("claude_code")
    assert names[-2:] == ["chat", "chat_lines"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("seed", range(int(os.environ.get("LEFTOFF_MUTATIONS", "3"))))
def test_mutated_real_files_are_read_or_refused(public_corpus: Path, seed: int) -> None:
    """Few mutations of each small file; `LEFTOFF_MUTATIONS` says how many."""
    chance = random.Random(seed)
    for row in rows(public_corpus):
        path = public_corpus / row["file"]
        if int(row["bytes"]) > 300_000:
            continue
        with open_lines(str(path)) as stream:
            check_any_input(varied(b"".join(stream), "text", chance))
