"""`leftoff resume`: what it prints where, and its exit codes."""

import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from leftoff.cli import group


class Done(NamedTuple):
    """How a command ended and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


Resume: TypeAlias = Callable[..., Done]

EXAMPLE = "workflow_project-analysis_20250710_143022_1234"
PLAN = "".join(f"{n}. do the thing number {n}\n" for n in range(20))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "plan.md").write_text(PLAN)
    return folder


@pytest.fixture
def resume(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Resume:
    """`leftoff resume ARGS` in the project's folder."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    def run(*args: str) -> Done:
        capfd.readouterr()
        code = group.main(["resume", *args])
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def saved(resume: Resume, root: Path) -> str:
    """The id of a recorded session that was saved."""
    session = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    done = resume("--save", str(session), "--workflow", "plan.md")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("saved .leftoff/resume/")
    return done.stdout.strip()


@pytest.fixture
def example(root: Path) -> dict[str, Any]:
    text = (root / "tests" / "golden" / "resume_state.json").read_text("utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


def keep(project: Path, value: dict[str, Any]) -> Path:
    file = project / ".leftoff" / "resume" / f"{value['workflow_metadata']['id']}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))
    return file


def test_a_session_is_saved_from_standard_input(
    resume: Resume, root: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    with session.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        piped = resume("--save", "-")
    assert piped.returncode == 0, piped.stderr
    there = resume("--save", str(session))
    values = [
        json.loads((project / ".leftoff" / "resume" / f"{d.stdout.strip()}.json").read_text())
        for d in (piped, there)
    ]
    assert values[0]["completed_tools"] == values[1]["completed_tools"]
    assert values[0]["chat_history"]


def test_a_damaged_state_falls_back_and_says_so(
    resume: Resume, saved: str, project: Path, root: Path
) -> None:
    session = root / "corpora" / "sessions" / "claude_code" / "outbox.jsonl"
    resume("--save", str(session), "--workflow", "plan.md")  # the second leaves a backup
    file = project / ".leftoff" / "resume" / f"{saved}.json"
    file.write_bytes(file.read_bytes()[:100])
    done = resume("plan.md")
    assert done.returncode == 0
    assert "damaged" in done.stderr
    for one in file.parent.glob(f"{saved}*"):
        one.write_bytes(b"{")
    done = resume(saved)
    assert (done.returncode, done.stdout) == (2, "")
    assert "damaged" in done.stderr
    assert len(list(file.parent.glob(f"{saved}*"))) == 2


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_world_is_looked_at(resume: Resume, project: Path, example: dict[str, Any]) -> None:
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    (project / "a.py").write_text("x")
    example["workflow_metadata"] |= {"file_path": "plan.md", "original_content": PLAN}
    example["world"] = {
        "cwd": str(project), "branch": "side", "commit": "",
        "files": [{"path": "a.py", "action": "modified"}, {"path": "b.py", "action": "created"}],
    }  # fmt: skip
    keep(project, example)
    done = resume(EXAMPLE)
    assert done.returncode == 0
    for warning in (
        "The work was on branch side; now it is main",
        "Files of the session that are missing: b.py",
        "Files of the session that changed since: a.py",
    ):
        assert f"  ⚠ {warning}" in done.stderr.splitlines()
        assert f"• {warning}" in done.stdout.splitlines()
