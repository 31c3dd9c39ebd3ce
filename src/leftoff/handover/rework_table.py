"""What was found out again after compactions (`rediscovery`), as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leftoff import codec
from leftoff.handover.rediscovery import Rediscovery, Rework
from leftoff.handover.wording import brief, number, plural
from leftoff.redaction.redactor import Redactor

_VERBS = {"read": "read", "search": "searched", "command": "ran", "question": "asked"}


def rework_as_dict(path: str, found: Sequence[Rework], compactions: int) -> dict[str, object]:
    """The results as one JSON object, redacted and not truncated.

    Args:
        compactions: number of compactions in the recording, also those without a readable
            summary.
    """
    value: dict[str, object] = Redactor().value(
        {
            "path": path,
            "compactions": compactions,
            "audited": len(found),
            "audits": [
                {
                    **codec.to_builtins(one),
                    "tokens": one.tokens,
                    "minutes": round(one.seconds / 60, 2),
                }
                for one in found
            ],
        }
    )
    return value


def rework_table(found: Sequence[Rework], *, listed: int = 0) -> str:
    """The results as a table, and of each compaction up to `listed` repetitions and as many
    of each kind that the summary dropped."""
    head = ("next calls", "again", "tokens", "minutes", "not in the summary")
    lines = [(f"{'':<14}" + "".join(f"{name:>{_width(name)}}" for name in head)).rstrip()]
    rows = [(f"compaction {one.number}", [one]) for one in found]
    if len(found) > 1:
        rows.append(("together", list(found)))
    for name, several in rows:
        again = [a for one in several for a in one.again]
        cells = (
            number(sum(one.calls for one in several)),
            number(len(again)),
            number(sum(one.tokens for one in several)),
            f"{sum(one.seconds for one in several) / 60:.1f}",
            number(sum(not a.stated for a in again)),
        )
        lines.append(
            f"{name:<14}"
            + "".join(f"{c:>{_width(h)}}" for h, c in zip(head, cells, strict=True))
        )
    gate = Redactor()
    for one in found if listed else ():
        if one.again:
            lines += ["", f"Known before compaction {one.number} and found out again after it:"]
            for a in one.again[:listed]:
                lines += _again_lines(a, gate)
            lines += _more(len(one.again) - listed, "")
        if one.dropped:
            lines += ["", f"Not in the summary of compaction {one.number} and used after it:"]
        for kind in ("message", "file", "command"):
            missing = [d for d in one.dropped if d.kind == kind]
            verb = "names what is in" if kind == "message" else "used in"
            lines += [
                f"  {kind}: {brief(gate.text(d.text), 160)}"
                f" (#{d.message + 1}, {verb} #{d.used + 1})"
                for d in missing[:listed]
            ]
            lines += _more(len(missing) - listed, f" of kind {kind}")
    return "\n".join(lines) + "\n"


def _width(name: str) -> int:
    return len(name) + 3


def _more(count: int, of: str) -> list[str]:
    return [f"  ({count} more{of})"] if count > 0 else []


def _again_lines(found: Rediscovery, gate: Redactor) -> Iterator[str]:
    summary = "the summary names it" if found.stated else "not in the summary"
    yield (
        f"  #{found.message + 1} {_VERBS[found.kind]} {brief(gate.text(found.text), 120)}"
        f" (known since #{found.known + 1}, {plural(found.tokens, 'token')}, {summary})"
    )
    if found.fact:
        yield f"    the handover says, {found.fact}: {brief(gate.text(found.fact_text), 160)}"
