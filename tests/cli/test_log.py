"""`leftoff log`: making, showing, listing and cleaning up resume logs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[bytes]"]

ID = "b0b81e65-570d-4942-ad6e-0c3cf7b0e511"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_create_show_list_stats_clean(run: Run, session: Path, tmp_path: Path) -> None:
    made = run("log", "create", str(session))
    where = f".leftoff/resume-logs/session-{ID}.md"
    assert (made.returncode, made.stdout.decode()) == (0, where + "\n")
    page = (tmp_path / where).read_text()
    assert page.startswith(f"# Session Resume Log: {ID}\n")
    assert run("log", "show").stdout.decode() == page
    assert run("log", "show", "b0b8").stdout.decode() == page
    value = json.loads(run("log", "show", ID, "--json").stdout)
    assert value["session_id"] == ID
    assert value["metadata"]["trigger"] == "manual"
    assert ID in run("log", "list").stdout.decode()
    assert json.loads(run("log", "list", "--json").stdout)[0]["session_id"] == ID
    assert json.loads(run("log", "stats", "--json").stdout)["count"] == 1
    assert b"1 log" in run("log", "stats").stdout
    assert b"session-" in run("log", "clean", "--keep", "0", "--dry-run").stdout
    assert (tmp_path / where).exists()
    run("log", "clean", "--keep", "0")
    assert not (tmp_path / where).exists()
    assert run("log", "list").stdout == b""


def test_to_stdout_nothing_is_kept(run: Run, session: Path, tmp_path: Path) -> None:
    done = run("log", "create", str(session), "--stdout", "--budget", "600")
    assert done.stdout.startswith(b"# Session Resume Log: ")
    assert not (tmp_path / ".leftoff").exists()
    form = run("summarize", str(session), "-f", "log", "--budget", "600")
    assert form.stdout == done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("log", "show"), b"there is no resume log yet"),
        (("log", "show", "nobody"), b"no resume log named 'nobody'"),
        (("log", "create", "no-such-file.jsonl"), b"no-such-file.jsonl"),
    ],
)
def test_what_cannot_be_is_said(run: Run, args: tuple[str, ...], said: bytes) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert done.stdout == b""
    assert said in done.stderr
    assert b"Traceback" not in done.stderr


def test_old_logs_that_go_are_named_and_pinned_ones_stay(
    run: Run, session: Path, tmp_path: Path
) -> None:
    (tmp_path / "leftoff.toml").write_text(
        "[context_management.resume_logs.cleanup]\nkeep_count = 2\n"
    )
    run("log", "create", str(session), "--id", "first")
    run("log", "pin", "first")
    for name in ("second", "third"):
        assert run("log", "create", str(session), "--id", name).stderr == b""
    done = run("log", "create", str(session), "--id", "fourth")
    assert b"removed the old log .leftoff/resume-logs/session-second.json" in done.stderr
    listed = run("log", "list").stdout.decode()
    assert [line.split("B  ")[1] for line in listed.splitlines()] == [
        "fourth",
        "third",
        "first  pinned",
    ]


def test_of_several_sessions_one_is_chosen(run: Run, tmp_path: Path) -> None:
    rows = [
        {
            "messages": [
                {"role": "user", "content": f"Task {n}."},
                {"role": "assistant", "content": "Done."},
            ]
        }
        for n in (1, 2)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    last = run("log", "create", str(path), "--stdout")
    assert b"Task 2." in last.stdout
    assert b"choose with --session" in last.stderr
    first = run("log", "create", str(path), "--stdout", "--session", "1")
    assert b"Task 1." in first.stdout
    assert first.stderr == b""


def test_an_id_that_may_be_two_is_asked_for(run: Run, session: Path) -> None:
    run("log", "create", str(session), "--id", "day-1")
    run("log", "create", str(session), "--id", "day-2")
    done = run("log", "show", "day")
    assert done.returncode == 2
    assert b"give more of its characters" in done.stderr
