"""What compactions cost, as a table and as JSON: what their summaries left out (`lost`), or
what was found out again after them (`rediscovery`)."""

from collections.abc import Sequence

from leftoff import codec
from leftoff.handover.lost import KINDS, Audit, Point, Share, total_shares
from leftoff.handover.rediscovery import Rediscovery, Rework
from leftoff.handover.wording import brief, inline, number, plural
from leftoff.redaction.redactor import Redactor

_VERBS = {"read": "read", "search": "searched", "command": "ran", "question": "asked"}


def as_dict(
    path: str,
    compactions: int,
    *,
    lost: Sequence[Audit] | None = None,
    rework: Sequence[Rework] = (),
) -> dict[str, object]:
    """The results of one kind as one JSON object, redacted and not truncated. `compactions`:
    number of compactions in the recording, also those without a readable summary."""
    total = {} if lost is None else {"total": codec.to_builtins(total_shares(lost))}
    audits = [codec.to_builtins(audit) for audit in lost or ()]
    for one in rework:
        sums = {"tokens": one.tokens, "minutes": round(one.seconds / 60, 2)}
        audits.append({**codec.to_builtins(one), **sums})
    frame = {"path": path, "compactions": compactions, "audited": len(audits)}
    value: dict[str, object] = Redactor().value({**frame, **total, "audits": audits})
    return value


def lost_table(audits: Sequence[Audit], *, listed: int = 0) -> str:
    """What the summaries state of each kind, and up to `listed` missing points of each kind
    with their messages."""
    rows = [(f"compaction {audit.number}", audit.shares) for audit in audits]
    if len(audits) > 1:
        rows.append(("together", total_shares(audits)))
    lines = _table(
        [f"{kind + 's':>16}" for kind in KINDS],
        [(name, *(_cell(shares[kind]) for kind in KINDS)) for name, shares in rows],
    )
    gate = Redactor()
    for audit in audits if listed else ():
        if audit.lost:
            lines += ["", f"Not in the summary of compaction {audit.number}:"]
        for kind in KINDS:
            missing = [_line(point, gate) for point in audit.lost if point.kind == kind]
            lines += _first(missing, listed, f" of kind {kind}")
    return "\n".join(lines) + "\n"


def rework_table(found: Sequence[Rework], *, listed: int = 0) -> str:
    """What was found out again, and of each compaction up to `listed` repetitions and as many
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
    for one in found if listed else ():
        if one.again:
            lines += ["", f"Known before compaction {one.number} and found out again after it:"]
            lines += _first([_repetition(again, gate) for again in one.again], listed, "")
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
            lines += _first(missing, listed, f" of kind {kind}")
    return "\n".join(lines) + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their headings, after one of names."""
    lines = []
    for name, *cells in (["", *heads], *rows):
        right = (f"{c:>{len(head)}}" for c, head in zip(cells, heads, strict=True))
        lines.append("".join((f"{name:<14}", *right)).rstrip())
    return lines


def _first(lines: Sequence[str], listed: int, of: str) -> list[str]:
    more = [f"({len(lines) - listed} more{of})"] if len(lines) > listed else []
    return [f"  {line}" for line in (*lines[:listed], *more)]


def _cell(share: Share) -> str:
    if not share.had:
        return "-"
    return f"{share.kept}/{share.had} {100 * share.kept / share.had:.0f} %"


def _line(point: Point, gate: Redactor) -> str:
    notes = [inline(gate.text(point.state))] if point.state else []
    if point.message >= 0:
        notes.append(f"#{point.message + 1}")
    about = f" ({', '.join(notes)})" if notes else ""
    return f"{point.kind}: {brief(gate.text(point.text), 160)}{about}"


def _repetition(found: Rediscovery, gate: Redactor) -> str:
    summary = "the summary names it" if found.stated else "not in the summary"
    fact = (
        f"\n    the handover says, {found.fact}: {brief(gate.text(found.fact_text), 160)}"
        if found.fact
        else ""
    )
    return (
        f"#{found.message + 1} {_VERBS[found.kind]} {brief(gate.text(found.text), 120)}"
        f" (known since #{found.known + 1}, {plural(found.tokens, 'token')}, {summary}){fact}"
    )
