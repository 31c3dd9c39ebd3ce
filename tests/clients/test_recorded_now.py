"""What the clients write today is read without one record of an unknown kind."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.clients.conftest import installed, version

from leftoff import api
from leftoff.sources.discover import find_session, list_sessions
from leftoff.summary import ContextSummary

ROOT = Path(__file__).resolve().parents[2]
PINNED = {"claude": "2.1.197", "codex": "0.169.0"}
SCENARIOS = {"prorate": "claude", "tenants": "claude", "outbox": "claude", "sift": "codex"}


@pytest.mark.parametrize("program", sorted(PINNED))
def test_the_clients_are_of_the_pinned_versions(program: str) -> None:
    if os.environ.get("LEFTOFF_CLIENTS_NEWEST"):
        pytest.skip("the newest versions were asked for")
    assert version(program) == PINNED[program]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_a_session_recorded_now_holds_nothing_unknown(scenario: str, tmp_path: Path) -> None:
    clients = installed(SCENARIOS[scenario]).parents[2]
    script = f"benchmarks/recording/scenarios/{scenario}.yaml"
    out = tmp_path / "out"
    stream = tmp_path / "stream.jsonl"
    command = ["benchmarks.recording.record", script, "-o", str(out), "--clients", str(clients)]
    command += ["--stream", str(stream)]
    subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True, timeout=200)
    written = sorted(path for path in out.rglob("*") if path.is_file())
    written.sort(key=lambda path: len(path.relative_to(out).parts))
    transcripts = [path for path in written if path.suffix == ".jsonl"]
    assert transcripts
    for path in transcripts:
        reading = api.open_pass(str(path))
        assert reading.lines.unknown == 0, list(reading.issues.values())
        assert reading.lines.skipped == 0
        assert reading.lines.total == len(path.read_bytes().splitlines())
        serious = [i for i in reading.issues.values() if i.severity != "info"]
        assert serious == []
    main = transcripts[0]
    summary = api.summarize(str(main))
    assert summary.user_requests
    assert summary.stats.tool_call_count
    assert summary.session.agent_version == version(SCENARIOS[scenario])
    assert len(summary.session.children) == len(
        [p for p in transcripts if "subagents" in p.parts]
    )
    _stream_says_the_same(SCENARIOS[scenario], stream, summary)
    _is_discovered(SCENARIOS[scenario], main, summary.session.id, tmp_path / "home")


def _stream_says_the_same(program: str, stream: Path, recorded: ContextSummary) -> None:
    """What the client printed (`-p --output-format stream-json`, `exec --json`) holds the
    agent's words and calls; without the prompts, which neither prints."""
    reading = api.open_pass(str(stream))
    assert reading.lines.unknown == reading.lines.skipped == 0
    assert reading.format is not None
    assert reading.format.name == {"claude": "claude_code", "codex": "codex_exec"}[program]
    printed = api.summarize(str(stream))
    assert printed.session.id == recorded.session.id
    for name in ("tool_call_count", "assistant_message_count"):
        assert getattr(printed.stats, name) == getattr(recorded.stats, name)
    changed = [
        {f.path for f in found.file_modifications if f.action != "read"}
        for found in (printed, recorded)
    ]
    if program == "claude":  # Codex prints no working directory, so paths stay as they are
        assert changed[0] == changed[1]
    assert bool(changed[0]) == bool(changed[1])


def _is_discovered(program: str, transcript: Path, identity: str, home: Path) -> None:
    below = {
        "claude": f".claude/projects/p/{identity}.jsonl",
        "codex": f".codex/sessions/2026/06/18/{transcript.name}",
    }
    place = home / below[program]
    place.parent.mkdir(parents=True)
    shutil.copyfile(transcript, place)
    environ = {"HOME": str(home)}
    (listed,) = list_sessions(environ)
    assert listed.id == identity
    assert listed.title
    assert listed.project
    assert find_session(identity[:8], environ, "/") == str(place)
