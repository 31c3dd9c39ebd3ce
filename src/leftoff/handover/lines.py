"""Wording of a `Handover`: its facts as lines, in parts that `packing` chooses from.

Every line stands alone and begins with our bullet; recorded text in it can open no markup and
close no block. The order of the parts and their shares of a budget are those of `parts.toml`.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.analysis.decisions.person import deciding_part
from leftoff.extraction.requests import matches
from leftoff.handover.blocks import said_blocks
from leftoff.handover.facts import Fact, Handover, State
from leftoff.handover.file_lines import file_lines
from leftoff.handover.packing import BULLET, Line, Part, line_of
from leftoff.handover.request_notes import without_pastes
from leftoff.handover.wording import (
    brief,
    compact,
    condensed,
    inline,
    inline_code,
    inline_prose,
    plural,
    unmarked,
)
from leftoff.model import utc_time
from leftoff.tables import table
from leftoff.text.markdown import CODE_KINDS, ITEM, QUOTE, TABLE
from leftoff.text.truncation import GAP

# Code points of the forms of a text: the person's last message and the agent's last words begin
# at `LONG`, other facts at `MIDDLE`. Chosen by hand.
LONG, MIDDLE, DECISION, SHORT = 1600, 400, 240, 140

# Code points of the person's last message and the agent's last words in a very small budget; of
# what it said in a step where there is little room. Chosen by hand.
LEAST, STEP = 70, 100

# Code points of the shortest forms of a text (`wording.compact`, the agent's `condensed`), by
# speaker. Of the person's messages the longer one is taken before anything that weighs less is
# shown. By `leftoff eval resume` on 39 recorded compactions: shorter ones no longer state what
# the message does, longer ones leave out others.
CONDENSED = {"person": (240, 110), "agent": (180, 130), "leftoff": (120,)}

# Weight of a step in which the agent says more than what it does next: long words say what is
# wrong and why. Twenty steps; chosen by hand.
REPORTS = 0.2


class Kind(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of `parts.toml`, which says what the fields mean."""

    title: str
    share: tuple[float, ...]
    shown: str = ""
    key: str = ""
    filler: bool = False
    remark: bool = False
    earlier: tuple[str, ...] = ()

    def part(self, lines: tuple[Line, ...] = (), title: str | None = None) -> Part:
        """A part of this kind with its share of the budget, under its own title by default."""
        floor, ceiling, priority, longer = (*self.share, 1.0)[:4]
        title = self.title if title is None else title
        return Part(title, lines, floor, ceiling, int(priority), longer)


_ROWS = msgspec.convert(table(__file__, "parts.toml")["part"], tuple[Kind, ...])
# The kinds of parts by title, in the order in which they are shown; that of the state first.
KINDS = {kind.title: kind for kind in _ROWS}
TITLES = tuple(KINDS)[1:]
STATE, OPEN = "state", "Left open"
FILES, CHECKS = "Files changed, latest first", "Checks, latest first"
LAST_WORDS, REPORT = "The agent's last words", "The agent's report before that"
FAILURES, NAMES = "Failed, no later clean run seen", "Names in use"

# Shares of two parts, as in `parts.toml`: of what is left open after a closed turn, chosen by
# hand, and of the files where not every one has a line: then none is without a name.
OPEN_SHARE, UNLISTED_SHARE = (0.02, 0.1, 0), (0.36, 0.36, 1, 0.12)

# Of so many of the person's longer messages, the latest, no word is cut as long as there is
# room. Chosen by hand.
LATEST = 2

# Failures that are shown. Chosen by hand.
MAX_FAILURES = 5

# Names on a line: few, so that the last of the room can be used. Chosen by hand.
NAMES_PER_LINE = 6

# Also found again in stored documents (`checkpoint.injection`, `running_workflow`): how each
# begins. Where no person typed anything, as to a subagent, none is waited for.
TURNS = {
    "open": "the agent was still at work",
    "alone": "the agent ended its turn",
    "closed": "the agent ended its turn and waits for the person",
    "unanswered": "no answer to the person's last message is recorded",
    "interrupted": "the person interrupted the agent",
}
RUN_ENDED = "the run ended: "
# Behind the state: the agent may have broken off, or the recorder left out what followed.
ANNOUNCES = "; the agent's last words announce more"


