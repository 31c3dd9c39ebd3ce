"""The other side of `leftoff eval truth`: what it takes for true, and how it counts."""

import json
from pathlib import Path

from benchmarks.accuracy.checks.outputs import session

from leftoff.evaluation.report import as_text, to_json
from leftoff.evaluation.truth_runs import Counts as Collected
from leftoff.evaluation.truth_runs import evaluate_truth


def test_a_recording_is_measured_and_the_run_holds_no_words(tmp_path: Path) -> None:
    steps = (
        ("user", "Make the zanzibar kettle boil."),
        ("run", ("pytest -q", "1 failed in 0.01s", 1)),
        ("agent", "The kettle boils again."),
        ("user", "Good."),
    )
    path = tmp_path / "kettle.jsonl"
    path.write_bytes(session(*steps))
    report = evaluate_truth([str(path)])
    assert to_json(report) == to_json(evaluate_truth([str(path)]))
    found = report.figures
    assert found["turn open"].right + found["turn open"].wrong == 3
    assert found["turn closed"].right == 1
    assert found["check verdict"].right == 1
    assert found["typed whole"].right == 2
    run = json.loads(to_json(report))
    assert run["schema"] == "leftoff.truth/1"
    assert "zanzibar" not in json.dumps(run)
    assert "turn closed" in as_text(report.blocks(formats=True, listed=("turn open",)))


def test_shares_are_of_what_was_said_and_of_all() -> None:
    counts = Collected()
    counts.counts.update(
        {
            ("check judged", "leftoff", "right"): 8,
            ("check judged", "leftoff", "wrong"): 1,
            ("check judged", "leftoff", "unknown"): 3,
            ("check judged", "aider", "wrong"): 1,
        }
    )
    found = counts.figures()["check judged"]
    assert (found.precision, found.found) == (0.8, 0.6154)
    assert found.by_format["aider"].precision == 0.0
