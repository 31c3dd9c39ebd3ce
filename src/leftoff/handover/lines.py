"""Wording of a `Handover`: its facts as lines, in parts that `packing` chooses from.

Every line stands alone and begins with our bullet; recorded text in it can open no markup and
close no block. The order, floors and ceilings of the parts are those of `docs/handover.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec.structs import replace

from leftoff.handover.facts import Fact, Handover, State
from leftoff.handover.packing import Line, Part
from leftoff.handover.wording import (
    brief,
    inline,
    inline_code,
    inline_prose,
    plural,
    unnamed_changes,
)
from leftoff.summary import FileModification

LONG, MIDDLE, DECISION, SHORT = 1600, 400, 240, 140
"""Code points of the forms of a text: the person's last message and the agent's last words
begin at `LONG`, other facts at `MIDDLE`. Chosen by hand."""

STATE = "state"
FILES = "Files changed, latest first"
CHECKS = "Checks, latest first"
FAILURES = "Failed and not mended"

MAX_SYMBOL = 100
"""Code points of a symbol that is shown; a longer one is left out whole. Chosen by hand."""

HUNKS = 3
"""Files whose last change is shown. Chosen by hand."""

TURNS = {
    "open": "the agent was still at work",
    "closed": "the agent ended its turn and waits for the person",
    "interrupted": "the person interrupted the agent",
}


def state_lines(state: State) -> list[str]:
    """The state in one or two lines, without bullets; [] where nothing is known."""
    first = [TURNS[state.turn]] if state.turn in TURNS else []
    if state.since:
        first.append(f"last event {inline(state.since)[:19]}")
    if state.failed:
        first.append(f"stopped by: {brief(state.failed, SHORT)}")
    git = [f"branch {brief(state.branch, 80)}"] if state.branch else []
    git += [f"last commit {inline(state.commit)[:12]}"] if state.commit else []
    if state.uncommitted:
        git.append(f"{plural(state.uncommitted, 'changed file')} not seen committed")
    lines = ["State: " + "; ".join(first) + "."] if first else []
    lines += ["Git: " + ", ".join(git) + "."] if git else []
    return lines


NAMES = 0.12
"""Share of the names in use before room flows on. From `leftoff eval resume` at recorded
compactions: at 0.12 the block names a third of what is used later, at 0.05 a quarter."""


def parts(handover: Handover, *, bullet: str = "- ") -> list[Part]:
    """The parts of a handover in the order in which they are shown; empty ones left out."""
    h = handover
    last = [h.last_message] if h.last_message else []
    words = [h.last_words] if h.last_words else []
    asked = [Fact(h.state.question, "", -1)] if h.state.question else []
    if asked and words and h.state.question in words[0].text:
        asked = []
    goal = [h.goal] if h.goal and h.goal != h.last_message and not h.task else []
    found = [
        Part("The person's last message", _lines(last, bullet, LONG), 0.05, 0.42, 0),
        Part("Asked of the person, not answered", _lines(asked, bullet), 0.03, 0.1, 0),
        Part("The agent's last words", _lines(words, bullet, LONG), 0.03, 0.2, 2),
        Part("Last calls", _calls(h.calls[-5:], bullet), 0.04, 0.08, 4),
        Part("To do", _to_dos(h, bullet), 0.03, 0.1, 3),
        Part("Left open", _lines(h.open_items, bullet), 0.02, 0.06, 5),
        Part(CHECKS, _lines(h.checks, bullet), 0.03, 0.08, 3),
        Part(FILES, _files(h, bullet), 0.1, 0.2, 1),
        Part("The task", _lines([*goal, *h.task], bullet), 0.03, 0.2, 3),
        Part("The person requires", _lines(h.constraints, bullet), 0.05, 0.2, 1),
        Part("The person said before", _lines(h.said, bullet), 0.1, 0.45, 1),
        Part(FAILURES, _lines(h.failures, bullet), 0.01, 0.05, 5),
        Part("Failed, then mended", _lines(h.lessons, bullet), 0.01, 0.05, 5),
        Part("Decided", _lines(h.decisions, bullet, DECISION), 0.06, 0.25, 2),
        Part("Git", _lines(h.git, bullet), 0.01, 0.04, 4),
        Part("Found out", _lines(h.findings, bullet), 0.0, 0.06, 6),
        Part("Other commands", _lines(h.commands, bullet), 0.0, 0.04, 6),
        Part("Files read", _short(h.read, bullet), 0.0, 0.03, 8),
        Part("Also said", _lines(h.sentences, bullet, DECISION), 0.0, 0.0, 6),
        Part("Names in use", _short(h.names, bullet), NAMES, NAMES, 7),
    ]
    return [part for part in found if part.lines]


def earlier_parts(facts: Sequence[Fact], *, bullet: str = "- ") -> list[Part]:
    """What earlier sessions left open, as a part for a block after those of `parts`."""
    lines = _lines(facts, bullet, DECISION)
    return [Part("Left open by earlier sessions", lines, 0.02, 0.1, 5)] if lines else []


def _note(fact: Fact) -> str:
    notes = [inline(fact.note)] if fact.note else []
    notes += [f"#{fact.message + 1}"] if fact.message >= 0 else []
    return f" ({', '.join(notes)})" if notes else ""


def words_of(fact: Fact, limit: int) -> str:
    """A fact in words: its text of at most `limit` code points, what belongs to it, its note
    and its place. A tool's words stand in backticks."""
    show = inline_code if fact.speaker == "tool" else inline_prose
    text = show(fact.text, limit)
    if fact.speaker == "tool":
        text += _note(fact)
        return f"{text}: {inline_code(fact.more, limit // 2)}" if fact.more else text
    if fact.more and fact.speaker == "person":
        text = f"asked: {inline_prose(fact.more, limit // 2)} - answered: {text}"
    elif fact.more:
        text += f" - because {inline_prose(fact.more, limit // 2)}"
    return text + _note(fact)