def turn_words(state: State) -> str:
    """Whose turn it is, or how the run ended; "" where nothing is known."""
    if state.ended:
        return RUN_ENDED + brief(state.ended, SHORT)
    alone = state.status == "closed" and not state.attended
    if state.manner == "announces":
        return TURNS["alone" if alone else "closed"] + ANNOUNCES
    return TURNS.get("alone" if alone else state.manner or state.status, "")


def state_lines(state: State) -> list[str]:
    """The state in one or two lines, without bullets; [] where nothing is known."""
    first = [words] if (words := turn_words(state)) else []
    if state.since:
        first.append(f"last event {inline(utc_time(state.since))[:19]}")
    if state.failed:
        first.append(f"stopped by: {brief(state.failed, SHORT)}")
    git = [f"branch {brief(state.branch, 80)}"] if state.branch else []
    git += [f"last commit seen {inline(state.commit)[:12]}"] if state.commit else []
    git += [f"last commit elsewhere {brief(state.elsewhere, SHORT)}"] if state.elsewhere else []
    if state.uncommitted:
        names = ", ".join(brief(name, 80) for name in state.loose)
        git.append(
            f"{plural(state.uncommitted, 'changed file')} not seen committed"
            + (f" ({names})" if names else "")
        )
    lines = ["State: " + "; ".join(first) + "."] if first else []
    lines += ["Git: " + ", ".join(git) + "."] if git else []
    return lines


def parts(handover: Handover, *, stored: bool = False) -> list[Part]:
    """The parts of a handover in the order in which they are shown; empty ones left out.

    Args:
        stored: every line stands alone, and the titles are those of a stored document; else
            files of one folder stand below it, and the titles are those for a reader."""
    h = handover
    last = [h.last_message] if h.last_message else []
    said = h.said
    if last and matches("goes_on", last[0].text):
        # "continue" alone says nothing: what was asked before stands beside it, as long.
        begun = h.goal.message if h.goal else -1
        others = (f for f in said if f.message > begun and not matches("goes_on", f.text))
        before = next(others, None)
        last += [replace(before, note="asked before it")] if before else []
        said = tuple(f for f in said if f is not before)
    words = [h.last_words] if h.last_words else []
    closing = _whole(words, 2 * LONG) if stored else _closing(h.last_words)
    asked = [Fact(h.state.question, "", -1)] if h.state.question else []
    if asked and words and h.state.question in words[0].text:
        asked = []
    closed = h.state.status == "closed"
    in_words = [fact.text for fact in (last if closed else (*last, *words))]
    in_words += [fact.text for fact in asked]
    left = [f for f in h.open_items if not any(f.text in text for text in in_words)]
    goal = [h.goal] if h.goal and h.goal != h.last_message and not h.task else []
    facts: dict[str, Iterable[Fact]] = {
        "Asked of the person, not answered": asked,
        "Started in the background, no end seen": h.running,
        "Typed by the person, not given to the agent yet": h.queued,
        "To do": h.to_dos,
        REPORT: h.report,
        OPEN: left,
        CHECKS: h.checks,
        "Plan or ticket as last read or written, may be done since": h.plan,
        "The task": [*goal, *h.task],
        FAILURES: recent_failures(h),
        "Failed, then fixed": h.lessons,
        "Git": h.git,
        "Found out": h.findings,
        "Other commands": h.commands,
    }
    remarks: dict[str, Iterable[Fact]] = {
        "Links the agent gave": h.links,
        "Likely decided, no later mention found": h.decisions,
        "Likely decided, may have changed since": h.likely,
        "Planned on the way, may have changed since": h.on_the_way,
        "Also said": h.sentences,
    }
    found = {
        "The person's last message": _whole(last),
        LAST_WORDS: closing,
        "Last steps": _steps(h.steps),
        FILES: file_lines(h, None, grouped=not stored),
        "The person said before": _said(said),
        "The person requires": tuple(line for _, line in _alike(h.constraints)),
        "Files read": _short(h.read),
        NAMES: name_lines(h.names),
        **{title: _lines(given) for title, given in facts.items()},
        **{title: _lines(given, DECISION) for title, given in remarks.items()},
    }
    # Its owner or another agent gave the task, not what the session began with.
    own = h.goal is None or h.goal.message < 0 or h.goal.speaker == "agent"
    shown = []
    for title in titles(closed=closed):
        kind, lines = KINDS[title], found[title]
        if closed and title == OPEN:
            kind = replace(kind, share=OPEN_SHARE)
        as_stored = stored or (own and title == "The task")
        if lines:
            part = kind.part(lines, None if as_stored else kind.shown or None)
            gap = "" if stored or title not in {LAST_WORDS, REPORT} else BULLET + GAP
            shown.append(replace(part, gap=gap))
    return shown


