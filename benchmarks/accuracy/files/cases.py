"""The table of shell cases: what commands really did to files, and what leftoff says of it.

    python -m benchmarks.accuracy.files.cases [--run] [--add FILE]

`--run` runs every command of `tests/unit/shell_cases.jsonl` in a fresh copy of the files of its
first line, and writes `exit`, `output` and `did` as they came out; `--add` runs the commands of
a file, one a line, and adds them. A row without `did` has an outcome that was made up, and is
not run.

`says` is written anew: what leftoff answers, where that is not `did`. Read the difference
before it is committed. It may name less than `did`, "?" for what is not known, and "~a.txt?"
for what is likely; any other change that was not made is a false answer (exit 1), but for a
file that was written with the bytes that it had (`same`).

Running needs what the sandbox needs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy.files.fixtures import Tree
from benchmarks.accuracy.files.sandbox import Sandbox, Unavailable, check

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import Outcome
from leftoff.shell.filesystem import FileState

TABLE = Path(__file__).parents[3] / "tests" / "unit" / "shell_cases.jsonl"
SIGNS = {"created": "+", "modified": "~", "deleted": "-"}
Row = dict[str, Any]


def load() -> tuple[Row, list[Row]]:
    """The files that every command starts with, and the rows."""
    head, *rows = map(json.loads, TABLE.read_text("utf-8").splitlines())
    return head, rows


def answer(head: Row, row: Row) -> list[str]:
    """What leftoff says: `+made`, `~changed`, `-removed`, with `?` behind what is likely; `?`
    alone where it is not known, and for a file with its committed contents again (which may be
    those that it had)."""
    above = {name.rpartition("/")[0] for name in head["files"] if "/" in name}
    folders = sorted({*head["folders"], *above})
    known = FileState(head["files"], folders, [".", *folders])
    outcome = Outcome(exit_code=row.get("exit", 0), output=row.get("output", ""))
    return sorted(
        "?"
        if effect.certainty == "unknown" or effect.restored
        else f"{SIGNS[effect.action]}{effect.path}{'?' * (effect.certainty == 'likely')}"
        for effect in resolve(analyze(row["command"]), outcome=outcome, known=known)
        if effect.action != "read"
    )


def is_false(row: Row) -> bool:
    """Whether `says` names a change that the command did not make."""
    if "did" not in row:
        return False
    says: list[str] = row["says"] if "says" in row else row["did"]
    claims = {one for one in says if one[-1] != "?"} - set(row["did"])
    return any(one[0] != "~" for one in claims) if row.get("same") else bool(claims)


def run(head: Row, rows: list[Row]) -> None:
    """Run the commands for real."""
    check()
    tree = Tree("cases", {name: text.encode() for name, text in head["files"].items()})
    tree.empty = head["folders"]
    with Sandbox() as sandbox:
        for row in rows:
            if "did" in row:
                ran = sandbox.run(tree, row["command"])
                row["exit"], row["output"] = ran.exit_code, ran.output.replace(ran.cwd, "/w")
                changed = {name: what for name, what in ran.events.items() if what in SIGNS}
                row["did"] = sorted(SIGNS[what] + name for name, what in changed.items())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.files.cases")
    parser.add_argument("--run", action="store_true", help="run the commands for real")
    parser.add_argument("--add", type=Path, help="a file of commands, one a line")
    options = parser.parse_args(arguments)
    head, rows = load()
    lines = options.add.read_text("utf-8").splitlines() if options.add else []
    added: list[Row] = [{"command": line, "did": []} for line in lines]
    rows += added
    try:
        if options.run or added:
            run(head, rows if options.run else added)
    except Unavailable as why:
        print(f"cannot run commands here: {why}", file=sys.stderr)
        return 2
    for row in rows:
        row["says"] = answer(head, row)
        if is_false(row):
            print(f"false: {row['command']!r} did {row['did']}, not {row['says']}")
    TABLE.write_text("\n".join(map(_line, [head, *rows])) + "\n", "utf-8")
    real = [row for row in rows if "did" in row]
    exact = sum(row["says"] == row["did"] for row in real)
    print(f"{len(rows)} rows, {len(real)} of them run; {exact} answered in full")
    return int(any(map(is_false, rows)))


def _line(row: Row) -> str:
    """A row without what goes without saying."""
    usual = {"exit": 0, "output": "", "says": row.get("did")}
    shown = {name: value for name, value in row.items() if value != usual.get(name, usual)}
    return json.dumps(shown, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
