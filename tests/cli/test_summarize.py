"""`summarize`, `show` and `verify`: streams, exit codes, forms."""

import gzip
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeAlias

import pytest

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]


def test_text_is_one_screen_without_colour(run: Run, session: Path) -> None:
    done = run("summarize", str(session))
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 96
    assert b"\x1b" not in done.stdout
    heads = [line.split("  ")[0].split(":")[0] for line in lines if line[:1].isupper()]
    order = [
        "Goal ", "State", "You asked", "You decided", "Likely decided by the agent", "Checks",
        "Git", "Files", "Left open",
    ]  # fmt: skip
    assert [head.strip() for head in heads] == [title.strip() for title in order]
    assert not any("%" in line for line in lines)


def test_colour_only_when_asked(run: Run, session: Path) -> None:
    assert b"\x1b[1m" in run("summarize", str(session), FORCE_COLOR="1").stdout
    both = run("summarize", str(session), FORCE_COLOR="1", NO_COLOR="1")
    assert b"\x1b" not in both.stdout


def test_json_is_one_object_with_every_section(run: Run, session: Path) -> None:
    done = run("summarize", str(session), "--json")
    value = json.loads(done.stdout)
    assert list(value) == [
        "schema", "leftoff", "rules", "session", "stats", "key_decisions", "progress",
        "file_modifications", "unknown_effects", "tools_used", "tool_counts", "user_requests",
        "turn", "checks", "git", "key_findings",
        "errors", "next_steps", "working_set", "context", "issues", "formatted",
    ]  # fmt: skip
    assert done.stdout == run("summarize", str(session), "-f", "json").stdout


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


def test_verify_finds_every_reference(run: Run, session: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(session.read_bytes())
    saved = run("summarize", str(copy), "--json").stdout
    done = run("verify", "-", stdin=saved)
    assert (done.returncode, done.stderr) == (0, b"")
    count, _, rest = done.stdout.partition(b" of ")
    assert rest.startswith(count + b" references hold: the words are where")
    copy.write_bytes(copy.read_bytes().replace(b"real length", b"true length"))
    changed = run("verify", "-", stdin=saved)
    assert changed.returncode == 1
    assert b"changed since the summary was made" in changed.stderr


def test_secrets_never_leave(run: Run, session: Path, tmp_path: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"
    copy = tmp_path / "leaky.jsonl"
    copy.write_bytes(
        session.read_bytes().replace(b"largest-remainder", f"token {secret} with".encode())
    )
    for form in ("text", "json", "markdown", "prompt"):
        done = run("summarize", str(copy), "-f", form)
        assert secret.encode() not in done.stdout
        assert done.returncode == 0
    assert b"[REDACTED:" in run("summarize", str(copy), "--json").stdout
    assert secret.encode() not in run("show", str(copy)).stdout


def test_one_subagent_alone(run: Run, root: Path) -> None:
    folder = root / "corpora" / "sessions" / "claude_code" / "tenants"
    whole = json.loads(run("summarize", str(folder), "--json").stdout)
    child = whole["session"]["children"][0]
    alone = json.loads(run("summarize", str(folder), "--agent", child["id"], "--json").stdout)
    assert alone["session"]["id"] == child["id"]
    assert alone["stats"]["message_count"] == child["message_count"]
    assert run("summarize", str(folder), "--agent", "nobody").returncode == 2


def test_since_last_tells_what_is_new(run: Run, session: Path, tmp_path: Path) -> None:
    lines = session.read_bytes().splitlines(keepends=True)
    growing = tmp_path / "growing.jsonl"
    growing.write_bytes(b"".join(lines[: len(lines) // 2]))
    ask = ("summarize", str(growing), "--json", "--since", "last")
    home = str(tmp_path / "home")
    first = json.loads(run(*ask, LEFTOFF_HOME=home).stdout)
    assert first["user_requests"]
    again = json.loads(run(*ask, LEFTOFF_HOME=home).stdout)
    assert again["user_requests"] == []
    growing.write_bytes(b"".join(lines))
    new = json.loads(run(*ask, LEFTOFF_HOME=home).stdout)
    whole = json.loads(run("summarize", str(growing), "--json").stdout)
    half = len(lines) // 2
    assert [r["text"] for r in new["user_requests"]] == [
        r["text"] for r in whole["user_requests"] if r["ref"]["line"] > half
    ]
    kept = tmp_path / "home" / "state" / "asked.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text("{damaged")
    assert run(*ask, LEFTOFF_HOME=home).returncode == 2


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
                ["script", "-qec", line, "/dev/null"],
                capture_output=True,
                check=True,
                timeout=60,
                stdin=subprocess.DEVNULL,
            )
            assert (secret.encode() in seen.stdout.replace(b"\r\n", b"")) is shown
