"""Markdown within a budget of tokens: whole items, the most important first.

A document is a frame (title, headings, fixed texts) and sections of items. Each section
has a share of the budget. What one section does not use flows on to the next; what is left at
the end goes to sections with further items, the more urgent ones first. An item is shown whole
or not at all, and a section says how many it left out; only an item that alone exceeds its
section's share is cut, at the end of a sentence if there is one.

Costs are upper bounds (`tokens.max_tokens`), so no tokenizer counts more than the budget.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from leftoff.text.truncation import truncate
from leftoff.tokens import max_tokens

TRUNCATED = "\n\n[... truncated to fit budget ...]"
"""What stands after a text that was cut."""

TARGET_FILL = 0.97
"""Filling goes on until this share of the budget is used, or nothing more fits."""

MAX_ROUNDS = 4
"""How often what the parts cost apart is measured again together."""

MIN_CUT_TOKENS = 40
"""Tokens; into less room than this no item is cut."""


FILLER_RANK = 1000
"""From this rank on an item only fills what is left over."""


class Item(Struct, frozen=True):
    """One thing that a section says.

    Attributes:
        text: its lines, without a final newline; markdown.
        rank: the lower, the sooner it is taken; items of one rank in their order. Those below
            0 come before every section's share, until half of the budget is used; those from
            `FILLER_RANK` on come when no section has anything else to say.
        group: a line that stands once before the items of the group, "" for none.
        count: how many things it tells, for the number of those left out.
    """

    text: str
    rank: int = 0
    group: str = ""
    count: int = 1


class Section(Struct, frozen=True):
    """One heading with its items, in the order in which they are shown.

    Attributes:
        share: what it may take of the budget before others have left anything, relative to
            the shares of the other sections.
        urgency: the lower, the sooner it gets what others did not use.
        left_out: what stands where items are missing; `{n}` is their number.
    """

    title: str
    items: tuple[Item, ...] = ()
    share: int = 0
    urgency: int = 0
    left_out: str = "- ({n} left out)"


NOTHING_RECORDED = "(nothing recorded)"


def fit(head: str, sections: Sequence[Section], budget: int) -> str:
    """The document, in at most `budget` tokens whatever it is given.

    Args:
        head: what stands before the first section, without a final newline.
        budget: tokens of the whole, title and headings included, as an upper bound.
    """
    layout = _Layout(head, sections, budget)
    layout.allocate_shares()
    text = layout.text()
    for _ in range(MAX_ROUNDS):
        spent = max_tokens(text)
        if spent > budget:
            if not layout.take_back(spent - budget):
                return truncate(text, budget, measure=max_tokens, marker=TRUNCATED)
        elif spent >= TARGET_FILL * budget or not layout.spend_rest(budget - spent):
            return text
        text = layout.text()
    while max_tokens(text) > budget:
        if not layout.take_back(1):
            return truncate(text, budget, measure=max_tokens, marker=TRUNCATED)
        text = layout.text()
    return text


class _SectionSelection:
    """What has been taken into one section."""

    def __init__(self, section: Section) -> None:
        self.section = section
        self.order = sorted(range(len(section.items)), key=lambda i: (section.items[i].rank, i))
        self.texts: dict[int, str] = {}
        self.groups: dict[str, int] = {}

    def cost(self, index: int) -> int:
        """What an item adds, its group's line included."""
        item = self.section.items[index]
        new_group = item.group and item.group not in self.groups
        return max_tokens(item.text + "\n") + (
            max_tokens(f"{item.group}\n\n") if new_group else 0
        )

    def take(self, index: int, text: str) -> None:
        group = self.section.items[index].group
        self.texts[index] = text
        self.groups[group] = self.groups.get(group, 0) + 1

    def drop(self, index: int) -> None:
        group = self.section.items[index].group
        del self.texts[index]
        self.groups[group] -= 1
        if not self.groups[group]:
            del self.groups[group]

    @property
    def missing(self) -> int:
        """How many things are left out."""
        return sum(self.section.items[i].count for i in self.order if i not in self.texts)

    def lines(self) -> list[str]:
        section = self.section
        lines = [f"## {section.title}", ""]
        group = ""
        for index, item in enumerate(section.items):
            if index not in self.texts:
                continue
            if item.group != group:
                if lines[-1]:
                    lines.append("")
                if item.group:
                    lines.append(item.group)
                group = item.group
            lines += self.texts[index].split("\n")
        if self.texts and not lines[-1]:
            lines.pop()
        if self.missing:
            lines.append(section.left_out.format(n=self.missing))
        elif not section.items:
            lines.append(NOTHING_RECORDED)
        return [*lines, ""]


