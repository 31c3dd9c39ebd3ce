"""Run the real tools on small projects of our own and write what they print.

`python -m benchmarks.accuracy.checks [TOOL...] [--out tests/checks_outputs] [--node DIR]` runs
every tool that the machine has (the others are named) and writes one text file for each run and
one table of them. The projects stand in `projects/*.toml`:

- project: `tool`, `kind` (as in `summary.Check`), `name` (of its files; the tool's by default),
  `files`, `environment`; `colour` (environment) and `flags` (arguments) that make it print
  colours; `shows`, a pattern of the lines that tell the verdict.
- run: `case`, `command`, `files`, `setup` (a command before it), `verdict` (passed | failed |
  unknown: so by construction, because we wrote what is wrong in the project), `accepted` (other
  verdicts that are no mistake), `passed`, `failed`, `skipped`, `failing` (as far as printed).

The runs `failing` and `passing` are repeated in colours and through `| tail -n 5`. There, and
wherever a mask hides the exit code, a verdict is expected only if a line is left that `shows`
it.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OUT = Path("tests/checks_outputs")
COLUMNS = (
    "file",
    "tool",
    "kind",
    "command",
    "exit_code",
    "masked",
    "verdict",
    "accepted",
    "passed",
    "failed",
    "skipped",
    "failing",
)
SECONDS = 300
TAIL = " 2>&1 | tail -n 5"
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
# What differs between machines, beside the folder itself.
_MACHINE = (
    (re.compile(r"(?:\.\./)+(?:[^\s:()'\"]*/)?(?=node_modules/)"), ""),
    (
        re.compile(r"(?:/root|/home)/[^\s:()'\"]*/(?=node_modules/|lib/python|site-packages/)"),
        "/opt/tools/",
    ),
    (re.compile(r"/root\b"), "/home/dev"),
)


def _projects(wanted: set[str]) -> list[dict[str, Any]]:
    """The projects of the wanted tools, or all."""
    found: list[dict[str, Any]] = []
    for path in sorted((HERE / "projects").glob("*.toml")):
        found += tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return [p for p in found if not wanted or p["tool"] in wanted or p.get("name") in wanted]


def _variants(project: dict[str, Any], run: dict[str, Any]) -> list[dict[str, Any]]:
    """A run as it is, in colours, and through `tail`."""
    found = [run]
    if run["case"] not in ("failing", "passing"):
        return found
    if project.get("colour") or project.get("flags"):
        command = (
            f"{run['command']} {project['flags']}" if "flags" in project else run["command"]
        )
        environment = project.get("colour", {})
        colour = {
            "case": f"{run['case']}_colour",
            "command": command,
            "environment": environment,
        }
        found.append({**run, **colour})
    tail = {"case": f"{run['case']}_tail", "command": run["command"] + TAIL, "masked": True}
    return [*found, {**run, **tail}]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.removeprefix("\n"), encoding="utf-8")


def _output(
    project: dict[str, Any], run: dict[str, Any], node: Path | None
) -> tuple[int, str] | None:
    """Exit code and output of a run in a fresh folder; None where the program is missing."""
    with tempfile.TemporaryDirectory(prefix="checks") as scratch:
        folder = Path(scratch).resolve() / "kettle"
        folder.mkdir()
        _write(folder, {**project.get("files", {}), **run.get("files", {})})
        environment = {**os.environ, "TERM": "dumb", "CI": "", **project.get("environment", {})}
        for name in ("CI", "NO_COLOR", "FORCE_COLOR"):
            environment.pop(name, None)
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "npm_config_userconfig": os.devnull}
        environment |= run.get("environment", {})
        if node:
            (folder / "node_modules").symlink_to(node / "node_modules")
            environment["PATH"] = f"{node / 'node_modules/.bin'}:{environment['PATH']}"
        call: dict[str, Any] = {"cwd": folder, "env": environment, "timeout": SECONDS}
        if run.get("setup"):
            subprocess.run(
                ["bash", "-c", run["setup"]], check=True, capture_output=True, **call
            )
        done = subprocess.run(
            ["bash", "-c", run["command"]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            **call,
        )
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode == 127 or "could not determine executable" in text:
            return None
        text = text.replace(str(folder), "/home/dev/kettle").replace(
            str(folder.parent), "/home/dev"
        )
        if node:
            text = text.replace(str(node), "/home/dev/kettle")
        text = text.replace(sys.prefix, "/opt/python").replace(sys.base_prefix, "/opt/python")
    for pattern, instead in _MACHINE:
        text = pattern.sub(instead, text)
    return done.returncode, text


LOUD = frozenset({"tsc", "flake8", "go vet", "gofmt", "cargo fmt", "shellcheck", "go build"})
"""Tools that print nothing when all is well and always something when they fail, so that no
output behind `2>&1 | tail` is a result. From their documentation and the runs of this table."""


def _row(
    project: dict[str, Any], run: dict[str, Any], name: str, code: int, text: str
) -> dict[str, Any]:
    """The row of a run. Through a mask, only what is left to see can be expected."""
    plain = _ANSI.sub("", text)
    row = {"file": name, "tool": project["tool"], "kind": project["kind"], "exit_code": code}
    row |= {
        key: run.get(key, "") for key in ("command", "verdict", "passed", "failed", "skipped")
    }
    row["masked"] = "yes" if run.get("masked") else ""
    accepted = list(run.get("accepted", ()))
    if run.get("masked"):
        silent = not plain.strip() and run["verdict"] == "passed" and project["tool"] in LOUD
        if silent:
            pass  # it prints whatever fails, and the mask shows what it prints
        elif not re.search(project["shows"], plain, re.MULTILINE):
            accepted, row["verdict"] = [run["verdict"]] if plain.strip() else [], "unknown"
        for key in ("passed", "failed", "skipped"):
            if row["verdict"] == "unknown" or not re.search(rf"\b{row[key]}\b", plain):
                row[key] = ""
    row["accepted"] = " ".join(v for v in accepted if v != row["verdict"])
    lasts = [re.split(r"::| › | > |/|\.(?=\w+$)", one)[-1] for one in run.get("failing", ())]
    shown = [
        one for one, last in zip(run.get("failing", ()), lasts, strict=True) if last in plain
    ]
    row["failing"] = "|".join(shown)
    return row


def main() -> int:
    """Run what was asked for and write outputs and table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tools", nargs="*", help="only these tools; their rows are replaced")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument(
        "--node", type=Path, help="folder with node_modules of the JavaScript tools"
    )
    given = parser.parse_args()
    node = given.node.resolve() if given.node else None
    table = given.out / "table.csv"
    rows: dict[str, dict[str, Any]] = {}
    if table.exists():
        with table.open(encoding="utf-8", newline="") as stream:
            rows = {row["file"]: row for row in csv.DictReader(stream)}
    missing: list[str] = []
    for project in _projects(set(given.tools)):
        stem = project.get("name") or re.sub(r"\W+", "-", project["tool"])
        shutil.rmtree(given.out / stem, ignore_errors=True)
        rows = {name: row for name, row in rows.items() if not name.startswith(f"{stem}/")}
        for run in [v for one in project["run"] for v in _variants(project, one)]:
            name = f"{stem}/{run['case']}.txt"
            found = _output(project, run, node)
            if found is None:
                missing.append(stem)
                break
            _write(given.out, {name: found[1]})
            rows[name] = _row(project, run, name, *found)
            if not run.get("masked") and (run["verdict"] == "failed") != (found[0] != 0):
                print(f"{name}: {run['verdict']} with exit code {found[0]}", file=sys.stderr)
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))
    print(f"{len(rows)} outputs of {len({r['tool'] for r in rows.values()})} tools in {table}")
    if missing:
        print(f"not on this machine: {', '.join(missing)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
