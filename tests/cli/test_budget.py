"""`leftoff budget`, `leftoff config` and `leftoff eval budget` as people run them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeAlias

import pytest

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]


def line(number: int, tokens: int) -> str:
    record = {
        "type": "assistant",
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s1",
        "version": "2.1.39",
        "timestamp": f"2026-01-01T00:00:{number:02d}Z",
        "message": {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-5",
            "content": [{"type": "text", "text": "Done."}],
            "usage": {
                "input_tokens": 1,
                "output_tokens": 9,
                "cache_read_input_tokens": tokens - 10,
            },
        },
    }
    return json.dumps(record) + "\n"


def boundary(tokens: int) -> str:
    meta = {"trigger": "auto", "preTokens": tokens}
    record = {"type": "system", "subtype": "compact_boundary", "uuid": "c", "sessionId": "s1"}
    return (
        json.dumps({**record, "timestamp": "2026-01-01T00:01:00Z", "compactMetadata": meta})
        + "\n"
    )


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text("".join(line(n, 100_000 + 5_000 * n) for n in range(8)), encoding="utf-8")
    return path


def value_of(done: CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_text_says_how_full_what_was_crossed_and_how_long(run: Run, growing: Path) -> None:
    done = run("budget", str(growing))
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert "135,000 tokens in context · 80.8% of 167,000 usable · 67.5% of 200,000" in text
    assert "caution  at 120,000 tokens  #5" in text
    assert "calls left (32,000 tokens" in text
    assert "claude-opus-4-5" in text
    assert "█" in text
    assert "\x1b" not in text
    assert done.stderr == b""


def test_the_json_holds_every_figure(run: Run, growing: Path) -> None:
    value = value_of(run("budget", str(growing), "--json", "--preset", "handoff"))
    assert value["schema"] == "leftoff.budget/1"
    assert value["context"]["occupancy"] == 135_000
    assert value["spend"]["main"]["total"] == sum(100_000 + 5_000 * n for n in range(8))
    assert [c["name"] for c in value["crossed"]] == ["warning"]
    assert value["crossed"][0]["message"] == 7
    assert value["forecast"]["tokens_left"] == 32_000
    assert [p["tokens"] for p in value["curve"]][-1] == 135_000
    assert value["calls"] == 8


def test_it_reads_a_pipe(run: Run, growing: Path) -> None:
    done = run("budget", "-", "--json", stdin=growing.read_bytes())
    assert value_of(done)["calls"] == 8


def test_the_same_bytes_give_the_same_bytes(run: Run, session: Path) -> None:
    once = run("budget", str(session), "--json", PYTHONHASHSEED="1")
    again = run("budget", str(session), "--json", PYTHONHASHSEED="2")
    assert once.stdout == again.stdout


def test_the_instructions_have_the_figures_of_the_session(run: Run, growing: Path) -> None:
    done = run("budget", str(growing), "--instructions")
    text = done.stdout.decode()
    assert text.startswith("### Context Window Management")
    assert "**70% Threshold (116.9k tokens used, 50.1k remaining):**" in text
    assert "50,100 tokens remaining - consider planning for session transition." in text


def test_thresholds_come_from_the_settings(run: Run, growing: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    done = run(
        "budget", str(growing), "--json", LEFTOFF_CONTEXT_MANAGEMENT_THRESHOLDS_CAUTION="0.65"
    )
    crossed = value_of(done)["crossed"]
    assert [(c["name"], c["at"]) for c in crossed] == [("caution", 0.65)]


def test_watching_tells_what_is_new_and_begins_anew_after_a_compaction(growing: Path) -> None:
    command = [sys.executable, "-m", "leftoff", "budget", str(growing), "--watch", "--json"]
    process = subprocess.Popen(
        [*command, "--interval", "0.05", "--for", "30"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        first = json.loads(process.stdout.readline())
        with growing.open("a", encoding="utf-8") as file:
            file.write(line(8, 150_000) + line(9, 160_000)[:50])
        second = json.loads(process.stdout.readline())
        with growing.open("a", encoding="utf-8") as file:
            file.write(line(9, 160_000)[50:] + boundary(160_100) + line(10, 20_000))
        third = json.loads(process.stdout.readline())
        growing.write_text(line(0, 5_000), encoding="utf-8")
        fourth = json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert [v["calls"] for v in (first, second, third, fourth)] == [8, 9, 11, 1]
    assert [v["context"]["occupancy"] for v in (first, second, third, fourth)] == [
        135_000, 150_000, 20_000, 5_000,
    ]  # fmt: skip
    assert [p["tokens"] for p in third["curve"] if p["emptied"]] == [20_000]


def test_watching_ends_in_time(run: Run, growing: Path) -> None:
    done = run("budget", str(growing), "--watch", "--interval", "0.05", "--for", "0.2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"tokens in context") == 1


def test_standard_input_cannot_be_watched(run: Run) -> None:
    done = run("budget", "-", "--watch")
    assert done.returncode == 2
    assert b"cannot be followed" in done.stderr


def test_a_session_without_usage_says_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_text('{"role": "user", "text": "Add a retry."}\n', encoding="utf-8")
    assert b"No usage is recorded" in run("budget", str(path)).stdout


@pytest.mark.parametrize("args", [("no-such-file",), ("x", "--preset", "handof")])
def test_what_cannot_be_done_is_said(run: Run, args: tuple[str, ...]) -> None:
    done = run("budget", *args)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


# -- config ----------------------------------------------------------------------------------


def test_config_prints_each_value_and_where_it_came_from(run: Run) -> None:
    done = run("config", LEFTOFF_HOME="/elsewhere")
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert '"/elsewhere"  (environment LEFTOFF_HOME)' in text
    assert "200000  (default)" in text


def test_config_of_one_key_as_json(run: Run) -> None:
    value = value_of(run("config", "ContextManagement.Thresholds", "--json"))
    assert value["context_management.thresholds.caution"] == {"value": 0.7, "origin": "default"}
    assert len(value) == 3


def test_a_wrong_setting_is_an_error_everywhere(run: Run, growing: Path) -> None:
    for command in (["config"], ["budget", str(growing)]):
        done = run(*command, LEFTOFF_TOKEN_BUDGET_ENABLD="1")
        assert done.returncode == 2
        assert b"nearest valid one is LEFTOFF_TOKEN_BUDGET_ENABLED" in done.stderr
    done = run("config", "budget_totl")
    assert done.returncode == 2
    assert b"budget_total" in done.stderr


# -- eval ------------------------------------------------------------------------------------


def test_eval_measures_spend_occupancy_and_forecast(run: Run, tmp_path: Path) -> None:
    records = [line(n, 20_000 + 3_000 * n) for n in range(48)] + [boundary(161_500)]
    records += [line(47, 20_000 + 3_000 * 47), line(50, 30_000)]  # msg_47 again, then a new one
    path = tmp_path / "ended.jsonl"
    path.write_text("".join(records), encoding="utf-8")
    value = value_of(run("eval", "budget", str(tmp_path), "--json", "--resamples", "50"))
    assert value["spend"]["distinct"] < value["spend"]["naive"] or value["recordings"] == 1
    assert value["occupancy"]["count"] == 1
    assert value["occupancy"]["median"] < 0.01
    half = value["forecast"]["50%"]
    assert half["calls_left"]["count"] == 1
    assert half["tokens_left"]["median"] < 0.05
    text = run("eval", "budget", str(tmp_path), "--resamples", "50").stdout.decode()
    assert "claude_code" in text
    assert "forecast after 75% of the calls" in text


def test_eval_without_recordings_is_an_error(run: Run, tmp_path: Path) -> None:
    assert run("eval", "budget", str(tmp_path)).returncode == 2
