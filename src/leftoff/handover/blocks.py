"""The blocks of a task, a plan or a report that say something by themselves: a heading of few
words, or a path alone, says nothing where the lines below it may be left out."""

from leftoff import lazy_re as re
from leftoff.handover.standing import MIN_WORDS
from leftoff.text.markdown import ITEM, PROSE_KINDS, blocks_of

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
    """Those of a report, without code."""
    blocks = [text[start:end] for start, end, kind in blocks_of(text)[0] if kind in PROSE_KINDS]
    return [
        block
        for block in blocks
        if (len(_WORD.findall(block)) >= MIN_WORDS or not block.isascii())
        and not _is_heading(block)
        and not block.rstrip(" *_").endswith("?")  # the person's words followed
    ]


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
