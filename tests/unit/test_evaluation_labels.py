"""Label files are read strictly; recordings are found by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff.errors import SourceError, StateError
from leftoff.evaluation.label_runs import select_labels
from leftoff.evaluation.labels import (
    digest,
    find_recordings,
    load,
    relocated,
)

PLAIN: dict[str, Any] = {
    "file": "acme__tools__a1.jsonl",
    "annotator": "gold",
    "decisions": [
        {"line": 2, "quote": "Keep it.", "type": "fix", "importance": 3, "also": [4]}
    ],
    "milestones": [{"line": 3, "quote": "Tests pass.", "kind": "tests_pass"}],
    "stages": [{"line": 1, "stage": "planning"}],
    "directives": [{"line": 1, "quote": "Please.", "kind": "task"}],
    "open_items": [{"line": 9, "quote": "Docs."}],
}


def put(folder: Path, name: str, **changed: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({**PLAIN, **changed}), encoding="utf-8")
    return path


def test_a_label_file_is_read_whole(tmp_path: Path) -> None:
    (label,) = load(str(put(tmp_path, "a.json")))
    assert label.decisions[0].also == (4,)
    assert label.repository == "acme__tools"
    assert [line for line, _ in label.quoted()] == [2, 3, 1, 9]


def test_a_directory_is_read_by_file_name_and_other_files_are_passed_over(
    tmp_path: Path,
) -> None:
    put(tmp_path, "b.json", file="acme__tools__b.jsonl")
    put(tmp_path, "a.json", file="acme__tools__c.jsonl")
    (tmp_path / "recording.json").write_text('{"messages": []}', encoding="utf-8")
    assert [x.file for x in load(str(tmp_path))] == [
        "acme__tools__b.jsonl",
        "acme__tools__c.jsonl",
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("decisions", [{"line": 1, "quote": "x", "type": "design"}]),
        ("milestones", [{"line": 1, "quote": "x", "kind": "tests_passed"}]),
        ("stages", [{"line": 1, "stage": "coding"}]),
        ("directives", [{"line": 1, "quote": "x", "kind": "wish"}]),
        ("decisions", [{"line": "1", "quote": "x", "type": "fix"}]),
        ("open_items", [{"line": 1}]),
    ],
)
def test_a_word_or_shape_that_the_guideline_does_not_know_is_refused(
    tmp_path: Path, field: str, value: object
) -> None:
    path = put(tmp_path, "a.json", **{field: value})
    with pytest.raises(StateError, match=r"a\.json"):
        load(str(path))


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no label files"):
        load(str(tmp_path))
    with pytest.raises(SourceError, match="no such file"):
        load(str(tmp_path / "missing.json"))


def test_recordings_are_found_at_any_depth_and_must_be_unambiguous(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "one.jsonl").write_text("")
    found = find_recordings(str(tmp_path), ["one.jsonl", "two.jsonl"])
    assert found == {"one.jsonl": str(tmp_path / "x" / "one.jsonl")}
    (tmp_path / "one.jsonl").write_text("")
    with pytest.raises(StateError, match="same name"):
        find_recordings(str(tmp_path), ["one.jsonl"])


def test_the_held_out_repository_is_seen_only_when_reporting(tmp_path: Path) -> None:
    put(tmp_path, "a.json")
    put(tmp_path, "b.json", file="secret__vault__b.jsonl")
    seen = select_labels(str(tmp_path), held_out="secret__vault")
    assert [x.repository for x in seen] == ["acme__tools"]
    reported = select_labels(str(tmp_path), held_out="secret__vault", reporting=True)
    assert [x.repository for x in reported] == ["secret__vault"]
    assert select_labels(str(tmp_path), only=["other__one"], held_out="secret__vault") == ()


def test_near_misses_have_a_reason_and_move_with_their_words(tmp_path: Path) -> None:
    near = {"line": 2, "quote": "Let me look.", "reason": "move"}
    (label,) = load(str(put(tmp_path, "a.json", near_misses=[near])))
    assert label.near_misses[0].reason == "move"
    moved, _ = relocated(label, {7: "Let me look.", 2: "Keep it."})
    assert moved.near_misses[0].line == 7
    plain = load(str(put(tmp_path, "a.json")))
    assert digest(plain) != digest([label])
    with pytest.raises(StateError, match="reason"):
        load(str(put(tmp_path, "a.json", near_misses=[{**near, "reason": "dull"}])))
