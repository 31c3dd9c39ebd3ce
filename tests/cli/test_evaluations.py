"""`leftoff eval labels` and `leftoff eval resume`: what they print, write and return."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.conftest import Run

# `leftoff eval labels`: what it prints, writes and returns.


TALK = [
    ("user", "Make the uploader survive a restart."),
    ("assistant", "I'll keep the queue in SQLite instead of Redis, so nothing new has to run."),
    ("assistant", "All 14 tests pass."),
    ("user", "Good. Please also log every retry."),
    ("assistant", "I'm going with one log line for each retry rather than a counter."),
]


def label(folder: Path, name: str, **changed: Any) -> None:
    lines = [json.dumps({"role": role, "content": text}) for role, text in TALK]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    value: dict[str, Any] = {
        "file": f"{name}.jsonl",
        "annotator": "gold",
        "decisions": [
            {"line": 2, "quote": TALK[1][1], "type": "architecture", "importance": 3},
            {"line": 5, "quote": TALK[4][1], "type": "implementation", "importance": 2},
        ],
        "milestones": [{"line": 3, "quote": "All 14 tests pass.", "kind": "tests_pass"}],
        "stages": [{"line": 1, "stage": "planning"}, {"line": 3, "stage": "testing"}],
        "directives": [{"line": 1, "quote": TALK[0][1], "kind": "task"}],
        "open_items": [{"line": 4, "quote": "log every retry"}],
    }
    text = json.dumps({**value, **changed})
    (folder / f"{name}.labels.json").write_text(text, encoding="utf-8")


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    folder = tmp_path / "labels"
    folder.mkdir()
    for name in ("acme__tools__1", "acme__tools__2", "zeta__site__1"):
        label(folder, name)
    return folder


def test_the_same_run_twice_is_the_same_bytes(run: Run, labels: Path) -> None:
    args = ("eval", "labels", str(labels), "--resamples", "20", "--json", "--baselines")
    first, second = run(*args, PYTHONHASHSEED="1"), run(*args, PYTHONHASHSEED="2")
    assert first.stdout == second.stdout
    names = [r["system"] for r in json.loads(first.stdout)["results"]]
    assert names == ["leftoff", "plain patterns", "every message, one stage"]


def test_a_run_compares_with_itself_and_tells_what_became_worse(
    run: Run, labels: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "run.json"
    args = ("eval", "labels", str(labels), "--resamples", "20")
    assert run(*args, "-o", str(kept)).returncode == 0
    assert run(*args, "--against", str(kept)).returncode == 0
    value = json.loads(kept.read_text(encoding="utf-8"))
    for score in value["results"][0]["scores"]:
        score["decisions"] = {"right": 2, "wrong": 0, "missed": 0}
    for name in ("decisions_f1", "decisions_recall", "decisions_precision"):
        value["results"][0]["figures"][name] |= {"value": 1.5, "low": 1.4, "high": 1.6}
    kept.write_text(json.dumps(value), encoding="utf-8")
    done = run(*args, "--against", str(kept))
    assert done.returncode == 1
    assert b"worse: key decisions: F1" in done.stderr


def test_sessions_that_were_trained_on_are_told_apart(
    labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leftoff.evaluation.label_runs import LabelRun, evaluate_labels, select_labels
    from leftoff.evaluation.labels import fingerprint
    from leftoff.evaluation.report import as_text, from_json, to_json
    from leftoff.extraction import decision_model

    def report(*trained: str) -> LabelRun:
        known = tuple(fingerprint(str(labels / f"{name}.jsonl")) for name in trained)
        model = replace(decision_model.MODEL, learnt_from=known)
        with monkeypatch.context() as patched:
            patched.setattr(decision_model, "MODEL", model)
            return evaluate_labels(select_labels(str(labels)), str(labels), resamples=20).report

    for number, name in enumerate(("acme__tools__2", "zeta__site__1")):  # no two alike
        with (labels / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"role": "user", "content": f"Thanks {number}."}) + "\n")
    none = report()
    assert (none.trained, none.apart) == ((), ())
    assert "trained on none of these" in as_text(none.blocks())
    assert " *" not in as_text(none.blocks())
    some = report("acme__tools__2")
    assert some.trained == ("acme__tools__2.jsonl",)
    assert [p.figures["decisions_f1"].sessions for p in some.apart] == [2, 1]
    text = as_text(some.blocks())
    assert "* the decision weights were trained on 1 of these 3 sessions" in text
    assert text.index("leftoff, not trained on (2)") < text.index("leftoff, trained on (1)")
    assert text.count("key decisions: F1 *") == 2
    assert text.count("stages: macro-F1 *") == 0
    every = report("acme__tools__1", "acme__tools__2", "zeta__site__1")
    assert (len(every.trained), every.apart) == (3, ())
    assert from_json(to_json(some), LabelRun) == some


# `leftoff eval resume`: what it prints, writes and returns.

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
def labels_of_evaluate(tmp_path: Path) -> Path:
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
    run: Run, labels_of_evaluate: Path
) -> None:
    done = run(
        *("eval", "resume", str(labels_of_evaluate), "--labels", str(labels_of_evaluate)),
        *("--tuned", "marot__spotter", "--resamples", "20"),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert "compactions: 2 cuts in 2 sessions, 2 labelled" in text
    assert "not tuned on: 1 cuts in 1 sessions" in text
    for what in ("hook", "checkpoint", "summary", "tail", "decisions", "noise", "grounded"):
        assert what in text


def test_kinds_of_cuts_are_never_pooled(run: Run, labels_of_evaluate: Path) -> None:
    done = run(
        "eval", "resume", str(labels_of_evaluate), "--cuts", "both", "--resamples", "5",
        "--json",
    )  # fmt: skip
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


def test_what_the_block_lacks_is_written_without_the_held_out(
    labels_of_evaluate: Path, tmp_path: Path
) -> None:
    from benchmarks.accuracy.resume.misses import main

    written = tmp_path / "misses.jsonl"
    assert (
        main([str(labels_of_evaluate), "--labels", str(labels_of_evaluate), "-o", str(written)])
        == 0
    )
    found = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    assert all(set(m) >= {"session", "cut", "what", "text", "where"} for m in found)
    assert not any(m["session"].startswith("marot__spotter") for m in found)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("{labels_of_evaluate}", "--labels", "nowhere"), b"nowhere"),
        (("{labels_of_evaluate}/acme__tools__2.jsonl",), b"no cut to measure"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Run, labels_of_evaluate: Path, args: tuple[str, ...], words: bytes
) -> None:
    done = run(
        "eval", "resume", *(a.format(labels_of_evaluate=labels_of_evaluate) for a in args)
    )
    assert done.returncode == 2
    assert words in done.stderr
