"""Measuring file tracking against final patches and commits."""

import json
from pathlib import Path
from typing import Any

import pytest

from leftoff.errors import UsageError
from leftoff.evaluation.budget import evaluate_budget
from leftoff.evaluation.file_runs import evaluate_files
from leftoff.evaluation.file_truth import commits
from leftoff.evaluation.report import as_text

SHA = "0123456789abcdef0123456789abcdef01234567"


def _recording(folder: Path) -> Path:
    path = folder / "owner__repo__one.jsonl"
    common: dict[str, Any] = {
        "sessionId": "s-1",
        "cwd": "/w",
        "version": "2.1.0",
        "isSidechain": False,
    }
    calls = [("Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, "ok")]
    calls.append(("Bash", {"command": "touch b.py"}, ""))
    made = f"[main {SHA[:7]}] first\n 1 file changed\n"
    calls.append(("Bash", {"command": "git commit -am first"}, made))
    lines: list[str] = []
    for number, (name, given, output) in enumerate(calls):
        block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        came = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
        for role, part in (("assistant", block), ("user", came)):
            key = f"k{len(lines)}"
            time = f"2026-01-01T00:00:{len(lines):02}.000Z"
            message = {"id": f"m{number}", "role": role, "content": [part]}
            parent = f"k{len(lines) - 1}" if lines else None
            record: dict[str, Any] = {
                "type": role,
                "uuid": key,
                "parentUuid": parent,
                "timestamp": time,
            }
            record |= {"userType": "external", "message": message}
            lines.append(json.dumps({**common, **record}))
    path.write_text("\n".join(lines) + "\n")
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
    assert (found.span, found.span_found) == (2, 1)
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
