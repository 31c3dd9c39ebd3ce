"""`leftoff checkpoint` and `leftoff redact`."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from leftoff.cli.checkpointing import checkpoint
from leftoff.cli.redacting import redact
from leftoff.errors import Damaged, LeftoffError, UnknownName, UsageError

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def call(command: click.Command, *args: str | Path, stdin: str | bytes = "") -> Result:
    result = CliRunner().invoke(command, [str(a) for a in args], input=stdin)
    if isinstance(result.exception, LeftoffError):
        raise result.exception
    return result


@pytest.fixture
def made(root: Path) -> str:
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    return call(checkpoint, "create", path, "--task", "t1", "--limit", "30000").stdout.strip()


def test_create_list_show_inject(made: str, tmp_path: Path) -> None:
    assert made.startswith("t1-")
    assert call(checkpoint, "list").stdout.startswith(made)
    (entry,) = map(json.loads, call(checkpoint, "list", "--json").stdout.splitlines())
    assert entry["where"].endswith(f"{made}.json.gz")
    assert "src/outbox.js" in call(checkpoint, "show", "latest").stdout
    value = json.loads(call(checkpoint, "show", made[:4], "--json").stdout)
    assert value["checkpoint_id"] == made
    assert value["tokens"]["total_allocated"] == 30000
    prompt = b"Go on.\r\n\xff\n"
    whole = call(checkpoint, "inject", made, stdin=prompt).stdout_bytes
    assert whole.startswith(f"[Context Checkpoint: {made}]\n".encode())
    assert whole.endswith(b"\nContinue task: " + prompt)
    (tmp_path / "p.txt").write_bytes(prompt)
    assert call(checkpoint, "inject", made, "--prompt", "p.txt").stdout_bytes == whole
    alone = call(checkpoint, "inject", made, "--budget", "3", stdin=prompt)
    assert alone.stdout_bytes == prompt
    assert "does not fit" in alone.stderr


def test_create_prints_json_and_keeps_nothing(root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    value = json.loads(call(checkpoint, "create", path, "--json", "--capacity", "98").stdout)
    assert value["capacity_threshold"] == "98"
    assert call(checkpoint, "list").stdout == ""


def test_create_writes_the_sections_on_request(root: Path, tmp_path: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    options = ["--markdown", ".", "--project", "shop", "--goal", "Outbox", "--task", "t1"]
    for _ in range(2):
        call(checkpoint, "create", path, *options, "--capacity", "95")
    folder = tmp_path / "contexts" / "sandbox" / "shop"
    for name in ("project.md", "outbox.md"):
        text = (folder / name).read_text("utf-8")
        assert text.count("<!-- leftoff:checkpoint") == 1


def test_clean_names_first_and_removes_with_yes(made: str) -> None:
    first = call(checkpoint, "clean", "--days", "0")
    assert first.stdout.split() == [made]
    assert "would be removed" in first.stderr
    assert call(checkpoint, "clean", "--days", "0", "--yes").stdout.split() == [made]
    assert call(checkpoint, "list").stdout == ""


def test_ids_are_unambiguous_or_refused(made: str, root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "prorate.jsonl"
    call(checkpoint, "create", path, "--task", "t2")
    with pytest.raises(UsageError, match="any of 2"):
        call(checkpoint, "show", "t")
    with pytest.raises(UnknownName):
        call(checkpoint, "show", "nothing")


def test_an_edited_checkpoint_is_refused_until_it_is_accepted(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEFTOFF_TOKEN_BUDGET_CONTEXT_DUMP_COMPRESSION", "none")
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    made = call(checkpoint, "create", path, "--task", "t1").stdout.strip()
    file = tmp_path / ".leftoff" / "context-checkpoints" / f"{made}.json"
    text = file.read_text("utf-8")
    before, state, after = text.partition('"execution_state"')
    edited = before + state + after.replace('"iteration": 8', '"iteration": 9', 1)
    file.write_text(edited, "utf-8")
    with pytest.raises(Damaged):
        call(checkpoint, "inject", file)
    assert call(checkpoint, "accept", file).exit_code == 0
    assert "Iteration: 9\n" in call(checkpoint, "inject", made).stdout
    file.write_text(text.replace('"remaining":', '"remaining": 1, "was":', 1), "utf-8")
    result = CliRunner().invoke(checkpoint, ["accept", str(file)], standalone_mode=False)
    assert result.return_value == 1
    assert "remaining is not" in result.stderr


# -- redact ----------------------------------------------------------------------------------


def test_text_is_redacted_and_counted() -> None:
    done = call(redact, "-", stdin=f"a\ntoken {SECRET}\nagain {SECRET}\n")
    assert SECRET not in done.stdout
    assert done.stdout.count("[REDACTED:") == 2
    assert done.stderr.startswith("replaced 2: ")


def test_benign_bytes_pass_unchanged() -> None:
    data = b"\xff\xfe caf\xc3\xa9\r\nno newline at the end"
    assert call(redact, "-", stdin=data).stdout_bytes == data


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_judged_by_its_keys(tmp_path: Path, indent: int | None) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"password": "hunter2horse!", "n": [1, 2]}, indent=indent), "utf-8"
    )
    value = json.loads(call(redact, "a.json").stdout)
    assert value == {"password": "[REDACTED:password:1]", "n": [1, 2]}


def test_each_line_of_jsonl_stays_a_line(tmp_path: Path) -> None:
    lines = [{"a": 1}, {"token": SECRET}, {"a": "x"}]
    text = "".join(json.dumps(line) + "\n" for line in lines) + "not json " + SECRET + "\n"
    (tmp_path / "a.jsonl").write_text(text, "utf-8")
    out = call(redact, "a.jsonl").stdout.splitlines()
    assert (out[0], out[2]) == (json.dumps(lines[0]), json.dumps(lines[2]))
    assert SECRET not in "".join(out)
    assert len(out) == 4


def test_a_file_of_secrets_is_replaced_whole(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("COLOUR=blue\n", "utf-8")
    assert call(redact, ".env").stdout == "[REDACTED:file:1]\n"


def test_a_private_key_over_the_end_of_a_piece_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leftoff.cli.redacting.CHUNK", 400)
    body = "\n".join("MIIEowIBAAKCAQEAq7" + "abcdefgh" * 5 + str(n) for n in range(12))
    marks = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----")
    (tmp_path / "a.log").write_text(
        "x\n" * 90 + f"{marks[0]}\n{body}\n{marks[1]}\n" + "y\n" * 90, "utf-8"
    )
    out = call(redact, "a.log").stdout
    assert "MIIEow" not in out
    assert out.count("y\n") == 90


def test_the_file_that_is_read_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    with pytest.raises(UsageError):
        call(redact, "a.txt", "-o", "a.txt")
    call(redact, "a.txt", "-o", "b.txt")
    assert (tmp_path / "b.txt").read_text("utf-8") == "x"
