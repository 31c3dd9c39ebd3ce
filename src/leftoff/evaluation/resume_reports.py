"""The result of `leftoff eval resume` as a table, a committable run and a list of misses.

A run holds numbers and file names, never text of a recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from leftoff import codec
from leftoff.evaluation.handover_scores import MEASURES
from leftoff.evaluation.intervals import RESAMPLES, Interval, bootstrap, paired
from leftoff.evaluation.resume_forms import BOTH, RECORDED
from leftoff.evaluation.resume_runs import CutScore, Miss, ResumeReport
from leftoff.evaluation.resume_scores import Share
from leftoff.redaction.redactor import Redactor

SCHEMA = "leftoff.eval.resume/2"

COMPARED = ((BOTH, RECORDED),)
"""Forms that are compared in every measure, the second being what an agent has anyway."""

SWAPS = 2000


def to_run(
    report: ResumeReport,
    *,
    tuned: Collection[str] = (),
    resamples: int = RESAMPLES,
    **about: str,
) -> bytes:
    """The result as JSON: figures with intervals, and shares by cut.

    Args:
        tuned: repositories that were looked at while leftoff was built; the others are also
            reported by themselves.
    """
    value = {
        "schema": SCHEMA,
        "leftoff": report.leftoff,
        "rules": report.rules,
        "labels": report.labels,
        "recordings": recordings(report),
        **{key: word for key, word in about.items() if word},
        "tuned": sorted(tuned),
        "measures": MEASURES,
        "groups": groups(report, tuned=tuned, resamples=resamples),
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
    report: ResumeReport, *, tuned: Collection[str] = (), resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Figures by kind of cut: recorded compactions, all and those of repositories that were and
    were not tuned on, and each share of artificial cuts by itself."""
    natural = [cut for cut in report.cuts if cut.natural]
    chosen: list[tuple[str, list[CutScore]]] = [("compactions", natural)]
    if tuned:
        chosen += [
            ("not tuned on", [c for c in natural if c.repository not in tuned]),
            ("tuned on", [c for c in natural if c.repository in tuned]),
        ]
    shares = dict.fromkeys(cut.cut for cut in report.cuts if not cut.natural)
    chosen += [
        (share, [c for c in report.cuts if not c.natural and c.cut == share])
        for share in sorted(shares)
    ]
    return [_group(name, cuts, resamples) for name, cuts in chosen if cuts]


def _group(name: str, cuts: Sequence[CutScore], resamples: int) -> dict[str, Any]:
    by_session: dict[str, list[CutScore]] = {}
    for cut in cuts:
        by_session.setdefault(cut.session, []).append(cut)
    sessions = list(by_session.values())
    forms = dict.fromkeys(form for cut in cuts for form in cut.texts)
    return {
        "name": name,
        "sessions": len(sessions),
        "cuts": len(cuts),
        "labelled": sum(cut.labelled for cut in cuts),
        "forms": {form: _form(sessions, form, resamples) for form in forms},
        "differences": {
            f"{form} minus {other}": {
                measure: found
                for measure in MEASURES
                if (found := _difference(sessions, form, other, measure, resamples))
            }
            for form, other in COMPARED
            if form in forms and other in forms
        },
    }


def _form(sessions: Sequence[Sequence[CutScore]], form: str, resamples: int) -> dict[str, Any]:
    texts = [cut.texts[form] for cuts in sessions for cut in cuts if form in cut.texts]
    return {
        "tokens": round(sum(t.tokens for t in texts) / len(texts)),
        "bytes": round(sum(t.size for t in texts) / len(texts)),
        "figures": {m: _figure(sessions, form, m, resamples) for m in MEASURES},
    }


def _shares(cuts: Sequence[CutScore], form: str, measure: str) -> list[Share]:
    """Of one session; a cut without the form has empty ones."""
    return [cut.texts[form].shares[measure] if form in cut.texts else Share() for cut in cuts]


def _ratio(sessions: Sequence[Sequence[Share]]) -> float | None:
    """Sum of parts over sum of wholes."""
    whole = sum(share.whole for shares in sessions for share in shares)
    return sum(s.part for shares in sessions for s in shares) / whole if whole else None


