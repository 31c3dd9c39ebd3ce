"""`leftoff budget`, `leftoff config` and `leftoff eval budget` as people run them."""

import json
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.strategies.writers import claude_call, claude_compaction


def line(number: int, tokens: int) -> str:
    return json.dumps(claude_call(number, tokens)) + "\n"


def boundary(tokens: int) -> str:
    return json.dumps(claude_compaction(tokens)) + "\n"


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text("".join(line(n, 100_000 + 5_000 * n) for n in range(8)), encoding="utf-8")
    return path


def value_of(done: CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


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
