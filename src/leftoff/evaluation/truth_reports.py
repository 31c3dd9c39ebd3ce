"""A measurement against recordings' own truth as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leftoff import codec
from leftoff.evaluation.truth_runs import Tally, TruthReport

SCHEMA = "leftoff.truth/1"

MAX_PLACES = 20
"""Most places of one measure in the table; the JSON has all."""


def figures(report: TruthReport) -> dict[str, dict[str, Any]]:
    """Every measure by name: counts, the share that is right where something was said
    (`precision`) and of all (`found`), and the same by format."""
    found: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(tally.measure for tally in report.tallies):
        rows = [tally for tally in report.tallies if tally.measure == name]
        found[name] = _figure(rows)
        if len(rows) > 1:
            found[name]["by_format"] = {row.format: _figure([row]) for row in rows}
    return found


def _figure(rows: Sequence[Tally]) -> dict[str, Any]:
    right = sum(row.right for row in rows)
    wrong = sum(row.wrong for row in rows)
    unknown = sum(row.unknown for row in rows)
    said, total = right + wrong, right + wrong + unknown
    return {
        "right": right,
        "wrong": wrong,
        "unknown": unknown,
        "precision": round(right / said, 4) if said else None,
        "found": round(right / total, 4) if right or wrong else None,
    }


def to_run(report: TruthReport, **about: str) -> bytes:
    """The measurement as JSON: figures and places, no words of a recording."""
    value = {
        "schema": SCHEMA,
        **{key: word for key, word in about.items() if word},
        "leftoff": report.leftoff,
        "rules": report.rules,
        "recordings": report.recordings,
        "sessions": report.sessions,
        "figures": figures(report),
        "places": [codec.to_builtins(place) for place in report.places],
        "left_out": list(report.left_out),
    }
    return codec.dumps(value) + b"\n"


def table(report: TruthReport, *, formats: bool = False, listed: Sequence[str] = ()) -> str:
    """The figures as text.

    Args:
        formats: also by format.
        listed: measures whose places are listed.
    """
    lines = [
        f"{report.recordings} recordings, {report.sessions} sessions, leftoff {report.leftoff}",
        f"{'':34}  right  wrong  unknown  of what is said  of all",
    ]
    for name, row in figures(report).items():
        lines.append(_line(name, row))
        for name_of, part in row.get("by_format", {}).items() if formats else ():
            lines.append(_line(f"  {name_of}", part))
    for measure in listed:
        places = [place for place in report.places if place.measure == measure]
        lines += [f"{measure}: {len(places)} places"] if places else []
        lines += [f"  {place.name} {place.place}  {place.what}" for place in places]
    lines += [f"left out: {why}" for why in report.left_out[:MAX_PLACES]]
    return "\n".join(lines) + "\n"


def _line(name: str, row: dict[str, Any]) -> str:
    shares = "".join(
        f"{'-' if row[key] is None else format(row[key], '.4f'):>{width}}"
        for key, width in (("precision", 17), ("found", 8))
    )
    return f"{name:34}{row['right']:>7}{row['wrong']:>7}{row['unknown']:>9}{shares}"
