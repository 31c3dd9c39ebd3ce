"""A closed stream, a deleted directory or a path without a name is answered in words.

Cron jobs, services and clients start programs with streams closed (`>&-`), from directories that
were deleted since, and scripts pass `"$dir"` with nothing in it. All of these ended in a
traceback: `sys.stdout` is None where it was closed, `Path(".")` has no name, and `os.getcwd()`
raises. A traceback of `leftoff hook` with exit 1 stopped the client that had called it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.__main__ import main
from leftoff.batch import files
from leftoff.cli.group import _COMMANDS

PROSE = "Rename the flag to --dry-run. "
GOOD = '{"leftoff":"session/1","id":"s"}\n{"role":"user","text":"' + PROSE * 3 + '"}\n'

ARGUMENTS: dict[str, list[str]] = {
    "ask": ["-"], "audit": ["SESSION"], "batch": ["SESSION", "-o", "OUT.jsonl", "--json"],
    "blame": ["SESSION", "--no-update"], "browse": ["--help"], "budget": ["SESSION"],
    "checkpoint": ["list"], "completion": ["bash"], "config": [],
    "convert": ["SESSION", "--to", "atif"], "eval": ["--help"], "export": ["SESSION"],
    "fix": ["error", "--no-update"], "follow": ["SESSION", "--for", "0.1"], "hook": [],
    "ledger": ["--no-update"], "list": [], "log": ["create", "SESSION", "--stdout"], "mcp": [],
    "memory": ["forget"], "plugins": [], "recall": ["flag", "--no-update"],
    "redact": ["SESSION"], "report": ["SESSION"], "resume": ["--list"], "schema": ["summary"],
    "search": ["flag", "--no-update"], "show": ["SESSION"], "summarize": ["SESSION"],
    "verify": ["-"],
}  # fmt: skip
"""Words after each command that make it run to its end."""

SILENT = frozenset(
    "ask audit blame checkpoint fix hook ledger list mcp memory recall search verify".split()
)
"""Commands that print nothing to stdout here: nothing was lost by closing it."""


IN_EVERY_WAY = frozenset("batch hook list log mcp resume summarize".split())
"""Commands that are tried with each stream; the others show that none goes by the common way."""

ASKS_INDEX = frozenset({"blame", "fix", "recall", "search"})
"""Commands that here say that there is no index yet."""


def test_every_command_is_tried() -> None:
    assert set(ARGUMENTS) == set(_COMMANDS)


def _run(
    tmp_path: Path, words: list[str], streams: str = "", before: str = ""
) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of `leftoff WORDS` started by a shell with redirections."""
    session = tmp_path / "s.jsonl"
    if not session.exists():
        session.write_text(GOOD, "utf-8")
    named = {"SESSION": str(session), "OUT.jsonl": str(tmp_path / "out.jsonl")}
    words = [named.get(word, word) for word in words]
    script = f'{before} exec "$@" </dev/null >"$OUT" 2>"$ERR" {streams}'
    out, err = tmp_path / "out", tmp_path / "err"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LEFTOFF_")}
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "leftoff", *words],
        check=False,
        timeout=120,
        cwd=tmp_path,
        env={**kept, "HOME": str(tmp_path), "OUT": str(out), "ERR": str(err)},
    )
    return done.returncode, out.read_bytes(), err.read_bytes()


@pytest.mark.parametrize("command", sorted(ARGUMENTS))
def test_closed_streams(tmp_path: Path, command: str) -> None:
    words = [command, *ARGUMENTS[command]]
    plain = _run(tmp_path, words) if command in IN_EVERY_WAY | SILENT else (0, b"", b"")
    ways = (">&-", "<&- >&- 2>&-", "<&-", "2>&-", ">/dev/full")
    for streams in ways if command in IN_EVERY_WAY else ways[:2]:
        code, out, err = _run(tmp_path, words, streams)
        assert b"Traceback" not in err
        if command == "hook":
            assert (code, err) == (0, b"")
        elif streams in {"<&-", "2>&-"}:
            assert code == plain[0]
            if command not in {"batch", "report"}:  # these print times
                assert out == plain[1]  # what was for stderr is not on stdout
        elif command in SILENT:
            assert code == plain[0]
        else:
            assert code == 2  # the data were lost
            if "2>&-" not in streams:
                assert b"leftoff: stdout: cannot be written" in err


