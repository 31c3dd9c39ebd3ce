"""`summarize`, `show`, `verify`, `report`: streams, exit codes, forms, bad input."""

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from leftoff import api
from leftoff.analysis.decisions.explain import Explanation, explain
from leftoff.extraction.decision_model import MODEL, PERSON
from leftoff.summary import ContextSummary

# `summarize`, `show` and `verify`: streams, exit codes, forms.


def test_text_is_one_screen_without_colour(run: Run, session: Path) -> None:
    done = run("summarize", str(session))
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 96
    assert b"\x1b" not in done.stdout
    heads = [line.split("  ")[0].split(":")[0] for line in lines if line[:1].isupper()]
    order = [
        "Began", "State", "You asked", "The agent's last words", "You decided",
        "Likely decided by the agent", "Checks", "Git", "Files", "Left open",
    ]  # fmt: skip
    assert [head.strip() for head in heads] == [title.strip() for title in order]
    assert not any("%" in line for line in lines)


def test_colour_only_when_asked(run: Run, session: Path) -> None:
    assert b"\x1b[1m" in run("summarize", str(session), FORCE_COLOR="1").stdout
    both = run("summarize", str(session), FORCE_COLOR="1", NO_COLOR="1")
    assert b"\x1b" not in both.stdout


SEED_KEYS = {
    "stats": {"messageCount", "toolCallCount", "estimatedTokens"},
    "keyDecisions": {"text", "type", "confidence", "messageIndex"},
    "progress": {"completedStages", "currentStage", "progressPercentage", "milestones"},
    "fileModifications": {"path", "action", "touchCount", "tools"},
    "toolsUsed": None,
    "userRequests": None,
    "formatted": None,
}


def test_the_seeds_shape_is_the_seeds(run: Run, session: Path) -> None:
    value: dict[str, Any] = json.loads(
        run("summarize", str(session), "--shape", "seed001").stdout
    )
    assert list(value) == list(SEED_KEYS)
    for key, inner in SEED_KEYS.items():
        if inner is not None:
            first = value[key][0] if isinstance(value[key], list) else value[key]
            assert set(first) == inner
    assert all(isinstance(text, str) for text in value["userRequests"])
    assert value["formatted"].startswith("Messages: ")


@pytest.mark.parametrize("how", ["file", "stdin", "gzip"])
def test_the_same_session_from_anywhere(
    run: Run, session: Path, tmp_path: Path, how: str
) -> None:
    data = session.read_bytes()
    if how == "gzip":
        packed = tmp_path / "session.data"
        packed.write_bytes(gzip.compress(data))
        done = run("summarize", str(packed), "--json")
    elif how == "stdin":
        done = run("summarize", "-", "--json", stdin=data)
    else:
        done = run("summarize", str(session), "--json")
    value = json.loads(done.stdout)
    want = json.loads(run("summarize", str(session), "--json").stdout)
    del value["session"], want["session"]
    assert value == want


def test_a_session_may_be_named_by_its_directory(run: Run, root: Path) -> None:
    folder = root / "corpora" / "sessions" / "claude_code" / "tenants"
    value = json.loads(run("summarize", str(folder), "--json").stdout)
    assert len(value["session"]["children"]) == 2
    assert len(value["session"]["sources"]) == 3


def test_a_prompt_keeps_its_budget(run: Run, session: Path) -> None:
    from leftoff.tokens import max_tokens

    for budget in (150, 300, 1000):
        done = run("summarize", str(session), "-f", "prompt", "--budget", str(budget))
        assert max_tokens(done.stdout.decode()) <= budget
    assert (
        b"left out" in run("summarize", str(session), "-f", "prompt", "--budget", "300").stdout
    )


