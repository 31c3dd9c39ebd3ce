"""Truncates text: to one line, to a length, to a token budget.

`whole` and `short` cut raw text so that no secret is halved; `truncate` cuts at the end of a
sentence, else of a word, else of a grapheme cluster, and closes an open code fence. All are
pure, and linear in the length of the text."""

from collections.abc import Callable
from functools import lru_cache

from leftoff import lazy_re as re
from leftoff.text import markdown
from leftoff.text.sanitize import INVISIBLE, LOOK_ALIKES, UNSAFE, clean

# ----------------------------------------------------------------------------------------------
# Grapheme clusters
# ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _grapheme_pattern() -> Callable[[str, int, int], list[str]]:
    # Imported on first need: text that is plain ASCII at its cut never needs it.
    import regex

    find_all: Callable[[str, int, int], list[str]] = regex.compile(r"\X").findall
    return find_all


def _is_plain(text: str, position: int) -> bool:
    """Says whether a position is surely a grapheme boundary: ASCII or an end on both sides."""
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    return before < "\x80" and after < "\x80" and not (before == "\r" and after == "\n")


def _grapheme_floor(text: str, position: int) -> int:
    """Gives the last grapheme boundary that is not after a position."""
    if _is_plain(text, position):
        return max(0, min(position, len(text)))
    start, stop = position, position
    while not _is_plain(text, start):
        start -= 1
    while not _is_plain(text, stop):
        stop += 1
    boundary = start
    for cluster in _grapheme_pattern()(text, start, stop):
        if boundary + len(cluster) > position:
            break
        boundary += len(cluster)
    return boundary


def one_line(text: str, limit: int, marker: str = "…") -> str:
    """Gives cleaned text on one line, of at most ``limit`` code points with the marker.

    For redacted text only: the cut may fall inside a long word.

    Args:
        text: Any text; runs of white space become one space.
        limit: The most code points of the result.
        marker: What ends the line if something was cut."""
    # Text far behind the limit cannot be in the result, so a long text is not read to its end.
    head = text[: 8 * max(0, limit) + 400]
    line = " ".join(head.split()) if UNSAFE.search(head) is None else ""
    if len(line) <= limit:
        line = " ".join(clean(text).split())
    if len(line) <= limit:
        return line
    room = limit - len(marker)
    if room <= 0:
        return line[: _grapheme_floor(line, max(0, limit))]
    return line[: _word_floor(line, room)].rstrip() + marker


def path_end(path: str, limit: int) -> str:
    """The end of a path in at most `limit` code points: whole folders are left out before its
    name, so that the name is there as long as it fits.

    >>> path_end("src/shop/billing/invoice.py", 20)
    '…/billing/invoice.py'"""
    if len(path) <= limit:
        return path
    parts = path.replace("\\", "/").split("/")
    for start in range(1, len(parts)):
        shown = "…/" + "/".join(parts[start:])
        if len(shown) <= limit:
            return shown
    return "…" + path[max(1, len(path) - limit + 1) :]


# Stands where something is left out between two parts of a text.
GAP = "[…]"

# What can stand in no secret: blanks, and letters that are not ASCII, not unseen and not read
# as ASCII by redaction.
_APART = re.compile(
    rf"[ \t\n]|[^\x00-\x9f\u2028\u2029\ud800-\udfff{INVISIBLE}\uff01-\uff5e{LOOK_ALIKES}]"
)


def whole(text: str, limit: int) -> str:
    """Gives the beginning of a text, at most ``limit`` code points, cut where no secret can be
    halved: at white space or beside a letter that is not ASCII.

    Most text is truncated before it is redacted, and no rule of redaction recognises half of a
    secret, so raw text must be cut by this function and no other."""
    if len(text) <= limit:
        return text
    at = limit
    if _APART.match(text, at) is None:
        while at > 0 and _APART.match(text, at - 1) is None:
            at -= 1
    return text[: _grapheme_floor(text, at)].rstrip()


