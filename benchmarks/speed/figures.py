"""The figures of docs/speed.md from the committed runs.

python -m benchmarks.speed figures     # writes them into the page
"""

# ruff: noqa: E501, ISC004 - sentences of the page

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.growth import exponent

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "speed.md"
RUNS = Path(__file__).parent / "runs"

CHAPTERS = {
    "claude_code": "Claude Code",
    "codex": "Codex",
    "text": "mostly text",
    "shipped": "shipped",
}
"""What the page calls the chapters of the data."""

SUMMARY = "leftoff, summary"


def runs() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_bytes()) for path in sorted(RUNS.glob("*.json"))}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def wanted(run: dict[str, Any]) -> str:
    """What a summary should cost, and what it costs."""
    claude = run["contestants"]["told"]["claude_code"]["contestants"]
    text = run["contestants"]["told"]["text"]["contestants"]
    sizes, turn = run["sizes"]["told"], run["turn"]["told"]
    start, many, two = run["start"]["told"], run["files"]["told"], run["processes"]["told"]
    peak = next(row["peak_mb"] for row in sizes["rows"] if 490 < row["mb"] < 510)
    ours = claude[SUMMARY]
    typed = claude["msgspec, typed"]["ratio"]
    rows = [
        ("speed of a summary, `orjson.loads` of every line = 1", "1.0", ratio(ours["ratio"])),
        ("the same, typed decoding with msgspec = 1", "0.75", ratio(ours["ratio"] / typed)),
        (
            "the same, the naive summary = 1",
            "10",
            ratio(ours["ratio"] / claude["naive"]["ratio"]),
        ),
        (
            "mostly text, `orjson.loads` = 1",
            "0.4",
            ratio(text[SUMMARY]["ratio"]),
        ),
        (
            "mostly text, the naive summary = 1",
            "10",
            ratio(text[SUMMARY]["ratio"] / text["naive"]["ratio"]),
        ),
        (
            "growth with the size of a session, exponent",
            "at most 1.05",
            f"{sizes['exponent']:.2f}; from 100 MB on {late(sizes):.2f}",
        ),
        (
            "growth with the number of files, exponent",
            "at most 1.05",
            f"{many['exponent']:.2f}",
        ),
        (
            "memory for a session of 500 MB, the same MB over and over",
            "at most 100 MB",
            f"{peak:.0f} MB",
        ),
        (
            f"memory for a session of {turn['mb']:.0f} MB, real sessions in a row",
            "at most 100 MB",
            f"{turn['whole']['peak_mb']:.0f} MB",
        ),
        ("two processes, one = 1", "1.7", f"{two['median']:.2f}"),
        (
            "`--version`, `python -c pass` = 1",
            "at most 2",
            f"{start['--version']['times']:.1f}",
        ),
        ("`--help`, `python -c pass` = 1", "at most 9", f"{start['--help']['times']:.1f}"),
    ]
    return table(("", "wanted", "measured"), rows)


def late(sizes: dict[str, Any]) -> float:
    """The exponent of the large ones alone, where what grows faster would show first."""
    return exponent(
        [(row["mb"], row["cpu"] - sizes["start"]) for row in sizes["rows"] if row["mb"] > 90]
    )


def ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def contestants(run: dict[str, Any]) -> str:
    told = run["contestants"]["told"]
    names = list(told["claude_code"]["contestants"])
    names.sort(key=lambda n: -told["claude_code"]["contestants"][n]["ratio"])
    found = []
    for name in names:
        row = [f"**{name}**" if name == SUMMARY else name]
        for chapter in CHAPTERS:
            one = told[chapter]["contestants"][name]
            rate = told[chapter]["megabytes"] / one["seconds"]
            row.append(f"{ratio(one['ratio'])} ({rate:,.0f})")
        found.append(row)
    head = [
        f"{title}, {told[c]['sessions']} sessions, {told[c]['megabytes']:.1f} MB"
        for c, title in CHAPTERS.items()
    ]
    return table(("`orjson.loads` = 1 (MB/s of processor time)", *head), found)


def stages(run: dict[str, Any]) -> str:
    told = run["stages"]["told"]
    names = sorted(
        told["claude_code"]["shares"], key=lambda n: -told["claude_code"]["shares"][n]
    )
    rows = [
        (
            name,
            *(
                f"{100 * told[c]['shares'][name]:.0f} % "
                f"({1000 * told[c]['shares'][name] * told[c]['seconds'] / told[c]['megabytes']:.1f})"
                for c in CHAPTERS
            ),
        )
        for name in names
    ]
    whole = (
        "**all**",
        *(f"{1000 * told[c]['seconds'] / told[c]['megabytes']:.1f}" for c in CHAPTERS),
    )
    return table(("share (ms for each MB)", *CHAPTERS.values()), [*rows, whole])


