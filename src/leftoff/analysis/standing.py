"""Rules that stand inside a prompt: "never", "do not", "only", and the items of a list."""

from functools import lru_cache

from leftoff.extraction.requests import matches
from leftoff.text.markdown import (
    HEADING,
    ITEM,
    PROSE_KINDS,
    Span,
    blocks_of,
    sentences_of_block,
)

# Code points of a prompt that are searched: a longer one holds pasted documents. Chosen by
# hand; not measured.
MAX_PROMPT = 20_000

# Code points of one rule. Chosen by hand; not measured.
MIN_RULE, MAX_RULE = 10, 400

# Rules of one prompt; one with more is a document that the person pasted. Chosen by hand; not
# measured.
MAX_RULES = 30


@lru_cache(maxsize=16)
def rules_in(text: str) -> tuple[Span, ...]:
    """The spans of the rules in a prompt, in order; none where there are more than `MAX_RULES`.

    A rule is a sentence that forbids, limits or requires always, an item of a list under a
    heading that names rules, or a whole list under "do not:"."""
    if len(text) > MAX_PROMPT:
        return ()
    found: list[Span] = []
    listed = False
    forbidding = -1  # start of a line like "Do not:", whose items make no sense without it
    for start, end, kind in blocks_of(text)[0]:
        block = text[start:end]
        if matches("forbids_heading", block) and len(block) <= 120:
            listed, forbidding = False, start
            continue
        if forbidding >= 0 and kind == ITEM:
            if found and found[-1][0] == forbidding:
                found.pop()
            found.append((forbidding, end))
            continue
        forbidding = -1
        if matches("rules_heading", block.split("\n", 1)[0]) and len(block) <= 120:
            listed = True
            continue
        if kind == HEADING or kind not in PROSE_KINDS:
            listed = False
            continue
        if kind == ITEM and listed and MIN_RULE <= end - start <= MAX_RULE:
            if not matches("no_rule", block):
                found.append((start, end))
            continue
        listed = listed and kind == ITEM
        for first, last in sentences_of_block(text, start, end):
            if MIN_RULE <= last - first <= MAX_RULE:
                words = text[first:last]
                if matches("standing", words) and not matches("no_rule", words):
                    found.append((first, last))
    return tuple(found) if len(found) <= MAX_RULES else ()
