"""`leftoff checkpoint` and `leftoff redact`."""

import gzip
import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from leftoff.cli.checkpoint import checkpoint
from leftoff.cli.redact import redact
from leftoff.errors import Damaged, LeftoffError


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


def test_create_writes_the_sections_on_request(root: Path, tmp_path: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    options = ["--markdown", ".", "--project", "shop", "--goal", "Outbox", "--task", "t1"]
    for _ in range(2):
        call(checkpoint, "create", path, *options, "--capacity", "95")
    folder = tmp_path / "contexts" / "sandbox" / "shop"
    for name in ("project.md", "outbox.md"):
        text = (folder / name).read_text("utf-8")
        assert text.count("<!-- leftoff:checkpoint") == 1


def test_standard_input_is_read_once_and_told_whole(root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    options = ["--task", "t1", "--json"]
    there = json.loads(call(checkpoint, "create", path, *options).stdout)
    piped = json.loads(
        call(checkpoint, "create", "-", *options, stdin=path.read_bytes()).stdout
    )
    assert piped["conversation"] == there["conversation"]
    assert piped["execution_state"] == there["execution_state"]
    assert piped["conversation"]["full_history"]
    assert piped["execution_state"]["last_validation_result"]


def test_a_damaged_one_is_marked_and_stays(made: str, tmp_path: Path) -> None:
    file = tmp_path / ".leftoff" / "context-checkpoints" / f"{made}.json.gz"
    edited = gzip.decompress(file.read_bytes()).replace(b'"t1"', b'"t2"', 1)
    file.write_bytes(gzip.compress(edited))
    assert call(checkpoint, "list").stdout.rstrip().endswith(" damaged")
    assert json.loads(call(checkpoint, "list", "--json").stdout)["readable"] is False
    for options in (["--dry-run"], []):
        done = call(checkpoint, "clean", "--days", "0", *options)
        assert (done.stdout, "1 left" in done.stderr) == ("", True)
    hint = re.escape(f"leftoff checkpoint accept {file.relative_to(tmp_path)}")
    for command in ("show", "inject"):
        with pytest.raises(Damaged, match=hint):
            call(checkpoint, command, made)


def test_an_edited_checkpoint_is_refused_until_it_is_accepted(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEFTOFF_TOKEN_BUDGET_CONTEXT_DUMP_COMPRESSION", "none")
    path = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    made = call(checkpoint, "create", path, "--task", "t1").stdout.strip()
    file = tmp_path / ".leftoff" / "context-checkpoints" / f"{made}.json"
    text = file.read_text("utf-8")
    before, state, after = text.partition('"execution_state"')
    edited = before + state + after.replace('"iteration": 4', '"iteration": 9', 1)
    file.write_text(edited, "utf-8")
    with pytest.raises(Damaged, match="leftoff checkpoint accept"):
        call(checkpoint, "inject", file)
    assert call(checkpoint, "accept", file).exit_code == 0
    assert "Iteration: 9\n" in call(checkpoint, "inject", made).stdout
    file.write_text(text.replace('"remaining":', '"remaining": 1, "was":', 1), "utf-8")
    result = CliRunner().invoke(checkpoint, ["accept", str(file)], standalone_mode=False)
    assert result.return_value == 1
    assert "remaining is not" in result.stderr


# -- redact ----------------------------------------------------------------------------------


def test_a_private_key_over_the_end_of_a_piece_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leftoff.cli.redact.CHUNK", 400)
    body = "\n".join("MIIEowIBAAKCAQEAq7" + "abcdefgh" * 5 + str(n) for n in range(12))
    marks = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----")
    (tmp_path / "a.log").write_text(
        "x\n" * 90 + f"{marks[0]}\n{body}\n{marks[1]}\n" + "y\n" * 90, "utf-8"
    )
    out = call(redact, "a.log").stdout
    assert "MIIEow" not in out
    assert out.count("y\n") == 90
