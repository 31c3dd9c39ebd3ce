"""Blocks of long texts: of a request, a plan or ticket, a report. Pure functions."""

from __future__ import annotations

from leftoff import lazy_re as re
from leftoff.extraction.requests import TAIL
from leftoff.handover.standing import MIN_WORDS
from leftoff.text.markdown import PROSE_KINDS, blocks_of

_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")
_BOX = re.compile(r"\[[ xX]\]\s*\Z")


def blocks(text: str) -> list[str]:
    """The blocks of a text that hold letters, in order."""
    found = (text[start:end] for start, end, _ in blocks_of(text)[0])
    return [block for block in found if _LETTER.search(block)]


def rest(text: str, limit: int) -> str:
    """What follows the words that fit in `limit` code points on one line."""
    room = limit
    for word in re.finditer(r"\S+", text) if len(text) > limit else ():
        room -= word.end() - word.start() + 1
        if room < 0:
            return text[word.start() :]
    return ""


def plan_blocks(text: str) -> list[tuple[str, float]]:
    """The blocks of a plan or ticket that say something, each with its weight: the first say
    why, and what is not ticked off comes before what is."""
    found = [
        _tick(text[:start]) + text[start:end].strip()
        for start, end, kind in blocks_of(text)[0]
        if kind in PROSE_KINDS and (_says_something(text[start:end]) or _tick(text[:start]))
    ]
    return [(block, 0.9 - n / (2 * len(found)) + _open(block)) for n, block in enumerate(found)]


def _says_something(block: str) -> bool:
    """Whether a block is more than a heading, a name or a path."""
    if not block.isascii():
        return _LETTER.search(block) is not None
    return len(block.split()) >= MIN_WORDS and not block.isupper()


def _tick(before: str) -> str:
    """The box that stands before a block, which is no part of it."""
    found = _BOX.search(before[-8:])
    return f"{found[0].strip()} " if found else ""


def _open(block: str) -> float:
    return 0.3 if "[ ]" in block else -0.3 if "[x]" in block.casefold() else 0.0


def report_blocks(text: str) -> list[str]:
    """The blocks of a report, without code; of one that was cut, those after the cut."""
    text = text if len(text) < TAIL else text.partition("\n")[2]
    return [
        block
        for start, end, kind in blocks_of(text)[0]
        for block in (text[start:end],)
        if kind in PROSE_KINDS
        and (len(_WORD.findall(block)) >= MIN_WORDS or not block.isascii())
        and not block.rstrip(" *_").endswith("?")  # the person's words followed
    ]
