"""`summarize -f html` and `report`: the page, what it quotes, streams and exit codes."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeAlias

Run: TypeAlias = Callable[..., CompletedProcess[bytes]]


def test_a_subagent_has_a_page_too(run: Run, root: Path) -> None:
    path = root / "corpora" / "sessions" / "claude_code" / "tenants"
    agent = min(path.rglob("agent-*.jsonl")).stem.removeprefix("agent-")
    done = run("summarize", str(path), "--agent", agent, "-f", "html")
    assert (done.returncode, done.stderr) == (0, b"")
    assert agent.encode() in done.stdout
    assert b"at quiet" not in done.stdout  # places that are not quoted
    assert b"The recording was not at hand" not in done.stdout


def report(*args: str, cwd: Path) -> CompletedProcess[bytes]:
    code = (
        "import sys; from leftoff.cli.report import report; "
        "sys.exit(report.main(sys.argv[1:], standalone_mode=False))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        check=False,
        cwd=cwd,
        timeout=60,
        env={"HOME": str(cwd), "PYTHONPATH": ":".join(sys.path)},
    )


def test_a_report_of_a_folder(root: Path, session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    folder.mkdir()
    for name in ("prorate.jsonl", "outbox.jsonl"):
        (folder / name).write_bytes((session.parent / name).read_bytes())
    (folder / "broken.jsonl").write_bytes(b"{}\n")
    done = report(str(folder), "-w", "1", "-o", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"1 could not be read" in done.stderr
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.count('class="session"') == 2
    assert "broken.jsonl: " in text
    assert "/home/dev/billing" in text


def test_no_session_is_an_answer(tmp_path: Path) -> None:
    done = report(cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no session matches" in done.stderr
    done = report("missing.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert b"missing.jsonl" in done.stderr
