"""All headline figures in one table, beside those of the run before.

    python -m benchmarks.scoreboard [--corpora DIR] [--only PART,...] [--note TEXT]
        [--ci core=SECONDS,extras=SECONDS] [--no-write]

Each part is measured by a process of its own, one after the other, within a budget of seconds.
The figures come from the programs that measure them anyway (`leftoff eval`, `benchmarks`). A
run is a row of runs.json: date, commit, machine, figures. A part that was not run has no
figures and is shown as such; `last` is the newest earlier value.

The folder of `--corpora` holds `public`, `more` and `labels/{double,single,more}`; by default
it is the folder above the one that LEFTOFF_PUBLIC_CORPUS names. Parts that need what is not
there are shown with "no corpus". Exit 1: a part failed or took longer than its budget.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scoreboard import source
from benchmarks.scoreboard.parts import PARTS
from benchmarks.scoreboard.setting import ROOT, CannotRun, NoCorpus, Part, Setting

RUNS = Path(__file__).with_name("runs.json")
NOT_RUN, NO_CORPUS, OK = "not run", "no corpus", "ok"
INSIDE = "--inside"
"""The first word of a part's own process."""


# -- one part --------------------------------------------------------------------------------


def inside(name: str, corpora: str) -> None:
    """Measures a part and prints what came of it as JSON."""
    (part,) = (part for part in PARTS if part.name == name)
    with tempfile.TemporaryDirectory(prefix="scoreboard-") as scratch:
        setting = Setting(Path(corpora) if corpora else None, Path(scratch))
        try:
            found: dict[str, Any] = {"status": OK, "figures": part.measure(setting)}
        except NoCorpus:
            found = {"status": NO_CORPUS}
        except CannotRun as why:
            found = {"status": f"cannot run: {why}"}
    print(json.dumps(found))


def measured(part: Part, corpora: Path | None) -> dict[str, Any]:
    """Status, seconds and figures of a part."""
    command = [sys.executable, "-m", "benchmarks.scoreboard", INSIDE, part.name]
    command.append(str(corpora.resolve()) if corpora else "")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = time.monotonic()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=part.budget)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return {"status": f"over its {part.budget:.0f} s", "seconds": part.budget}
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        last = err.decode(errors="replace").strip().splitlines()[-1:]
        found: dict[str, Any] = {"status": f"failed: {''.join(last)[:200]}"}
    else:
        found = json.loads(out)
    return found | {"seconds": round(time.monotonic() - began, 1)}


# -- runs ------------------------------------------------------------------------------------


def load() -> list[dict[str, Any]]:
    """The rows of earlier runs, the oldest first."""
    rows: list[dict[str, Any]] = json.loads(RUNS.read_bytes()) if RUNS.exists() else []
    return rows


def row(parts: Mapping[str, Mapping[str, Any]], note: str) -> dict[str, Any]:
    """A run as it is written down."""
    figures = {
        name: {figure: round(value, 5) for figure, value in found["figures"].items()}
        for name, found in parts.items()
        if "figures" in found
    }
    return {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M"),
        "commit": commit(),
        "machine": f"{os.cpu_count()} processors, {platform.system()}, "
        f"Python {platform.python_version()}",
        "note": note,
        "parts": {
            n: {"status": f["status"], "seconds": f["seconds"]} for n, f in parts.items()
        },
        "figures": figures,
    }


def commit() -> str:
    """The commit of the checkout, with "+" if something is not committed."""
    try:
        name = _git("rev-parse", "--short", "HEAD").strip()
        return name + "+" * bool(_git("status", "--porcelain", "--untracked-files=no").strip())
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *words], capture_output=True, check=True, text=True
    )
    return done.stdout


def last_of(rows: Sequence[Mapping[str, Any]], part: str) -> dict[str, float]:
    """The newest earlier value of each figure of a part."""
    found: dict[str, float] = {}
    for earlier in rows:
        found |= earlier["figures"].get(part, {})
    return found


# -- the table -------------------------------------------------------------------------------


def table(now: Mapping[str, Any], before: Sequence[Mapping[str, Any]]) -> str:
    """The figures of a run beside the last ones, as markdown."""
    lines = [f"{now['date']}, {now['commit']}, {now['machine']}", ""]
    lines += ["| figure | last | now | change |", "|---|---|---|---|"]
    for part in PARTS:
        about = now["parts"].get(part.name, {"status": NOT_RUN})
        status = about["status"]
        took = f", {about['seconds']} s" if "seconds" in about else ""
        lines.append(f"| **{part.name}** ({status.replace('|', '/')}{took}) | | | |")
        last = last_of(before, part.name)
        new = now["figures"].get(part.name, {})
        for figure in [*new, *(name for name in last if name not in new)]:
            was, is_ = last.get(figure), new.get(figure)
            gives = NO_CORPUS if status == NO_CORPUS else NOT_RUN
            cells = (
                "–" if was is None else _shown(was),
                gives if is_ is None else _shown(is_),
                "" if was is None or is_ is None else _change(was, is_, part, figure),
            )
            lines.append(f"| {figure} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(value: float) -> str:
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def _change(was: float, now: float, part: Part, figure: str) -> str:
    if was == now:
        return "="
    word = {1: "better", -1: "worse", 0: ""}[part.direction(figure) * (1 if now > was else -1)]
    return f"{now - was:+.4g} {word}".strip()


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints, writes; 1 if a part failed."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == [INSIDE]:
        inside(*arguments[1:3])
        return 0
    names = ", ".join(part.name for part in PARTS)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scoreboard",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    public = os.environ.get("LEFTOFF_PUBLIC_CORPUS")
    parser.add_argument("--corpora", type=Path, default=Path(public).parent if public else None)
    parser.add_argument("--only", default="", metavar="PART,...", help=names)
    parser.add_argument("--note", default="", help="a remark that is written down")
    parser.add_argument("--ci", default="", metavar="STAGE=SECONDS,...")
    parser.add_argument("--no-write", action="store_true", help="leave runs.json as it is")
    args = parser.parse_args(arguments)
    wanted = set(args.only.split(",")) - {""}
    unknown = wanted - {part.name for part in PARTS}
    if unknown:
        parser.error(f"no part named {', '.join(sorted(unknown))}; there are {names}")
    if args.ci:
        try:
            source.enter(args.ci.split(","))
        except ValueError:
            parser.error(f"--ci {args.ci}: say STAGE=SECONDS,...")

    before = load()
    parts: dict[str, dict[str, Any]] = {}
    for part in PARTS:
        if not wanted or part.name in wanted:
            parts[part.name] = found = measured(part, args.corpora)
            line = f"{part.name}: {found['status']}, {found['seconds']} s"
            print(line, file=sys.stderr, flush=True)
    now = row(parts, args.note)
    print(table(now, before), end="")
    if not args.no_write:
        text = json.dumps([*before, now], indent=1, ensure_ascii=False) + "\n"
        RUNS.write_text(text, encoding="utf-8")
    failed = [n for n, f in parts.items() if f["status"].startswith(("failed", "over"))]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
