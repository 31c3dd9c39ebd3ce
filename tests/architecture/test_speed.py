"""A summary stays as fast as it was, beside parsers that are measured in the same run."""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from unittest import mock

import pytest

from leftoff.analysis.session_pass import Pass


def test_a_summary_is_not_slower_than_it_was(root: Path) -> None:
    """Processor time, medians of rounds, a process of its own, which tries twice."""
    watched = {"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "PYTHONTRACEMALLOC"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed", "gate"], cwd=root,
        env={name: value for name, value in os.environ.items() if name not in watched},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_gate_closes_when_both_yardsticks_say_so() -> None:
    from benchmarks.speed.gate import SLACK, slower

    then = {"ratios": {"orjson.loads": 0.05, "naive": 0.4, "msgspec, typed": 0.04}}
    fell = {name: value * (SLACK - 0.01) for name, value in then["ratios"].items()}
    assert slower({"ratios": fell}, then)
    assert not slower({"ratios": fell | {"naive": 0.4}}, then)
    assert not slower(then, then)


def test_every_stage_names_functions_that_exist() -> None:
    from benchmarks.speed.stages import STAGES

    for names in STAGES.values():
        for name in names:
            with mock.patch(name):
                pass


def test_a_repeated_session_holds_no_copies(root: Path) -> None:
    """Once, only the half of each id was renewed that tells the time, not the random half that
    a record is known by: a session of 500 MB was one of 2 MB and 250 copies of it, which cost
    next to nothing."""
    from benchmarks.speed.data import parts

    path = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    data = path.read_bytes()
    counts: list[tuple[int, int, int]] = []
    for times in (1, 4):
        reading = Pass()
        for part in islice(parts([(path.name, data)], 10**9), times):
            reading.feed(part)
        reading.close()
        stats = reading.conclude().stats
        counts.append((stats.message_count, stats.turn_count, stats.tool_call_count))
    assert counts[1] == tuple(4 * count for count in counts[0])


def test_the_naive_summary_does_its_work(root: Path) -> None:
    from benchmarks.speed import naive

    said = (
        b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":'
        b'"I will use a queue here. All tests pass."},{"type":"tool_use","name":"Write",'
        b'"input":{"file_path":"/p/a.py"}},{"type":"tool_use","name":"Bash","input":'
        b'{"command":"rm b.py"}}]}}\n'
    )
    found = naive.summarize(said)
    assert [d.type for d in found.decisions] == ["implementation"]
    assert found.milestones == ["tests pass"]
    assert {f.path: f.action for f in found.files.values()} == {"/p/a.py": "created"}
    assert found.tools == {"Write": 1, "Bash": 1}
    shipped = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    told = naive.summarize(shipped.read_bytes())
    assert told.messages
    assert told.calls
    assert told.requests


def test_the_exponent_is_the_slope() -> None:
    from benchmarks.speed.growth import exponent

    assert exponent([(1, 3), (10, 30), (100, 300)]) == pytest.approx(1)
    assert exponent([(1, 1), (10, 100)]) == pytest.approx(2)


@pytest.mark.skipif(os.name != "posix", reason="asks the kernel what a child used")
def test_memory_is_that_of_the_program_and_not_of_who_started_it() -> None:
    """The kernel counts the peak of a child from what its parent held when it began."""
    from benchmarks.speed.processes import spend

    held = bytearray(b"x") * (200 << 20)
    spent = spend((sys.executable, "-I", "-S", "-c", "held = bytearray(b'x') * (60 << 20)"))
    assert 60 << 20 < spent.peak < 120 << 20 < len(held)
    assert spent.code == 0
    assert spent.cpu > 0
    with pytest.raises(RuntimeError, match="exit 3"):
        spend((sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"))
