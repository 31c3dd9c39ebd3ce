"""Runs can be written, read and compared; pages show what was missed, escaped and redacted."""

import ast
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

import leftoff.evaluation
from leftoff.evaluation import labels
from leftoff.evaluation.budget import BudgetRun
from leftoff.evaluation.file_runs import FileRun
from leftoff.evaluation.label_runs import LabelRun, measure, regressions
from leftoff.evaluation.matching import Counts
from leftoff.evaluation.metrics import SessionScore, score
from leftoff.evaluation.pages import page
from leftoff.evaluation.report import Run, as_text, from_json, to_json
from leftoff.evaluation.resume_runs import ResumeRun
from leftoff.evaluation.sessions import LabelledSession, Prediction, Predictions
from leftoff.evaluation.truth_runs import TruthRun
from leftoff.model import Message, Text


def scores(right: int, wrong: int = 3, missed: int = 3) -> list[SessionScore]:
    return [
        SessionScore(
            f"acme__tools__{n}",
            "acme__tools",
            decisions=Counts(right, wrong, missed),
            calibration=((0.8, True), (0.6, n % 2 == 0)),
        )
        for n in range(8)
    ]


def report(found: list[SessionScore], *others: list[SessionScore]) -> LabelRun:
    return LabelRun(
        leftoff="1",
        rules="rules",
        labels="labels",
        recordings="recordings",
        results=(
            measure("leftoff", found, resamples=60, swaps=60),
            *(measure("other", o, found, resamples=60, swaps=60) for o in others),
        ),
    )


def test_a_run_reads_back_as_it_was_written() -> None:
    run = report(scores(5), scores(2))
    assert from_json(to_json(run), LabelRun) == run
    assert to_json(run) == to_json(report(scores(5), scores(2)))
    assert [len(result.scores) for result in run.results] == [8, 0]  # ours only


@pytest.mark.parametrize(
    ("kind", "pattern", "count"),
    [
        (LabelRun, "labels/runs/*.json", 1),
        (LabelRun, "gold/run.json", 1),
        (BudgetRun, "budget/runs/*.json", 1),
        (FileRun, "files/runs/recordings.json", 1),
        (ResumeRun, "resume/runs/*.json", 2),
        (TruthRun, "truth/runs/*.json", 3),
    ],
)
def test_committed_runs_are_read_and_written_alike(
    kind: type[Run], pattern: str, count: int
) -> None:
    folder = Path(__file__).resolve().parents[2] / "benchmarks" / "accuracy"
    runs = sorted(folder.glob(pattern))
    assert len(runs) == count
    for path in runs:
        run = from_json(path.read_bytes(), kind)
        written = json.loads(path.read_bytes())
        assert {**json.loads(to_json(run)), **written} == json.loads(to_json(run))
        assert as_text(run.blocks()).count("\n") > 10


def test_a_baseline_is_tested_in_pairs() -> None:
    text = as_text(report(scores(5), scores(2)).blocks())
    assert "baseline: other" in text
    assert "ours minus it" in text


def test_worse_in_every_session_is_a_regression_and_better_is_none() -> None:
    good, bad = report(scores(6)), report(scores(4))
    worse, _ = regressions(bad, good, resamples=60)
    assert any(w.startswith("key decisions: F1: ") for w in worse)
    assert regressions(good, bad, resamples=60)[0] == []


def test_a_slip_within_chance_is_a_note() -> None:
    before = scores(5)
    spread = [replace(s, decisions=Counts(2 + n, 3, 3 + n % 2)) for n, s in enumerate(before)]
    slipped = [
        replace(s, decisions=Counts(2 + n - (n == 3) + (n == 5) - (n == 7), 3, 3 + n % 2))
        for n, s in enumerate(before)
    ]
    worse, notes = regressions(report(slipped), report(spread), resamples=200)
    assert worse == []
    assert any("within chance" in note for note in notes)


def test_a_session_that_can_no_longer_be_read_is_a_regression() -> None:
    worse, _ = regressions(report(scores(5)[:-1]), report(scores(5)), resamples=60)
    assert "acme__tools__7 was measured then and is not now" in worse


def test_other_labels_are_noted() -> None:
    run = report(scores(5))
    _, notes = regressions(replace(run, labels="new"), run, resamples=60)
    assert notes == ["the labels have changed since that run"]


def seen() -> tuple[LabelledSession, Predictions]:
    secret = "AKIA" + "QWERTYUIOPASDFGH"
    messages = (
        Message(0, "assistant", (Text(f"I'll keep <b>one</b> table. {secret}"),), line=1),
        Message(1, "assistant", (Text("Nothing <script>alert(1)</script> here."),), line=2),
    )
    marked = labels.Labels(
        "acme__tools__1",
        decisions=(labels.Decision(1, "I'll keep <b>one</b> table.", "fix", 3),),
    )
    said = Predictions(decisions=(Prediction(2, "Nothing <script>", "other", 0.9),))
    return LabelledSession(marked, "x", messages), said


def test_the_page_is_one_file_escaped_and_redacted() -> None:
    session, said = seen()
    text = page(report([score(session, said)]), [session], [said])
    assert "<mark>I&#39;ll keep &lt;b&gt;one&lt;/b&gt; table.</mark>" in text
    assert "<script>" not in text
    assert "QWERTYUIOPASDFGH" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<td>key decisions: F1</td>" in text
    assert "0.9 other" in text


def test_a_scorer_imports_nothing_that_finds() -> None:
    folder = Path(leftoff.evaluation.__file__).parent
    runners = {"systems.py", "label_runs.py", "file_runs.py", "recordings.py"}
    # They read recordings and run nothing.
    runners |= {"resume_runs.py", "resume_truth.py", "handover_scores.py", "truth_runs.py"}
    for file in sorted(folder.glob("*.py")):
        if file.name == "budget.py":
            # Asks the ledger itself.
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        named = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        named += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        finding = {"extraction", "shell"}
        if file.name not in runners:
            finding |= {"api", "analysis", "formats"}
        # What weights were learnt from, and the digest of the rules, find nothing.
        named = [name for name in named if not name.endswith((".decision_model", ".rule_sets"))]
        found = [name for name in named if {*name.split(".")[1:2]} & finding]
        assert not found, f"{file.name} imports {found}"
