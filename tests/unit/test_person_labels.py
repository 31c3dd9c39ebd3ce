"""The labels of the person's decisions: positions that are scored against what is found."""

import json
from pathlib import Path

import msgspec
import pytest
from benchmarks.accuracy.decisions.person import LABELS, LATE, Labelled, read_all, report

from leftoff.extraction.decision_model import PERSON
from leftoff.model import slice_hash

TYPED = "It is too wide. Put it below the table. Why is it red?"


def labelled(*rows: tuple[str, str]) -> Labelled:
    found = [
        (0, 0, TYPED.index(words), TYPED.index(words) + len(words), slice_hash(words), kind)
        for words, kind in rows
    ]
    return Labelled("one.jsonl", 0, "unseen", found)


def reported(of: Labelled, recordings: str) -> list[str]:
    (read,) = read_all([of], [recordings])
    return report((of.half, *row) for row in read.scored(PERSON)).splitlines()


@pytest.fixture
def recordings(tmp_path: Path) -> str:
    (tmp_path / "one.jsonl").write_text(json.dumps({"role": "user", "text": TYPED}) + "\n")
    return str(tmp_path)


def test_precision_and_recall_are_those_of_labelled_sentences(recordings: str) -> None:
    of = labelled(
        ("It is too wide.", "none"),
        ("Put it below the table.", "way"),
        ("Why is it red?", "way"),
    )
    found = reported(of, recordings)
    assert found[0] == "unseen: precision 1.000 of 1, recall 0.500 of 2"
    assert found[1].split() == ["way", "1", "found", "of", "2"]


def test_another_text_is_skipped_and_said(recordings: str) -> None:
    of = labelled(("Put it below the table.", "way"))
    moved = msgspec.structs.replace(of, rows=[*of.rows, (0, 0, 0, 15, "00000000", "way")])
    (read,) = read_all([moved], [recordings])
    assert read.moved() == [0]
    assert reported(moved, recordings) == reported(of, recordings)


def test_the_labels_hold_no_words() -> None:
    known = msgspec.json.decode(LABELS.read_bytes(), type=list[Labelled])
    assert {one.half for one in known} == {"tuned", "unseen", *LATE}
    assert all(len(row[4]) == 8 and row[2] < row[3] for one in known for row in one.rows)
