"""Label files are read strictly; recordings are found by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leftoff.errors import SourceError, StateError
from leftoff.evaluation.label_runs import select_labels
from leftoff.evaluation.labels import (
    Labels,
    Move,
    digest,
    find_recordings,
    label_problems,
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


def test_a_quote_must_stand_where_the_label_says() -> None:
    label = Labels("f", open_items=load_items((1, "here"), (2, "gone"), (3, "nowhere")))
    problems = label_problems(label, {1: "it is here", 2: "not that"})
    assert problems == ["f: 2 does not say 'gone'", "f: no message with words at 3"]


def load_items(*items: tuple[int, str]) -> Any:
    from leftoff.evaluation.labels import OpenItem

    return tuple(OpenItem(line, quote) for line, quote in items)


def test_the_digest_minds_content_and_not_order() -> None:
    a, b = Labels("a"), Labels("b")
    assert digest([a, b]) == digest([b, a])
    assert digest([a, b]) != digest([a, Labels("b", annotator="x")])


def test_the_held_out_repository_is_seen_only_when_reporting(tmp_path: Path) -> None:
    put(tmp_path, "a.json")
    put(tmp_path, "b.json", file="secret__vault__b.jsonl")
    seen = select_labels(str(tmp_path), held_out="secret__vault")
    assert [x.repository for x in seen] == ["acme__tools"]
    reported = select_labels(str(tmp_path), held_out="secret__vault", reporting=True)
    assert [x.repository for x in reported] == ["secret__vault"]
    assert select_labels(str(tmp_path), only=["other__one"], held_out="secret__vault") == ()


def _label(**changed: Any) -> Labels:
    return msgspec.convert({"file": "a.jsonl", **changed}, Labels)


def directive(line: int, quote: str, **more: Any) -> dict[str, Any]:
    return {"line": line, "quote": quote, "kind": "task", **more}


def test_a_label_moves_to_where_its_quote_stands() -> None:
    texts = {1: "Count the rows, please.", 5: "I count the rows.", 9: "Count the  rows, now."}
    label = _label(directives=[directive(4, "Count the rows, now."), directive(1, "rows")])
    found, moves = relocated(label, texts)
    assert [d.line for d in found.directives] == [9, 1]
    assert moves == [Move("directives", 4, 9)]


def test_directives_are_looked_for_in_the_persons_words_first() -> None:
    texts = {1: "Start.", 4: "You said: use the long names", 30: "use the long names"}
    label = _label(directives=[directive(3, "use the long names")])
    assert relocated(label, texts, {1: texts[1], 30: texts[30]})[0].directives[0].line == 30
    assert relocated(label, texts)[0].directives[0].line == 4


def test_a_quote_that_stands_nowhere_keeps_its_place() -> None:
    label = _label(directives=[directive(3, "paint the fence")])
    assert relocated(label, {3: "Count."}) == (label, [Move("directives", 3, None)])


def test_a_short_quote_is_not_looked_for_far_away() -> None:
    texts = dict.fromkeys(range(1, 20), "Well.") | {20: "yes"}
    label = _label(directives=[directive(2, "yes"), directive(16, "yes")])
    assert [d.line for d in relocated(label, texts)[0].directives] == [2, 20]


def test_the_line_of_the_recording_outranks_what_a_reader_made_of_it() -> None:
    """In one file an earlier reader took many turns for one: their labels bear its line."""
    texts = {7: "Do it. Show it.", 40: "Done.", 90: "Done."}
    label = _label(
        milestones=[{"line": 40, "quote": "Done.", "kind": "task_done", "source_line": 90}],
        swallowed_user_turns=[{"source_line": 7, "quote": "Show it.", "kind": "task"}],
    )
    found, moves = relocated(label, texts)
    assert found.milestones[0].line == 90
    assert [(d.line, d.quote) for d in found.directives] == [(7, "Show it.")]
    assert moves == [Move("milestones", 40, 90)]
    assert label_problems(found, texts) == []


@pytest.mark.parametrize(
    "quote",
    [
        "<command-name>/review</command-name>",
        "<command-message>review</command-message>\n<command-name>/review</command-name>",
        "<command-name>/review</command-name>\n<command-args>this branch</command-args>",
        "<command-args>this branch</command-args>",
    ],
)
def test_a_quoted_command_is_compared_as_it_is_shown(quote: str) -> None:
    label = _label(directives=[directive(1, quote)])
    assert label_problems(label, {1: "/review this branch"}) == []


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
