"""The figures of docs/speed.md from the committed runs.

python -m benchmarks.speed figures     # writes them into the page
"""

# ruff: noqa: E501, ISC004 - sentences of the page

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

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

REAL = ("claude_code", "codex", "text")

GROUPS = {
    "prose: sentences, decisions, rules, progress, names": (
        "decisions, model", "decisions, gate", "rules, gate and patterns", "progress", "names",
    ),
    "shell, files, working set": ("shell", "files", "working set"),
    "decoding, messages": ("decode", "intake", "format detection", "other extractors"),
    "redaction, JSON": ("redaction", "JSON"),
    "tokens": ("tokens",),
}  # fmt: skip
"""What the page calls stages that belong together."""

SUMMARY = "leftoff, summary"


def runs() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_bytes()) for path in sorted(RUNS.glob("*.json"))}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def goals(run: dict[str, Any]) -> str:
    """What a summary should cost (the page argues why), and what it costs."""
    told, turn = run["contestants"]["told"], run["turn"]["told"]
    begin, hooks = run["start"]["told"], run["hooks"]["told"]
    rows = [
        (f"speed on {CHAPTERS[name]}, `orjson.loads` = 1", goal,
         ratio(told[name]["contestants"][SUMMARY]["ratio"]))
        for name, goal in (("claude_code", "0.085"), ("codex", "0.05"), ("text", "0.032"))
    ]  # fmt: skip
    rows += [
        ("start of a summary, `python -c pass` = 1", "10",
         f"{begin['summarize, two lines']['times']:.1f}"),
        ("processor time of a `Stop` hook", "45 ms", f"{hooks['Stop']['cpu_ms']:.0f} ms"),
        (f"memory for {turn['mb']:.0f} MB of real sessions in a row", "125 MB",
         f"{turn['whole']['peak_mb']:.0f} MB"),
        ("growth with the size of a session, exponent", "1.05", f"{run['sizes']['told']['exponent']:.2f}"),
        ("two processes, one = 1", "1.7", f"{run['processes']['told']['median']:.2f}"),
    ]  # fmt: skip
    return table(("", "goal", "measured"), rows)


def ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def contestants(run: dict[str, Any]) -> str:
    told = run["contestants"]["told"]
    names = list(told["claude_code"]["contestants"])
    names = [name for name in names if name not in {"wc -l", "msgspec, typed", "json.loads"}]
    names.sort(key=lambda n: -told["claude_code"]["contestants"][n]["ratio"])
    found = []
    for name in names:
        row = [f"**{name}**" if name == SUMMARY else name]
        for chapter in REAL:
            one = told[chapter]["contestants"][name]
            rate = told[chapter]["megabytes"] / one["seconds"]
            row.append(f"{ratio(one['ratio'])} ({rate:,.0f})")
        found.append(row)
    head = [f"{CHAPTERS[c]}, {told[c]['megabytes']:.0f} MB" for c in REAL]
    return table(("speed (MB/s)", *head), found)


def stages(run: dict[str, Any]) -> str:
    told = run["stages"]["told"]
    rows = []
    for name, parts in GROUPS.items():
        shares = [sum(told[c]["shares"][part] for part in parts) for c in REAL]
        rows.append((name, *(f"{100 * share:.0f} %" for share in shares)))
    named = {part for parts in GROUPS.values() for part in parts}
    left = [sum(v for k, v in told[c]["shares"].items() if k not in named) for c in REAL]
    rows.append(("the rest", *(f"{100 * share:.0f} %" for share in left)))
    rows.append(
        (
            "**ms for each MB**",
            *(f"{1000 * told[c]['seconds'] / told[c]['megabytes']:.0f}" for c in REAL),
        )
    )
    return table(("share", *(CHAPTERS[c] for c in REAL)), rows)


def growth(run: dict[str, Any]) -> str:
    sizes, many, two = (run[n]["told"] for n in ("sizes", "files", "processes"))
    rows = [
        (f"{row['mb']:,.0f} MB", f"{row['cpu']:.1f} s", f"{row['peak_mb']:.0f} MB")
        for row in sizes["rows"]
        if round(row["mb"]) in {1, 100, 1000}
    ]
    largest = many["rows"][-1]
    return "\n\n".join(
        [
            table(("one session", "processor time", "memory"), rows),
            f"The exponent is {sizes['exponent']:.2f}. A batch of {largest['files']:,} files, "
            f"{largest['mb']:.0f} MB together, takes {largest['cpu']:.1f} s of all its processes; two "
            f"processes take 1/{two['median']:.2f} of the time of one by the clock.",
        ]
    )


def start(run: dict[str, Any]) -> str:
    told, turn, hooks = (run[n]["told"] for n in ("start", "turn", "hooks"))
    ms = {
        name: f"{one['cpu_ms']:.0f} ms" for name, one in (told | hooks).items() if name != "mb"
    }
    return (
        f"`python -c pass` takes {ms['python -c pass']}, `--help` {ms['--help']}, a summary of two "
        f"lines {ms['summarize, two lines']}, a hook {ms['Stop']} (`Stop`) or {ms['SessionStart']} "
        f"(`SessionStart`). A session of {turn['mb']:.0f} MB takes {turn['whole']['cpu']:.1f} s and "
        f"{turn['whole']['peak_mb']:.0f} MB; to read on after one more turn {turn['read_on']['cpu']:.2f} s, "
        f"with the whole summary {turn['read_on_and_summary']['cpu']:.1f} s."
    )


def rivals(run: dict[str, Any]) -> str:
    told = run["rivals"]["told"]
    size = told["sizes"][-1]
    rows = []
    for name in sorted(told["start"], key=lambda n: _cpu(size, n)):
        ours, one = name == "leftoff", size["contestants"][name]
        rows.append(
            (
                "**leftoff**" if ours else f"{name} {told['versions'][name]}",
                "`summarize --json`"
                if ours
                else told["does"][name].partition("`: ")[0].partition(" (")[0].strip("`"),
                f"{told['start'][name]['cpu']:.2f} s",
                f"{'over ' * one['stopped']}{one['cpu']:.2f} s",
                f"{one['peak_mb']:.0f} MB",
            )
        )
    return table(("", "does", "start", f"{size['mb']:.0f} MB", "memory"), rows)


def _cpu(size: dict[str, Any], name: str) -> float:
    spent: float = size["contestants"][name]["cpu"]
    return spent


def conditions(run: dict[str, Any]) -> str:
    shown = [one for name, one in run.items() if name != "gate"]  # it is on no page
    dates = sorted({one["date"] for one in shown})
    loads = [one["load"] for one in shown]
    first = run["contestants"]
    corpus = ", ".join(
        f"{CHAPTERS[name]} {first['corpus'][name]['files']} sessions of "
        f"{first['corpus'][name]['mb']:.0f} MB"
        for name in REAL
    )
    shared = ""
    if max(loads) > 2:  # the benchmark itself is a load of one
        shared = "Others were using the machine, so times by the clock say little. "
    return (
        f"Measured on {' and '.join(dates)}: {first['machine']}, at a load of {min(loads):.1f} to "
        f"{max(loads):.1f}. {shared}Data: {corpus}."
    )


PARTS = {
    "conditions": conditions,
    "goals": goals,
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