def few_files(handover: Handover, listed: int) -> Part:
    """The part of the changed files in which so many have a line of their own, and the others
    are named together."""
    kind = replace(KINDS[FILES], share=UNLISTED_SHARE)
    return kind.part(file_lines(handover, listed), kind.shown)


def titles(*, closed: bool) -> list[str]:
    """The titles of parts in the order in which they are shown. After a closed turn what is
    left open is what comes next: it stands on top, even where the last words say it too, since
    those are cut where room is short."""
    found = list(TITLES)
    if closed:
        found.remove(OPEN)
        found.insert(found.index(LAST_WORDS), OPEN)
    return found


def recent_failures(handover: Handover) -> tuple[Fact, ...]:
    """The last failures since the last request: the person's words after an earlier one may
    have settled it."""
    return tuple(f for f in handover.failures if f.weight >= 0.5)[:MAX_FAILURES]


def earlier_parts(facts: Sequence[Fact]) -> list[Part]:
    """What earlier sessions left open, as a part for a block after those of `parts`."""
    lines = _lines(facts, DECISION)
    return [Part("Left open by earlier sessions", lines, 0.02, 0.1, 5)] if lines else []


def _note(fact: Fact) -> str:
    place = [f"#{fact.message + 1}"] if fact.message >= 0 else []
    if fact.note:
        return f" ({', '.join([inline(fact.note), *place])})"
    return f" {place[0]}" if place else ""


def _condensed(fact: Fact, limit: int) -> str:
    """The shortest form of a fact in words, without reasons. The person's are only cut, and
    what was pasted into them is left out."""
    own, text = fact.speaker == "person", fact.text
    if own and len(text) > limit:
        text = " ".join(without_pastes(text)).strip() or text
    text = inline_prose(compact(text) if own else condensed(text), limit)
    if fact.more and own:
        text = f"{inline_prose(condensed(fact.more), limit // 2)} - answered: {text}"
    return text + _note(fact)