def _lines(facts: Iterable[Fact], bullet: str, longest: int = MIDDLE) -> tuple[Line, ...]:
    """A line for each fact, with its shorter forms."""
    limits = [limit for limit in (LONG, MIDDLE, DECISION, SHORT) if limit <= longest]
    found = []
    for fact in facts:
        forms = [f"{bullet}{words_of(fact, limit)}" for limit in limits]
        if fact.more and fact.speaker == "tool":
            forms.append(f"{bullet}{inline_code(fact.text, SHORT)}{_note(fact)}")
        found.append(Line(tuple(dict.fromkeys(forms)), fact.weight))
    return tuple(found)


def _calls(calls: Sequence[Fact], bullet: str) -> tuple[Line, ...]:
    """The last calls in order; the later weigh more."""
    found = []
    for place, call in enumerate(calls):
        outcome = call.note or "no result recorded"
        text = f"{bullet}{inline_code(call.text, SHORT)}: {outcome} (#{call.message + 1})"
        more = f": {inline_code(call.more, SHORT)}" if call.more else ""
        found.append(Line(tuple(dict.fromkeys((text + more, text))), place / 100))
    return tuple(found)


def _to_dos(handover: Handover, bullet: str) -> tuple[Line, ...]:
    lines = list(_lines(handover.to_dos, bullet))
    if handover.to_dos_done:
        lines.append(Line((f"{bullet}{plural(handover.to_dos_done, 'item')} completed",), 0.4))
    return tuple(lines)


def file_notes(file: FileModification) -> str:
    """What was done to a file: action unless it was modified, lines, place, committed or not,
    symbols."""
    notes = _file_state(file)
    if file.added is not None:
        notes.append(f"+{file.added} -{file.removed or 0}")
    if file.lines:
        notes.append(f"lines {file.lines[0]}-{file.lines[1]}")
    if file.committed is not None:
        notes.append("committed" if file.committed else "not committed")
    if file.last_message >= 0:
        notes.append(f"#{file.last_message + 1}")
    return ", ".join(notes)


def _file_state(file: FileModification) -> list[str]:
    notes = [] if file.action == "modified" else [file.action]
    notes += [f"was {brief(file.renamed_from, 120)}"] if file.renamed_from else []
    notes += [file.certainty] if file.certainty != "sure" else []
    return notes + ([f"{file.branch} branch"] if file.branch else [])