def ends(text: str, limit: int) -> str:
    r"""Gives a text of at most ``limit`` code points: its beginning, as by `whole`, and from an
    empty line on its end, where a report says what is left. The only secrets that hold an empty
    line are private keys: a text with one keeps its beginning alone.

    >>> ends("Done.\n\nMany details here.\n\nNext: the docs.", 30)
    'Done.\n\n[…]\n\nNext: the docs.'"""
    at = text.find("\n\n", max(0, len(text) - limit * 2 // 3))
    if len(text) <= limit or at < 0 or _has_key(text):
        return whole(text, limit)
    end = f"\n\n{GAP}{text[at:]}"
    return whole(text, limit - len(end)) + end


def tail(text: str, limit: int) -> str:
    r"""Gives the end of a text, at most ``limit`` code points, from the beginning of a
    paragraph or a sentence on, where no secret can be halved or lose the name in front of it.
    "" where there is no such place, and of a long text with a private key.

    >>> tail("Many words stand here. The till is done. Shall I push it?", 36)
    'The till is done. Shall I push it?'"""
    if len(text) <= limit:
        return text
    begin = None if _has_key(text) else _BEGIN.search(text, len(text) - limit)
    return text[begin.end() :] if begin else ""


# No label (`password:`) ends so, and no secret but a private key goes on behind it.
_BEGIN = re.compile(r"\n[ \t]*\n|(?<=[.!?…。！？])\s+|(?<=[.!?…。！？][*_)\"'])\s+")


def _has_key(text: str) -> bool:
    return "PRIVATE KEY" in text or "Private-Lines" in text


def short(text: str, limit: int = 100, marker: str = "...") -> str:
    """Gives raw text on one line of at most ``limit`` code points with the marker, in which no
    secret is halved (see `whole`)."""
    # Text far behind the limit cannot be in the result.
    head = whole(text, 8 * limit + 400)
    line = " ".join(clean(head).split())
    if len(line) <= limit and len(head) == len(text):
        return line
    return whole(line, max(0, limit - len(marker))) + marker[:limit]


# ----------------------------------------------------------------------------------------------
# Truncation
# ----------------------------------------------------------------------------------------------

# A cut at a sentence or a word is used only if it leaves more than this share of what fits.
_MIN_SHARE = 0.5


def _word_floor(text: str, position: int) -> int:
    """Gives the last end of a word up to a position, or of a grapheme if that loses much."""
    if position >= len(text) or text[position].isspace():
        return min(position, len(text))
    least = int(position * _MIN_SHARE)
    space = max(text.rfind(" ", least, position), text.rfind("\n", least, position))
    return space if space > least else _grapheme_floor(text, position)


def _ending(body: str, blocks: tuple[markdown.Block, ...], marker: str) -> str:
    """Gives what must follow a cut body: the close of an open fence, and the marker.

    Args:
        body: The text up to its cut.
        blocks: The layout of the text before it was cut.
        marker: What stands after the cut."""
    if not body:
        return marker
    fence = markdown.closer_of_cut(body, blocks)
    if fence is not None:
        return "\n" + fence + ("\n" if marker[:1] not in ("", "\n") else "") + marker
    if not marker or marker[0].isspace():
        return marker
    if markdown.FENCE_LINE.fullmatch(body, body.rfind("\n") + 1):
        return "\n" + marker
    return " " + marker if body[-1] in ".!?…" else marker


def truncate(
    text: str, limit: int, *, measure: Callable[[str], int] = len, marker: str = "..."
) -> str:
    """Gives text that measures at most ``limit``, marker included.

    Longer text is cut at the end of a sentence, in code at the end of a line; if that would
    lose more than half of what fits, at a word; else at a grapheme. A cut never splits a
    grapheme, never falls inside an HTML comment, and never leaves a code fence open, not even
    one that the text itself left open.

    Args:
        text: Markdown or plain text.
        limit: The most that the result may measure.
        measure: What the limit counts: `len`, or a count of tokens. It should not shrink when
            text is added; if it does, the result is shorter than it could be, never longer.
        marker: Put after the cut. It is left out where it alone would not fit.

    Returns:
        The text itself if it fits and leaves no fence open."""
    if not markdown.blocks_of(text)[1] and measure(text) <= limit:
        return text
    blocks, is_open = markdown.blocks_of(text)
    if is_open:
        fence = markdown.closer_of_fence(text, blocks[-1][0])
        whole = text + ("" if text.endswith("\n") else "\n") + (fence or "")
        if measure(whole) <= limit:
            return whole
    if measure(marker) > limit:
        marker = ""
    low, high = 0, len(text)
    # Find the last cut that fits with the marker; the close of a fence is added below.
    if measure is len:
        low = max(0, min(high, limit - len(marker)))
    else:
        # A small limit on a long text is found near its start, without measuring the rest.
        near = max(64, 4 * limit)
        while near < high and measure(text[:near] + marker) <= limit:
            low, near = near, 2 * near
        high = min(high, near)
        while low < high:
            middle = (low + high + 1) // 2
            if measure(text[:middle] + marker) <= limit:
                low = middle
            else:
                high = middle - 1
    room, step = low, 1
    while room > 0:
        for cut in _cuts(text, blocks, room):
            body = text[: _grapheme_floor(text, len(text[:cut].rstrip()))]
            result = body + _ending(body, blocks, marker)
            if measure(result) <= limit:
                return result
        # The ending took more than the marker: step back, twice as far each time.
        room -= step
        step *= 2
    return marker


def _cuts(text: str, blocks: tuple[markdown.Block, ...], room: int) -> list[int]:
    """Gives the places to cut at or before ``room``, the best first."""
    index = markdown.block_before(blocks, room)
    least = int(room * _MIN_SHARE)
    cuts: list[int] = []
    if index >= 0 and room < blocks[index][1]:
        start, end, kind = blocks[index]
        if kind == markdown.COMMENT:
            return [start] if start else [0]
        if kind in markdown.PROSE_KINDS:
            ends = [
                span[1]
                for span in markdown.sentences_of_block(text, start, end)
                if span[1] <= room
            ]
            cut = ends[-1] if ends else (blocks[index - 1][1] if index else 0)
        else:
            cut = text.rfind("\n", start, room + 1)
            if kind == markdown.FENCE and cut >= 0 and text.find("\n", start) == cut:
                # Of the fence only the opening line would be left.
                cut = start
        if cut > least:
            cuts.append(cut)
        if kind == markdown.FENCE and text.find("\n", start, room) < 0:
            return [*cuts, _word_floor(text, start)]
    elif index >= 0 and blocks[index][1] > least:
        cuts.append(blocks[index][1])
    cuts.append(_word_floor(text, room))
    # The caller steps back to the end of a grapheme.
    cuts.append(room)
    return cuts