def test_secrets_are_shown_on_a_terminal_only(run: Run, tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"role": "user", "content": f"Use {secret} for it."}) + "\n")
    for args in (("summarize", str(path)), ("show", f"{path}#1")):
        done = run(*args, "--no-redact")
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"on a terminal only" in done.stderr
    done = run("summarize", str(path), "--no-redact", "-o", str(tmp_path / "out.txt"))
    assert done.returncode == 2
    assert not (tmp_path / "out.txt").exists()
    if shutil.which("script") is None:
        pytest.skip("needs util-linux's `script`, which gives the program a terminal")
    for args in (("summarize", str(path)), ("show", f"{path}#1")):
        for flag, shown in ((["--no-redact"], True), ([], False)):
            line = shlex.join([sys.executable, "-m", "leftoff", *args, *flag])
            seen = subprocess.run(
                ["script", "-qec", line, "/dev/null"], capture_output=True, check=True,
                timeout=60, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert (secret.encode() in seen.stdout.replace(b"\r\n", b"")) is shown


# `summarize --explain`: what fired, what it weighed, what was nearly told.

NAMES = ("claude_code/prorate.jsonl", "claude_code/outbox.jsonl", "codex/sift.jsonl")


@pytest.fixture(params=NAMES)
def both(root: Path, request: pytest.FixtureRequest) -> tuple[ContextSummary, Explanation]:
    """A session's summary, and why it says so."""
    gathered = api.gather([root / "corpora" / "sessions" / request.param])
    return gathered.summary(), explain(gathered.view())


def test_it_tells_exactly_what_the_summary_tells(
    both: tuple[ContextSummary, Explanation],
) -> None:
    summary, why = both
    told = [(d.ref, d.confidence) for d in why.decisions if d.reported]
    assert told == [(d.ref, d.confidence) for d in summary.key_decisions]
    milestones = {(m.ref, m.kind, m.evidence) for m in why.milestones if m.reported}
    assert milestones == {(m.ref, m.kind, m.evidence) for m in summary.progress.milestones}
    stages = [(s.stage, s.ref.message) for s in why.stages if s.reported]
    assert stages == [(s.stage, s.ref.message) for s in summary.progress.timeline]


def test_the_contributions_add_up_to_the_score(
    both: tuple[ContextSummary, Explanation],
) -> None:
    agents = [d for d in both[1].decisions if d.owner == "agent"]
    assert agents
    for decision in agents:
        assert decision.log_odds is not None
        assert sum(p.points for p in decision.parts) == pytest.approx(
            decision.log_odds, abs=2e-3
        )
        assert decision.together is not None
        assert decision.together >= decision.log_odds - 1e-3
        assert 1 <= decision.place <= decision.messages


def test_what_was_left_out_lies_near_below_what_is_needed(
    both: tuple[ContextSummary, Explanation],
) -> None:
    left_out = [d for d in both[1].decisions if not d.reported]
    for decision in left_out:
        assert decision.needed == (PERSON if decision.owner == "user" else MODEL).least / 1000
        assert decision.needed - 0.1 <= decision.confidence
        assert (
            decision.confidence < decision.needed
            or (decision.message_confidence or 0.0) < MODEL.message_least / 1000
        )
    assert all(m.why and not m.evidence for m in both[1].milestones if not m.reported)
    assert all(s.turns < 3 for s in both[1].stages if not s.reported)


def test_with_json_it_is_an_object(run: Run, session: Path) -> None:
    value = json.loads(run("summarize", "--explain", "--json", str(session)).stdout)
    assert list(value) == ["threshold", "decisions", "milestones", "stages"]
    scored = [decision["parts"] for decision in value["decisions"] if decision["parts"]]
    assert scored[0][0]["feature"] == "bias"


# `summarize -f html` and `report`: the page, what it quotes, streams and exit codes.


def test_a_subagent_has_a_page_too(run: Run, root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "tenants"
    agent = min(path.rglob("agent-*.jsonl")).stem.removeprefix("agent-")
    done = run("summarize", str(path), "--agent", agent, "-f", "html")
    assert (done.returncode, done.stderr) == (0, b"")
    assert agent.encode() in done.stdout
    assert b"at quiet" not in done.stdout  # places that are not quoted
    assert b"The recording was not at hand" not in done.stdout


# Bad input: a documented exit code, one clear line on stderr, no traceback, the rest kept.


def test_unreadable_and_odd_files(run: Run, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert b"not a regular file" in run("summarize", str(fifo)).stderr
    if os.geteuid() != 0:
        closed = tmp_path / "closed.jsonl"
        closed.write_bytes(b'{"role":"user","text":"Rename the flag."}\n')
        closed.chmod(0)
        assert b"permission denied" in run("summarize", str(closed)).stderr


def test_a_closed_pipe_is_no_failure(run: Run, root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    script = (
        f"{sys.executable} -m leftoff show {path} --full | head -c 10; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, timeout=60)
    assert done.stdout.split(b"\n")[-2].endswith(b"0")
    assert done.stderr == b""
