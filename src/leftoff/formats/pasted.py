"""Transcripts of another agent's terminal that a person pasted into a prompt.

Terminal clients draw their steps with bullets and corners (`• Ran ls`, `⎿ 12 files`). Between
the first and the last of such lines stand another agent's words, its tools' output and prompts
typed elsewhere; none of it was typed here."""

from __future__ import annotations

from leftoff import lazy_re as re

_BULLET = re.compile(r"[•⏺●✻✶❯›] \S")
_CORNER = re.compile(r"\s{0,8}[⎿└][ \xa0]{0,2}\S")
_RULE = re.compile(r"[─━]{20,}")
# A longer prompt is not searched line by line past this many characters.
MOST = 200_000


def transcript_span(text: str) -> tuple[int, int] | None:
    """Where a pasted transcript begins and ends in a text; None if it holds none.

    A transcript has at least two bullets and a corner between its first and last line, which
    lists that people write by hand lack. It goes on over indented and blank lines after the
    last mark, and begins earlier if indented paragraphs stand before the first one."""
    if "⎿" not in text and "└" not in text:
        return None
    lines = text[:MOST].splitlines(keepends=True)
    marks = [i for i, line in enumerate(lines) if _BULLET.match(line) or _CORNER.match(line)]
    bullets = [i for i in marks if _BULLET.match(lines[i])]
    if len(bullets) < 2 or len(marks) == len(bullets):
        return None
    first, last = marks[0], marks[-1]
    while first and _continues(lines[first - 1]):
        first -= 1
    while first < marks[0] and not lines[first].strip():
        first += 1
    last += 1
    while last < len(lines) and (_continues(lines[last]) or _RULE.match(lines[last])):
        last += 1
    if last == len(lines) and len(text) > MOST:
        return sum(map(len, lines[:first])), len(text)
    return sum(map(len, lines[:first])), sum(map(len, lines[:last]))


def _continues(line: str) -> bool:
    return not line.strip() or line[:1] in " \t"
