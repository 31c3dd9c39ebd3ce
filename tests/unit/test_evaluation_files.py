"""Measuring file tracking against final patches and commits."""

import json
from pathlib import Path

import pytest
from tests.strategies.claude_code import Recording

from leftoff.errors import UsageError
from leftoff.evaluation.budget import evaluate_budget
from leftoff.evaluation.file_runs import evaluate_files
from leftoff.evaluation.file_truth import commits
from leftoff.evaluation.report import as_text

SHA = "0123456789abcdef0123456789abcdef01234567"


def _recording(folder: Path) -> Path:
    path = folder / "owner__repo__one.jsonl"
    clock = "2026-01-01T00:00:{n:02}.000Z"
    made = Recording(clock=clock, cwd="/w", version="2.1.0", isSidechain=False)
    made.call("Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, "ok")
    made.call("Bash", {"command": "touch b.py"}, "")
    told = f"[main {SHA[:7]}] first\n 1 file changed\n"
    made.call("Bash", {"command": "git commit -am first"}, told)
    made.save(path)
    files = [{"status": "M", "path": "a.py"}, {"status": "M", "path": "by-hand.py"}]
    other = {"sha": "f" * 40, "date": "2026-01-01T00:00:03Z", "n_checkpoint_trailers": 1}
    own = {"sha": SHA, "date": "2026-01-01T00:00:04Z", "n_checkpoint_trailers": 1}
    truth = {
        "checkpoints": [
            {"commits": [{**own, "files": files[:1]}, {**other, "files": files[1:]}]}
        ]
    }
    (folder / (path.name + ".groundtruth.json")).write_text(json.dumps(truth))
    return path


def test_committed_files_are_looked_for_in_the_sessions_own_commits(tmp_path: Path) -> None:
    path = _recording(tmp_path)
    assert [c.sha for c in commits(str(path) + ".groundtruth.json")] == ["f" * 40, SHA]
    report = evaluate_files([str(tmp_path)], resamples=10)
    (found,) = report.committed
    assert (found.own, found.own_found, found.commits) == (1, 1, 1)
    assert (found.changed, found.changed_uncommitted, found.uncommitted_shown) == (2, 1, 0)
    assert (report.seed001_modified, report.seed001_commands) == (2, 2)
    figures = report.figures["committed files"]
    assert isinstance(figures, dict)
    assert figures["found"] == 1.0
    assert "committed files: " not in as_text(report.blocks())


def test_the_account_of_a_recording_is_measured_and_what_cannot_be_read_is_named(
    tmp_path: Path,
) -> None:
    _recording(tmp_path)
    (tmp_path / "broken.jsonl").write_text("{}\n")
    run = evaluate_budget([str(tmp_path)], resamples=10)
    assert run.recordings == 1
    assert [why.split(":")[0] for why in run.left_out] == ["broken.jsonl"]
    assert "occupancy" in as_text(run.blocks())
    with pytest.raises(UsageError):
        evaluate_budget([str(tmp_path / "broken.jsonl")])
