"""Others that read sessions of Claude Code, on the same file.

    python -m benchmarks.speed rivals-setup DIR      # installs each into a place of its own

Each is run as its own users run it, as a process of its own, without a network where the
system allows that, with a home of its own that is warm (one run before those that count).
What they do differs, and is said; none of them does what a summary of ours does. Their start
is measured on a session of two lines.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.speed.data import MB, OWN, Sessions, repeated
from benchmarks.speed.growth import LEFTOFF, SHORT
from benchmarks.speed.processes import Spent, median, spend

SESSION = OWN.split(b'"')[3].decode()

LIMIT = 180.0
"""Seconds of processor time after which a rival is stopped."""


class Rival(Struct, frozen=True):
    """One of them.

    Attributes:
        package: what pip installs.
        does: in a few words.
        command: made of its folder of programs, the place it works in (which holds
            `session.jsonl`) and where its output goes.
        needs: the Python that it needs, if not ours.
    """

    package: str
    does: str
    command: Callable[[Path, Path, Path], Sequence[str]]
    needs: str = ""
    beside: tuple[str, ...] = ()
    """What it would otherwise try to install whenever it is run."""


def _projects(place: Path) -> Path:
    """Where Claude Code would keep the sessions of that directory, as claude-mpm has it."""
    return place / "home" / ".claude" / "projects" / str(place).replace("/", "-")


RIVALS: dict[str, Rival] = {
    "claude-code-log": Rival(
        "claude-code-log",
        "the conversation as Markdown",
        lambda at, place, out: (
            *(str(at / "claude-code-log"), str(place / "session.jsonl")),
            *("--format", "md", "--no-cache", "-o", str(out / "session.md")),
        ),
    ),
    "claude-code-transcripts": Rival(
        "claude-code-transcripts",
        "the conversation as HTML pages",
        lambda at, place, out: (
            *(str(at / "claude-code-transcripts"), "json", str(place / "session.jsonl")),
            *("-o", str(out / "pages")),
        ),
    ),
    "claude-mpm": Rival(
        "claude-mpm",
        "`session-report`: timeline, tokens, cost, redacted",
        lambda at, place, out: (
            *(str(at / "claude-mpm"), "session-report", "--session", SESSION),
            *("--project", str(place), "--output", str(out / "report.md")),
        ),
        "3.13",
        ("pre-commit", "detect-secrets"),
    ),
    "inspect-scout": Rival(
        "inspect-scout",
        "`scout import`: messages and events as Parquet",
        lambda at, place, out: (
            *(str(at / "scout"), "import", "claude_code", "-P", f"path={place / 'only'}"),
            *("-T", str(out / "db"), "--overwrite", "--display", "none"),
        ),
    ),
    "cc-transcript": Rival(
        "cc-transcript",
        "`stats`: counts of events and tools (written in Rust)",
        lambda at, place, out: (
            *("sh", "-c", '"$0" stats "$1" --json > "$2"', str(at / "cc-transcript")),
            *(str(place / "session.jsonl"), str(out / "stats.json")),
        ),
        "3.13",
    ),
}


def setup(folder: Path) -> dict[str, str]:
    """Installs each rival that is not there yet; says which release, or why not."""
    found: dict[str, str] = {}
    for name, rival in RIVALS.items():
        place = folder / name
        python = _python(rival.needs)
        if python is None:
            found[name] = f"needs Python {rival.needs}"
            continue
        if not (place / "bin" / "python").exists():
            subprocess.run([python, "-m", "venv", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "install", "-q", rival.package, *rival.beside],
            capture_output=True,
            check=False,
        )
        failed = done.stderr.decode(errors="replace").strip()[-300:]
        found[name] = failed if done.returncode else version(folder, name)
    return found


def _python(needs: str) -> str | None:
    """A Python of that version, ours if none is asked for."""
    if not needs:
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    known = sorted(root.glob(f"{needs}*/bin/python"))
    return str(known[-1]) if known else shutil.which(f"python{needs}")


def version(folder: Path, name: str) -> str:
    """The release that is installed, "" if none is."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        return ""
    told = f"from importlib.metadata import version; print(version({RIVALS[name].package!r}))"
    done = subprocess.run([str(python), "-c", told], capture_output=True, check=False)
    return done.stdout.decode().strip()


