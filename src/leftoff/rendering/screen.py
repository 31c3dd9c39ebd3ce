"""The text form of a summary, for a terminal: at most one screen, or everything."""

import unicodedata
from collections.abc import Iterator, Sequence

from leftoff.analysis.summary_json import SafeSummary
from leftoff.handover.wording import message_number, number, plural, unmarked
from leftoff.model import Ref
from leftoff.rendering.messages import style
from leftoff.rendering.overview import (
    Item,
    Part,
    branches,
    flat,
    notes,
    overview,
    session_facts,
)
from leftoff.text.truncation import path_end

# Columns; narrower and wider terminals get these.
MIN_WIDTH, MAX_WIDTH = 40, 200
# Lines of an item.
MAX_LINES = 2
# Characters; a longer word may be broken after a slash of either kind. Chosen by hand.
LONG_WORD = 24

_MARKS = {
    "good": ("✓", "green"),
    "bad": ("✗", "red"),
    "open": ("○", "yellow"),
    "past": ("✗", "dim"),
    "created": ("+", "green"),
    "modified": ("~", "cyan"),
    "deleted": ("-", "red"),
}
_OTHER_MARK = ("·", "cyan")


def text_width(text: str) -> int:
    """Columns that a terminal gives to a text on one line: two for a wide character, none for
    a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(c) or c in "\u200d\ufe0e\ufe0f"
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def _pieces(text: str, width: int) -> Iterator[str]:
    """What a line may end after, blanks before the words kept: words, wide characters, the
    folders of a long path, and parts of words that are wider than a line."""
    for word in text.split():
        if text_width(word) == len(word) <= min(width, LONG_WORD):
            yield " " + word
            continue
        piece, size, before, was_wide = " ", 0, " ", False
        for character in word:
            columns = text_width(character)
            wide = columns == 2
            mark = unicodedata.category(character).startswith("P")
            apart = (wide or was_wide) and not mark or before in "/\\" and before != character
            if size and columns and (apart or size + columns > width):
                yield piece
                piece, size = "", 0
            piece += character
            size += columns
            before, was_wide = character, wide if columns else was_wide
        yield piece


def wrap(text: str, width: int, most: int, tail: str = "", marker: str = "…") -> list[str]:
    """Text on at most `most` lines of `width` columns, with `tail` at its end; what does not
    fit is cut at the end of a word, followed by `marker`."""
    lines: list[list[str]] = [[]]
    size = 0
    for piece in _pieces(text, width):
        columns = text_width(piece if lines[-1] else piece.lstrip(" "))
        if lines[-1] and size + columns > width:
            lines.append([])
            columns, size = text_width(piece.lstrip(" ")), 0
            if len(lines) > most:
                break
        lines[-1].append(piece)
        size += columns
    cut = len(lines) > most
    if not cut and size + text_width(tail) > width:
        if len(lines) < most:
            lines.append([tail])
            return ["".join(line).strip() for line in lines]
        cut = True
    end = marker + tail if cut else tail
    last = lines[most - 1] if cut else lines[-1]
    room = width - text_width(end)
    while cut and last and text_width("".join(last).lstrip()) > room:
        piece = last.pop().lstrip()
        if not last and room > 0:  # a word wider than the line, which would say nothing
            while text_width(piece) > room:
                piece = piece[:-1]
            last.append(piece)
    found = ["".join(line).lstrip() for line in lines[:most]]
    return [*found[:-1], (found[-1].rstrip(" ,;:") if cut else found[-1]) + end]


class _Screen:
    """Lines with styles, no wider than the screen."""

    def __init__(self, width: int, *, colour: bool, everything: bool) -> None:
        self.width = min(MAX_WIDTH, max(MIN_WIDTH, width))
        self.colour = colour
        self.everything = everything
        self.lines: list[str] = []

    def style(self, text: str, name: str) -> str:
        return style(text, name, self.colour)

    def add_line(self, text: str = "", style: str = "") -> None:
        self.lines.append(self.style(text, style).rstrip())

    def add_wrapped(self, text: str, style: str = "", lines: int = MAX_LINES) -> None:
        for line in wrap(text, self.width, lines):
            self.add_line(line, style)

    def add_facts(self, facts: Sequence[str]) -> None:
        """Short facts, as many on a line as fit."""
        line = ""
        for fact in facts:
            longer = f"{line} · {fact}" if line else fact
            if line and text_width(longer) > self.width:
                self.add_wrapped(line, "dim", 1)
                longer = fact
            line = longer
        self.add_wrapped(line, "dim", 1)

    def add_marked(
        self, head: str, indent: int, lines: Sequence[str], tail: str, style: str = ""
    ) -> None:
        """The lines of an item: the first behind a head, the others below it. What stands at
        the end of a line as a note of ours is dim."""
        for place, line in enumerate(lines):
            end = next((e for e in (tail, tail.strip()) if e and line.endswith(e)), "")
            text = line.removesuffix(end)
            shown = self.style(text, style) + self.style(end, "dim")
            self.add_line((" " * indent if place else head) + shown)

    def add_labelled(self, label: str, item: Item, style: str, lines: int) -> None:
        """A line that begins with a word of ours."""
        indent = len(label) + 2
        tail = " ".join(filter(None, (item.note, message_number(item.ref) if item.ref else "")))
        tail = f"  {tail}" if tail else ""
        text, marker = _with_output(item)
        found = wrap(text, self.width - indent, lines, tail, marker)
        self.add_marked(self.style(label, "bold") + "  ", indent, found, tail, style)

    def add_part(self, part: Part) -> None:
        shown = part.shown(everything=self.everything)
        if not shown and not part.note:
            return
        self.add_line()
        for place, line in enumerate(wrap(part.title, self.width, MAX_LINES)):
            self.add_line(line, "" if place else "bold")
        for item in shown:
            self.add_path(item) if item.is_path else self.add_item(item)
        left = len(part.items) - len(shown)
        if left:
            self.add_line(f"    {number(left)} more with --all", "dim")
        if part.note:
            for place, line in enumerate(wrap(part.note, self.width - 4, MAX_LINES)):
                self.add_line(("    " if place else "  ? ") + line, "dim")

    def add_item(self, item: Item) -> None:
        text, marker = _with_output(item)
        tail = self._tail(item)
        lines = wrap(text, self.width - 4, MAX_LINES, tail, marker)
        # Only where the whole does not fit: the part that decides instead of the beginning.
        if item.short and lines[-1].endswith(marker + tail):
            lines = wrap(item.short, self.width - 4, MAX_LINES, tail, marker)
        self.add_marked(self._mark(item), 4, lines, tail)

    def add_path(self, item: Item) -> None:
        """A file: folders give way to its name, and a name that is wider than the screen goes
        on in the next line."""
        tail, room = self._tail(item), self.width - 4
        names = [item.was, item.text] if item.was else [item.text]
        lines = [" → ".join(names)]
        if text_width(lines[0] + tail) > room:
            short = _short_path(item.text, room - text_width(tail))
            if short and not item.was and (short == item.text or short.count("/") > 1):
                lines = [short]  # with a folder at least: names such as README.md occur twice
            else:
                lines = []
                for name in names:  # the end of a path, on as many lines as its name needs
                    whole = _short_path(name, room)
                    pieces = [whole] if whole else _pieces(_name_of(name), room)
                    lines += [piece.strip() for piece in pieces]
                lines[0] += " →" if item.was and text_width(lines[0]) + 2 <= room else ""
        if text_width(lines[-1] + tail) <= room:
            lines[-1] += tail
        else:
            lines.append(tail.strip())
        self.add_marked(self._mark(item), 4, lines, tail)

    def _mark(self, item: Item) -> str:
        return f"  {self.style(*_MARKS.get(item.outcome, _OTHER_MARK))} "

    def _tail(self, item: Item) -> str:
        words = wrap(item.note, self.width * 2 // 3, 1) if item.note else []
        words += [message_number(item.ref)] if item.ref else []
        return "  " + " ".join(words) if words else ""


def _with_output(item: Item) -> tuple[str, str]:
    """The words of an item with a tool's output in backticks, and what marks a cut."""
    text = unmarked(item.text)
    if not item.output:
        return text, "…"
    output = item.output.replace("`", "'")
    return f"{text}{': ' if text else ''}`{output}`", "…`"


