"""The scrubber and the scenarios that the shipped recordings are made with."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from benchmarks.recording import scenario, scrub

ROOT = Path(__file__).resolve().parents[2]


def test_scrubbing_keeps_links_and_moves_the_clock() -> None:
    started = datetime(2026, 3, 1, 8, tzinfo=UTC)
    scrubber = scrub.Scrubber("s", started, 10, {"/scratch/x": "/home/dev"})
    old = "0a1b2c3d-0000-4000-8000-00000000000"
    lines = [
        {"id": old + "1", "timestamp": "2026-11-21T09:00:00.000Z", "cwd": "/scratch/x/p"},
        {"parent": old + "1", "id": old + "2", "timestamp": "2026-11-21T09:00:02.500Z"},
    ]
    first, second = map(
        json.loads, scrubber.scrub("\n".join(map(json.dumps, lines))).split("\n")
    )
    assert first["cwd"] == "/home/dev/p"
    assert second["parent"] == first["id"] != second["id"]
    assert old[:20] not in first["id"]
    assert first["timestamp"] == "2026-03-01T08:00:00.000Z"
    assert second["timestamp"] == "2026-03-01T08:00:25.000Z"


def test_the_clients_own_instructions_are_left_out() -> None:
    scrubber = scrub.Scrubber("s", datetime(2026, 3, 1, tzinfo=UTC), 1, {})
    line = {"type": "session_meta", "payload": {"base_instructions": {"text": "You are …"}}}
    assert "You are" not in scrubber.scrub(json.dumps(line))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks/recording/scenarios").glob("*.yaml"))
)
def test_every_scenario_loads(path: Path) -> None:
    loaded = scenario.load(path, Path("/home/dev"))
    assert loaded.client in ("claude_code", "codex")
    assert loaded.turns
