"""Every real file of every recorder: recognised by content, accounted for, paired, verifiable."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from leftoff import FormatError, Pass, api
from leftoff.formats import formats
from leftoff.sources import lines_of

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


def rows(corpus: Path) -> list[dict[str, str]]:
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def read(path: Path) -> Pass:
    return api.open_pass(str(path))


def test_the_corpus_has_all_formats(public_corpus: Path) -> None:
    assert len({row["format"] for row in rows(public_corpus)}) == 24


def test_recognised_by_content_alone(public_corpus: Path) -> None:
    for row in rows(public_corpus):
        path = public_corpus / row["file"]
        if row["file"] in NO_SESSION:
            with pytest.raises(FormatError):
                read(path)
            continue
        found = read(path).format
        assert found is not None
        assert found.name in ALSO.get(row["format"], {row["format"]}), row["file"]


def test_every_line_or_element_is_accounted_for(public_corpus: Path) -> None:
    for row in rows(public_corpus):
        if row["file"] in NO_SESSION:
            continue
        reading = read(public_corpus / row["file"])
        lines = reading.lines
        assert lines.total == lines.parsed + lines.unknown + lines.repaired + lines.skipped
        assert lines.unknown == 0, (row["file"], list(reading.issues))
        assert lines.total > 0


def test_results_find_their_calls(public_corpus: Path) -> None:
    """Results without a call are rare: made-up fixtures, and calls before a compaction."""
    lost = total = 0
    for row in rows(public_corpus):
        if row["file"] in NO_SESSION:
            continue
        for session in read(public_corpus / row["file"]).sessions:
            for recording in session.values():
                for e in recording.evidence:
                    if type(e).__name__ == "Returned":
                        total += 1
                        lost += getattr(e, "call_message", -1) < 0
    assert total > 15_000
    assert lost <= total // 200


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


@pytest.mark.parametrize("seed", range(3))
def test_mutated_real_files_are_read_or_refused(public_corpus: Path, seed: int) -> None:
    """Few mutations of each small file; `python -m benchmarks.reliability.mutate` does many."""
    chance = random.Random(seed)
    for row in rows(public_corpus):
        path = public_corpus / row["file"]
        if int(row["bytes"]) > 300_000:
            continue
        with lines_of(str(path)) as stream:
            data = bytearray(b"".join(stream))
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((0, 1, 40, 4000))] = chance.choice(
                (b"", b"\x00", b'"', b"{", b"}", b"[", b"\xff", b"\n", b"null", b"7")
            )
        reading = Pass(row["file"])
        try:
            reading.feed(bytes(data))
            reading.summary()
        except FormatError:
            continue
