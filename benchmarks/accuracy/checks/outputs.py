"""Checks whose outcome is known: real outputs of real tools, and claims planted beside them.

    python -m benchmarks.accuracy.checks.outputs [tests/checks_outputs]

prints what summaries say of them. A folder made by `python -m benchmarks.accuracy.checks` holds
`table.csv` and one text file for each run. The sessions made of them are in leftoff's own
format: a request, an edit, the run.
"""

from __future__ import annotations

import argparse
import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from leftoff.analysis.session_pass import Pass
from leftoff.evaluation.truth_runs import Counts
from leftoff.formats import native
from leftoff.model import Message, Part, Text, ToolCall, ToolResult
from leftoff.summary import ContextSummary

# False claims planted, over all tools in turn.
PLANTED = 100
_CLAIMS: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("claims.toml").read_text("utf-8")
)


class Known(Struct, frozen=True):
    """One run of the table. `verdicts`: those that are no mistake, the expected one first."""

    file: str
    tool: str
    kind: str
    command: str
    exit_code: int
    masked: bool
    verdicts: tuple[str, ...]
    counts: tuple[int | None, int | None, int | None]
    failing: tuple[str, ...]
    output: str


class Plant(Struct, frozen=True):
    """A session with a claim, and what may be said of it.

    `case`: false (a failing run stands right before the claim) | edited (an edit between) |
    passed (the run before it passed).
    """

    name: str
    case: str
    data: bytes
    claim: int


def table(folder: str) -> list[Known]:
    """The runs of a folder, in the order of its table.

    Raises:
        OSError: there is no such table.
    """
    base = Path(folder)
    with (base / "table.csv").open(encoding="utf-8", newline="") as stream:
        return [_known(base, row) for row in csv.DictReader(stream)]


def _known(base: Path, row: dict[str, str]) -> Known:
    counts = [int(row[key]) if row[key] else None for key in ("passed", "failed", "skipped")]
    return Known(
        file=row["file"],
        tool=row["tool"],
        kind=row["kind"],
        command=row["command"],
        exit_code=int(row["exit_code"]),
        masked=bool(row["masked"]),
        verdicts=(row["verdict"], *row["accepted"].split()),
        counts=(counts[0], counts[1], counts[2]),
        failing=tuple(filter(None, row["failing"].split("|"))),
        output=(base / row["file"]).read_text(encoding="utf-8"),
    )


def session(*steps: tuple[str, Any]) -> bytes:
    """A recording of our own format.

    Each step is ("user", words), ("agent", words), ("edit", path) or ("run", (command, output,
    exit code or None)).
    """
    messages: list[Message] = []

    def add(role: Any, part: Part, origin: str) -> None:
        messages.append(Message(len(messages), role, (part,), origin=origin))

    for number, (kind, value) in enumerate(steps):
        if kind in ("user", "agent"):
            role, origin = ("user", "prompt") if kind == "user" else ("assistant", "agent")
            add(role, Text(value), origin)
            continue
        key = f"c{number}"
        if kind == "edit":
            given = {"file_path": value, "old_string": f"a{number}", "new_string": f"b{number}"}
            add("assistant", ToolCall(key, "Edit", input=given), "agent")
            add("tool", ToolResult(key, "The file has been updated.", "ok"), "tool")
            continue
        command, output, code = value
        add("assistant", ToolCall(key, "Bash", input={"command": command}), "agent")
        add("tool", ToolResult(key, output, "error" if code else "ok", code), "tool")
    return native.write(messages)


def summary_of(data: bytes) -> ContextSummary:
    """The summary of a recording in memory."""
    reading = Pass()
    reading.feed(data)
    return reading.summary()


def run_of(known: Known) -> bytes:
    """A session that runs one check of the table and says nothing about it."""
    return session(*_steps(known))


def _steps(known: Known) -> tuple[tuple[str, Any], ...]:
    run = known.command, known.output, known.exit_code
    return ("user", "Make the kettle boil."), ("edit", "kettle"), ("run", run)


def plants(known: list[Known]) -> Iterator[Plant]:
    """Sessions with planted claims: `PLANTED` false ones, and as many other ones."""
    named = [k for k in known if k.kind in _CLAIMS and k.tool]
    passed = _by_turns([k for k in named if k.verdicts[0] == "passed"])
    failed = [k for k in named if k.verdicts[0] == "failed" and "empty" not in k.file]
    failed = _by_turns(failed)
    for number in range(PLANTED if failed and passed else 0):
        bad, good = failed[number % len(failed)], passed[number % len(passed)]
        yield _plant(number, "false", bad)
        yield _plant(number, "edited" if number % 2 else "passed", bad if number % 2 else good)


def _by_turns(known: list[Known]) -> list[Known]:
    """One of every tool, then a second of every tool, and so on."""
    seen: Counter[str] = Counter()
    turns: list[tuple[int, str, Known]] = []
    for one in known:
        turns.append((seen[one.tool], one.tool, one))
        seen[one.tool] += 1
    return [one for _, _, one in sorted(turns, key=lambda turn: turn[:2])]


def _plant(number: int, case: str, known: Known) -> Plant:
    claims = _CLAIMS[known.kind]
    between = (("edit", "kettle"),) if case == "edited" else ()
    steps = (*_steps(known), *between, ("agent", claims[number % len(claims)]))
    return Plant(f"{number} {known.file}", case, session(*steps), 1 + 2 * (len(steps) - 2))


# -- the figures ------------------------------------------------------------------------------


def measure(counts: Counts, known: Sequence[Known]) -> None:
    """Verdicts, counts and names against real outputs, and planted claims."""
    for one in known:
        summary = summary_of(run_of(one))
        check = summary.checks[-1] if summary.checks else None
        said = check.verdict if check else "unknown"
        fits = said in one.verdicts
        true = said if fits else one.verdicts[0]
        counts.add(
            "output verdict", said, true, one.file, unknown=said == "unknown" and not fits
        )
        if check is None:
            continue
        counts.add("output kind", check.kind, one.kind, one.file)
        for word, number, truth in zip(
            ("passed", "failed", "skipped"),
            (check.passed, check.failed, check.skipped),
            one.counts,
            strict=True,
        ):
            if truth is not None:
                # No number is printed where none passed.
                said = str(number or 0) if truth == 0 else str(number)
                counts.add(f"output {word}", said, str(truth), one.file, unknown=number is None)
        for wanted in one.failing:
            found = any(_same_name(wanted, shown) for shown in check.failing)
            counts.add(
                "output failing", wanted if found else "", wanted, one.file, unknown=not found
            )
    for plant in plants(list(known)):
        milestones = summary_of(plant.data).progress.milestones
        said = next((m.evidence for m in milestones if m.ref.message == plant.claim), "")
        if plant.case == "false":
            name, true, unknown = "planted false claim", "contradicted", not said
        else:
            name, true, unknown = "planted other claim", "not accused", False
            said = said if said == "contradicted" else true
        counts.add(name, said, true, plant.name, unknown=unknown)


def _same_name(wanted: str, shown: str) -> bool:
    parts = re.split(r"::| › | > |\.(?=\w+$)|/", wanted)
    return parts[-1] in shown


def main(folder: str) -> None:
    """Prints every measure over the outputs in a folder."""
    counts = Counts()
    counts.format = "outputs"
    measure(counts, table(folder))
    for name, found in counts.figures().items():
        print(f"{name}: {found.right}, {found.wrong}, {found.unknown}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", nargs="?", default="tests/checks_outputs")
    main(parser.parse_args().folder)
