"""`leftoff hook`: what a person sees of the hooks before a client has called them."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[bytes]"]
INSTALL = ("hook", "install", "--scope", "project", "--yes")


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "leftoff"
    path.parent.mkdir()
    path.touch(0o755)
    return path


def test_a_program_that_is_not_found_is_named(run: Run, program: Path) -> None:
    """Shared settings name no path; where `leftoff` is not found no hook would ever run."""
    found = {"PATH": str(program.parent)}
    assert b"not on this shell's PATH" in run(*INSTALL, PATH="").stderr
    assert b"not on this shell's PATH" in run("hook", "status", PATH="").stdout
    assert b"PATH" not in run(*INSTALL, **found).stderr
    assert b"PATH" not in run("hook", "status", **found).stdout


def test_what_a_new_session_would_get(run: Run, session: Path, program: Path) -> None:
    found = {"PATH": str(program.parent)}
    before = run("hook", "test", str(session), **found)
    assert before.stdout.startswith(b"<leftoff session=")
    assert before.returncode == 1
    assert b"leftoff hook install" in before.stderr
    run(*INSTALL, **found)
    after = run("hook", "test", str(session), **found)
    assert (after.returncode, after.stdout, after.stderr) == (0, before.stdout, b"")
    missing = run("hook", "test", str(session), PATH="")
    assert (missing.returncode, missing.stdout) == (1, before.stdout)
    assert b"not on this shell's PATH" in missing.stderr
