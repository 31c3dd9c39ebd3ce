"""Whether any output of any recording has changed: hashes against a committed table.

    python -m benchmarks.conformance net PATHS... [--against TABLE] [--write]
        [--formats NAME,...] [--limit N] [--processes N]

A change that is to change no behaviour has to leave every hash as it is; a change of behaviour
shows which outputs of how many recordings it changes. Exit 1: something differs. `--write`
writes the table: all of it, or with `--formats` or `--limit` the rows that were made.

The table has a line for each recording: the beginning of the SHA-256 of its content, its
format, its size, and the beginning of the SHA-256 of each output. It has no word of a recording
and no name of a file. A refusal is an output too: its hash begins with "!", that of a crash
with "?".
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks.conformance.outputs import COLUMNS, Outputs, format_of, refusal
from benchmarks.conformance.recordings import Unit, units
from leftoff.errors import LeftoffError

TABLE = Path(__file__).parent / "runs" / "net.tsv"
HEAD = ("recording", "format", "bytes", *COLUMNS)
LENGTH = 16
SHOWN = 40
"""Recordings that are named one by one."""


class Row(Struct, frozen=True):
    """One line of the table."""

    key: str
    format: str
    size: int
    hashes: dict[str, str]

    def line(self) -> str:
        """The row as a line."""
        cells = (self.hashes.get(name, "") for name in COLUMNS)
        return "\t".join((self.key, self.format, str(self.size), *cells)) + "\n"


def load(path: Path) -> dict[str, Row]:
    """The rows of a table by their keys; none if there is no table."""
    if not path.exists():
        return {}
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    names = head.split("\t")[3:]
    rows = {}
    for line in lines:
        key, kind, size, *cells = line.split("\t")
        rows[key] = Row(key, kind, int(size), dict(zip(names, cells, strict=True)))
    return rows


def save(path: Path, rows: dict[str, Row]) -> None:
    """Writes a table, by format and key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(rows.values(), key=lambda row: (row.format, row.key))
    lines = ("\t".join(HEAD) + "\n", *(row.line() for row in ordered))
    path.write_text("".join(lines), encoding="utf-8")


# -- one recording ---------------------------------------------------------------------------


def row_of(unit: Unit) -> Row:
    """The hashes of a recording's outputs, made in a scratch folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="net-") as scratch:
        folder = Path(scratch, "here")
        folder.mkdir()
        main, others = unit.staged(folder)
        os.chdir(folder)
        try:
            made = Outputs(main, others, Path(scratch, "state"))
            hashes = {name: _hash(make, made) for name, make in COLUMNS.items()}
            return Row(unit.key, format_of(main), unit.size, hashes)
        finally:
            os.chdir(before)


def _hash(make: Callable[[Outputs], bytes | str | Iterator[bytes]], made: Outputs) -> str:
    state = hashlib.sha256()
    mark = ""
    try:
        output = make(made)
        if isinstance(output, str):
            output = output.encode("utf-8", "backslashreplace")
        for piece in (output,) if isinstance(output, bytes) else output:
            state.update(piece)
    except LeftoffError as error:
        mark, state = "!", hashlib.sha256(refusal(error).encode("utf-8", "backslashreplace"))
    except Exception as error:  # noqa: BLE001 - a crash is what is looked for, too
        mark, state = "?", hashlib.sha256(refusal(error).encode("utf-8", "backslashreplace"))
    return mark + state.hexdigest()[: LENGTH - len(mark)]


def rows_of(found: Sequence[Unit], processes: int) -> Iterator[Row]:
    """The rows of recordings as they are made."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, _settled) as pool:
        yield from pool.imap_unordered(row_of, found)


def _settled() -> None:
    """Nothing of this user's settings, clock or language counts."""
    for name in [name for name in os.environ if name.startswith(("LEFTOFF_", "XDG_"))]:
        del os.environ[name]
    os.environ.update(HOME="/nonexistent", TZ="UTC", COLUMNS="96")
    time.tzset()


# -- all of them -----------------------------------------------------------------------------


def chosen(found: list[Unit], known: dict[str, Row], formats: str, limit: int) -> list[Unit]:
    """The recordings of some formats, and of each format the smallest `limit`."""
    wanted = set(formats.split(",")) - {""}
    taken: Counter[str] = Counter()
    taken_units = []
    for unit in reversed(found):
        row = known.get(unit.key)
        kind = row.format if row else Path(unit.main).parent.name
        if wanted and kind not in wanted:
            continue
        taken[kind] += 1
        if not limit or taken[kind] <= limit:
            taken_units.append(unit)
    return taken_units[::-1]


def differences(row: Row, known: dict[str, Row]) -> list[str]:
    """The columns in which a row is not what it was."""
    before = known.get(row.key)
    if before is None:
        return ["not in the table"]
    found = ["format"] if row.format != before.format else []
    return found + [n for n in COLUMNS if row.hashes[n] != before.hashes.get(n, "")]


def main(argv: Sequence[str]) -> int:
    """Compares or writes the table; 1 if something differs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.conformance net", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("paths", nargs="+", help="recordings, or folders of them")
    parser.add_argument("--against", type=Path, default=TABLE, metavar="TABLE")
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--formats", default="", metavar="NAME,...")
    parser.add_argument("--limit", type=int, default=0, help="recordings of each format")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args(argv)

    began = time.monotonic()
    known = load(args.against)
    found = units(args.paths)
    if not found:
        parser.error("no recording there")
    looked_at = chosen(found, known, args.formats, args.limit)
    by_key = {unit.key: unit for unit in looked_at}
    made: dict[str, Row] = {}
    different: dict[str, list[str]] = {}
    for row in rows_of(looked_at, args.processes):
        made[row.key] = row
        columns = differences(row, known)
        if columns:
            different[row.key] = columns
        if sys.stderr.isatty():
            print(f"\r{len(made)} of {len(looked_at)}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)

    crashed = [k for k, row in made.items() if any(h[0] == "?" for h in row.hashes.values())]
    for key in sorted(crashed):
        names = [name for name, h in made[key].hashes.items() if h[0] == "?"]
        print(f"crash in {', '.join(names)}: {by_key[key].shown}")
    if args.write:
        partly = bool(args.formats or args.limit)
        save(args.against, {**known, **made} if partly else made)
    else:
        _report(different, by_key)
    missing = len(known.keys() - made.keys())
    print(
        f"{len(made)} recordings, {len(COLUMNS)} outputs each: "
        f"{len(different)} differ; {missing} rows of the table not looked at; "
        f"{time.monotonic() - began:.0f} s"
    )
    return int(bool(different) and not args.write)


def _report(different: dict[str, list[str]], by_key: dict[str, Unit]) -> None:
    """Which recordings differ in what."""
    for key in sorted(different, key=lambda key: by_key[key].main)[:SHOWN]:
        print(f"{key}  {', '.join(different[key])}: {by_key[key].shown}")
    if len(different) > SHOWN:
        print(f"… and {len(different) - SHOWN} more")
    columns = Counter(name for names in different.values() for name in names)
    for name, count in columns.most_common():
        print(f"{name}: {count} recordings")
