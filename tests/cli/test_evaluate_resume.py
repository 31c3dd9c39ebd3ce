"""`leftoff eval resume`: what it prints, writes and returns."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeAlias

import pytest

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]

SUMMARY = "This session is being continued. The queue is kept in SQLite. " + "It goes on. " * 50
CHOICE = "I'll keep the queue in SQLite instead of Redis, so nothing new has to run."


def lines(compacted: bool) -> list[dict[str, Any]]:
    talk: list[dict[str, Any]] = [
        {"role": "user", "text": "Make the uploader survive a restart."},
        {"role": "assistant", "text": CHOICE},
    ]
    talk += [
        {"role": "assistant", "text": f"Read part_{number} of the log. " * 8}
        for number in range(60)
    ]
    if compacted:
        talk.append({"role": "user", "text": SUMMARY, "origin": "compaction"})
    return [*talk, {"role": "assistant", "text": "I'll look at part_3 again."}]


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    folder = tmp_path / "labels"
    folder.mkdir()
    for name, compacted in (
        ("acme__tools__1", True),
        ("acme__tools__2", False),
        ("marot__spotter__1", True),
    ):
        hello = {"role": "user", "text": f"This is {name}."}
        text = "".join(json.dumps(line) + "\n" for line in [hello, *lines(compacted)])
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        value = {
            "file": f"{name}.jsonl",
            "annotator": "gold",
            "decisions": [
                {"line": 3, "quote": CHOICE, "type": "architecture", "importance": 3}
            ],
            "directives": [{"line": 2, "quote": "survive a restart", "kind": "task"}],
        }
        (folder / f"{name}.labels.json").write_text(json.dumps(value), encoding="utf-8")
    return folder


def test_the_table_sets_every_form_beside_the_summary_and_the_tail(
    run: Run, labels: Path
) -> None:
    done = run(
        *("eval", "resume", str(labels), "--labels", str(labels)),
        *("--tuned", "marot__spotter", "--resamples", "20"),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert "compactions: 2 cuts in 2 sessions, 2 labelled" in text
    assert "not tuned on: 1 cuts in 1 sessions" in text
    for what in ("hook", "checkpoint", "summary", "tail", "decisions", "noise", "grounded"):
        assert what in text


def test_kinds_of_cuts_are_never_pooled(run: Run, labels: Path) -> None:
    done = run("eval", "resume", str(labels), "--cuts", "both", "--resamples", "5", "--json")
    value = json.loads(done.stdout)
    assert value["schema"] == "leftoff.eval.resume/2"
    counts = {g["name"]: g["cuts"] for g in value["groups"]}
    assert counts["compactions"] == 2
    assert {"25%", "50%", "75%"} & counts.keys()
    assert all(count == 1 for name, count in counts.items() if name.endswith("%"))
    # Where no model wrote a summary there is nothing of its length.
    artificial = next(g for g in value["groups"] if g["name"] == "50%")
    assert "recorder's summary" not in artificial["forms"]
    assert "tail" in artificial["forms"]


def test_the_same_run_twice_is_the_same_bytes(run: Run, labels: Path) -> None:
    args = ("eval", "resume", str(labels), "--labels", str(labels), "--resamples", "20")
    first, second = (run(*args, "--json", PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first.stdout
    assert first.stdout == second.stdout


def test_misses_are_written_where_asked_without_the_held_out(
    run: Run, labels: Path, tmp_path: Path
) -> None:
    misses, kept = tmp_path / "misses.jsonl", tmp_path / "run.json"
    done = run(
        *("eval", "resume", str(labels), "--labels", str(labels), "--resamples", "5"),
        *("--misses", str(misses), "-o", str(kept)),
    )
    assert done.returncode == 0
    found = [json.loads(line) for line in misses.read_text(encoding="utf-8").splitlines()]
    assert all(set(m) >= {"session", "cut", "what", "text", "where"} for m in found)
    assert not any(m["session"].startswith("marot__spotter") for m in found)
    assert "SQLite" not in kept.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("{labels}", "--labels", "nowhere"), b"nowhere"),
        (("{labels}/acme__tools__2.jsonl",), b"no cut to measure"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Run, labels: Path, args: tuple[str, ...], words: bytes
) -> None:
    done = run("eval", "resume", *(a.format(labels=labels) for a in args))
    assert done.returncode == 2
    assert words in done.stderr
