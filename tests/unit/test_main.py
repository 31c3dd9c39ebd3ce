"""`leftoff.__main__`: what a run of the command line ends with."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

from leftoff.__main__ import main
from leftoff._version import __version__


def _commands(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    """Puts `run` in the place of `leftoff.cli.main`."""
    module = ModuleType("leftoff.cli.group")
    module.main = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "leftoff.cli.group", module)


def test_the_version_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"leftoff {__version__}\n", "")


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_commands_decide_the_exit_code(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    seen: list[list[str]] = []

    def run(args: list[str]) -> int:
        seen.append(args)
        return code

    _commands(monkeypatch, run)
    assert main(["show", "--version"]) == code
    assert seen == [["show", "--version"]]


def test_an_interrupted_run_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_args: list[str]) -> NoReturn:
        raise KeyboardInterrupt

    _commands(monkeypatch, run)
    assert main([]) == 130


@pytest.mark.parametrize("words", [50_000, 1])
def test_a_reader_that_leaves_early_is_no_error(words: int) -> None:
    # One word stays in the buffer until the last flush; many break the pipe while printing.
    code = (
        "import sys, types; run = types.ModuleType('leftoff.cli.group'); "
        f"run.main = lambda args: print('word ' * {words}) or 0; "
        "sys.modules['leftoff.cli.group'] = run; "
        "from leftoff.__main__ import main; sys.exit(main([]))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("words", [["--version"], ["plugins"], ["schema", "summary"]])
def test_a_full_disk_is_one_line_and_exit_2(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "leftoff", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"leftoff: stdout: cannot be written")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import threading; threading.Timer(0.2, print, ['later']).start();",
        "import sys; sys.setprofile(lambda *_: None);",
    ],
)
def test_what_is_registered_for_the_end_runs_and_all_is_flushed(before: str) -> None:
    code = (
        f"{before} import atexit, sys; from leftoff.__main__ import run; "
        "atexit.register(print, 'end'); sys.argv = ['leftoff', '--version']; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code.strip()], capture_output=True, check=False
    )
    later = b"later\n" if "Timer" in before else b""
    assert done.stdout == f"leftoff {__version__}\n".encode() + later + b"end\n"
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_exit_code_is_that_of_the_command() -> None:
    command = [sys.executable, "-m", "leftoff", "no-such"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"No such command" in done.stderr