class _Layout:
    """The choice of items for a whole document."""

    def __init__(self, head: str, sections: Sequence[Section], budget: int) -> None:
        self.head = head
        self.chosen = [_SectionSelection(section) for section in sections]
        self.taken: list[tuple[_SectionSelection, int]] = []
        self.room = budget - max_tokens(self.text())

    def text(self) -> str:
        lines = [self.head, ""]
        for chosen in self.chosen:
            lines += chosen.lines()
        return "\n".join(lines).rstrip("\n") + "\n"

    def allocate_shares(self) -> None:
        """Gives each section its share; what it leaves flows on to the next."""
        if self.room <= 0:
            return
        room = self.room - self._spend_on_required(self.room // 2)
        shares = sum(c.section.share for c in self.chosen) or 1
        unused = 0
        for chosen in self.chosen:
            allocated = room * chosen.section.share // shares + unused
            unused = allocated - self._fill(chosen, allocated, cut=True)
        self.spend_rest(unused)

    def _spend_on_required(self, room: int) -> int:
        """Spends room on what comes before every share: fairly between the sections that have
        such, then on the more urgent."""
        required = [c for c in self._by_urgency() if any(i.rank < 0 for i in c.section.items)]
        used = 0
        for fair in (True, False):
            for chosen in required:
                allocated = room // len(required) if fair else room - used
                used += self._fill(chosen, allocated, required_only=True, cut=not fair)
        return used

    def spend_rest(self, room: int) -> int:
        """Spends what is left on the sections that have more to say; says what was used."""
        used = 0
        for filler in (False, True):
            for chosen in self._by_urgency():
                used += self._fill(chosen, room - used, filler=filler)
        return used

    def _by_urgency(self) -> list[_SectionSelection]:
        return sorted(self.chosen, key=lambda c: c.section.urgency)

    def _fill(
        self,
        chosen: _SectionSelection,
        room: int,
        *,
        cut: bool = False,
        required_only: bool = False,
        filler: bool = False,
    ) -> int:
        used = 0
        for index in chosen.order:
            rank = chosen.section.items[index].rank
            if rank >= (0 if required_only else FILLER_RANK) and not filler:
                break
            if index in chosen.texts:
                continue
            item_cost = chosen.cost(index)
            text = chosen.section.items[index].text
            if item_cost > room - used:
                if not (cut and not chosen.texts and room - used >= MIN_CUT_TOKENS):
                    continue
                group_cost = item_cost - max_tokens(text + "\n")
                text = truncate(
                    text, room - used - group_cost - 1, measure=max_tokens, marker=TRUNCATED
                )
                item_cost = max_tokens(text + "\n") + group_cost
                if not text or item_cost > room - used:
                    continue
            chosen.take(index, text)
            self.taken.append((chosen, index))
            used += item_cost
        return used

    def take_back(self, tokens: int) -> bool:
        """Drops the items that were taken last until `tokens` are free; False if there are
        none left."""
        if not self.taken:
            return False
        while self.taken and tokens > 0:
            chosen, index = self.taken.pop()
            text = chosen.texts[index]
            chosen.drop(index)
            tokens -= max_tokens(text)
        return True
