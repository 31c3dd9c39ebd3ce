"""Kills, failing calls, damage, crowds, clocks and growing recordings: a small part of what the
programs of `tests/fuzz/` do."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="as Linux does it")


def run(root: Path, program: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", program, *args], cwd=root,
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    if "strace cannot attach" in done.stderr:
        pytest.skip("strace may not trace processes here")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong" in done.stdout
    return done.stdout


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(
    "args",
    [
        ("kills", "--only", "redact -o", "--every", "2"),
        ("faults", "--only", "hook uninstall", "--every", "9"),
    ],
    ids=" ".join,
)
def test_commands_that_are_killed_or_fail(root: Path, args: tuple[str, ...]) -> None:
    run(root, "disturbed", *args)


def test_a_program_that_is_started_by_its_module_says_how(root: Path) -> None:
    """It would do nothing and exit with 0, as if all was well."""
    for name in ("tests.fuzz.mutants", "tests.fuzz.mutate", "tests.fuzz"):
        done = subprocess.run(
            [sys.executable, "-m", name], cwd=root, check=False, capture_output=True
        )
        assert done.returncode == 1


def test_damage_is_noticed(root: Path) -> None:
    said = run(root, "flip_bits", "--every", "401")
    assert "noticed, the last good one given" in said
    assert "noticed, read again" in said


def test_a_crowd_of_writers(root: Path) -> None:
    run(root, "saves", "crowd", "--writers", "4", "--seconds", "0.5")
    run(root, "saves", "locks")


def test_clocks_that_jump(root: Path) -> None:
    run(root, "clocks", "--times", "3")


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(
    "args",
    [
        ("all", "--only", "save, files", "--every", "5"),
        ("faults", "--only", "save, files", "--every", "17"),
        ("all", "--only", "save, sqlite", "--every", "7"),
    ],
    ids=" ".join,
)
def test_saves_at_system_calls(root: Path, args: tuple[str, ...]) -> None:
    said = run(root, "disturbed", *args)
    assert " old, " in said, "no save was stopped in time"
    assert " new, " in said, "no save was stopped late"


@pytest.mark.parametrize("store", ["files", "packed", "sqlite"])
def test_saves_at_random_times(root: Path, store: str) -> None:
    said = run(root, "saves", "kills", "--store", store, "--trials", "12")
    assert "12 kills" in said


KINDS = "rename,copytruncate,truncate,rewrite,recreate,replace"


@pytest.mark.parametrize(
    "args",
    [
        ("--format", "claude_code", "--kinds", KINDS),
        ("--format", "aider", "--kinds", "rename,copytruncate,recreate"),
    ],
    ids=lambda args: args[1],
)
def test_each_line_is_told_once(root: Path, args: tuple[str, ...]) -> None:
    said = run(root, "follow", "--lines", "150", "--each", "150", *args)
    assert ", 0 wrong" in said
    assert " kills" in said


def test_every_prefix_is_told_as_from_scratch(root: Path) -> None:
    said = run(root, "prefixes", str(root / "corpora" / "sessions"), "--cuts", "1")
    assert ", 0 wrong" in said
