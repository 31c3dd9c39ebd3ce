"""Resuming, measured: what a text keeps of a cut session, and that nothing leaks into it."""

import ast
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import UsageError
from leftoff.evaluation import handover_scores, resume_truth
from leftoff.evaluation.labels import Decision, Labels, Quote
from leftoff.evaluation.report import as_text, to_json
from leftoff.evaluation.resume_forms import RECORDED, TAIL, Form, tail, with_recorded
from leftoff.evaluation.resume_runs import ResumeRun, evaluate_resume
from leftoff.handover import stated_facts, text_match
from leftoff.live.compactions import Cut, cuts
from leftoff.model import Message, Text
from leftoff.summary import ContextSummary

Line: TypeAlias = dict[str, Any]


CHOICE = "I'll keep the upload queue in SQLite instead of Redis."


# -- cuts ------------------------------------------------------------------------------------

MADE_UP = "made_up_later"
SUMMARY = (
    "This session is being continued from a previous conversation. The user asked to make "
    "the uploader survive a restart. The upload queue is kept in SQLite instead of Redis. "
    "Changed: src/upload.py. " + "The work goes on where it was left. " * 12
)


def call(number: int, name: str, result: str, exit_code: int = 0, **given: Any) -> list[Line]:
    """A tool call and its result."""
    key = f"c{number}"
    status = "error" if exit_code else "ok"
    back = {"call_id": key, "text": result, "status": status, "exit_code": exit_code}
    return [
        {"role": "assistant", "parts": [{"call": {"id": key, "name": name, "input": given}}]},
        {"role": "tool", "parts": [{"result": back}]},
    ]


def recorded(later: str = MADE_UP) -> list[Line]:
    """A session with one compaction."""
    talk: list[Line] = [
        {"role": "user", "text": "Make the uploader survive a restart. No new dependencies."},
        {"role": "assistant", "text": CHOICE},
        *call(
            1, "Edit", "ok", file_path="src/upload.py", old_string="x", new_string="retry_limit"
        ),
        *call(
            2,
            "Edit",
            "no such text",
            1,
            file_path="src/missing.py",
            old_string="x",
            new_string="y",
        ),
        *call(3, "Bash", "2 failed", 1, command="pytest -q tests"),
        *call(4, "Bash", "all passed", command="pytest -q tests"),
    ]
    for number in range(5, 60):
        talk += call(number, "Read", f"line {number} of the log " * 9, file_path="log.txt")
    return [
        *talk,
        {"role": "user", "text": SUMMARY, "origin": "compaction"},
        {"role": "user", "text": "Now look at upload.py again."},
        {"role": "assistant", "text": f"I'll raise retry_limit in upload.py for {later}."},
        *call(90, "Bash", "all passed", command="pytest -q tests"),
    ]


def recording(
    inserted: Sequence[Line] = (), added: Sequence[Line] = (), *, compacted: bool = True
) -> bytes:
    """It as bytes, for the cases: with lines after its fourth, at its end, or not compacted."""
    lines = recorded()
    lines[4:4] = inserted
    kept = [one for one in (*lines, *added) if compacted or one.get("origin") != "compaction"]
    return b"".join(json.dumps(line).encode() + b"\n" for line in kept)


def saying(text: str) -> Form:
    """A form that says the same of every session."""
    return lambda *_: text


NAME = "acme__tools__1.jsonl"
LABELS = Labels(
    file=NAME,
    decisions=(
        Decision(2, CHOICE, "architecture", 3),
        Decision(2, "Never mind this small thing.", "other", 1),
        Decision(124, "I'll raise retry_limit in upload.py", "implementation", 3),
    ),
    directives=(
        Quote(1, "Make the uploader survive a restart.", "task"),
        Quote(1, "No new dependencies.", "constraint"),
    ),
)


def write(folder: Path, lines: list[Line], name: str = NAME) -> str:
    path = folder / name
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return str(path)


def test_nothing_of_the_future_reaches_what_is_read(tmp_path: Path) -> None:
    def prefix(later: str) -> tuple[bytes, ...]:
        (found,) = cuts(write(tmp_path, recorded(later)))
        return found.data

    assert prefix(MADE_UP) == prefix("something_else")
    assert not any(MADE_UP.encode() in line for line in prefix(MADE_UP))


@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=8),
    room=st.integers(0, 200),
)
def test_a_tail_never_takes_more_than_it_may(texts: list[str], room: int) -> None:
    messages = tuple(Message(n, "assistant", (Text(text),)) for n, text in enumerate(texts))
    found = Cut("", True, 0, messages, (), "", ())
    assert len(tail(found, room, len)) <= room
    if texts and texts[-1].strip() and len(texts[-1]) + 13 <= room:
        assert tail(found, room, len).endswith(texts[-1] + "\n")