def words_of(fact: Fact, limit: int) -> str:
    """A fact in words: its text of at most `limit` code points, what belongs to it, its note
    and its place. A tool's words stand in backticks."""
    if fact.speaker == "tool":
        text = inline_code(fact.text, limit) + _note(fact)
        more = inline_code(fact.more, limit // 2) if fact.more else "`…`"
        return text if more == "`…`" else f"{text}: {more}"  # of one long word, nothing is left
    text = inline_prose(unmarked(fact.text), limit)
    if fact.more and fact.speaker == "person":
        text = f"asked: {inline_prose(fact.more, limit // 2)} - answered: {text}"
    elif fact.more:
        text += f" - because {inline_prose(fact.more, limit // 2)}"
    return text + _note(fact)


def _whole(facts: Iterable[Fact], longest: int = LONG) -> tuple[Line, ...]:
    """A line for each fact that is shown whole, up to `longest`, wherever the budget allows."""
    limits = (longest, 2 * MIDDLE, MIDDLE, SHORT, LEAST)
    return tuple(
        line_of([words_of(fact, limit) for limit in limits], BULLET, fact.weight)
        for fact in facts
    )


def _closing(words: Fact | None) -> tuple[Line, ...]:
    """The agent's last words by block, below what heads them. Behind the first the later weigh
    more: there an agent says how it ended, what is left, and asks. Of a list the earlier do:
    it names what matters first."""
    found: list[Line] = []
    blocks = said_blocks(words.text) if words else []
    lists: dict[str, list[int]] = {}
    for place, block in enumerate(blocks):
        alone = block.kind not in {ITEM, TABLE}
        lists.setdefault(str(place) if alone else block.label, []).append(place)
    turned = {p: q for one in lists.values() for p, q in zip(one, one[::-1], strict=True)}
    for place, block in enumerate(blocks):
        note = "" if place or not words else _note(words)
        if block.kind in CODE_KINDS:
            whole = block.kind != QUOTE and len(block.text) <= MIDDLE
            forms = [inline_code(block.text, MIDDLE) + note] if whole else []
        else:
            least = (LONG, MIDDLE, DECISION, SHORT, LEAST)[: 4 + (not place)]
            forms = [inline_prose(block.text, limit) + note for limit in least]
        head = f"{BULLET}{inline_prose(block.label, SHORT)}:" if block.label else ""
        if block.text == GAP:
            forms = []
        weight = turned[place] / len(blocks) if place else 1
        line = line_of(forms, "  " * bool(head) + BULLET, weight, head)
        found.append(replace(line, count=len(forms[:1])))
    return tuple(found)


def _lines(facts: Iterable[Fact], longest: int = MIDDLE) -> tuple[Line, ...]:
    limits = [limit for limit in (LONG, MIDDLE, DECISION, SHORT) if limit <= longest]
    found = []
    for fact in facts:
        forms = [
            words_of(fact, limit) for limit in limits if limit > SHORT or fact.speaker == "tool"
        ]
        if fact.speaker != "tool":
            for limit in CONDENSED[fact.speaker]:
                part = deciding_part(fact.text, limit) if longest == DECISION else ""
                part = part if len(part) >= LEAST else ""
                forms.append(_condensed(replace(fact, text=part or fact.text), limit))
        elif fact.more:
            forms.append(f"{inline_code(fact.text, SHORT)}{_note(fact)}")
        line = line_of([] if fact.text == GAP else forms, BULLET, fact.weight)
        found.append(line if line.forms else replace(line, count=0))
    return tuple(found)


def _alike(facts: Sequence[Fact]) -> Iterator[tuple[Fact, Line]]:
    """A line for each message; short ones of the same words ("continue") share one."""
    same: dict[str, list[Fact]] = {}
    for place, fact in enumerate(facts):
        alone = fact.more or fact.note or len(fact.text) > SHORT
        same.setdefault(str(place) if alone else fact.text.casefold(), []).append(fact)
    for first, *others in same.values():
        (line,) = _lines([first])
        if others:
            places = ", ".join(f"#{fact.message + 1}" for fact in (first, *others))
            text = f"{BULLET}{inline_prose(first.text, SHORT)} {places}"
            line = Line((text,), line.weight, "", len(others) + 1)
        yield first, line


def _said(facts: Sequence[Fact]) -> tuple[Line, ...]:
    """The person's messages; the latest long ones get room first, and the last one that is open
    has no form below `MIDDLE`: what is to be done next may stand at its end."""
    found: list[Line] = []
    waiting, last_open = LATEST, next((f for f in facts if f.weight == 1), None)
    for first, line in _alike(facts):
        long = len(first.text) > DECISION and waiting > 0
        waiting -= long
        if first is last_open:
            whole = tuple(form for form in line.forms if len(form) > MIDDLE)
            line = replace(line, forms=whole or line.forms[:1])
        found.append(replace(line, enough=0 if long else max(0, len(line.forms) - 2)))
    return tuple(found)


def _steps(steps: Sequence[Fact]) -> tuple[Line, ...]:
    """What the agent did last, the latest first; words stand with what was done upon them."""
    found: list[Line] = []
    # Each step after the one before it: words after words, or at the end, led to nothing.
    for before, step in zip((None, *steps), (*steps, None), strict=True):
        words = before if before and before.speaker == "agent" else None
        done = step if step and step.speaker != "agent" else None
        found += [_step(words, done)] if words or done else []
    return tuple(reversed(found))


def _step(words: Fact | None, done: Fact | None) -> Line:
    """A step: what the agent said, and what it did then with its outcome."""
    said = [""]
    if words:
        said = [inline_prose(words.text, limit) for limit in (MIDDLE, DECISION, SHORT)]
        said.append(inline_prose(condensed(words.text), STEP))
    acts = [""]
    if done:
        show = inline_code if done.speaker == "tool" else inline_prose
        end = f"{f': {done.note}' if done.note else ''} #{done.message + 1}"
        more = f": {inline_code(done.more, SHORT)}" if done.more else ""
        acts = [show(done.text, SHORT) + end + more, show(done.text, LEAST) + end]
    joined = " → " if words and done else ""
    forms = [said[0] + joined + acts[0]]
    forms += [text + joined + acts[-1] for text in said]
    weight = max(f.weight for f in (words, done) if f)
    if not words or len(words.text) <= SHORT:
        return line_of(forms, BULLET, weight)
    return replace(line_of(forms, BULLET, weight + REPORTS), enough=1)


def name_lines(names: Sequence[str]) -> tuple[Line, ...]:
    """Names in use, several on a line: they hold no blanks."""
    return _short(names, " ")


def _short(names: Sequence[str], separator: str = ", ") -> tuple[Line, ...]:
    groups = [names[at : at + NAMES_PER_LINE] for at in range(0, len(names), NAMES_PER_LINE)]
    return tuple(
        Line(
            (BULLET + separator.join(brief(n, 120) for n in group),), -n / 1000, "", len(group)
        )
        for n, group in enumerate(groups)
    )


def texts(handover: Handover) -> list[tuple[str, tuple[str, ...]]]:
    """The parts of a handover as titles with the longest form of each of their lines, without
    bullets: what a document stores, and `stored_part` packs. A remark that stands in an earlier
    line is left out."""
    found: list[tuple[str, tuple[str, ...]]] = []
    known = ""
    for part in parts(handover, stored=True):
        lines = []
        for form in (line.forms[0].removeprefix(BULLET) for line in part.lines if line.forms):
            noted = _NOTED.fullmatch(form)
            if not KINDS[part.title].remark or (noted[1] if noted else form) not in known:
                lines.append(form)
                known += form
        found += [(part.title, tuple(lines))] if lines else []
    return found


# Items of stored documents end in their place, behind which a tool may have its telling line.
_PLACE = r" (?:\((?:[^()]|\([^()]*\))*#\d+\)|#\d+)"
_NOTED = re.compile(rf"(.*?)({_PLACE})(|: .*| `.*)", re.DOTALL)
_CODE = re.compile(rf"`([^`]*)`([^`]*{_PLACE}(?![\d)]))(.*)", re.DOTALL)


def stored_part(
    kind: str, items: Sequence[str], *, bullet: str = BULLET, title: str | None = None
) -> Part:
    """A part made of stored items, with the shares of the part titled `kind`; those of an
    unknown kind come last. Items are made inert again, since others may have written them.

    Args:
        title: what it is shown under, if not its kind; "" for nothing."""
    known = KINDS.get(kind, Kind(kind, (0.0, 0.25, 6)))
    lines = tuple(
        Line(_stored_forms(kind, item, bullet), -place / 1000)
        for place, item in enumerate(items)
    )
    return known.part(lines, title)


def _stored_forms(kind: str, item: str, bullet: str) -> tuple[str, ...]:
    """A line and shorter forms of it, which keep its place."""
    item = inline_prose(item, 2 * LONG)
    limits = (LONG, MIDDLE, DECISION, SHORT)
    code, noted = _CODE.fullmatch(item), _NOTED.fullmatch(item)
    if code:  # what a tool printed: the telling line goes first
        forms = [inline_code(code[1], limit) + code[2] for limit in limits]
    elif noted and kind == FILES:
        forms = [noted[1] + noted[2]]
    elif kind in {NAMES, "Files read"}:
        forms = []  # a cut would leave out names without a word
    else:
        body, place = noted.groups()[:2] if noted and not noted[3] else (item, "")
        forms = [inline_prose(body, limit) + place for limit in limits]
    return tuple(dict.fromkeys(bullet + form for form in (item, *forms)))
