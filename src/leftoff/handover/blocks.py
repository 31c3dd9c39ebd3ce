"""The blocks of a task, a plan or a report that say something by themselves: a heading of few
words, or a path alone, says nothing where the lines below it may be left out. Those of the
agent's words stand with what heads them."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.handover.standing import MIN_WORDS
from leftoff.handover.wording import unmarked
from leftoff.tables import table
from leftoff.text.markdown import FENCE, HEADING, ITEM, PARAGRAPH, PROSE_KINDS, TABLE, blocks_of
from leftoff.text.truncation import GAP

_RE = re.patterns(table(__file__, "blocks.toml"))

_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")
_BOX = re.compile(r"\[[ xX]\]\s*\Z")


def task_blocks(text: str) -> list[str]:
    """Those of a task. An item of the person's may ask for something in two words."""
    return [
        block
        for start, end, kind in blocks_of(text)[0]
        if not _is_heading(block := text[start:end]) or kind == ITEM and _LETTER.search(block)
    ]


def plan_blocks(text: str) -> list[str]:
    """Those of a plan or a ticket, without code; the box of an item stands before it."""
    blocks = [
        _tick(text[:start]) + text[start:end].strip()
        for start, end, kind in blocks_of(text)[0]
        if kind in PROSE_KINDS
    ]
    return [block for block in blocks if not _is_heading(block)]


def report_blocks(text: str) -> list[str]:
    """Those of a report, without code; `GAP` where the recording leaves something out."""
    blocks = [text[start:end] for start, end, kind in blocks_of(text)[0] if kind in PROSE_KINDS]
    torn = {
        place - 1
        for place, block in enumerate(blocks)
        if block == GAP and place and not _RE["ended"].search(blocks[place - 1])
    }
    return [
        block
        for place, block in enumerate(blocks)
        if block == GAP
        or place not in torn
        and (len(_WORD.findall(block)) >= MIN_WORDS or not block.isascii())
        and not _is_heading(block)
        and not block.rstrip(" *_").endswith("?")  # the person's words followed
    ]


class Block(Struct, frozen=True):
    """A block of the agent's words.

    Attributes:
        label: the heading above it, and what announces it, without a colon; "" for none.
        text: its words, without marks; of a row of a table its cells; `GAP` where the recording
            leaves something out.
        kind: as in `text.markdown`."""

    label: str
    text: str
    kind: int


def said_blocks(text: str) -> list[Block]:
    """The blocks of the agent's words in order. An opening formula ("Let me sum this up:") is
    left out where other blocks follow, and a heading with nothing below it."""
    found: list[Block] = []
    # What heads the next block: each with the indentation that ends it. `waiting`: the last
    # of them, if it announces something and nothing stands below it yet. `below`: the kind of
    # the block before.
    heads: list[tuple[int, str]] = []
    waiting, below = "", -1
    spans = list(_spans(text))
    for n, (start, end, kind) in enumerate(spans):
        raw = text[start:end].strip()
        words = unmarked(raw) if kind in PROSE_KINDS else raw
        line = text[text.rfind("\n", 0, start) + 1 : start]
        level = len(line) - len(line.lstrip()) - (kind != ITEM)
        bold = _RE["bold"].fullmatch(raw) is not None
        if waiting and heads[-1][0] >= 0 and kind in {ITEM, HEADING} and level <= heads[-1][0]:
            found.append(Block(_last(heads[:-1]), waiting, ITEM))  # an item with none below it
            waiting = ""
        if kind == HEADING or bold and kind != ITEM:
            above = f"{_last(heads)}: " if heads and below == HEADING else ""
            label = words.rstrip(":： ")
            # "**After:**" before code is no more than what announces it.
            code = kind != HEADING and [k for _, _, k in spans[n + 1 : n + 2]] == [FENCE]
            heads, waiting = [(-1 if code else -2, above + label)], label if code else ""
            below = HEADING
            if words.endswith((".", "!", "。", "！")):  # "All done!" heads nothing
                found.append(Block("", words, HEADING))
                heads, waiting = [], ""
            continue
        announced = ""
        if below == FENCE:  # what announced code heads no list behind it
            heads = [head for head in heads if head[0] != -1]
        if (not waiting or kind == ITEM) and not kind == below == TABLE:
            heads = [head for head in heads if head[0] < level]
        below = kind
        if kind == TABLE:
            words = " | ".join(filter(None, map(str.strip, raw.strip("|").split("|"))))
        elif kind == FENCE:
            words = raw.partition("\n")[2].rpartition("\n")[0]
        elif kind in PROSE_KINDS:
            if n + 1 < len(spans):
                words, announced = ("", words) if bold else _announced(words)
                words = words if found else _RE["formula"].sub("", words)
        before = found[-1] if found else Block("", "", -1)
        if GAP in words:  # what heads the rest is left out, too, and the end of what is before
            if before.kind in PROSE_KINDS and not _RE["ended"].search(before.text):
                cut = [replace(before, text=f"{before.text} …")]
                found[-1:] = cut if len(before.text.split()) >= MIN_WORDS else []
        elif kind == before.kind == ITEM and _RE["goes_on"].search(before.text):
            words = f"{found.pop().text} {words}"  # one sentence over two items
        if _WORD.search(words) or words == GAP:  # no rule below the head of a table
            found.append(Block(_last(heads), words, kind))
        heads = [] if GAP in words else heads
        waiting = "" if _RE["move"].match(announced) else announced.rstrip(":： ")
        if waiting:
            above = f"{_last(heads)}: " if heads and kind != ITEM else ""
            heads = [*heads, (level, above + waiting)]
    return found or [Block("", unmarked(text), PARAGRAPH)]


