"""`list`, bare `leftoff`, and naming a session by id: streams, exit codes, speed."""

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from leftoff.cli import group
from leftoff.sources import discover

Call: TypeAlias = Callable[..., tuple[int, str, str]]
NOON = 1_790_000_000


@pytest.fixture
def home(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two sessions of ours, one of them with subagents."""
    recorded = root / "corpora/sessions/claude_code"
    home = tmp_path / "home"
    for project, file, at in (
        ("-home-dev-billing", recorded / "prorate.jsonl", NOON),
        ("-home-dev-reports", next(recorded.glob("tenants/*.jsonl")), NOON + 86_400),
    ):
        data = file.read_bytes()
        name = json.loads(data.splitlines()[0]).get("sessionId") or file.stem
        copy = home / ".claude/projects" / project / f"{name}.jsonl"
        copy.parent.mkdir(parents=True)
        copy.write_bytes(data)
        os.utime(copy, (at, at))
        for side in file.with_suffix("").glob("subagents/*"):
            below = copy.with_suffix("") / "subagents" / side.name
            below.parent.mkdir(parents=True, exist_ok=True)
            below.write_bytes(side.read_bytes())
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """`leftoff ARGS` in this process: exit code, stdout, stderr."""

    def caller(*args: str) -> tuple[int, str, str]:
        code = group.main(list(args))
        out, err = capsys.readouterr()
        return code, out, err

    return caller


def test_json_is_one_object_on_each_line(call: Call, home: Path) -> None:
    _, out, _ = call("list", "--json")
    values = [json.loads(line) for line in out.splitlines()]
    assert [value["project"] for value in values] == ["/home/dev/reports", "/home/dev/billing"]
    assert values[1]["id"] == "b0b81e65-570d-4942-ad6e-0c3cf7b0e511"
    assert values[1]["format"] == "claude_code"
    assert values[1]["files"] == [values[1]["path"]]
    assert values[1]["size"] == Path(values[1]["path"]).stat().st_size


def test_secrets_in_titles_stay_here(call: Call, home: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7h" * 3 + "9Kq2wE"
    (path,) = (home / ".claude/projects/-home-dev-billing").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"Support has", f"Use {secret}".encode()))
    for form in ((), ("--json",)):
        _, out, _ = call("list", *form)
        assert secret not in out
        assert "[REDACTED:" in out


def test_a_title_cannot_move_the_cursor(call: Call, home: Path) -> None:
    (path,) = (home / ".claude/projects/-home-dev-billing").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"Support has", b"\\u001b[2J\\u0007 has"))
    _, out, _ = call("list")
    assert "\x1b" not in out
    assert "\x07" not in out


def test_a_name_that_is_no_text_is_listed(call: Call, home: Path) -> None:
    (path,) = (home / ".claude/projects/-home-dev-billing").glob("*.jsonl")
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/\xff\xfe.jsonl"))
    assert call("list")[0] == 0
    code, out, _ = call("list", "--json")
    assert code == 0
    assert len([json.loads(line) for line in out.splitlines()]) == 2


def test_words_that_cannot_be_a_path_are_refused(call: Call, home: Path) -> None:
    for odd in ("x" * 5000, "a\x00b"):
        code, out, err = call("summarize", odd)
        assert (code, out) == (2, "")
        assert "no such file" in err


# -- a session by its id ---------------------------------------------------------------------


def test_alone_it_shows_the_newest_session_of_this_directory(
    call: Call, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    code, out, err = call()
    assert (code, out) == (1, "")
    assert f"no session worked in {work}; the newest elsewhere is 3a911e2b" in err
    (path,) = (home / ".claude/projects/-home-dev-billing").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"/home/dev/billing", str(work).encode()))
    code, out, err = call()
    assert (code, err) == (0, "")
    assert "Support has eleven" in out.splitlines()[0]
    assert len(out.splitlines()) <= 60
    assert call("summarize", "latest")[1] == out


# -- speed -----------------------------------------------------------------------------------


def test_the_first_line_comes_before_further_sessions_are_read(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (root / "corpora/sessions/claude_code/prorate.jsonl").read_bytes()
    folder = home / ".claude/projects/-w"
    folder.mkdir()
    one = folder / "00000000-0000-4000-8000-000000000000.jsonl"
    one.write_bytes(data)
    for number in range(1, 500):
        os.link(one, folder / f"{number:08x}-0000-4000-8000-000000000000.jsonl")
    read, read_when_written = 0, []
    describe = discover.read_session_info

    def counted(recorded: discover.SessionFile) -> discover.SessionInfo | None:
        nonlocal read
        read += 1
        return describe(recorded)

    class Screen(io.StringIO):
        def write(self, text: str) -> int:
            read_when_written.append(read)
            return super().write(text)

    monkeypatch.setattr(discover, "read_session_info", counted)
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    assert group.main(["list", "-n", "0"]) == 0
    assert len(screen.getvalue().splitlines()) > 500
    assert read_when_written[0] < 5
    assert read_when_written[-1] == read > 500


@pytest.mark.parametrize(
    "command",
    ["list", "budget 3a911e2b", "budget b0b81e65", "ledger --project /home/dev/billing"],
)
@pytest.mark.parametrize("width", [40, 72])
def test_a_narrow_screen_is_not_exceeded(
    home: Path, call: Call, monkeypatch: pytest.MonkeyPatch, command: str, width: int
) -> None:
    for module in ("list", "budget", "memory"):
        monkeypatch.setattr(f"leftoff.cli.{module}.columns", lambda: width)
    code, out, _ = call(*command.split())
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
