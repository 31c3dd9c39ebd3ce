"""Packs facts into a text within a budget: whole facts, the weightiest first.

A text is a frame and parts; a part has lines. Each part first gets its floor, at least its
weightiest line in its shortest form if it has a floor at all, then takes up to its ceiling,
then what is left flows on, each time in the order of the parts' priority. Behind the floors
breadth comes before length: by priority, every part takes lines in their shortest forms, and
those that need it in a form that is long enough; then lines become longer step by step. A line
that is too long for the room is left out whole, and the part says how many were. The cost of a
line alone is an upper bound of its cost in the text; room that this leaves is spent in further
rounds. The text never costs more than the budget."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from msgspec import Struct

from leftoff.errors import UsageError
from leftoff.handover.wording import number
from leftoff.tokens import max_tokens

# How often the room that additive costs leave is spent. Chosen by hand; not measured.
ROUNDS = 4

# What a line of a handover begins with.
BULLET = "- "

# From this share of the budget on nothing more is sought. Chosen by hand.
FULL = 0.98


class BudgetTooSmall(UsageError):
    """Not even the frame of a text fits its budget."""

    def __init__(self, what: str, needed: int, budget: int, unit: str = "tokens") -> None:
        super().__init__(f"{what} needs at least {number(needed)} {unit}, not {number(budget)}")


class Line(Struct, frozen=True):
    """A fact as it may be shown.

    Attributes:
        forms: its text, then shorter forms of it.
        weight: the higher, the sooner it is taken within its part.
        group: a line that stands once before the lines of the group, "" for none.
        count: how many facts it stands for.
        enough: number of the form that it should have before parts of lower priority have
            lines; a number beyond its forms is the shortest."""

    forms: tuple[str, ...]
    weight: float = 0.0
    group: str = ""
    count: int = 1
    enough: int = 99


def line_of(forms: Sequence[str], bullet: str, weight: float, group: str = "") -> Line:
    """A line of forms of which each is shorter than those before it."""
    shorter: list[str] = []
    for form in forms:
        if not shorter or len(form) < len(shorter[-1]):
            shorter.append(form)
    return Line(tuple(bullet + form for form in shorter), weight, group)


class Part(Struct, frozen=True):
    """Lines under a title, in the order in which they are shown.

    Attributes:
        floor, ceiling: share of the budget, 0 to 1, that it gets before others have more than
            their floors, and that it takes before room flows on.
        priority: the lower, the sooner it is served; parts of equal priority in their order.
        longer: share up to which its lines become longer before room flows on."""

    title: str
    lines: tuple[Line, ...] = ()
    floor: float = 0.0
    ceiling: float = 1.0
    priority: int = 0
    longer: float = 1.0
    gap: str = ""


class Chosen(Struct, frozen=True):
    """What was taken of a part: its lines, each with its group, and the count of facts that
    were left out."""

    title: str
    lines: tuple[tuple[str, str], ...]
    left_out: int


Measure = Callable[[str], int]
Render = Callable[[Sequence[Chosen]], str]


def pack(
    parts: Sequence[Part],
    budget: int,
    *,
    render: Render,
    measure: Measure = max_tokens,
    what: str = "the text",
    unit: str = "tokens",
) -> str:
    """The text that `render` makes of the lines that fit, of at most `budget`.

    Args:
        render: makes the whole text, frame included, of what was taken.
        measure: the cost of a text, in the unit of the budget.
        what, unit: for the error.

    Raises:
        BudgetTooSmall: the frame alone costs more."""
    packing = _Packing(parts, measure)
    frame = measure(render(packing.chosen()))
    if frame > budget:
        raise BudgetTooSmall(what, frame, budget, unit)
    packing.distribute(budget - frame, budget)
    text = render(packing.chosen())
    for _ in range(ROUNDS):
        cost = measure(text)
        if cost > budget:
            packing.take_back(cost - budget)
        elif cost >= FULL * budget or not packing.spend(budget - cost):
            return text
        text = render(packing.chosen())
    while measure(text) > budget and packing.take_back(1):
        text = render(packing.chosen())
    return text


class _Selection:
    """What has been taken of one part: by line, the number of its form."""

    def __init__(self, part: Part) -> None:
        self.part = part
        lines = part.lines
        order = sorted(range(len(lines)), key=lambda i: (-lines[i].weight, i))
        self.order = [i for i in order if lines[i].forms]
        self.forms: dict[int, int] = {}
        self.used = 0

    def chosen(self) -> Chosen:
        lines = self.part.lines
        taken: list[tuple[str, str]] = []
        before = -1
        for i in sorted(self.forms):
            group = lines[i].group
            if self.part.gap and 0 <= before < i - 1:
                inside = group if group == lines[before].group else ""
                taken.append(("  " * bool(inside) + self.part.gap, inside))
            taken.append((lines[i].forms[self.forms[i]], group))
            before = i
        if self.part.gap and 0 <= before < len(lines) - 1:
            taken.append((self.part.gap, ""))
        missing = sum(line.count for i, line in enumerate(lines) if i not in self.forms)
        return Chosen(self.part.title, tuple(taken), missing)


class _Packing:
    """The choice of lines for a whole text."""

    def __init__(self, parts: Sequence[Part], measure: Measure) -> None:
        self.measure = measure
        self.selections = [_Selection(part) for part in parts]
        self.served = sorted(self.selections, key=lambda s: s.part.priority)
        self.taken: list[tuple[_Selection, int]] = []

    def chosen(self) -> list[Chosen]:
        return [selection.chosen() for selection in self.selections]

    def distribute(self, room: int, budget: int) -> None:
        """Spends the room: floors, then ceilings, then what is left."""
        for selection in self.served:
            limit = int(selection.part.floor * budget)
            if selection.part.floor and selection.order:
                # In a small budget a floor of a share holds no line: the first is due.
                limit = max(limit, self._cost(selection, selection.order[0]))
            spent = self._widen(selection, min(room, limit))
            if selection.part.priority == 0:
                spent += self._lengthen(selection, min(room, limit) - spent)
            room -= spent
        for _, same in groupby(self.served, key=lambda s: s.part.priority):
            group = list(same)
            for take in (self._widen, partial(self._lengthen, enough=True)):
                for selection in group:
                    limit = int(selection.part.ceiling * budget) - selection.used
                    room -= take(selection, min(room, limit))
        for selection in self.served:
            share = min(selection.part.ceiling, selection.part.longer)
            room -= self._lengthen(selection, min(room, int(share * budget) - selection.used))
        self.spend(room)

    def spend(self, room: int) -> int:
        """Spends room on whatever still fits; gives what was spent."""
        spent = 0
        for take in (self._widen, self._lengthen):
            for selection in self.served:
                spent += take(selection, room - spent)
        return spent

    def _widen(self, selection: _Selection, room: int) -> int:
        """Takes lines in their shortest forms; gives what was spent."""
        spent = 0
        for index in selection.order:
            if index in selection.forms:
                continue
            cost = self._cost(selection, index)
            if cost <= room - spent:
                self.taken.append((selection, index))
                selection.forms[index] = len(selection.part.lines[index].forms) - 1
                spent += cost
        selection.used += spent
        return spent

    def _lengthen(self, selection: _Selection, room: int, *, enough: bool = False) -> int:
        """Takes the next longer form of every line that has one, again and again; with
        `enough` only up to the form that is long enough."""
        spent, lines = 0, selection.part.lines
        least = {i: lines[i].enough if enough else 0 for i in selection.forms}
        waiting = [i for i in selection.order if selection.forms.get(i, 0) > least.get(i, 0)]
        while waiting:
            longer = []
            for index in waiting:
                now = selection.forms[index]
                forms = lines[index].forms
                more = self.measure(forms[now - 1] + "\n") - self.measure(forms[now] + "\n")
                if more <= room - spent:
                    selection.forms[index] = now - 1
                    spent += max(0, more)
                    longer += [index] if now - 1 > least[index] else []
            waiting = longer
        selection.used += spent
        return spent

    def _cost(self, selection: _Selection, index: int) -> int:
        line = selection.part.lines[index]
        cost = self.measure(line.forms[-1] + "\n")
        if not selection.forms:
            cost += self.measure(f"{selection.part.title}:\n")
        if selection.part.gap:
            cost += self.measure(f"  {selection.part.gap}\n")
        groups = {selection.part.lines[i].group for i in selection.forms}
        if line.group and line.group not in groups:
            cost += self.measure(line.group + "\n")
        return cost

    def take_back(self, room: int) -> bool:
        """Drops what was taken last until `room` is free; False if nothing was left."""
        taken = bool(self.taken)
        while self.taken and room > 0:
            selection, index = self.taken.pop()
            form = selection.forms.pop(index)
            cost = self.measure(selection.part.lines[index].forms[form] + "\n")
            selection.used -= cost
            room -= cost
        return taken
