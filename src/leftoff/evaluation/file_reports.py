"""A measurement of file tracking as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from leftoff import codec
from leftoff.evaluation.file_runs import CommittedFiles, FileReport
from leftoff.evaluation.file_scores import FileCounts, f1, share
from leftoff.evaluation.intervals import RESAMPLES, bootstrap

SCHEMA = "leftoff.files/1"
HALVES = ("", "development", "held out")


def to_run(report: FileReport, *, resamples: int = RESAMPLES, **about: str) -> bytes:
    """The measurement as JSON: figures with intervals, and counts by recording."""
    value = {
        "schema": SCHEMA,
        **{key: word for key, word in about.items() if word},
        "figures": figures(report, resamples=resamples),
        **codec.to_builtins(report),
    }
    return codec.dumps(value) + b"\n"


def figures(report: FileReport, *, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Every figure by name; those over sessions with a 95 % interval by bootstrap."""
    found: dict[str, Any] = {}
    for half in HALVES:
        end = f" ({half})" if half else ""
        for label, rows in (
            ("net files", report.patches),
            ("net files, seed 001", report.patches_seed001),
        ):
            selected = [row for row in rows if half in ("", row.half)]
            if selected:
                found[label + end] = _patch_figures(selected, resamples)
        commits = [row for row in report.committed if half in ("", row.half)]
        if commits:
            found["committed files" + end] = _commit_figures(commits, resamples)
    commands = report.seed001_commands
    if commands:
        found["commands that seed 001 calls modified"] = round(
            report.seed001_modified / commands, 4
        )
    return found


def _patch_figures(rows: Sequence[FileCounts], resamples: int) -> dict[str, Any]:
    return {
        "sessions": len(rows),
        "files": sum(row.right + row.missed for row in rows),
        "f1": _round(f1(rows)),
        "interval_95": _interval(bootstrap(rows, f1, resamples=resamples)),
        "precision": _round(share(rows, "right", "wrong")),
        "recall": _round(share(rows, "right", "missed")),
        "left_out": sum(row.left_out for row in rows),
    }


def _commit_figures(rows: Sequence[CommittedFiles], resamples: int) -> dict[str, Any]:
    def recall(drawn: Sequence[CommittedFiles]) -> float | None:
        total = sum(row.own for row in drawn)
        return sum(row.own_found for row in drawn) / total if total else None

    span = sum(row.span for row in rows)
    changed = sum(row.changed for row in rows)
    uncommitted = sum(row.changed_uncommitted for row in rows)
    shown = sum(row.uncommitted_shown for row in rows)
    return {
        "sessions": sum(row.own > 0 for row in rows),
        "commits": sum(row.commits for row in rows),
        "files": sum(row.own for row in rows),
        "found": _round(recall(rows)),
        "interval_95": _interval(bootstrap(rows, recall, resamples=resamples)),
        "files_of_any_commit_meanwhile": span,
        "found_of_any_commit_meanwhile": _round(
            sum(row.span_found for row in rows) / span if span else None
        ),
        "said_changed": changed,
        "of_these_in_no_commit": uncommitted,
        "of_these_shown_by_the_recording": shown,
        "precision_at_least": _round(
            (changed - uncommitted + shown) / changed if changed else None
        ),
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _interval(found: Any) -> list[float] | None:
    if found is None:
        return None
    return [round(value, 4) for value in msgspec.structs.astuple(found)]


def table(report: FileReport, *, resamples: int = RESAMPLES) -> str:
    """The figures as text."""
    lines = [f"{report.recordings} recordings, leftoff {report.leftoff}"]
    for name, row in figures(report, resamples=resamples).items():
        if not isinstance(row, dict):
            lines.append(f"{name}: {row}")
            continue
        lines.append(name)
        lines += [f"  {key.replace('_', ' ')}: {_shown(value)}" for key, value in row.items()]
    worst = sorted(
        (row for row in report.patches if row.wrong or row.missed),
        key=lambda row: (-(row.wrong + row.missed), row.name, row.session),
    )
    if worst:
        lines.append("sessions with differences (right, wrong, missed)")
        for row in worst[:20]:
            lines.append(f"  {row.right:>4} {row.wrong:>4} {row.missed:>4}  {row.name}")
    lines += [f"left out: {why}" for why in report.left_out[:20]]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(str(part) for part in value)
    return "-" if value is None else str(value)