def _files(handover: Handover, bullet: str) -> tuple[Line, ...]:
    found = []
    others = unnamed_changes(handover.unnamed)
    for place, file in enumerate(handover.files):
        name = f"{bullet}{inline(file.path)} ("
        least = f"{name}{', '.join(_file_state(file)) or file.action})"
        middle = f"{name}{file_notes(file) or file.action})"
        symbols = ", ".join(inline(s) for s in file.symbols[:5] if len(s) <= MAX_SYMBOL)
        full = f"{middle}: {symbols}" if symbols else middle
        forms = [full, middle, least]
        if file.hunk and place < HUNKS:
            shown = " ".join(inline_code(line, 100) for line in file.hunk.splitlines()[:4])
            forms.insert(0, f"{full} {shown}")
        found.append(Line(tuple(dict.fromkeys(forms)), -place / 1000))
    found += [Line((f"{bullet}{others}",), -1)] if others else []
    return tuple(found)


def _short(names: Sequence[str], bullet: str, per_line: int = 12) -> tuple[Line, ...]:
    """Short names, several on a line."""
    groups = [names[at : at + per_line] for at in range(0, len(names), per_line)]
    return tuple(
        Line((bullet + ", ".join(brief(n, 120) for n in group),), -n / 1000, "", len(group))
        for n, group in enumerate(groups)
    )


def texts(handover: Handover) -> list[tuple[str, tuple[str, ...]]]:
    """The parts of a handover as titles with the longest form of each of their lines, without
    bullets: what a document stores, and `stored_part` packs."""
    return [
        (part.title, tuple(line.forms[0] for line in part.lines))
        for part in parts(handover, bullet="")
    ]


@cache
def _shares() -> Mapping[str, Part]:
    """The parts by title, to look up their shares of a budget."""
    fact, file = Fact("x"), FileModification("x", "modified", 1, ())
    one = Handover(
        state=State(question="?"), goal=fact, task=(fact,), last_message=fact, said=(fact,),
        constraints=(fact,), last_words=fact, calls=(fact,), to_dos=(fact,), open_items=(fact,),
        checks=(fact,), files=(file,), read=("x",), lessons=(fact,), failures=(fact,),
        decisions=(fact,), git=(fact,), findings=(fact,), sentences=(fact,), names=("x",),
        commands=(fact,),
    )  # fmt: skip
    state = Part(STATE, (), 0.1, 0.2, -1)
    return {part.title: part for part in (state, *parts(one))}


TITLES = tuple(_shares())[1:]
"""Titles of the parts in the order in which they are shown."""

_PLACE = r" \((?:[^()]|\([^()]*\))*#\d+\)"
_NOTED = re.compile(rf"(.*?)({_PLACE})(|: .*| `.*)", re.DOTALL)
_CODE = re.compile(rf"`([^`]*)`([^`]*{_PLACE})(.*)", re.DOTALL)


def stored_part(
    kind: str, items: Sequence[str], *, bullet: str = "- ", title: str | None = None
) -> Part:
    """A part made of stored items, with the shares of the part titled `kind`; those of an
    unknown kind come last. Items are made inert again, since others may have written them.

    Args:
        title: what it is shown under, if not its kind; "" for nothing.
    """
    share = _shares().get(kind, Part(kind, (), 0.0, 0.25, 6))
    step = -1 if kind == "Last calls" else 1  # those are listed with the latest last
    lines = tuple(
        Line(_stored_forms(kind, item, bullet), -place * step / 1000)
        for place, item in enumerate(items)
    )
    return replace(share, title=kind if title is None else title, lines=lines)


def _stored_forms(kind: str, item: str, bullet: str) -> tuple[str, ...]:
    """A line and shorter forms of it, which keep its place."""
    item = inline_prose(item, 2 * LONG)
    limits = (LONG, MIDDLE, DECISION, SHORT)
    code, noted = _CODE.fullmatch(item), _NOTED.fullmatch(item)
    if code:  # what a tool printed: the telling line goes first
        forms = [inline_code(code[1], limit) + code[2] for limit in limits]
    elif noted and kind == FILES:
        forms = [noted[1] + noted[2]]
    elif kind in {"Names in use", "Files read"}:
        forms = []  # a cut would leave out names without a word
    else:
        body, place = noted.groups()[:2] if noted and not noted[3] else (item, "")
        forms = [inline_prose(body, limit) + place for limit in limits]
    return tuple(dict.fromkeys(bullet + form for form in (item, *forms)))
