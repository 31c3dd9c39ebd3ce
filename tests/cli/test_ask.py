"""`leftoff ask`: the answer on stdout, talk on stderr, a conversation that goes on."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Ask: TypeAlias = Callable[..., Any]

# Remembers a conversation by its id, and says how many prompts it has heard in it.
CLIENT = """#!{python}
import json, pathlib, sys, uuid
home = pathlib.Path({home!r})
prompt = sys.stdin.read()
(home / "given").write_text(json.dumps([*sys.argv[1:], prompt]))
session = sys.argv[sys.argv.index("--resume") + 1] if "--resume" in sys.argv else ""
if session and not (home / session).exists():
    sys.exit("No conversation found with session ID: " + session)
session = session or str(uuid.uuid4())
heard = (home / session).read_text() + "x" if (home / session).exists() else "x"
(home / session).write_text(heard)
print(json.dumps({{"type": "result", "is_error": False, "session_id": session,
      "result": "heard %d\\x1b[2J\\ntoken ghp_{secret}" % len(heard), "usage": {{}}}}))
"""
SECRET = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the client keeps what it was given."""
    folder = tmp_path / "client"
    folder.mkdir()
    return folder


@pytest.fixture
def ask(run: Ask, tmp_path: Path, home: Path) -> Ask:
    """`leftoff ask ARGS` with a client of ours called claude first on the path."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(CLIENT.format(python=sys.executable, home=str(home), secret=SECRET))
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])

    def runner(*args: str, prompt: str = "Look.", **env: str) -> Any:
        env = {"PATH": path, "LEFTOFF_HOME": str(tmp_path / "kept"), **env}
        return run("ask", *args, stdin=prompt.encode(), **env)

    return runner


def _given(home: Path) -> list[str]:
    given: list[str] = json.loads((home / "given").read_text())
    return given


def test_the_answer_is_data_and_the_review_is_talk(ask: Ask) -> None:
    done = ask()
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines()[0] == "heard 1"
    assert done.stderr.decode().startswith("review 20")


def test_what_is_printed_is_redacted_and_safe_for_a_terminal(ask: Ask) -> None:
    done = ask()
    assert b"\x1b" not in done.stdout
    assert SECRET.encode() not in done.stdout
    assert b"[REDACTED:" in done.stdout


def test_continue_sends_what_is_new_to_the_same_model(ask: Ask, home: Path) -> None:
    review = ask("--model", "opus").stderr.decode().split()[1]
    done = ask("--continue", review, "--allowed-tools", "Read,Grep", prompt="And now?")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"heard 2")
    assert done.stderr.decode() == f"review {review} (the conversation was resumed)\n"
    given = _given(home)
    assert given[0] == "--resume"
    assert given[2:] == [
        *("--print", "--output-format", "json", "--model", "opus"),
        *("--allowedTools", "Read,Grep", "And now?"),
    ]


def test_latest_and_no_resume(ask: Ask, home: Path) -> None:
    ask(prompt="Look at parse.py")
    done = ask("--continue", "latest", "--no-resume", prompt="And now?")
    assert b"switched off" in done.stderr
    assert "--resume" not in _given(home)
    assert "Look at parse.py" in _given(home)[-1]


def test_the_environment_switches_resuming_off(ask: Ask, home: Path) -> None:
    ask()
    done = ask("--continue", "latest", LEFTOFF_ENABLE_RESUME="0")
    assert b"switched off" in done.stderr
    assert "--resume" not in _given(home)


def test_a_lost_conversation_costs_one_more_call(ask: Ask, home: Path) -> None:
    ask()
    (lost,) = (path for path in home.iterdir() if path.name != "given")
    lost.unlink()
    done = ask("--continue", "latest", prompt="And now?")
    assert done.returncode == 0
    assert b"no longer has the conversation" in done.stderr
    assert lost.name.encode() not in done.stdout + done.stderr


def test_stats_tell_what_resuming_was_worth(ask: Ask) -> None:
    ask(prompt="Look. " * 200)
    ask("--continue", "latest")
    done = ask("--stats")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 tried, 100%" in done.stdout.decode()
    figures = json.loads(ask("--stats", "--json").stdout)
    assert figures["resume"] == {"tried": 1, "resumed": 1, "rate": 1.0}
    assert figures["resumed_prompts"]["token_reduction"] > 0.5
    assert figures["by_model"]["claude/default"]["rounds"] == 2


def test_stats_of_nothing(ask: Ask) -> None:
    done = ask("--stats")
    assert done.returncode == 0, done.stderr
    assert b"nothing was resumed" in done.stdout


def test_json_is_one_object(ask: Ask) -> None:
    value = json.loads(ask("--json").stdout)
    assert value["text"].startswith("heard 1")
    assert value["resumed"] is False
    assert value["client"] == "claude"
    assert SECRET not in json.dumps(value)


def test_options_after_two_dashes_are_the_clients(ask: Ask, home: Path) -> None:
    assert ask("--", "--permission-mode", "plan").returncode == 0
    assert _given(home)[:2] == ["--permission-mode", "plan"]


def test_reviews_are_kept_for_their_owner(ask: Ask, tmp_path: Path) -> None:
    ask()
    (document,) = (tmp_path / "kept" / "reviews").glob("20*.json")
    assert stat.S_IMODE(document.stat().st_mode) == 0o600
    assert SECRET not in document.read_text()
    assert json.loads(document.read_text())["claudeSessionIds"]["default"]


@pytest.mark.parametrize(
    ("args", "prompt", "words"),
    [
        ((), "  \n", "the prompt is empty"),
        (("--continue", "2026-01-01-001"), "x", "no review named"),
        (("--continue", "latest"), "x", "there is no review yet"),
        (("--continue", "../../etc/passwd"), "x", "cannot be the id"),
        (("--model=--resume",), "x", "must not begin with '-'"),
        (("--client", "codex", "--allowed-tools", "Read"), "x", "knows no list"),
    ],
)
def test_what_cannot_be_is_said(
    ask: Ask, args: tuple[str, ...], prompt: str, words: str
) -> None:
    done = ask(*args, prompt=prompt)
    assert done.returncode == 2
    assert words in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_leftoff_ends_the_client(tmp_path: Path, number: int) -> None:
    note = tmp_path / "pid"
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\necho $$ > {note}.new && mv {note}.new {note}\nsleep 60\n")
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "leftoff", "ask"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": path, "LEFTOFF_HOME": str(tmp_path / "kept")},
    )
    assert process.stdin
    process.stdin.write(b"Look.")
    process.stdin.close()
    process.stdin = None
    end = time.monotonic() + 20
    while not note.exists() and time.monotonic() < end:
        time.sleep(0.02)
    client = int(note.read_text())
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else 143), errors
    assert b"Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(client, 0)


def test_a_client_that_is_not_there_is_said(ask: Ask) -> None:
    done = ask(PATH="/nonexistent")
    assert done.returncode == 2
    assert b"claude cannot be started" in done.stderr
