"""Whole sessions, run for real: net state of the files compared after every step.

    python -m benchmarks.accuracy.files.replay --seed 7 --sessions 40 --steps 16 --json run.json

A session mixes shell commands of the grammar with calls of file tools (write, edit, remove,
rename by patch). It is recorded as an agent would record it, and read back from that record
alone: every second session begins with a listing of the project, the others with nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.accuracy.files.fixtures import Tree, text, trees, word
from benchmarks.accuracy.files.grammar import STRATA
from benchmarks.accuracy.files.sandbox import NOBODY, Ran, Sandbox, Unavailable, check, snapshot

from leftoff.analysis.session_pass import Pass

_LEFT_OUT = ("archives", "xargs_find")
"""Strata of which whole sessions would be made of guesses about contents."""


@dataclass
class Session:
    """A session as it is made: the records, and the real state after each step."""

    root: Path
    listed: bool
    first: Tree
    tree: Tree
    start: dict[str, str]
    lines: list[bytes] = field(default_factory=list)
    states: list[dict[str, str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.files.replay")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--show", type=int, default=0, help="print so many differences")
    options = parser.parse_args(arguments)
    try:
        check()
    except Unavailable as why:
        print(f"cannot run commands here: {why}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = []
    kept: list[Tree] = []  # the sandbox knows its trees by identity
    shown = 0
    with Sandbox() as sandbox:
        for number in range(options.sessions):
            rng = random.Random(options.seed * 100_003 + number)
            session = play(sandbox, rng, options.steps, listed=number % 2 == 0)
            kept.append(session.first)
            for row in score(session):
                rows.append({"session": number, "listed": session.listed, **row})
                if shown < options.show and (row["extra"] or row["lacking"]):
                    shown += 1
                    print(f"session {number} step {row['step']}: {session.known[row['step']]}")
                    print(f"   too much {row['extra']}  missed {row['lacking']}")
    figures = summed(rows, options.seed)
    print(json.dumps(figures, indent=2, sort_keys=True))
    if options.json:
        Path(options.json).write_text(
            json.dumps(figures, indent=2, sort_keys=True) + "\n", encoding="utf-8"
        )
    return 0


def play(sandbox: Sandbox, rng: random.Random, steps: int, *, listed: bool) -> Session:
    """Make one session and run it."""
    made = trees(rng)
    tree = rng.choice(made)
    root = sandbox.fresh(tree)
    session = Session(root, listed, tree, tree, snapshot(root))
    if listed:
        _command(sandbox, session, "find . -type f -not -path './.git/*' | sort", rng)
    while len(session.states) < steps:
        _refresh(session)
        if not session.tree.files:
            break
        if rng.random() < 0.35:
            _tool(session, rng)
        else:
            stratum = rng.choice([name for name in sorted(STRATA) if name not in _LEFT_OUT])
            if stratum == "git" and not session.tree.git:
                continue
            try:
                command = rng.choice(STRATA[stratum])(session.tree, rng)
            except IndexError:  # the tree has nothing left that the template asks for
                continue
            _command(sandbox, session, command, rng)
    return session


def _refresh(session: Session) -> None:
    """The tree as it is now, for the writers of commands."""
    now = snapshot(session.root)
    files = {
        name: (session.root / name).read_bytes()
        for name, key in now.items()
        if not key.startswith("link:")
    }
    old = session.tree
    session.tree = Tree(
        old.name,
        files,
        git=old.git,
        archives=[name for name in old.archives if name in files],
        executables=[name for name in old.executables if name in files],
    )


def _command(sandbox: Sandbox, session: Session, command: str, rng: random.Random) -> None:
    ran: Ran = sandbox.step(session.root, command)
    body = ran.output if ran.exit_code == 0 else f"Exit code {ran.exit_code}\n{ran.output}"
    _record(session, "Bash", {"command": command}, body, failed=ran.exit_code != 0)
    session.known.append(command)
    session.states.append(snapshot(session.root))


def _tool(session: Session, rng: random.Random) -> None:
    """One call of a file tool, carried out here as the tool would."""
    names = sorted(name for name in session.tree.files if name not in session.tree.archives)
    kind = rng.choice(("write", "write", "edit", "edit", "read"))
    path = session.root / rng.choice(names)
    if kind == "read":
        _record(session, "Read", {"file_path": str(path)}, "1\tx")
    elif kind == "edit":
        data = path.read_bytes()
        path.write_bytes(data + b"edited\n")
        arguments = {"file_path": str(path), "old_string": "a", "new_string": "b"}
        _record(session, "Edit", arguments, f"The file {path} has been updated.")
    else:
        if rng.random() < 0.6:
            path = path.parent / f"{word(rng)}{word(rng)}.txt"
        new = not path.exists()
        path.write_bytes(text(rng))
        os.chown(path, NOBODY, NOBODY)
        verb = "created" if new else "updated"
        result = {"type": "create" if new else "update", "filePath": str(path)}
        arguments = {"file_path": str(path), "content": "x"}
        _record(session, "Write", arguments, f"File {verb} at: {path}", result=result)
    session.known.append(f"{kind} {path.name}")
    session.states.append(snapshot(session.root))


def _record(
    session: Session,
    tool: str,
    arguments: dict[str, str],
    output: str,
    *,
    failed: bool = False,
    result: dict[str, str] | None = None,
) -> None:
    number = len(session.lines)
    common = {
        "sessionId": "00000000-0000-4000-8000-000000000000",
        "cwd": str(session.root),
        "version": "2.1.0",
        "userType": "external",
        "isSidechain": False,
    }
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
    asked = {
        **common,
        "type": "assistant",
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z",
        "message": {"id": f"msg_{number}", "role": "assistant", "content": [call]},
    }
    came: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{number}",
        "content": output,
    }
    if failed:
        came["is_error"] = True
    answered = {
        **asked,
        "type": "user",
        "uuid": f"u{number + 1}",
        "parentUuid": f"u{number}",
        "message": {"role": "user", "content": [came]},
        **({"toolUseResult": result} if result is not None else {}),
    }
    for record in (asked, answered):
        session.lines.append(json.dumps(record).encode() + b"\n")


def score(session: Session) -> list[dict[str, Any]]:
    """Net state by our reading against the real one, after each step."""
    reading = Pass("<replay>")
    rows: list[dict[str, Any]] = []
    for step, real in enumerate(session.states):
        reading.feed(b"".join(session.lines[2 * step : 2 * step + 2]))
        said = {
            f.path: f.action
            for f in reading.summary().file_modifications
            if f.action != "read"
            and f.certainty != "unknown"
            and not f.path.startswith(("/", ".git/"))
            and not f.path.endswith("/")
        }
        true: dict[str, str] = {}
        for name in session.start.keys() | real.keys():
            if name not in real:
                true[name] = "deleted"
            elif name not in session.start:
                true[name] = "created"
            elif session.start[name] != real[name]:
                true[name] = "modified"
        ours, theirs = set(said.items()), set(true.items())
        rows.append(
            {
                "step": step,
                "right": len(ours & theirs),
                "wrong": len(ours - theirs),
                "missed": len(theirs - ours),
                "extra": sorted(ours - theirs),
                "lacking": sorted(theirs - ours),
            }
        )
    return rows


def summed(rows: Sequence[dict[str, Any]], seed: int) -> dict[str, Any]:
    """The figures: F1 over (path, action), all steps together and at the sessions' ends."""

    def f1(chosen: Sequence[dict[str, Any]]) -> float | None:
        right = sum(row["right"] for row in chosen)
        total = 2 * right + sum(row["wrong"] + row["missed"] for row in chosen)
        return round(2 * right / total, 4) if total else None

    last: dict[int, dict[str, Any]] = {row["session"]: row for row in rows}
    exact = sum(not row["wrong"] and not row["missed"] for row in rows)
    return {
        "seed": seed,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "sessions": len(last),
        "steps": len(rows),
        "f1_after_each_step": f1(rows),
        "f1_after_each_step_listed": f1([row for row in rows if row["listed"]]),
        "f1_after_each_step_not_listed": f1([row for row in rows if not row["listed"]]),
        "f1_at_the_end": f1(list(last.values())),
        "steps_exact": round(exact / len(rows), 4) if rows else None,
    }


if __name__ == "__main__":
    sys.exit(main())
