"""The line of a failed call's output that says what went wrong."""

from collections.abc import Iterator

from leftoff import lazy_re as re
from leftoff.extraction.rules import Rule, lowered, rules

ERROR_RULES: tuple[Rule, ...] = rules("errors")
# The weightiest first.
_TELLS, _SKIP = (
    sorted((rule for rule in ERROR_RULES if rule.topic == topic), key=lambda rule: -rule.weight)
    for topic in ("tells", "skip")
)

# Code points at either end of an output that are looked at. Chosen by hand; not measured.
HEAD, TAIL = 8000, 4000

# Code points; a longer line is data or minified code, unless it is the only one.
MAX_LINE = 600

# A line of source in a traceback may hold the words of an error without reporting one.
_CODE = re.compile(
    r"[;{}]\s*$|^\s*(?:const|let|var|def|class|return|import|from|if|for)\b|=>|\);"
)
_MESSAGE = re.compile(r"[\w./-]+: \S")
_OPENING = re.compile(r"(?:<[\w-]+>\s*)+")
_CLOSING = re.compile(r"(?:\s*</[\w-]+>)+$")


def telling_line(text: str, *, first: bool = False) -> tuple[int, int]:
    """Start and end of that line; the last line with words if none stands out, (0, 0) if there
    is nothing but blanks and tags.

    Args:
        first: the tool itself refused, and its first line says why: what follows may quote
            the file."""
    best: tuple[float, int, int] | None = None
    fallback: tuple[int, int] | None = None
    for start, end in _lines(text):
        line = text[start:end]
        low = lowered(line)
        weight, last = _weight(line, low, best[0] if best else 0.0)
        # Once a line stands out, only one that says as much is looked at further.
        if best and weight < best[0] or _first(_SKIP, line, low) is not None:
            continue
        if first and (weight > 0 or not line.endswith(":")):
            return start, end
        fallback = (start, end) if end - start <= MAX_LINE or fallback is None else fallback
        if weight and (best is None or weight > best[0] or (last and weight == best[0])):
            best = (weight, start, end)
    if best is not None:
        return best[1:]
    if fallback is not None:
        return fallback
    lines = list(_lines(text))
    worded = [span for span in lines if re.search(r"\w", text[slice(*span)])]
    return (worded or lines or [(0, 0)])[-1]


def is_frame(line: str) -> bool:
    """Whether a line of an output says by itself nothing of what went wrong."""
    return _first(_SKIP, line, lowered(line)) is not None


def stands_out(line: str) -> bool:
    """Whether a line of an output says by itself that something went wrong, or is a message of
    a program."""
    return _weight(line, lowered(line), 0.0)[0] > 0 or _MESSAGE.match(line) is not None


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """The lines of both ends of the text, without blanks and the tags around them."""
    ends = [(0, min(len(text), HEAD))]
    if len(text) > HEAD:
        ends.append((max(HEAD, len(text) - TAIL), len(text)))
    for begin, stop in ends:
        at = begin
        while at < stop:
            end = text.find("\n", at, stop)
            end = end if end >= 0 else stop
            start = at + len(text[at:end]) - len(text[at:end].lstrip())
            last = start + len(text[start:end].rstrip())
            opening = _OPENING.match(text, start, last)
            start = opening.end() if opening else start
            closing = _CLOSING.search(text[start:last])
            last -= len(closing[0]) if closing else 0
            if start < last:
                yield start, last
            at = end + 1


def _first(rules: list[Rule], line: str, low: str, least: float = 0.0) -> Rule | None:
    """The weightiest of these rules that matches a line, if it has at least a weight; `low`:
    the line in lower case."""
    for rule in rules:
        if rule.weight < least:
            return None
        if rule.finder(low if rule.ignore_case else line) is not None:
            return rule
    return None


def _weight(line: str, low: str, least: float = 0.0) -> tuple[float, bool]:
    """How much a line says, and whether the last of its kind counts; 0 if it says less than
    `least`."""
    if len(line) > MAX_LINE:
        return 0.0, False
    found = _first(_TELLS, line, low, least)
    if found is None:
        return 0.0, False
    # Quoted code and lines that only introduce what follows say less.
    less = (found.weight < 0.9 and _CODE.search(line) is not None) or line.endswith(":")
    return found.weight - 0.4 * less, found.value == "last"