# -- the whole -------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., ResumeRun]:
    write(tmp_path, recorded())

    def run(form: Form, **options: Any) -> ResumeRun:
        labels = options.pop("labels", (LABELS,))
        forms = {"ours": form, **with_recorded(lambda *_: "")}
        return evaluate_resume([str(tmp_path)], labels, forms, resamples=20, **options)

    return run


def shares_of(run: ResumeRun, form: str = "ours") -> dict[str, Any]:
    """Part and whole by measure, of a run with one cut."""
    (one,) = run.cuts
    return dict(zip(run.measures, one.texts[form][2:], strict=True))


def test_a_text_that_says_everything_keeps_everything(
    measured: Callable[..., ResumeRun],
) -> None:
    everything = (
        f"{CHOICE}\nMake the uploader survive a restart. No new dependencies.\n"
        "modified src/upload.py\npytest -q tests passed\nretry_limit\n"
    )
    shares = shares_of(measured(saying(everything)))
    for name in (
        "decisions",
        "directives",
        "changed files",
        "changed files with their change",
        "names used later",
        "commands run again",
        "messages of the person",
        "last message whole",
        "grounded",
    ):
        part, whole = shares[name]
        assert part == whole > 0, name
    assert shares["decisions"] == (1, 1)  # neither the minor one nor the one of the future
    assert shares["outdated"][0] == 0
    assert shares["outdated"][1] > 0


def test_an_empty_text_keeps_nothing(measured: Callable[..., ResumeRun]) -> None:
    shares = shares_of(measured(saying("")))
    assert shares["decisions"] == shares["changed files"] == (0, 1)
    assert shares["grounded"] == (0, 0)


def test_a_form_sees_the_prefix_alone_and_the_tail_has_the_recorders_length(
    measured: Callable[..., ResumeRun],
) -> None:
    seen: list[ContextSummary] = []

    def look(_: Cut, summary: ContextSummary) -> str:
        seen.append(summary)
        return ""

    (one,) = measured(look).cuts
    (summary,) = seen
    tokens: dict[str, Any] = {form: text[0] for form, text in one.texts.items()}
    assert tokens[TAIL] <= tokens[RECORDED]
    assert MADE_UP not in repr(summary)
    assert "continued from a previous" not in repr(summary)


def test_the_recorders_summary_is_measured_like_any_text(
    measured: Callable[..., ResumeRun],
) -> None:
    shares = shares_of(measured(saying("")), RECORDED)
    assert shares["decisions"] == shares["changed files"] == (1, 1)
    assert shares["directives"] == (1, 2)


def test_without_a_cut_there_is_nothing_to_measure(measured: Callable[..., ResumeRun]) -> None:
    with pytest.raises(UsageError, match="no cut"):
        measured(saying(""), natural=False, artificial=True)


def test_decisions_and_directives_need_labels_and_nothing_else_does(
    measured: Callable[..., ResumeRun],
) -> None:
    run = measured(saying(CHOICE), labels=())
    assert not run.cuts[0].labelled
    assert shares_of(run)["decisions"] == (0, 0)
    assert shares_of(run)["changed files"] == (0, 1)


def test_a_run_holds_numbers_and_the_same_each_time(measured: Callable[..., ResumeRun]) -> None:
    runs = [measured(saying(CHOICE)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert b"SQLite" not in to_json(runs[0])
    assert b"retry_limit" not in to_json(runs[0])
    shown = as_text(runs[0].blocks())
    assert "compactions: 1 cuts in 1 sessions" in shown


def test_repositories_that_were_tuned_on_are_reported_apart(tmp_path: Path) -> None:
    for name, first in ((NAME, "Hello."), ("zeta__site__1.jsonl", "Good morning.")):
        write(tmp_path, [{"role": "user", "text": first}, *recorded()], name)
    run = evaluate_resume(
        [str(tmp_path)], (), {"ours": saying("")}, tuned=("zeta__site",), resamples=5
    )
    assert [(g.name, g.cuts) for g in run.groups] == [
        ("compactions", 2),
        ("not tuned on", 1),
        ("tuned on", 1),
    ]


def test_a_cut_that_two_files_hold_counts_once(tmp_path: Path) -> None:
    for name in (NAME, "zeta__site__1.jsonl"):
        write(tmp_path, recorded(), name)
    report = evaluate_resume([str(tmp_path)], (), {"ours": saying("")}, resamples=5)
    assert len(report.cuts) == 1
    assert "in another file" in report.left_out[0]


@pytest.mark.parametrize(
    "module",
    [text_match, stated_facts, handover_scores, resume_truth],
    ids=lambda m: m.__name__,
)
def test_the_scorer_knows_nothing_of_what_it_scores(module: Any) -> None:
    engine = ("extraction", "analysis", "handover", "rendering", "summary")
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    taken = [f"{n.module}.{name.name}" for n in imports for name in n.names]
    measures = (text_match.__name__, stated_facts.__name__)
    assert not [
        name
        for name in taken
        if name.startswith(tuple(f"leftoff.{e}" for e in engine))
        and not name.startswith(measures)
    ]
