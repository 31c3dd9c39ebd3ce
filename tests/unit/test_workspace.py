"""Git and files as they are now: what is looked at, what is never run, what cannot hang."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff import workspace
from leftoff.errors import SourceError
from leftoff.handover.compatibility import FileStatus, assess
from leftoff.handover.resume_state.document import RecordedFile, ResumeState, World
from leftoff.workspace import git_diff, inspect_workspace, read_workflow, recorded_files

Git = Callable[..., str]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def git(repo: Path) -> Git:
    """A repository with one commit, and the way to go on in it."""

    def run(*args: str) -> str:
        who = [
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "-c",
            "commit.gpgsign=false",
        ]
        done = subprocess.run(
            ["git", "-C", str(repo), *who, *args], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    (repo / "a.py").write_text("one\n")
    run("add", ".")
    run("commit", "-q", "-m", "first")
    return run


def state_of(repo: Path, commit: str = "", *files: RecordedFile, last: str = "") -> ResumeState:
    world = World(cwd=str(repo), branch="main", commit=commit, files=files)
    return ResumeState(workflow_id="w", world=world, last_activity=last)


def test_branch_commit_and_distance(repo: Path, git: Git) -> None:
    first = git("rev-parse", "HEAD")
    now = inspect_workspace(state_of(repo, first))
    assert (now.root, now.branch, now.commit, now.ahead, now.behind) == (
        str(repo),
        "main",
        first,
        0,
        0,
    )
    git("switch", "-q", "-c", "side")
    git("commit", "-q", "--allow-empty", "-m", "second")
    now = inspect_workspace(state_of(repo, first[:8]))
    assert (now.branch, now.ahead, now.behind) == ("side", 1, 0)
    git("switch", "-q", "main")
    git("commit", "-q", "--allow-empty", "-m", "third")
    now = inspect_workspace(state_of(repo, git("rev-parse", "side")))
    assert (now.ahead, now.behind) == (1, 1)
    git("switch", "-q", "--detach")
    assert inspect_workspace(state_of(repo, first)).branch == ""


@pytest.mark.parametrize("commit", ["", "f" * 40, "--output=x", "HEAD", "a;b"])
def test_a_commit_that_is_not_there_has_no_distance(repo: Path, git: Git, commit: str) -> None:
    now = inspect_workspace(state_of(repo, commit))
    assert (now.ahead, now.behind) == (None, None)
    assert now.commit == git("rev-parse", "HEAD")
    assert sorted(path.name for path in repo.iterdir()) == [".git", "a.py"]


def test_without_a_repository_or_without_git_nothing_is_known(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inspect_workspace(state_of(repo, "abcd")).branch is None
    assert git_diff(repo) is None
    monkeypatch.setenv("PATH", "")
    assert inspect_workspace(state_of(repo, "abcd")).commit is None
    assert git_diff(repo) is None
    assert (
        assess(state_of(repo, "abcd"), inspect_workspace(state_of(repo, "abcd"))).verdict
        == "same"
    )


def test_an_empty_repository_has_no_commit(repo: Path) -> None:
    subprocess.run(["git", "-C", str(repo), "init", "-q"], check=True)
    assert inspect_workspace(state_of(repo)).commit is None
    assert git_diff(repo) is None


def test_files_by_what_they_hold(repo: Path, git: Git) -> None:
    (repo / "b.py").write_text("two\n")
    listed = [RecordedFile(path=p, action="modified") for p in ("a.py", "b.py", "gone.py")]
    files = recorded_files(listed, str(repo))
    assert [bool(f.sha256) for f in files] == [True, True, False]
    (repo / "b.py").write_text("other\n")
    now = inspect_workspace(state_of(repo, "", *files, last="2020-01-01T00:00:00Z")).files
    assert now["a.py"] == FileStatus(exists=True, changed=False)
    assert now["b.py"] == FileStatus(exists=True, changed=True)
    assert now["gone.py"] == FileStatus(exists=False)


def test_files_by_their_time_where_their_bytes_are_not_known(repo: Path) -> None:
    (repo / "a.py").write_text("x")
    file = RecordedFile(path=str(repo / "a.py"))
    for last, changed in (
        ("2001-01-01T00:00:00Z", True),
        ("2999-01-01T00:00:00Z", False),
        ("", None),
    ):
        assert (
            inspect_workspace(state_of(repo, "", file, last=last)).files[file.path].changed
            is changed
        )


def test_a_project_that_moved_is_looked_for_where_it_is_now(repo: Path) -> None:
    (repo / "src").mkdir()
    (repo / "src" / "a.py").write_text("x")
    world = World(
        cwd="/home/someone/else", files=(RecordedFile(path="/home/someone/else/src/a.py"),)
    )
    now = inspect_workspace(ResumeState(workflow_file_path="plan.md", world=world), root=repo)
    assert now.files["/home/someone/else/src/a.py"].exists
    assert (now.content, now.content_path) == (None, "plan.md")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_never_opened(repo: Path) -> None:
    os.mkfifo(repo / "pipe")
    file = RecordedFile(path="pipe", sha256="0" * 64)
    assert inspect_workspace(state_of(repo, "", file)).files["pipe"] == FileStatus(
        exists=True, changed=None
    )
    with pytest.raises(SourceError, match="not a regular file"):
        read_workflow(repo / "pipe")


@pytest.mark.parametrize("path", ["\0", "x" * 5000, "a.py/b", ""])
def test_impossible_paths_are_no_files(repo: Path, path: str) -> None:
    (repo / "a.py").write_text("x")
    inspect_workspace(
        state_of(repo, "", RecordedFile(path=path))
    )  # says something, raises nothing
    inspect_workspace(ResumeState(workflow_file_path=path, world=World(cwd=path)))


def test_the_workflow_is_read_raw(repo: Path) -> None:
    plan = repo / "plan.md"
    plan.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n\xff")
    assert read_workflow(plan) == "\ufeffa\r\nb\r\n\ufffd"
    state = ResumeState(workflow_file_path="plan.md", world=World(cwd=str(repo)))
    assert inspect_workspace(state).content == read_workflow(plan)
    assert inspect_workspace(state, workflow=repo / "other.md").content is None
    with pytest.raises(SourceError, match="no such file"):
        read_workflow(repo / "other.md")


def test_a_file_that_is_too_large_is_refused(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "MAX_CONTENT", 10)
    (repo / "plan.md").write_text("x" * 11)
    with pytest.raises(SourceError, match="larger than"):
        read_workflow(repo / "plan.md")


# -- diffs -----------------------------------------------------------------------------------


def test_a_diff_is_against_the_last_commit(repo: Path, git: Git) -> None:
    assert git_diff(repo) == ""
    (repo / "a.py").write_text("changed\n")
    (repo / "b.py").write_text("staged\n")
    git("add", "b.py")
    diff = git_diff(repo) or ""
    assert "-one\n+changed\n" in diff
    assert "+staged" in diff


def test_a_long_diff_is_cut_at_a_line(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "MAX_DIFF", 10_000)
    (repo / "a.py").write_text("".join(f"line {n}\n" for n in range(100_000)))
    diff = git_diff(repo)
    assert diff is not None
    *lines, last = diff.splitlines()
    assert last == "… cut at 10000 bytes"
    assert all(line.startswith(("+line ", "-", "diff", "index", "+++", "@@")) for line in lines)
    assert len(diff) < 10_100


def test_git_that_does_not_answer_is_not_waited_for(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 100000\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(workspace, "GIT_TIMEOUT", 0.3)
    assert inspect_workspace(state_of(repo, "abcd")).commit is None


EVIL = """
[core]
    fsmonitor = touch {mark}-fsmonitor
    pager = touch {mark}-pager
    hooksPath = {hooks}
    sshCommand = touch {mark}-ssh
