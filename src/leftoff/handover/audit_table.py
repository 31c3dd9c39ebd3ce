"""Which files were read again after compactions (`rediscovery`), as a table and as JSON."""

from collections.abc import Sequence

from leftoff import codec
from leftoff.handover.rediscovery import Rediscovery, Rework
from leftoff.handover.wording import brief, number, plural
from leftoff.redaction.redactor import Redactor

# Lines of each kind in a table; the JSON has all. Chosen by hand.
LISTED = 5


def as_dict(path: str, compactions: int, rework: Sequence[Rework]) -> dict[str, object]:
    """The results as one JSON object, redacted and not truncated. `compactions`: number of
    compactions in the recording, also those without a readable summary."""
    audits = []
    for one in rework:
        sums = {"tokens": one.tokens, "minutes": round(one.seconds / 60, 2)}
        audits.append({**codec.to_builtins(one), **sums})
    frame = {"path": path, "compactions": compactions, "audited": len(audits)}
    value: dict[str, object] = Redactor().value({**frame, "audits": audits})
    return value


def rework_table(found: Sequence[Rework]) -> str:
    """What was read again, and of each compaction up to `LISTED` repetitions and as many
    of each kind that the summary dropped."""
    groups = [(f"compaction {one.number}", [one]) for one in found]
    if len(found) > 1:
        groups.append(("together", list(found)))
    heads = ("next calls", "again", "tokens", "minutes", "not in the summary")
    rows = [
        (
            name,
            number(sum(one.calls for one in several)),
            number(sum(len(one.again) for one in several)),
            number(sum(one.tokens for one in several)),
            f"{sum(one.seconds for one in several) / 60:.1f}",
            number(sum(not again.stated for one in several for again in one.again)),
        )
        for name, several in groups
    ]
    lines = _table([f"   {head}" for head in heads], rows)
    gate = Redactor()
    for one in found:
        if one.again:
            lines += ["", f"Known before compaction {one.number} and read again after it:"]
            lines += _first([_repetition(again, gate) for again in one.again], "")
        if one.dropped:
            lines += ["", f"Not in the summary of compaction {one.number} and used after it:"]
        for kind in ("message", "file", "command"):
            verb = "names what is in" if kind == "message" else "used in"
            missing = [
                f"{kind}: {brief(gate.text(d.text), 160)}"
                f" (#{d.message + 1}, {verb} #{d.used + 1})"
                for d in one.dropped
                if d.kind == kind
            ]
            lines += _first(missing, f" of kind {kind}")
    return "\n".join(lines) + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their headings, after one of names."""
    widths = [14, *map(len, heads)]
    lines = []
    for name, *cells in (["", *heads], *rows):
        right = (f"{c:>{width}}" for c, width in zip(cells, widths[1:], strict=True))
        lines.append("".join((f"{name:<{widths[0]}}", *right)).rstrip())
    return lines


def _first(lines: Sequence[str], of: str) -> list[str]:
    more = [f"({len(lines) - LISTED} more{of})"] if len(lines) > LISTED else []
    return [f"  {line}" for line in (*lines[:LISTED], *more)]


def _repetition(found: Rediscovery, gate: Redactor) -> str:
    summary = "the summary names it" if found.stated else "not in the summary"
    fact = f"\n    the handover says: {brief(gate.text(found.fact), 160)}" if found.fact else ""
    return (
        f"#{found.message + 1} read {brief(gate.text(found.path), 120)}"
        f" (known since #{found.known + 1}, {plural(found.tokens, 'token')}, {summary}){fact}"
    )
