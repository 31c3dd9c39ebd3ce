"""The layout of markdown-like text: its blocks, and the sentences of those that are prose.

A block is ``(start, end, kind)``, a span is ``(start, end)``, both in code points of the text
that was given. Every function takes time linear in the length of its text, whatever the text.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from leftoff import lazy_re as re

Span = tuple[int, int]

# ----------------------------------------------------------------------------------------------
# Layout: blocks
# ----------------------------------------------------------------------------------------------

# Prose kinds carry their text without list marker or heading hashes.
PARAGRAPH, ITEM, HEADING, FENCE, INDENTED, QUOTE, TABLE, COMMENT = range(8)
PROSE_KINDS = frozenset({PARAGRAPH, ITEM, HEADING})
CODE_KINDS = frozenset({FENCE, INDENTED, QUOTE, COMMENT})

Block = tuple[int, int, int]

# One match classifies one line. Alternatives are ordered: the first that fits names the line. A
# tag that stands alone, such as agents put around a summary, is a rule to its reader.
_LINE = re.compile(
    r"(?P<indent>[ \t]*+)"
    r"(?:"
    r"(?P<blank>\r?(?=\n|\Z))"
    r"|(?P<fence>`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)"
    r"|(?P<quote>>)"
    r"|(?P<rule>(?:-[ \t]*+){3,}+\r?(?=\n|\Z)|(?:\*[ \t]*+){3,}+\r?(?=\n|\Z)"
    r"|(?:_[ \t]*+){3,}+\r?(?=\n|\Z)|={3,}+[ \t]*+\r?(?=\n|\Z)"
    r"|</?[a-zA-Z][\w-]*+>[ \t]*+\r?(?=\n|\Z))"
    r"|(?P<heading>\#{1,6}(?=[ \t\r\n]|\Z)[ \t]*+)"
    r"|(?P<item>(?:[-*+\u2022\u2023\u25e6\u2043\u25cf\u25cb\u2610\u2611\u2612\u2713\u2714"
    r"\u2717\u2718\u2705\u274c]|\d{1,4}[.)])(?:[ \t]++(?:\[[ xX]\][ \t]++)?|(?=\r?(?:\n|\Z))))"
    r"|(?P<bars>\|?[ \t]*+:?-{2,}+:?[ \t]*+(?:\|[ \t]*+:?-{2,}+:?[ \t]*+)++"
    r"\|?[ \t]*+\r?(?=\n|\Z))"
    r"|(?P<table>\|(?=[^\n]*\|)|[\u2500-\u257f]|\+[-=]{2,})"
    r"|(?P<text>)"
    r")"
)
# A string ends a line, and "+" puts the next one behind it: no item of a list.
_SEAM = re.compile(r"[\"'`][ \t]*\r?\n[ \t]*\+[ \t]+[\"'`]")
FENCE_LINE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+\r?$", re.MULTILINE)


def _fence_end(text: str, fence: str, position: int) -> tuple[int, bool]:
    """Gives where the fence that opened before ``position`` ends, and whether it was closed."""
    for match in FENCE_LINE.finditer(text, position):
        closer = match.group(1)
        if closer[0] == fence[0] and len(closer) >= len(fence):
            return match.end(), True
    return len(text), False


def closer_of_fence(text: str, start: int) -> str | None:
    """Gives what closes the fence opened at ``start`` and left open, or ``None``."""
    match = _LINE.match(text, start)
    if match is None or match.lastgroup != "fence":
        return None
    fence = match.group("fence")
    first_line = text.find("\n", start)
    if first_line >= 0 and _fence_end(text, fence, first_line)[1]:
        return None
    return match.group("indent") + fence


def _last_letter(text: str, line: int) -> int:
    """The place of the last character but blanks before a line."""
    while line > 0 and text[line - 1] in " \t\r\n":
        line -= 1
    return max(0, line - 1)


@lru_cache(maxsize=8)
def blocks_of(text: str) -> tuple[tuple[Block, ...], bool]:
    """Gives the blocks of a text in order, and whether its last fence was left open.

    Blocks are disjoint and never empty. Blank lines, rules, tags that stand alone and markers
    belong to no block."""
    blocks: list[Block] = []
    open_fence = False
    comments = "<!--" in text
    size = len(text)
    position = 0
    # The open prose block: its start and kind.
    start, kind = -1, PARAGRAPH
    after_blank = True
    list_indent = -1
    table = False
    match_line = _LINE.match
    find = text.find
    while position < size:
        match = match_line(text, position)
        assert match is not None
        what = match.lastgroup
        line_end = find("\n", position)
        if line_end < 0:
            line_end = size
        if what == "blank":
            if start >= 0:
                start = _close(text, blocks, start, position, kind)
            after_blank, table = True, False
            position = line_end + 1
            continue
        first = match.end("indent")
        if what == "item" and start >= 0 and _SEAM.match(text, _last_letter(text, position)):
            what = "text"
        if what == "item":
            # A fence may open on the line of an item.
            inner = match_line(text, match.end())
            if inner is not None and inner.lastgroup == "fence":
                if start >= 0:
                    start = _close(text, blocks, start, position, kind)
                list_indent = match.end() - position
                position, match, what = match.end(), inner, "fence"
        if what == "fence":
            if start >= 0:
                start = _close(text, blocks, start, position, kind)
            end, closed = _fence_end(text, match.group("fence"), line_end)
            blocks.append((position, end, FENCE))
            open_fence = not closed
            position = find("\n", end) + 1 or size
            after_blank, table = False, False
            continue
        columns = len(text[position:first].expandtabs(4))
        if (
            columns >= 4
            and start < 0
            and columns >= list_indent + 4
            and (after_blank or (blocks and blocks[-1][2] == INDENTED))
        ):
            blocks.append((position, line_end, INDENTED))
            after_blank = False
            position = line_end + 1
            continue
        if table and what in ("text", "item") and find("|", first, line_end) >= 0:
            what = "table"
        table_before, table = table, False
        if after_blank and what != "item" and columns < list_indent:
            list_indent = columns or -1
        if what == "text":
            if start < 0:
                start, kind = first, PARAGRAPH
        else:
            if what == "bars" and start >= 0 and not table_before:
                # The line above a delimiter row is the head of the table.
                head = text.rfind("\n", start, max(start, position - 1)) + 1 or start
                if find("|", head, position) >= 0:
                    if head > start:
                        _close(text, blocks, start, head, kind)
                    blocks.append((head, position, TABLE))
                    start = -1
            if start >= 0:
                start = _close(text, blocks, start, position, kind)
            if what == "item":
                start, kind = match.end(), ITEM
                list_indent = columns + match.end() - first
            elif what == "heading":
                start, kind = match.end(), HEADING
                list_indent = -1
            elif what == "quote":
                blocks.append((position, line_end, QUOTE))
            elif what in ("table", "bars"):
                blocks.append((position, line_end, TABLE))
                table = True
        after_blank = False
        if comments and start >= 0:
            opened = find("<!--", max(start, position), line_end)
            if opened >= 0 and not (opened and text[opened - 1] == "`"):
                closed_at = find("-->", opened + 4)
                if closed_at < 0:
                    comments = False
                else:
                    start = _close(text, blocks, start, opened, kind)
                    blocks.append((opened, closed_at + 3, COMMENT))
                    position = closed_at + 3
                    continue
        position = line_end + 1
        if start >= 0 and kind == HEADING:
            start = _close(text, blocks, start, line_end, kind)
    if start >= 0:
        _close(text, blocks, start, size, kind)
    return tuple(blocks), open_fence


_SPACE = " \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000"


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start] in _SPACE:
        start += 1
    while end > start and text[end - 1] in _SPACE:
        end -= 1
    return start, end


def _close(text: str, blocks: list[Block], start: int, end: int, kind: int) -> int:
    """Adds a block, unless it is blank; gives -1, since none is open then."""
    start, end = _trim(text, start, end)
    if start < end:
        blocks.append((start, end, kind))
    return -1


# ----------------------------------------------------------------------------------------------
# Layout: sentences
# ----------------------------------------------------------------------------------------------

_CLOSERS = "\"'”’»›)\\]}*_`～~"
_CJK_STOPS = "。！？｡．"
# A candidate: stops, then whatever closes around them, then white space or the end of the
# block. The stops of Chinese and Japanese need no space after them. A line break is a candidate
# too. The pattern begins with a class, by which `re` finds the next place fast; so the groups
# hold what comes after the first character.
_CANDIDATE = re.compile(
    rf"[{_CJK_STOPS}.!?…؟۔।॥\n](?:"
    rf"(?<=[{_CJK_STOPS}])(?P<cjk>[{_CJK_STOPS}!?]*[」』）】〉》{_CLOSERS}]*)"
    rf"|(?<=\n)(?P<line>[ \t]*)"
    rf"|(?<=[^\n])(?P<stop>[.!?…؟۔।॥]*)(?P<closers>[{_CLOSERS}]*)(?=\s|\Z))"
)

# After these a stop never ends a sentence, because something must follow.
_OPEN_ABBREVIATIONS = frozenset(
    "e.g i.e eg ie vs cf viz mr mrs ms dr prof st messrs esp incl excl resp approx ca aka w.r.t"
    " a.k.a c.f i.a z.b d.h u.a bzw ggf vgl evtl".split()
)
# After these a stop ends a sentence only if the next word starts with a capital.
_CLOSED_ABBREVIATIONS = frozenset(
    "etc al inc ltd co corp jr sr a.m p.m u.s u.k jan feb apr jun jul aug sept sep oct nov dec"
    " dept est min max misc temp orig prev req govt ext int intl usw".split()
)
# After these a stop ends nothing if a number follows.
_NUMBERED_ABBREVIATIONS = frozenset(
    "no nos fig figs sec secs p pp ch vol eq eqs ver v nr ref refs ln rev pt".split()
)
_WORD_BREAK = re.compile(r"[\s()\[\]{}\"“”«»,;:/—–]")
# A line this long was wrapped by an editor, so its break does not end a sentence. Chosen by
# hand; not measured.
_WRAPPED = 50
# Longer brackets and quotations contain whole sentences and are split like other text. Chosen
# by hand; not measured.
_LONGEST_ASIDE = 300

# The seam of a word on two lines: two strings that a program puts together, or a line that goes
# on after a backslash. A sentence that ended there would quote half a credential.
_SEAM_BEFORE = re.compile(r"[\w+/=-]{4}(?:[\"'`][ \t]*(?:\+|\.\.?|&|\|\|)?[ \t]*\\?|\\)$")
_SEAM_AFTER = re.compile(r"(?:(?:\+|\.\.?|&|\|\|)?[ \t]*[\"'`])?[\w+/=-]{4}")

_BACKTICKS = re.compile(r"`+")
_ASIDE_MARKS = re.compile(r"[()\[\]（）“”「」『』《》\"]")
_ASIDE_PAIRS = {")": "(", "]": "[", "）": "（", "”": "“", "」": "「", "』": "『", "》": "《"}


@lru_cache(maxsize=64)
def code_spans(text: str, start: int, end: int) -> tuple[Span, ...]:
    """Gives the inline code of a block: runs of backticks paired with the next run as long."""
    if text.find("`", start, end) < 0:
        return ()
    runs = [(match.start(), match.end()) for match in _BACKTICKS.finditer(text, start, end)]
    following: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        following.setdefault(runs[index][1] - runs[index][0], []).append(index)
    spans: list[Span] = []
    done = -1
    for index, (run_start, run_end) in enumerate(runs):
        same = following[run_end - run_start]
        same.pop()
        if index <= done or not same:
            continue
        done = same[-1]
        spans.append((run_start, runs[done][1]))
    return tuple(spans)


def _asides(text: str, start: int, end: int, code: Sequence[Span]) -> list[Span]:
    """Gives the brackets and quotations of a block that are too short to hold sentences."""
    spans: list[Span] = []
    stack: list[tuple[str, int]] = []
    quote = -1
    for match in _ASIDE_MARKS.finditer(text, start, end):
        position = match.start()
        if code and _inside(code, position):
            continue
        mark = match.group()
        if mark == '"':
            # A quotation opens after a space or a bracket and closes before one.
            if quote >= 0 and position - quote <= _LONGEST_ASIDE:
                spans.append((quote, position + 1))
                quote = -1
            elif position == start or text[position - 1] in " \t\n([{*_":
                quote = position
            else:
                quote = -1
        elif mark in _ASIDE_PAIRS:
            opener = _ASIDE_PAIRS[mark]
            if stack and stack[-1][0] == opener:
                opened = stack.pop()[1]
                if position - opened <= _LONGEST_ASIDE:
                    spans.append((opened, position + 1))
        else:
            # An opener this far back cannot begin an aside; dropping it bounds the stack.
            if stack and position - stack[-1][1] > _LONGEST_ASIDE:
                stack.clear()
            stack.append((mark, position))
    return spans


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def _inside(spans: Sequence[Span], position: int) -> bool:
    """Says whether a position lies in one of the sorted, disjoint spans."""
    index = bisect_right(spans, (position, 1 << 62)) - 1
    return index >= 0 and position < spans[index][1]


def _stop_ends(text: str, start: int, end: int, match: re.Match[str], sentence: int) -> bool:
    """Says whether the stop that a match found ends the sentence that began at ``sentence``."""
    at, after = match.start(), match.end()
    stop, closers = text[at : match.end("stop")], match.group("closers")
    follow = after
    while follow < end and text[follow] in _SPACE:
        follow += 1
    if follow >= end:
        return True
    while follow + 1 < end and text[follow] in "*_\"'“‘([":
        follow += 1
    following = text[follow]
    before = text[at - 1] if at > start else " "
    if before in _SPACE:
        # A lone stop is a path or an operator, unless what follows starts a sentence.
        return stop[0] in "!?؟" and following.isupper() and sentence < at
    lower = following.islower()
    if closers.strip("`*_") and lower:
        return False
    if stop[0] != ".":
        return not (lower and stop[0] == "…")
    if len(stop) > 1:
        return not lower
    if not closers:
        word = _WORD_BREAK.split(text[max(sentence, at - 24) : at])[-1].strip("*_`'’‘").lower()
        if word in _OPEN_ABBREVIATIONS:
            return False
        if word in _CLOSED_ABBREVIATIONS:
            return following.isupper()
        if word in _NUMBERED_ABBREVIATIONS and following.isdecimal():
            return False
        if at - len(word) <= sentence and (
            (word.isdecimal() and len(word) <= 3) or (len(word) == 1 and word.isalpha())
        ):
            # "2." or "A." at the start of a sentence counts or abbreviates; it does not end.
            return False
    return True


@lru_cache(maxsize=64)
def sentences_of_block(text: str, start: int, end: int) -> tuple[Span, ...]:
    """Gives the sentences of one block of prose."""
    code = code_spans(text, start, end)
    asides = _merge([*code, *_asides(text, start, end, code)])
    found: list[Span] = []
    sentence = line = after = start
    for match in _CANDIDATE.finditer(text, start, end):
        group = match.lastgroup
        at, before, after = match.start(), after, match.end()
        if asides and _inside(asides, after - 1):
            if group == "line":
                line = after
                continue
            # A stop just before what closes the aside ends with it; any other stop is inside.
            if _inside(asides, after) or not _closes(asides, after):
                continue
        if group == "line":
            at -= text[at - 1] == "\r" and at > before
            while at > before and text[at - 1] in " \t":
                at -= 1
            ends = _break_ends(text, line, at, after, end)
            line = after
        elif group == "cjk":
            ends = text[at] != "．" or not text[after : after + 1].isdecimal()
        else:
            ends = _stop_ends(text, start, end, match, sentence)
        if ends:
            span = _trim(text, sentence, at if group == "line" else after)
            if span[0] < span[1]:
                found.append(span)
            sentence = after
    span = _trim(text, sentence, end)
    if span[0] < span[1]:
        found.append(span)
    return tuple(found)


def _closes(asides: list[Span], position: int) -> bool:
    """Says whether one of the spans ends exactly at a position."""
    index = bisect_right(asides, (position - 1, 1 << 62)) - 1
    return index >= 0 and asides[index][1] == position


def _break_ends(text: str, line: int, stop: int, after: int, end: int) -> bool:
    """Says whether a line break ends a sentence: the line was short, or the break was meant."""
    if after >= end or stop <= line:
        return True
    last = text[stop - 1]
    if _SEAM_BEFORE.search(text, max(line, stop - 12), stop) and _SEAM_AFTER.match(text, after):
        return False
    if last in ":\\" or text[stop : stop + 2] == "  ":
        return True
    return stop - line < _WRAPPED and last not in ",;-–—(" and not text[after].islower()


def sentences(text: str) -> list[Span]:
    """Gives the sentences of the prose of a text, uncut.

    List items and headings are sentences of their own, and no sentence crosses a blank line.
    Abbreviations, versions, file names, decimals, addresses, inline code and short asides in
    brackets or quotation marks do not end a sentence.

    Returns:
        Disjoint, increasing ``(start, end)`` spans in code points, without outer white space.
    """
    return [
        span
        for start, end, kind in blocks_of(text)[0]
        if kind in PROSE_KINDS
        for span in sentences_of_block(text, start, end)
    ]


def block_before(blocks: tuple[Block, ...], position: int) -> int:
    """Gives the index of the last block that starts at or before a position, or -1."""
    return bisect_right(blocks, (position, 1 << 62)) - 1


class Layout:
    """The layout of one text, for questions about many positions in it: its blocks are found
    once, and those asked about last are divided once.

    Args:
        text: Markdown or plain text."""

    __slots__ = ("blocks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks = blocks_of(text)[0]

    def block_at(self, position: int) -> int:
        """Gives the index of the block that holds a position, or -1."""
        index = block_before(self.blocks, position)
        return index if index >= 0 and position < self.blocks[index][1] else -1

    def sentence_at(self, position: int) -> Span:
        """Gives the sentence that holds a position, as `sentences` has it, or the empty span
        ``(position, position)`` where it is in none: in code, a quote, a table, a comment, a
        marker or white space."""
        index = self.block_at(position)
        if index >= 0 and self.blocks[index][2] in PROSE_KINDS:
            spans = sentences_of_block(self.text, *self.blocks[index][:2])
            number = bisect_right(spans, (position, 1 << 62)) - 1
            if number >= 0 and position < spans[number][1]:
                return spans[number]
        return position, position

    def in_code(self, position: int) -> bool:
        """Says whether a position is in code of any kind, in a block quote or in a comment.
        Such text is quoted, not the writer's own."""
        index = self.block_at(position)
        if index < 0:
            return False
        if self.blocks[index][2] in CODE_KINDS:
            return True
        return _inside(code_spans(self.text, *self.blocks[index][:2]), position)


def closer_of_cut(body: str, blocks: tuple[Block, ...]) -> str | None:
    """Gives what closes the fence that a text, cut to ``body``, leaves open, or ``None``.

    Args:
        body: The text up to its cut, not empty.
        blocks: The blocks of the text before it was cut."""
    index = block_before(blocks, len(body) - 1)
    last_line = body.rfind("\n") + 1
    if index >= 0 and blocks[index][2] == FENCE:
        start, end, _ = blocks[index]
        if len(body) <= end or start >= last_line:
            return closer_of_fence(body, start)
    # A cut may also make a fence: "```x" is one, the "```x```" that it was cut from is not.
    match = _LINE.match(body, last_line)
    if match is not None and match.lastgroup == "item":
        last_line = match.end()
    return closer_of_fence(body, last_line)
