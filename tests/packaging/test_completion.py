"""What the real shells make of a line when TAB is pressed."""

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ID = "5f0f1c7e-0b63-4d6f-9a52-3c7d1e8b9a10"
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(leftoff completion bash)"'),
    "zsh": (
        ["-f", "-i"],
        'autoload -Uz compinit; compinit -u -D; eval "$(leftoff completion zsh)"',
    ),
    "fish": (["--no-config", "-i"], "leftoff completion fish | source"),
}
TYPED = {
    "leftoff summ": ["summarize"],
    "leftoff log pi": ["log", "pin"],
    "leftoff summarize --stri": ["summarize", "--strict"],
    "leftoff summarize -f mark": ["summarize", "-f", "markdown"],
    "leftoff summarize --format claude": ["summarize", "--format", "claude_code"],
    "leftoff completion fi": ["completion", "fish"],
    "leftoff show 5f0": ["show", ID],
    "leftoff budget late": ["budget", "latest"],
    "leftoff summarize recor": ["summarize", "recorded.jsonl"],
    "leftoff export x -o recor": ["export", "x", "-o", "recorded.jsonl"],
    "leftoff log show kept": ["log", "show", "kept-1"],
}
"""What is typed before TAB and Enter, and the words that the program is then given."""


class Terminal:
    """An interactive shell. `leftoff` in it completes as it does, and otherwise only notes what
    it was given."""

    def __init__(self, shell: str, program: str, folder: Path) -> None:
        self.folder = folder
        options, setting = SHELLS[shell]
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            environ = {
                "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
                "HOME": str(folder),
                "CLAUDE_CONFIG_DIR": str(folder / "claude"),
                "TERM": "dumb",
                "LC_ALL": "C.UTF-8",
            }
            os.execve(program, [program, *options], environ)
        self.line(f"{setting}; echo > ready")
        self.wait_for("ready")

    def line(self, text: str) -> None:
        os.write(self.end, text.encode() + b"\r")

    def wait_for(self, name: str) -> Path:
        """The file of that name, when it is there."""
        told, until = b"", time.monotonic() + 40
        while not (self.folder / name).exists():
            if select.select([self.end], [], [], 0.02)[0]:
                told += os.read(self.end, 4096)
            assert time.monotonic() < until, told.decode(errors="replace")
        return self.folder / name

    def given(self, typed: str) -> list[str]:
        """The words that the program is given for what is typed, with TAB after it."""
        self.line(typed + "\t")
        given = self.wait_for("given")
        words = given.read_text("utf-8").splitlines()
        given.unlink()
        return words

    def close(self) -> None:
        os.close(self.end)
        os.waitpid(self.pid, 0)


@pytest.fixture(params=sorted(SHELLS))
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "leftoff"
    python = shlex.quote(sys.executable)
    shim.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = completion ] && [ -n "$2" ] && [ ! -e ready ] && exec {python} -m leftoff "$@"\n'
        f'[ -n "$_LEFTOFF_COMPLETE" ] && exec {python} -m leftoff "$@"\n'
        'printf "%s\\n" "$@" > noted; mv noted given\n'
    )
    shim.chmod(0o755)
    sessions = tmp_path / "claude" / "projects" / "-home-ada-garden"
    sessions.mkdir(parents=True)
    (sessions / f"{ID}.jsonl").touch()
    (tmp_path / "recorded.jsonl").touch()
    logs = tmp_path / ".leftoff" / "resume-logs"
    logs.mkdir(parents=True)
    (logs / "session-kept-1.json").touch()
    opened = Terminal(request.param, program, tmp_path)
    yield opened
    opened.close()


def test_a_tab_completes_what_was_begun(terminal: Terminal) -> None:
    assert {typed: terminal.given(typed) for typed in TYPED} == TYPED


def test_offering_commands_imports_none_of_them(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "_LEFTOFF_COMPLETE": "bash_complete",
        "COMP_WORDS": "leftoff ",
        "COMP_CWORD": "1",
    }
    code = (
        "import atexit, sys; from leftoff.__main__ import main; "
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); sys.exit(main([]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert "plain,summarize" in done.stdout.splitlines()
    imported = {name for name in done.stderr.split() if name.startswith("leftoff.cli.")}
    assert imported == {"leftoff.cli.group"}
