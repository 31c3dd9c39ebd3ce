"""`summarize`, `show` and `verify`: streams, exit codes, forms."""

from __future__ import annotations

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


def test_output_goes_to_a_file_when_told(run: Run, session: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    done = run("summarize", str(session), "-f", "markdown", "-o", str(target))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"wrote {target}\n"
    assert target.read_text().startswith("# ")


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


def test_show_prints_messages_by_number(run: Run, session: Path) -> None:
    done = run("show", f"{session}#2-3")
    assert done.returncode == 0
    heads = [line for line in done.stdout.decode().splitlines() if line.startswith("#")]
    assert [head.split()[0] for head in heads] == ["#2", "#3"]
    assert run("show", f"{session}#999").returncode == 2
    assert run("show", f"{session}#5-2").returncode == 2


def test_show_prints_the_result_of_a_call(run: Run, session: Path) -> None:
    """A check and a commit are cited by their call; their words stand in its result."""
    shown = run("show", f"{session}#45").stdout.decode()
    heads = [line.split()[0] for line in shown.splitlines() if line.startswith("#")]
    assert heads == ["#45", "#46"]
    assert "7 passed" in shown
    assert "30ff9e5" in shown


def test_a_prompt_names_the_session_as_show_takes_it(
    run: Run, session: Path, tmp_path: Path
) -> None:
    """The start of its id, which leftoff finds only where a client keeps its recordings."""

    def named(place: Path) -> str:
        prompt = run("summarize", str(place), "-f", "prompt").stdout.decode()
        return prompt.partition("leftoff show ")[2].split("#n")[0]

    home = tmp_path / ".claude" / "projects" / "-p" / f"{session_id(session)}.jsonl"
    other = tmp_path / "my sessions" / "one.jsonl"
    for copy in (home, other):
        copy.parent.mkdir(parents=True)
        copy.write_bytes(session.read_bytes())
    assert named(home) == session_id(session)[:8]
    assert named(other) == f"'{other}'"


def session_id(session: Path) -> str:
    return str(json.loads(session.read_bytes().splitlines()[0])["sessionId"])


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


def test_a_file_of_several_sessions(run: Run, tmp_path: Path) -> None:
    rows = [
        {"messages": [
            {"role": "user", "content": f"Please change booking number {n}."},
            {"role": "assistant", "content": "Done."}]}
        for n in range(3)
    ]  # fmt: skip
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(rows))
    last = run("summarize", str(path))
    assert b"booking number 2" in last.stdout
    assert b"3 sessions in" in last.stderr
    first = run("summarize", str(path), "--session", "1")
    assert b"booking number 0" in first.stdout
    assert first.stderr == b""
    assert run("summarize", str(path), "--session", "9").returncode == 2
    assert run("summarize", str(path), "--session", "nobody").returncode == 2


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
