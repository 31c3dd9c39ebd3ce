"""The result of `leftoff eval resume` as a table, a committable run and a list of misses.

A run holds numbers and file names, never text of a recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from leftoff import codec
from leftoff.evaluation.intervals import RESAMPLES, Interval, bootstrap, paired
from leftoff.evaluation.resume_runs import CutScore, Miss, ResumeReport
from leftoff.evaluation.resume_scores import MEASURES
from leftoff.redaction.redactor import Redactor

SCHEMA = "leftoff.eval.resume/1"

COMPARED = ("decisions", "directives", "files", "names", "names outside code", "relations")
"""Measures by which our text is compared with each baseline."""

SWAPS = 2000


def to_run(
    report: ResumeReport, *, held_out: str = "", resamples: int = RESAMPLES, **about: str
) -> bytes:
    """The result as JSON: figures with intervals, and shares by cut.

    Args:
        held_out: a repository; natural cuts are also reported without it.
    """
    value = {
        "schema": SCHEMA,
        "leftoff": report.leftoff,
        "rules": report.rules,
        "labels": report.labels,
        "recordings": recordings(report),
        **{key: word for key, word in about.items() if word},
        "groups": groups(report, held_out=held_out, resamples=resamples),
        "lost": lost(report.misses),
        "cuts": [_plain(cut) for cut in report.cuts],
        "left_out": report.left_out,
    }
    return codec.dumps(value)


def recordings(report: ResumeReport) -> str:
    """16 hex digits of the hash over the prefixes of all cuts."""
    lines = sorted(f"{c.session} {c.cut} {c.digest}\n" for c in report.cuts)
    return blake2b("".join(lines).encode(), digest_size=8).hexdigest()


def groups(
    report: ResumeReport, *, held_out: str = "", resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Figures by kind of cut: natural cuts, and each share of artificial cuts by itself."""
    natural = [cut for cut in report.cuts if cut.natural]
    chosen: list[tuple[str, list[CutScore]]] = [("natural", natural)]
    public = [cut for cut in natural if cut.repository != held_out]
    if len(public) < len(natural):
        chosen.append((f"natural, without {held_out}", public))
    shares = dict.fromkeys(cut.cut for cut in report.cuts if not cut.natural)
    chosen += [
        (share, [c for c in report.cuts if not c.natural and c.cut == share])
        for share in sorted(shares)
    ]
    return [_group(name, cuts, report, resamples) for name, cuts in chosen if cuts]


def _group(
    name: str, cuts: Sequence[CutScore], report: ResumeReport, resamples: int
) -> dict[str, Any]:
    by_session: dict[str, list[CutScore]] = {}
    for cut in cuts:
        by_session.setdefault(cut.session, []).append(cut)
    sessions = list(by_session.values())
    ours = report.systems[0]
    texts = list(cuts[0].texts)
    return {
        "name": name,
        "sessions": len(sessions),
        "cuts": len(cuts),
        "systems": {
            text: {
                "tokens": round(sum(c.texts[text].tokens for c in cuts) / len(cuts)),
                "characters": round(sum(c.texts[text].characters for c in cuts) / len(cuts)),
                "over_budget": sum(c.texts[text].tokens > c.budget for c in cuts),
                "figures": {m: _figure(sessions, text, m, resamples) for m in MEASURES},
            }
            for text in texts
        },
        "ours_minus": {
            text: {
                m: found
                for m in COMPARED
                if (found := _difference(sessions, ours, text, m, resamples)) is not None
            }
            for text in texts
            if text != ours
        },
    }


def _ratio(text: str, measure: str) -> Callable[[Sequence[Sequence[CutScore]]], float | None]:
    """A function that computes one measure of one text: sum of parts over sum of wholes."""

    def figure(sessions: Sequence[Sequence[CutScore]]) -> float | None:
        part = whole = 0.0
        for cuts in sessions:
            for cut in cuts:
                share = cut.texts[text].shares[measure]
                part += share.part
                whole += share.whole
        return part / whole if whole else None

    return figure


def _figure(
    sessions: Sequence[Sequence[CutScore]], text: str, measure: str, resamples: int
) -> dict[str, Any]:
    figure = _ratio(text, measure)
    with_items = [s for s in sessions if any(c.texts[text].shares[measure].whole for c in s)]
    return {
        "value": _rounded(figure(with_items)),
        "interval": _interval(bootstrap(with_items, figure, resamples=resamples)),
        "sessions": len(with_items),
        "items": round(sum(c.texts[text].shares[measure].whole for s in with_items for c in s)),
    }