def _short_path(path: str, room: int) -> str:
    """The end of a path with its whole name and, where folders are left out, a sign of that;
    "" if there is no room for it."""
    short = path_end(path, max(4, room)) if path.isascii() or text_width(path) <= room else ""
    if short == path or short.startswith("…/"):
        return short
    name = f"…/{_name_of(path)}"
    return name if text_width(name) <= room else ""


def _name_of(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def render_screen(
    summary: SafeSummary, *, colour: bool = False, width: int = 96, everything: bool = False
) -> str:
    """The summary as text of at most `width` columns (40 to 200); `everything`: all items of
    every part, and the milestones."""
    out = _Screen(width, colour=colour, everything=everything)
    shown = overview(summary)
    state_style = {"good": "green", "open": "yellow", "bad": "red"}.get(shown.state.outcome, "")
    lines = 1 if shown.part("asked").items else MAX_LINES  # else it is the only request
    out.add_labelled(f"{shown.goal_label:5}", shown.goal, "bold", lines)
    out.add_labelled("State", shown.state, state_style, MAX_LINES)
    _add_facts(out, summary)
    for part in shown.parts:
        out.add_part(part)
    if everything:
        _add_milestones(out, summary)
    found = notes(summary)
    if found:
        out.add_line()
        out.add_wrapped("note: " + "; ".join(found), "yellow")
    return "\n".join(out.lines) + "\n"


def _add_facts(out: _Screen, summary: SafeSummary) -> None:
    out.add_facts(session_facts(summary))
    session, context = summary.session, summary.context
    branch = branches(summary)
    where = [session.cwd, f"on {branch}" if branch else ""]
    if any(where):
        place = " ".join(flat(word) for word in where if word)
        fits = text_width(place) <= out.width
        out.add_line(place if fits else path_end(place, out.width), "dim")
    tokens = []
    if context.occupancy is not None:
        held = number(context.occupancy, about=context.occupancy_estimated)
        tokens.append(f"{held} tokens in context")
    if context.compactions:
        tokens.append(plural(len(context.compactions), "compaction"))
    if tokens:
        out.add_facts(tokens)


def _add_milestones(out: _Screen, summary: SafeSummary) -> None:
    outcomes = {"contradicted": "bad", "claimed": "", "verified": "good"}
    found: dict[tuple[str, Ref], list[str]] = {}
    for milestone in summary.progress.milestones:  # one sentence may state several
        found.setdefault((flat(milestone.text), milestone.ref), []).append(milestone.evidence)
    items = []
    for (text, ref), several in found.items():
        worst = next(outcome for evidence, outcome in outcomes.items() if evidence in several)
        items.append(Item(text, ref, worst, ", ".join(dict.fromkeys(several))))
    if items:
        out.add_part(Part("milestones", "Results that were stated", tuple(items), ()))