def _spans(text: str) -> Iterator[tuple[int, int, int]]:
    """The blocks of a text; a line in bold letters stands apart from the lines below it."""
    for start, end, kind in blocks_of(text)[0]:
        first = text.find("\n", start, end) if kind == PARAGRAPH else -1
        if first > 0 and _RE["bold"].fullmatch(text[start:first].strip()):
            yield start, first, kind
            start = first + 1
        yield start, end, kind


def telling_blocks(blocks: Sequence[Block], most: int) -> tuple[int, ...]:
    """Which blocks of the agent's words are shown where there is room for so many: how it
    began, and of a long report what came out, how that was checked and what is left, of each
    list the first."""
    lists: dict[str, int] = {}
    for n, block in enumerate(blocks):
        lists.setdefault(block.label or str(n), n)
    telling = [
        n
        for n in reversed(lists.values())
        if _RE["outcome"].search(blocks[n].label) or _RE["state"].search(blocks[n].text)
    ]
    aside = [_is_aside(block) for block in blocks]
    order = sorted(range(len(blocks)), key=aside.__getitem__)
    found = dict.fromkeys((*order[:1], *telling, *lists.values(), *order))
    return tuple(sorted(sorted(found, key=aside.__getitem__)[:most]))


def said_lines(text: str, most: int, known: str = "") -> tuple[list[str], tuple[int, ...]]:
    """The agent's words by block, each with its label, without code and what is `known`, and
    by `telling_blocks` the places of those that are shown. A label stands once before what is
    shown, and once in all."""
    blocks: list[Block] = []
    for block in said_blocks(text):
        if block.kind not in PROSE_KINDS:  # code is not shown, but what announces it
            words = [f"{one.label or one.text}:" for one in blocks]
            if block.label and not any(w.startswith(block.label) for w in words):
                blocks.append(Block("", f"{block.label}:", HEADING))
        elif len(block.text) > 1 and block.text != GAP:
            if " ".join(block.text.split()) not in known:
                blocks.append(block)
    shown, labels = telling_blocks(blocks, most), set[str]()
    lines: list[str] = []
    for n, block in enumerate(blocks):
        new = block.label not in labels and (n in shown or n - 1 not in shown)
        lines.append(f"{block.label}: {block.text}" if block.label and new else block.text)
        labels.add(block.label)
    return lines, shown


def _is_aside(block: Block) -> bool:
    """Whether a block says little ("All done."), announces code, or lists what was read."""
    announces = block.kind == HEADING and block.text.endswith((":", "："))
    brief = not block.label and block.text.isascii() and len(_WORD.findall(block.text)) < 3
    return announces or brief or _RE["sources"].search(block.label) is not None


def _last(heads: Sequence[tuple[int, str]]) -> str:
    return heads[-1][1] if heads else ""


def _announced(words: str) -> tuple[str, str]:
    """What a block says, and its last sentence if that announces what stands below."""
    if not words.endswith((":", "：")):
        return words, ""
    *rest, last = _RE["sentences"].split(words)
    return " ".join(rest), last


def openness(block: str) -> float:
    """How much more an item of a plan weighs: an open one more, a done one less."""
    return 0.3 if "[ ]" in block else -0.3 if "[x]" in block.casefold() else 0.0


def _is_heading(block: str) -> bool:
    few = len(block.split()) < MIN_WORDS and block.isascii() and not block.startswith("[")
    few = few and not block.endswith((".", "!", "?"))
    return few or block.isupper() or _LETTER.search(block) is None


def _tick(before: str) -> str:
    """The box that stands before a block, which is no part of it."""
    found = _BOX.search(before[-8:])
    return f"{found[0].strip()} " if found else ""