def compare(
    sessions: Sessions,
    folder: Path,
    scratch: Path,
    sizes: Sequence[int] = (4, 20),
    rounds: int = 5,
) -> dict[str, Any]:
    """Every installed rival and `leftoff summarize` on one file of each size, taking turns; a
    contestant that took more than 20 seconds is not asked again.

    Args:
        sizes: megabytes of the session.
    """
    names = [name for name in RIVALS if version(folder, name)]
    found: dict[str, Any] = {
        "versions": {name: version(folder, name) for name in names},
        "does": {name: RIVALS[name].does for name in names},
        "missing": [name for name in RIVALS if name not in names],
        "sizes": [],
    }
    start: dict[str, Any] = {}
    for size in (0, *sizes):
        place = scratch / f"place-{size}"
        told = _place(sessions, size, place)
        taken: dict[str, list[Spent]] = {name: [] for name in ("leftoff", *names)}
        written: dict[str, int] = {}
        for number in range(rounds + 1):
            for name, costs in taken.items():
                if not number and (size or name == "leftoff"):
                    continue  # the first round warms a home, once
                if costs and costs[0].cpu > 20:
                    continue
                spent, written[name] = _run(name, folder, place, scratch / "home")
                if number:
                    costs.append(spent)
        rows = {name: _told(median(c), written[name]) for name, c in taken.items()}
        if size:
            found["sizes"].append({"mb": round(told / MB, 2), "contestants": rows})
        else:
            start = rows
        shutil.rmtree(place)
    found["start"] = start
    return found


def _place(sessions: Sessions, size: int, place: Path) -> int:
    """A directory with the session where each of them looks for it."""
    place.mkdir()
    path = place / "session.jsonl"
    told = repeated(sessions, size * MB, path) if size else path.write_bytes(SHORT)
    for other in (place / "only", _projects(place)):
        other.mkdir(parents=True)
        os.link(path, other / f"{SESSION}.jsonl")
    return told


def _run(name: str, folder: Path, place: Path, home: Path) -> tuple[Spent, int]:
    """One run, and the bytes that it wrote.

    Raises:
        RuntimeError: it wrote nothing, so it did not do the work.
    """
    out = place / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    command: Sequence[str]
    if name == "leftoff":
        command = (*LEFTOFF, "summarize", str(place / "session.jsonl"), "--json")
        command = (*command, "-o", str(out / "summary.json"))
    else:
        command = RIVALS[name].command(folder / name / "bin", place, out)
    home.mkdir(exist_ok=True)
    projects = home / ".claude" / "projects"
    if projects.is_symlink():
        projects.unlink()
    projects.parent.mkdir(exist_ok=True)
    projects.symlink_to(_projects(place).parent)
    spent = spend(
        (*alone(), *command),
        limit=LIMIT,
        cwd=place,
        env={
            **os.environ,
            "HOME": str(home),
            "PATH": f"{folder / name / 'bin'}:{os.environ['PATH']}",
        },
    )
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if spent.code is not None and not size:
        raise RuntimeError(f"{name}: wrote nothing")
    return spent, size


def alone() -> tuple[str, ...]:
    """What a command is started with so that it has no network, where that can be done."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    tried = subprocess.run([unshare, "-n", "true"], capture_output=True, check=False)
    return () if tried.returncode else (unshare, "-n")


def _told(spent: Spent, written: int) -> dict[str, Any]:
    return {
        "cpu": round(spent.cpu, 3),
        "wall": round(spent.wall, 3),
        "peak_mb": round(spent.peak / MB, 1),
        "written_mb": round(written / MB, 3),
        "stopped": spent.code is None,
    }