def growth(run: dict[str, Any]) -> str:
    sizes, many, two = (run[n]["told"] for n in ("sizes", "files", "processes"))
    rows = [
        (
            f"{row['mb']:,.0f} MB",
            f"{row['cpu']:.2f} s",
            f"{(row['mb']) / max(1e-9, row['cpu'] - sizes['start']):.0f} MB/s",
            f"{row['peak_mb']:.0f} MB",
            f"{row['out_mb']:.2f} MB",
        )
        for row in sizes["rows"]
    ]
    head = ("one session", "processor time", "without the start", "memory", "its summary")
    more = [
        (f"{row['files']:,}", f"{row['mb']:.0f} MB", f"{row['cpu']:.1f} s")
        for row in many["rows"]
    ]
    return "\n\n".join(
        [
            table(head, rows),
            f"The exponent is {sizes['exponent']:.2f}; from 10 MB on {sizes['exponent_from_10']:.2f}, from 100 MB on {late(sizes):.2f}.",
            table(
                ("files of a batch", "together", "processor time of all its processes"), more
            ),
            f"The exponent is {many['exponent']:.2f}. Two processes take 1/{two['median']:.2f} of the "
            f"time of one by the clock (median of {len(two['ratios'])}; {min(two['ratios']):.2f} to "
            f"{max(two['ratios']):.2f}; 600 sessions of 250 KB, with a load of "
            f"{run['processes']['load']:.1f} on the machine).",
        ]
    )


def start(run: dict[str, Any]) -> str:
    told = run["start"]["told"]
    rows = [
        (f"`{name}`" if name.startswith(("python", "-", "import")) else name,
         f"{one['cpu_ms']:.0f} ms", f"{one['times']:.1f}", f"{one['wall_ms']:.0f} ms")
        for name, one in told.items()
    ]  # fmt: skip
    turn, hooks = run["turn"]["told"], run["hooks"]["told"]
    again = [
        ("the whole session, `leftoff summarize`", turn["whole"]),
        ("the first reading, with its state saved", turn["first"]),
        ("reading on after one more turn", turn["read_on"]),
        ("reading on and the whole summary", turn["read_on_and_summary"]),
        ("of that, starting and importing", turn["imports"]),
    ]
    waits = [
        (
            f"`{event}`",
            f"{hooks[event]['wall_ms']:.0f} ms",
            f"{hooks[event]['most_ms']:.0f} ms",
            f"{hooks[event]['cpu_ms']:.0f} ms",
        )
        for event in ("Stop", "SessionStart")
    ]
    return "\n\n".join(
        [
            table(("", "processor time", "`python -c pass` = 1", "by the clock"), rows),
            f"One more turn in a session of {turn['mb']:.0f} MB, each line a process of its own:",
            table(
                ("", "processor time", "by the clock", "memory"),
                [
                    (n, f"{o['cpu']:.2f} s", f"{o['wall']:.2f} s", f"{o['peak_mb']:.0f} MB")
                    for n, o in again
                ],
            ),
            f"How long a client waits for a hook after each turn of a session of {hooks['mb']:.0f} MB:",
            table(("event", "median", "most", "processor time"), waits),
        ]
    )


def rivals(run: dict[str, Any]) -> str:
    told = run["rivals"]["told"]
    versions, does = told["versions"], told["does"]
    head = ["", "does", "start"]
    for size in told["sizes"]:
        head += [f"{size['mb']:.0f} MB", "MB/s", "memory"]
    names = sorted(
        told["start"],
        key=lambda n: _cpu(told["sizes"][-1], n),
    )
    rows = []
    for name in names:
        ours = name == "leftoff"
        begin = told["start"][name]["cpu"]
        row = [
            "**leftoff**" if ours else f"{name} {versions[name]}",
            "`summarize --json`" if ours else does[name],
            f"{begin:.2f} s",
        ]
        for size in told["sizes"]:
            one = size["contestants"][name]
            spent = f"{one['cpu']:.2f} s"
            rate = f"{size['mb'] / max(1e-9, one['cpu'] - begin):,.0f}"
            if one["stopped"]:
                spent, rate = f"over {one['cpu']:.0f} s", "–"
            row += [spent, rate, f"{one['peak_mb']:.0f} MB"]
        rows.append(row)
    return table(head, rows)


def _cpu(size: dict[str, Any], name: str) -> float:
    spent: float = size["contestants"][name]["cpu"]
    return spent


def conditions(run: dict[str, Any]) -> str:
    dates = sorted({one["date"] for one in run.values()})
    loads = [one["load"] for one in run.values()]
    first = run["contestants"]
    corpus = ", ".join(
        f"{CHAPTERS[name]} {c['files']} sessions of {c['mb']:.1f} MB (hash {c['digest']})"
        for name, c in first["corpus"].items()
    )
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    shared = ""
    if max(loads) > 2:  # the benchmark itself is a load of one
        shared = "Others were using the machine, so times by the clock say little. "
    return (
        f"Measured on {' and '.join(dates)}: {first['machine']}, at a load of {min(loads):.1f} to "
        f"{max(loads):.1f}. {shared}{versions}. Data: {corpus}."
    )


PARTS = {
    "conditions": conditions,
    "wanted": wanted,
    "contestants": contestants,
    "stages": stages,
    "growth": growth,
    "start": start,
    "rivals": rivals,
}


def rendered(page: str) -> str:
    """The page with the figures of the committed runs."""
    told = runs()
    for name, part in PARTS.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, found, rest = page.partition(begin)
        if found:
            page = f"{before}{begin}{part(told)}\n{end}{rest.partition(end)[2]}"
    return page


def write() -> None:
    PAGE.write_text(rendered(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
