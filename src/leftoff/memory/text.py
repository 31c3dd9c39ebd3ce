"""Answers of the memory as text for people and as plain values."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from leftoff.codec import JsonObject
from leftoff.handover.recall import short_name
from leftoff.handover.wording import brief, inline, status_words
from leftoff.memory.blame import Origin
from leftoff.memory.fixes import Fix
from leftoff.memory.ledger import Standing
from leftoff.memory.search import Hit
from leftoff.text.truncation import short

# Code points of a text, of a note, and of a text in a line of a block. Chosen by hand.
MAX_TEXT, MAX_NOTE, MAX_LINE = 400, 160, 240

REQUIRED = ("constraint", "correction")


def hits_text(hits: Iterable[Hit], width: int) -> str:
    """One paragraph for each hit: where it stands, what it says, what became of it."""
    return "\n".join(_paragraph(_place(hit), _said(hit), width) for hit in hits)


def blame_text(name: str, lines: Sequence[str], origins: Sequence[Origin], width: int) -> str:
    """The origins of lines, each with the lines that it explains."""
    return "\n".join(_origin(name, lines, origin, width) for origin in origins)


def fixes_text(found: Iterable[Fix], width: int) -> str:
    """Earlier failures, what mended each, and the first lines of the edits in between."""
    paragraphs = []
    for fix in found:
        said = [*_said(fix.failure)]
        for edit in fix.edits:
            said.append(f"then edited {_shown(edit.path)}  #{edit.number}")
            said += [f"  {_shown(line)}" for line in edit.text.splitlines()[:6]]
        head = f"{_place(fix.failure)}  {fix.likeness:.0f} % alike"
        paragraphs.append(_paragraph(head, said, width))
    return "\n".join(paragraphs)


def ledger_text(standing: Iterable[Standing], width: int) -> str:
    """What holds first, then what does not hold any more."""
    holding, ended = list[str](), list[str]()
    for one in standing:
        head = _place(one.last) + (f"  in {one.times} sessions" if one.times > 1 else "")
        (ended if one.ended else holding).append(_paragraph(head, _said(one.last), width))
    return "\n".join([*holding, "No longer holds\n", *ended] if ended else holding)


def surest_lines(standing: Iterable[Standing]) -> list[str]:
    """What holds in a project as lines of a block: what the person required in several
    sessions, what in one, then what the person decided."""
    holding = [one for one in standing if not one.ended]
    holding.sort(key=lambda o: (o.last.kind not in REQUIRED, -o.times))  # then the latest first
    lines = []
    for one in holding:
        hit = one.last
        what = "Required" if hit.kind in REQUIRED else "Decided"
        often = f", {one.times} sessions" if one.times > 1 else ""
        place = f"{short_id(hit)}#{hit.number}, {hit.ended[:10]}".rstrip(", ")
        text = brief(hit.text, MAX_LINE)
        lines.append(f"- {what} by the person{often}: {text} ({place})")
    return lines


def _place(hit: Hit) -> str:
    who = {"person": "the person", "agent": "the agent", "tool": "a tool"}[hit.speaker]
    where = f"{short_id(hit)}#{hit.number}" if hit.number else short_id(hit)
    project = hit.project.rstrip("/").rpartition("/")[2]
    parts = [f"{hit.kind} ({who})", where, hit.ended[:10], _shown(project)]
    return "  ".join(part for part in parts if part)


def short_id(hit: Hit) -> str:
    """What names a hit's session on a command line: the beginning of its id, else its file."""
    return short_name(inline(hit.session) or inline(hit.recording))


def _said(hit: Hit) -> Iterator[str]:
    yield _shown(hit.text)
    # Of others it is the name of a branch, a reason, the question that was answered ...
    status = hit.kind in {"request", "correction", "open"} and " " not in hit.note
    note = status_words(hit.note) if status else hit.note
    if note:
        yield f"→ {_shown(note, MAX_NOTE)}"


def _shown(text: str, limit: int = MAX_TEXT) -> str:
    """Text for a person, on one line: quoted as it was said, with its backticks and tags."""
    return short(text, limit, "…")


def _paragraph(head: str, lines: Iterable[str], width: int) -> str:
    fill = partial(textwrap.fill, width=width, break_on_hyphens=False)
    body = [fill(line, initial_indent="  ", subsequent_indent="  ") for line in lines]
    return "\n".join([fill(head), *body]) + "\n"


def _origin(name: str, lines: Sequence[str], origin: Origin, width: int) -> str:
    span = f"{origin.first}-{origin.last}" if origin.last > origin.first else f"{origin.first}"
    head = f"{_shown(name)}:{span}"
    shown = [f"| {_shown(line)}" for line in lines[origin.first - 1 : origin.last][:3]]
    if origin.edit is None:
        return _paragraph(f"{head}  not from a recorded session", shown, width)
    edit = origin.edit
    where = f"{short_id(edit)}#{edit.number}" if edit.number else f"{short_id(edit)} (subagent)"
    asked = [("asked", origin.request)] if origin.request is not None else []
    for label, hit in [*asked, *(("decided", decision) for decision in origin.decisions)]:
        shown.append(f"{label}: {_shown(hit.text)}  #{hit.number}")
    if origin.commit is not None:
        shown.append(f"{_shown(origin.commit.text)} {_shown(origin.commit.note)}")
    return _paragraph(f"{head}  {where}  {edit.ended[:10]}", shown, width)


# -- plain values ----------------------------------------------------------------------------


def hit_values(hit: Hit) -> JsonObject:
    """A hit as plain values, with the number of its message from 1."""
    values = {name: getattr(hit, name) for name in hit.__struct_fields__}
    return {**values, "number": hit.number or None, "score": round(hit.score, 4)}


def origin_values(origin: Origin) -> JsonObject:
    """An origin as plain values."""
    edit, request, commit = (
        hit and hit_values(hit) for hit in (origin.edit, origin.request, origin.commit)
    )
    return {
        "first": origin.first,
        "last": origin.last,
        "recorded": edit is not None,
        "edit": edit,
        "request": request,
        "decisions": [hit_values(d) for d in origin.decisions],
        "commit": commit,
    }


def fix_values(fix: Fix) -> JsonObject:
    """A fix as plain values."""
    edits = [hit_values(e) for e in fix.edits]
    return {"failure": hit_values(fix.failure), "likeness": fix.likeness, "edits": edits}


def standing_values(one: Standing) -> JsonObject:
    """A statement of the ledger as plain values."""
    return {
        **hit_values(one.last),
        "sessions": one.times,
        "holds": not one.ended,
        "others": [hit_values(h) for h in one.others],
    }