def _difference(
    sessions: Sequence[Sequence[CutScore]], ours: str, text: str, measure: str, resamples: int
) -> dict[str, Any] | None:
    # Two parallel lists, so that the test can exchange the texts of a session.
    mine = [[cut.texts[ours].shares[measure] for cut in cuts] for cuts in sessions]
    other = [[cut.texts[text].shares[measure] for cut in cuts] for cuts in sessions]

    def figure(drawn: Sequence[Sequence[Any]]) -> float | None:
        whole = sum(share.whole for shares in drawn for share in shares)
        return sum(s.part for shares in drawn for s in shares) / whole if whole else None

    found = paired(mine, other, figure, swaps=SWAPS, resamples=resamples)
    if found is None:
        return None
    return {
        "value": _rounded(found.value),
        "interval": _interval(found.interval),
        "p": round(found.p, 4),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _interval(found: Interval | None) -> list[float] | None:
    return None if found is None else [round(found.low, 4), round(found.high, 4)]


def _plain(cut: CutScore) -> dict[str, Any]:
    value = dict(codec.to_builtins(cut))
    value["texts"] = {
        name: {
            "tokens": text.tokens,
            "characters": text.characters,
            **{m: [round(s.part, 2), round(s.whole, 2)] for m, s in text.shares.items()},
        }
        for name, text in cut.texts.items()
    }
    return value


# -- misses ----------------------------------------------------------------------------------


def lost(misses: Sequence[Miss]) -> dict[str, dict[str, dict[str, int]]]:
    """Misses by system and kind: not detected, or in the summary but not in the text."""
    counts = Counter((m.system, m.what, bool(m.where)) for m in misses)
    found: dict[str, dict[str, dict[str, int]]] = {}
    for (system, what, detected), number in sorted(counts.items()):
        if what in ("ungrounded", "stale"):
            entry = {"said": number}
        else:
            entry = {"not told" if detected else "not detected": number}
        found.setdefault(system, {}).setdefault(what, {}).update(entry)
    return found


def misses_to_lines(misses: Sequence[Miss], *, without: str = "") -> str:
    """The misses as JSON lines, redacted.

    Args:
        without: a held-out repository, whose misses are left out.
    """
    gate = Redactor()
    shown = [m for m in misses if not (without and m.session.startswith(f"{without}__"))]
    return b"".join(codec.dumps(gate.value(codec.to_builtins(m))) for m in shown).decode()


# -- table -----------------------------------------------------------------------------------


def table(run: bytes) -> str:
    """A run as text."""
    value = msgspec.json.decode(run)
    lines = [
        (
            f"leftoff {value['leftoff']}, rules {value['rules']}, labels {value['labels']}, "
            f"recordings {value['recordings']}"
        )
    ]
    for group in value["groups"]:
        lines += ["", f"{group['name']}: {group['cuts']} cuts in {group['sessions']} sessions"]
        lines += _rows(group["systems"])
        for other, figures in group["ours_minus"].items():
            lines.append(f"  ours minus {other}")
            lines += [
                f"    {name:<22} {f['value']:+.3f}  {_span(f['interval'], '+')}  p {f['p']}"
                for name, f in figures.items()
            ]
    for system, kinds in value["lost"].items():
        lines += ["", f"lost by {system}, all cuts"]
        for what, counts in kinds.items():
            reasons = ", ".join(f"{number} {why}" for why, number in sorted(counts.items()))
            lines.append(f"  {what:<22} {reasons}")
    lines += [f"left out: {what}" for what in value["left_out"]]
    return "\n".join(lines) + "\n"


def _rows(systems: dict[str, Any]) -> list[str]:
    lines = [f"  {'':<26}" + "".join(f"{name:>28}" for name in systems)]
    lines.append(
        f"  {'tokens (upper bound)':<26}"
        + "".join(f"{s['tokens']:>28}" for s in systems.values())
    )
    lines.append(
        f"  {'cuts over the budget':<26}"
        + "".join(f"{s['over_budget']:>28}" for s in systems.values())
    )
    for measure in MEASURES:
        cells = [s["figures"][measure] for s in systems.values()]
        shown = [
            f"{c['value']:.3f} {_span(c['interval'])}" if c["value"] is not None else "-"
            for c in cells
        ]
        items = cells[0]["items"]
        lines.append(
            f"  {measure:<26}" + "".join(f"{cell:>28}" for cell in shown) + f"{items:>8}"
        )
    return lines


def _span(interval: list[float] | None, sign: str = "") -> str:
    if interval is None:
        return ""
    low, high = interval
    return f"[{low:{sign}.3f}, {high:{sign}.3f}]"
