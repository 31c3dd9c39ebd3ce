"""How fast leftoff is: beside parsers, a naive summary and other programs; how it grows.

    python -m benchmarks.speed all --corpus FOLDER [--rivals DIR] [--write]
    python -m benchmarks.speed compare FOLDER     # one folder of sessions: who is how fast
    python -m benchmarks.speed stages FOLDER      # where the time of a summary goes
    python -m benchmarks.speed gate               # exit 1 if a summary has become slower
    python -m benchmarks.speed rivals-setup DIR   # installs other programs to measure beside us
    python -m benchmarks.speed figures            # writes the runs into docs/speed.md

`all` measures what docs/speed.md tells, part by part (`--parts`), and with `--write` replaces
the committed runs under benchmarks/speed/runs. FOLDER of `all` is a corpus with a folder for
each format. Figures are processor time, medians of rounds in which the contestants take turns.
Runs hold numbers only.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.speed import contestants, figures, gate, growth, rivals, stages, starting
from benchmarks.speed.data import chapters_of, digest, sessions_in, size_of
from leftoff import __version__

ROOT = Path(__file__).resolve().parents[2]
RUNS = Path(__file__).with_name("runs")
SHIPPED = ROOT / "corpora" / "sessions"

PACKAGES = ("msgspec", "orjson", "google-re2", "tree-sitter")


def conditions() -> dict[str, Any]:
    """Where and when a run was made."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} processors, {platform.system()}, Python "
        f"{platform.python_version()}",
        "load": round(os.getloadavg()[0], 1),
        "versions": {"leftoff": __version__} | {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    try:
        told = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.machine()
    _, _, after = told.partition("model name")
    return after.partition("\n")[0].strip("\t :") or platform.machine()


def everything(args: argparse.Namespace) -> None:
    chapters = chapters_of(args.corpus, SHIPPED, args.without)
    claude = chapters.get("claude_code") or chapters["shipped"]
    folder = args.corpus / "claude_code"
    corpus = {
        name: {"files": len(s), "mb": round(size_of(s) / 1e6, 1), "digest": digest(s)}
        for name, s in chapters.items()
    }
    with tempfile.TemporaryDirectory(dir=args.scratch) as name:
        scratch = Path(name)
        parts: dict[str, Callable[[], Any]] = {
            "contestants": lambda: {
                n: contestants.chapter(s, args.rounds) for n, s in chapters.items()
            },
            "stages": lambda: {n: stages.shares(s, args.rounds) for n, s in chapters.items()},
            "sizes": lambda: growth.by_size(claude, scratch),
            "files": lambda: growth.by_count(folder, scratch, rounds=args.rounds),
            "processes": lambda: growth.by_processes(folder, scratch, rounds=args.rounds),
            "start": lambda: starting.start_up(scratch),
            "turn": lambda: starting.one_more_turn(claude, scratch),
            "hooks": lambda: starting.hooks(claude, scratch),
            "rivals": lambda: rivals.compare(claude, args.rivals, scratch, rounds=args.rounds),
            "gate": lambda: gate.measure(SHIPPED),
        }
        for part in args.parts or parts:
            if part == "rivals" and args.rivals is None:
                continue
            told = conditions() | {"corpus": corpus, "told": parts[part]()}
            tell(told, RUNS / f"{part}.json" if args.write else None)


def tell(told: Any, path: Path | None) -> None:
    text = json.dumps(told, indent=1) + "\n"
    if path is None:
        print(text, end="", flush=True)
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path, flush=True)


def compare(args: argparse.Namespace) -> None:
    sessions = some(args)
    told = contestants.chapter(sessions, args.rounds)
    print(
        f"{told['sessions']} sessions, {told['megabytes']} MB, median of {args.rounds} rounds"
    )
    for name, found in told["contestants"].items():
        rate = told["megabytes"] / found["seconds"]
        print(f"  {name:26}{found['seconds']:9.3f} s {rate:8.1f} MB/s {found['ratio']:9.4f}x")
    if args.json:
        tell(conditions() | {"told": told}, args.json)


def by_stage(args: argparse.Namespace) -> None:
    sessions = some(args)
    told = stages.shares(sessions, args.rounds)
    print(f"{told['sessions']} sessions, {told['megabytes']} MB, {told['seconds']:.3f} s")
    for name, share in sorted(told["shares"].items(), key=lambda item: -item[1]):
        print(f"  {name:30}{100 * share:6.1f} %{share * told['seconds']:9.3f} s")


def some(args: argparse.Namespace) -> Any:
    found = sessions_in(args.folder, args.without)
    if not found:
        sys.exit(f"{args.folder}: no .jsonl or .traj sessions")
    return found


def guard(args: argparse.Namespace) -> None:
    path = RUNS / "gate.json"
    if args.write:
        tell(conditions() | {"told": gate.measure(SHIPPED)}, path)
        return
    committed = json.loads(path.read_bytes())["told"]
    for _ in range(2):
        measured = gate.measure(SHIPPED)
        for name, ratio in measured["ratios"].items():
            print(f"summary / {name}: {ratio:.4f}, committed {committed['ratios'][name]:.4f}")
        if not gate.slower(measured, committed):
            return
    print(f"a summary is slower than {gate.SLACK} of what it was")
    sys.exit(1)


def install(args: argparse.Namespace) -> None:
    for name, told in rivals.setup(args.folder).items():
        print(f"{name}: {told}")


def main(words: list[str]) -> None:
    # What is installed has its bytecode; without it each process would compile everything.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    whole = commands.add_parser("all")
    whole.add_argument("--corpus", type=Path, required=True)
    whole.add_argument("--rivals", type=Path, help="where `rivals-setup` put them")
    whole.add_argument("--parts", nargs="+")
    whole.add_argument("--scratch", type=Path, help="a folder with 2 GB to spare")
    whole.add_argument("--write", action="store_true")
    whole.set_defaults(run=everything)
    one, stage = commands.add_parser("compare"), commands.add_parser("stages")
    one.add_argument("--json", type=Path)
    one.set_defaults(run=compare)
    stage.set_defaults(run=by_stage)
    for command in (one, stage):
        command.add_argument("folder", type=Path)
    for command in (whole, one, stage):
        command.add_argument("--rounds", type=int, default=5)
        command.add_argument("--without", default="", help="beginning of names to leave out")
    ours = commands.add_parser("gate")
    ours.add_argument("--write", action="store_true")
    ours.set_defaults(run=guard)
    others = commands.add_parser("rivals-setup")
    others.add_argument("folder", type=Path)
    others.set_defaults(run=install)
    commands.add_parser("figures").set_defaults(run=lambda _: figures.write())
    args = parser.parse_args(words)
    args.run(args)


if __name__ == "__main__":
    main(sys.argv[1:])