[diff]
    external = touch {mark}-external
[diff "x"]
    textconv = touch {mark}-textconv
    command = touch {mark}-command
[filter "x"]
    clean = touch {mark}-clean
    smudge = touch {mark}-smudge
    required = true
[filter "a=b"]
    clean = touch {mark}-clean2
[filter "p"]
    process = touch {mark}-process
[alias]
    diff = !touch {mark}-alias
"""


def test_nothing_that_a_repository_names_is_run(repo: Path, git: Git, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}-{name}\n")
        (hooks / name).chmod(0o755)
    for name in ("b.txt", "c.txt"):
        (repo / name).write_text("same\n")
    git("add", ".")
    git("commit", "-q", "-m", "more")
    with (repo / ".git" / "config").open("a") as config:
        config.write(EVIL.format(mark=mark, hooks=hooks))
    attributes = repo / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("*.py diff=x filter=x\nb.txt filter=a=b\nc.txt filter=p\n")
    for name in ("a.py", "b.txt", "c.txt"):
        (repo / name).write_text("changed\n")
    before = (repo / ".git" / "index").read_bytes()
    assert "+changed" in (git_diff(repo) or "")
    assert inspect_workspace(state_of(repo, git("rev-parse", "HEAD"))).ahead == 0
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("mark")] == []
    assert (repo / ".git" / "index").read_bytes() == before


def test_the_environment_does_not_lead_git_elsewhere(
    repo: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {tmp_path}/mark")
    (repo / "a.py").write_text("changed\n")
    assert "+changed" in (git_diff(repo) or "")
    assert not (tmp_path / "mark").exists()