def _figure(
    sessions: Sequence[Sequence[CutScore]], form: str, measure: str, resamples: int
) -> dict[str, Any]:
    every = [_shares(cuts, form, measure) for cuts in sessions]
    found = [shares for shares in every if any(share.whole for share in shares)]
    return {
        "value": _rounded(_ratio(found)),
        "interval": _interval(bootstrap(found, _ratio, resamples=resamples)),
        "items": round(sum(share.whole for shares in found for share in shares)),
    }


def _difference(
    sessions: Sequence[Sequence[CutScore]], form: str, other: str, measure: str, resamples: int
) -> dict[str, Any] | None:
    # Two parallel lists, so that the test can exchange the texts of a session.
    mine = [_shares(cuts, form, measure) for cuts in sessions]
    theirs = [_shares(cuts, other, measure) for cuts in sessions]
    if _ratio(mine) is None or _ratio(theirs) is None:
        return None
    found = paired(mine, theirs, _ratio, swaps=SWAPS, resamples=resamples)
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
    """A cut with each form's tokens, bytes and shares in the order of `MEASURES`."""
    value = dict(codec.to_builtins(cut))
    value["texts"] = {
        name: [
            text.tokens,
            text.size,
            *([round(s.part, 2), round(s.whole)] for s in map(text.shares.get, MEASURES) if s),
        ]
        for name, text in cut.texts.items()
    }
    return value


# -- misses ----------------------------------------------------------------------------------


def lost(misses: Sequence[Miss]) -> dict[str, dict[str, dict[str, int]]]:
    """Misses by system and kind: not detected, or in the summary but not in the text."""
    counts = Counter((m.system, m.what, bool(m.where)) for m in misses)
    found: dict[str, dict[str, dict[str, int]]] = {}
    for (system, what, detected), number in sorted(counts.items()):
        if what in ("ungrounded", "outdated"):
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
    """A run as text: measures down, forms across."""
    value = msgspec.json.decode(run)
    lines = [
        (
            f"leftoff {value['leftoff']}, rules {value['rules']}, labels {value['labels']}, "
            f"recordings {value['recordings']}"
        )
    ]
    for group in value["groups"]:
        lines += [
            "",
            (
                f"{group['name']}: {group['cuts']} cuts in {group['sessions']} sessions, "
                f"{group['labelled']} labelled"
            ),
        ]
        lines += _rows(group["forms"])
        for which, figures in group["differences"].items():
            lines.append(f"  {which}")
            lines += [
                f"    {name:<32} {f['value']:+.3f}  {_span(f['interval'])}  p {f['p']}"
                for name, f in figures.items()
            ]
    for form, kinds in value["lost"].items():
        lines += ["", f"lost by {form}, all cuts"]
        for what, counts in kinds.items():
            reasons = ", ".join(f"{number} {why}" for why, number in sorted(counts.items()))
            lines.append(f"  {what:<22} {reasons}")
    lines += [f"left out: {what}" for what in value["left_out"]]
    return "\n".join(lines) + "\n"


WIDTH = 11
"""Columns of a form in the table; its name stands over two or three lines."""


def _rows(forms: dict[str, Any]) -> list[str]:
    names = [_wrapped(name) for name in forms]
    height = max(map(len, names))
    heads = [[""] * (height - len(name)) + name for name in names]
    lines = [
        f"  {'':<32}" + "".join(f"{head[row]:>{WIDTH}}" for head in heads)
        for row in range(height)
    ]
    lines += [
        f"  {what:<32}" + "".join(f"{form[what]:>{WIDTH},}" for form in forms.values())
        for what in ("tokens", "bytes")
    ]
    for measure in MEASURES:
        cells = [form["figures"][measure] for form in forms.values()]
        shown = [f"{c['value']:.2f}" if c["value"] is not None else "-" for c in cells]
        items = max(cell["items"] for cell in cells)
        lines.append(
            f"  {measure:<32}" + "".join(f"{c:>{WIDTH}}" for c in shown) + f"{items:>8}"
        )
    return lines


def _wrapped(name: str) -> list[str]:
    lines: list[str] = [""]
    for word in name.split():
        if len(f"{lines[-1]} {word}") >= WIDTH and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _span(interval: list[float] | None) -> str:
    if interval is None:
        return ""
    low, high = interval
    return f"[{low:+.3f}, {high:+.3f}]"
