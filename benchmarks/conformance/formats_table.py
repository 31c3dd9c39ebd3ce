"""What the readers get out of real recordings, as the table of docs/formats/README.md.

    python -m benchmarks.conformance CORPUS [--write docs/formats/README.md]

CORPUS is a folder with MANIFEST.tsv (format, file, ...). A mark means that the recordings at
hand show it: calls paired with results, tokens, timestamps, subagents, compactions; "–" means
that none of them does.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from leftoff import FormatError, Pass, api
from leftoff.extraction.evidence import Called, Compacted, Counted, Returned, Spent

COLUMNS = (
    "| format | files read | sessions | messages | calls | results paired | tokens | times "
    "| subagents | compactions |"
)
MARK = re.compile(r"(<!-- conformance table -->\n).*?(\n<!-- end -->)", re.DOTALL)


class Row(Struct):
    files: int = 0
    refused: int = 0
    sessions: int = 0
    messages: int = 0
    calls: int = 0
    results: int = 0
    paired: int = 0
    tokens: bool = False
    times: bool = False
    subagents: bool = False
    compactions: bool = False


def look(row: Row, reading: Pass) -> None:
    """Adds what one file shows."""
    for session in reading.sessions:
        row.sessions += 1
        for name, recording in session.items():
            row.subagents |= bool(name)
            row.messages += len(recording.thread)
            row.times |= bool(recording.header.started)
            for item in recording.evidence:
                row.calls += isinstance(item, Called)
                row.tokens |= isinstance(item, (Spent, Counted))
                row.compactions |= isinstance(item, Compacted)
                if isinstance(item, Returned):
                    row.results += 1
                    row.paired += item.call_message >= 0


def table(corpus: Path) -> str:
    """The table as markdown."""
    rows: dict[str, Row] = {}
    with (corpus / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        entries = list(csv.DictReader(file, delimiter="\t"))
    for entry in entries:
        try:
            reading = api.open_pass(str(corpus / entry["file"]))
        except FormatError:
            rows.setdefault(entry["format"], Row()).refused += 1
            continue
        name = reading.format.name if reading.format else ""
        row = rows.setdefault(name, Row())
        row.files += 1
        look(row, reading)
    lines = [COLUMNS, "|---|---|---|---|---|---|---|---|---|---|"]
    for name, row in sorted(rows.items()):
        total = row.files + row.refused
        read = f"{row.files} of {total}" if row.refused else f"{total}"
        paired = f"{row.paired / row.results:.1%}" if row.results else "–"
        marks = (row.tokens, row.times, row.subagents, row.compactions)
        shown = " | ".join("✓" if mark else "–" for mark in marks)
        lines.append(
            f"| {name} | {read} | {row.sessions} | {row.messages:,} | {row.calls:,} "
            f"| {paired} | {shown} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Prints the table and writes it into a page; 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.conformance", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--write", type=Path, default=None)
    args = parser.parse_args(argv)
    made = table(args.corpus)
    print(made)
    if args.write:
        text = args.write.read_text(encoding="utf-8")
        args.write.write_text(MARK.sub(lambda m: m[1] + made + m[2], text), encoding="utf-8")
    return 0
