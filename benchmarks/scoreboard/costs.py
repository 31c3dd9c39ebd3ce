"""What leftoff costs: speed, start, memory, installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.scoreboard.setting import ROOT, CannotRun, Setting, Values
from benchmarks.speed import gate, starting
from benchmarks.speed.data import MB, repeated, sessions_in
from benchmarks.speed.growth import summary_of
from benchmarks.speed.processes import spend

SHIPPED = ROOT / "corpora" / "sessions"

LONG = 30 * MB
"""Bytes of the session whose summary is measured for memory."""

TOOLS = ("pip", "setuptools", "wheel")
"""Packages of a new environment that are not leftoff's."""


def speed(setting: Setting) -> Values:
    """The speed of a summary of shipped sessions as a multiple of that of others."""
    measured = gate.measure(SHIPPED)
    found = {f"summary / {name}": ratio for name, ratio in measured["ratios"].items()}
    return found | {"summary, MB per second": measured["mb"] / measured["seconds"]}


def start(setting: Setting) -> Values:
    """Processor time of whole processes as a multiple of `python -c pass`."""
    measured = starting.start_up(setting.scratch)
    base = measured.pop("python -c pass")
    found = {f"{name} / python -c pass": cost["times"] for name, cost in measured.items()}
    return found | {"python -c pass, ms": base["cpu_ms"]}


def memory(setting: Setting) -> Values:
    """The peak of a whole process that summarizes one long session: the shipped sessions of
    Claude Code again and again, with fresh ids."""
    path = setting.scratch / "long.jsonl"
    size = repeated(sessions_in(SHIPPED / "claude_code"), LONG, path)
    spent = spend(summary_of(path, setting.scratch / "out.json"))
    path.unlink()
    return {
        "peak, MB": spent.peak / MB,
        "size of the session, MB": size / MB,
        "processor time, s": spent.cpu,
    }


def installation(setting: Setting) -> Values:
    """A new environment with `pip install .`: bytes on the disk and packages, without pip."""
    place = setting.scratch / "environment"
    _run(sys.executable, "-m", "venv", str(place))
    python = str(place / "bin" / "python")
    _run(python, "-m", "pip", "install", "--quiet", str(ROOT))
    (packages,) = (place / "lib").glob("python*/site-packages")
    sizes = {
        entry.name: _size(entry)
        for entry in packages.iterdir()
        if entry.name.split("-")[0] not in (*TOOLS, "_distutils_hack", "pkg_resources")
    }
    counted = [name for name in sizes if name.endswith(".dist-info")]
    return {
        "all packages, MB": sum(sizes.values()) / MB,
        "leftoff alone, MB": sizes["leftoff"] / MB,
        "packages": len(counted),
    }


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, check=False, text=True, cwd=ROOT)
    if done.returncode:
        raise CannotRun(f"{' '.join(command[1:4])}: {done.stderr.strip()[-200:]}")


def _size(path: Path) -> int:
    """Bytes that a file or folder takes on the disk, without bytecode."""
    if path.is_file():
        return path.stat().st_blocks * 512
    return sum(
        Path(folder, name).stat().st_blocks * 512
        for folder, _, names in os.walk(path)
        if Path(folder).name != "__pycache__"
        for name in names
    )
