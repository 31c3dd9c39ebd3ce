"""The labelled sessions of our own: what their dialogues give, readable, and labelled truly."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.api import MessageCollector
from leftoff.evaluation import systems
from leftoff.evaluation.label_runs import LabelRun
from leftoff.evaluation.labels import digest, load
from leftoff.evaluation.matching import Counts
from leftoff.evaluation.metrics import SessionScore
from leftoff.evaluation.report import from_json
from leftoff.model import ToolCall, ToolResult
from leftoff.sources.open import open_lines

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT))  # benchmarks/ is not installed
gold = import_module("benchmarks.gold.__main__")
dialogues = import_module("benchmarks.gold.dialogues")
labelling = import_module("benchmarks.gold.labelling")
manifest = import_module("benchmarks.recording.manifest")
LAYOUTS = gold.LAYOUTS

GOLD = ROOT / "corpora" / "gold"
READ_AS = {"openai_chat": "chat", "anthropic_messages": "chat_lines"}
"""Plain message lists are read by formats of another name."""
DONE = ("bug_fixed", "feature_done", "task_done")


def test_recordings_and_labels_are_what_the_dialogues_give() -> None:
    assert gold.differences(GOLD) == []


def test_there_are_as_many_as_the_readme_says() -> None:
    counted = gold.count(GOLD)
    whole = counted.pop("all")
    assert whole["sessions"] >= 20
    assert whole["agent"] >= 1000
    assert len(counted) == 11
    readme = " ".join((GOLD / "README.md").read_text(encoding="utf-8").split())
    projects = {label.repository for label in load(str(GOLD))}
    assert (
        f"{whole['sessions']} sessions about {len(projects)} made-up projects,"
        f" {whole['agent']:,} messages of the agent with words ({whole['with_decision']} of"
        f" them with a key decision), {whole['person']} prompts"
    ) in readme


def test_every_label_stands_where_it_says() -> None:
    sessions, left_out = systems.sessions(load(str(GOLD)), str(GOLD))
    assert left_out == []
    assert [problem for session in sessions for problem in session.problems] == []


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_a_layout_is_read_whole(name: str) -> None:
    for path in sorted((GOLD / "sessions" / name).iterdir()):
        reading = MessageCollector(str(path), None)
        with open_lines(str(path)) as lines:
            reading.feed_lines(lines)
        summary = reading.summary()
        assert summary.session.format == READ_AS.get(name, name)
        assert not [i for i in summary.issues if i.code != "language"], path.name
        lines_read = summary.stats.lines
        assert lines_read.parsed == lines_read.total, path.name
        reading.close()
        parts = [part for message in reading.take() for part in message.parts]
        calls = {part.id for part in parts if type(part) is ToolCall}
        results = {part.call_id for part in parts if type(part) is ToolResult}
        assert calls == results, path.name


def test_the_committed_run_was_measured_on_these_labels_and_holds_no_sentence() -> None:
    data = (ROOT / "benchmarks" / "accuracy" / "gold" / "run.json").read_bytes()
    run = from_json(data, LabelRun)
    assert run.labels == digest(load(str(GOLD)))
    assert run.left_out == ()
    assert {r.system for r in run.results} >= {"leftoff", "plain patterns"}
    names = re.compile(r"[\w.,'()>=+/ -]{0,160}")
    for word in _words(msgspec.json.decode(data)):
        assert names.fullmatch(word)
        assert len(word.split()) <= 6


def test_what_the_page_says_about_the_run_is_in_the_run() -> None:
    run = from_json(
        (ROOT / "benchmarks" / "accuracy" / "gold" / "run.json").read_bytes(), LabelRun
    )
    scores = run.results[0].scores
    foreign = {"gold__ferry", "gold__harvest", "gold__dune", "gold__glade", "gold__juniper"}
    there = [s for s in scores if s.repository in foreign]
    others = [s for s in scores if s.repository not in foreign]

    def found(what: str, among: list[SessionScore]) -> Counts:
        counts = [getattr(score, what) for score in among]
        return Counts(*(sum(getattr(c, k) for c in counts) for k in Counts.__struct_fields__))

    kinds: Counter[str] = Counter()
    for score in scores:
        for kind, counted in score.milestone_kinds.items():
            named = "tests" if kind == "tests_pass" else "done" if kind in DONE else ""
            kinds.update({f"{named} right": counted.right, f"{named} missed": counted.missed})
    pairs = Counter[str]()
    for score in scores:
        pairs.update({pair: n for pair, n in score.types.items() if "-" not in pair})
    right = sum(n for pair, n in pairs.items() if len(set(pair.split(">"))) == 1)
    decisions, milestones = found("decisions", there), found("milestones", there)
    page = " ".join((ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").split())
    for said in (
        f"{decisions.right} of {decisions.right + decisions.missed} messages with a decision",
        f"{milestones.right} of {milestones.right + milestones.missed} milestones are found",
        f"decisions {decisions.f1:.2f} there, {found('decisions', others).f1:.2f} in the",
        f"{kinds['done right']} of {kinds['done right'] + kinds['done missed']} of the kinds",
        f"{kinds['tests right']} of {kinds['tests right'] + kinds['tests missed']} of `tests",
        f"right in {right} of {pairs.total()} cases",
    ):
        assert said in page


def _words(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (str(key), *_words(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str):
        yield value


def test_nothing_private_is_in_it() -> None:
    files = [path for path in sorted(GOLD.rglob("*")) if path.is_file()]
    assert len(files) > 100
    assert [(path.name, found) for path in files for found in manifest._offences(path)] == []


def test_marks_are_taken_out_and_may_stand_in_one_another() -> None:
    said, marks = dialogues.unmarked(
        "Done. [[fix3 key: A [[o: and B]]]]. [[m committed pushed: Sent.]]"
    )
    assert said == "Done. A and B. Sent."
    assert marks == (
        dialogues.Mark("decision", "A and B", "fix", 3, "key"),
        dialogues.Mark("open", "and B"),
        dialogues.Mark("milestone", "Sent.", "committed"),
        dialogues.Mark("milestone", "Sent.", "pushed"),
    )


_WORDS = st.text(st.sampled_from("ab c.é漢\n-"), max_size=12)


@given(st.lists(st.tuples(_WORDS, st.sampled_from(["", "arch1", "m merged", "u task", "o"]))))
def test_taking_marks_out_leaves_the_words(pieces: list[tuple[str, str]]) -> None:
    pieces = [(text, "" if "\n" in text or not text.strip() else mark) for text, mark in pieces]
    marked = "".join(f"[[{mark}: {text}]]" if mark else text for text, mark in pieces)
    said, marks = dialogues.unmarked(marked)
    assert said == "".join(text for text, _ in pieces)
    assert [mark.quote for mark in marks] == [text for text, mark in pieces if mark]


@pytest.mark.parametrize(
    "text",
    [
        "[[fix3: never closed",
        "[[fix9: no such importance]]",
        "[[design2: no such type]]",
        "[[o: two\nlines]]",
        "[[u task:  ]]",
    ],
)
def test_a_mark_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"a mark is not closed, or not known|stands on one line"
    ):
        dialogues.unmarked(text)


HEAD = "format: pi\ncwd: /home/dev/x\nmodel: m\nstarted: 2026-01-01T00:00:00\nabout: x\n\n"


def test_a_dialogue_error_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "x__y.txt"
    path.write_text(f"{HEAD}| printed by nothing\n", encoding="utf-8")
    with pytest.raises(dialogues.DialogueError, match=r"x__y\.txt:7: belongs to nothing"):
        dialogues.read(path)


def test_a_repeat_of_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x__y.txt"
    path.write_text(f"{HEAD}U> Go.\nA> As said. [[also before]]\n", encoding="utf-8")
    dialogue = dialogues.read(path)
    _, places = LAYOUTS["pi"][1](dialogue)
    with pytest.raises(dialogues.DialogueError, match="nothing is named 'before'"):
        labelling.labels(dialogue, "x", places)