def test_a_file_is_written_where_stdout_is_closed(tmp_path: Path) -> None:
    """No output file takes the number of the closed stream, and nothing is printed into it."""
    target = tmp_path / "summary.md"
    words = ["summarize", "SESSION", "-f", "markdown", "-o", str(target)]
    code, _, err = _run(tmp_path, words, ">&-")
    assert (code, err) == (0, f"wrote {target}\n".encode())
    assert "Rename the flag" in target.read_text("utf-8")
    assert _run(tmp_path, words, "2>&-")[0] == 0
    assert b"wrote" not in target.read_bytes()


@pytest.mark.parametrize("command", sorted(ARGUMENTS))
def test_a_directory_that_was_deleted(tmp_path: Path, command: str) -> None:
    before = 'mkdir gone && cd gone && rmdir "$PWD" &&'
    code, out, err = _run(tmp_path, [command, *ARGUMENTS[command]], before=before)
    assert b"Traceback" not in err
    assert code in {0, 1, 2}
    if command in {"summarize", "show", "export", "convert", "redact"}:
        assert code == 0  # the recording is named by its whole path
        assert out
    if code == 2 and command not in {"ask", "mcp", "verify", *ASKS_INDEX}:
        assert b"the current directory was deleted" in err
    if command == "hook":
        assert code == 0


# -- odd paths ------------------------------------------------------------------------------

TAKES_SESSION: dict[str, list[str]] = {
    "audit": [], "budget": [], "checkpoint": ["create"], "convert": ["--to", "atif"],
    "export": [], "follow": ["--for", "0.1"], "log": ["create"], "redact": [], "show": [],
    "summarize": [],
}  # fmt: skip


@pytest.mark.parametrize("command", sorted(TAKES_SESSION))
@pytest.mark.parametrize("path", [".", "", "/", "./", "//", "..", "./.", "empty", "\n"])
def test_odd_paths(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    path: str,
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    first = TAKES_SESSION[command]
    words = [command, *first[:1], path] if first == ["create"] else [command, path, *first]
    monkeypatch.chdir(folder if path != "empty" else tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("leftoff: ")


@pytest.mark.parametrize("command", ["report", "batch"])
@pytest.mark.parametrize("path", ["linked"])
def test_the_whole_file_system_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    path: str,
) -> None:
    """It was walked, file by file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linked").symlink_to("/")
    assert main([command, path, "-o", str(tmp_path / "out.jsonl")]) == 2
    said = capsys.readouterr().err
    assert said == f"leftoff: {path}: is the whole file system; name a folder of recordings\n"


def test_a_folder_of_very_many_other_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "MAX_OTHERS", 5)
    for number in range(7):
        (tmp_path / f"{number}.txt").touch()
    (tmp_path / "more").mkdir()
    assert main(["report", str(tmp_path)]) == 2
    assert "7 files are no recordings" in capsys.readouterr().err


def test_folders_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand levels ended in a RecursionError."""
    (tmp_path / "s.jsonl").write_text(GOOD, "utf-8")
    monkeypatch.chdir(tmp_path)
    for _ in range(1500):
        os.mkdir("d")  # noqa: PTH102 - the path is too long for the system
        os.chdir("d")
    code = main(["report", str(tmp_path), "-o", str(tmp_path / "a.html")])
    for _ in range(1500):
        os.chdir("..")
        os.rmdir("d")  # noqa: PTH106
    assert code == 0
