"""Sanitises text for output: removes terminal codes, control and invisible characters.

This module is the one place that says what never reaches a reader. `leftoff.redaction` judges
text without exactly these characters (`cleaned_view`, `bare_view`), so that no secret can be
put together by the removal: what is shown is what was judged."""

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from leftoff import lazy_re as re

_CSI: Final = r"[0-?]*+[ -/]*+[@-~]?"
_PAYLOAD: Final = r"[^\x07\x1b\x90\x98\x9c-\x9f\n]*+(?:\x07|\x1b\\|\x9c)"
_WORD: Final = r"A-Za-z0-9_+/.~="
# In a word a control character takes no letter with it: the letter is the word's. A payload
# ends with its terminator; without one it is text.
_SEQUENCE: Final = (
    rf"(?:(?<=\x1b)(?:\[{_CSI}|[\]PX^_]{_PAYLOAD}|[#%()*][0-~]?|[=>]"
    rf"|(?<![{_WORD}-]\x1b)[ -/]*+[0-~]?)?"
    rf"|(?<=\x9b)(?:[0-9;]+[mKhl]|(?<![{_WORD}-]\x9b){_CSI})?"
    rf"|(?<=[\x90\x98\x9d-\x9f])(?:{_PAYLOAD})?)"
)
_OTHER_ESCAPE = re.compile(r"\x1b(?!\[)|[\x90\x98\x9b\x9d-\x9f]")

# Characters that reorder or hide, as the inside of a class: every character of category Cf
# without a shape of its own but U+200C and U+200D (needed by emoji and by Indic and Persian
# spelling), and the blocks of tags and supplementary selectors, which can carry hidden text.
FORMAT_MARKS: Final = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)

# Those, and what has no shape but may stay, as the inside of a class.
INVISIBLE: Final = FORMAT_MARKS + (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f"
)

# Letters that redaction reads as the ASCII letters that they look like.
LOOK_ALIKES: Final = "АВЕКМНОРСТХаеорсухѕіјԁһΑΒΕΖΗΙΚΜΝΟΡΤΥΧο\u212a\u017f"

# Control characters but newline and tab; line and paragraph separator; format marks; halves of
# surrogate pairs.
UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{FORMAT_MARKS}]")
_BREAKS: Final = "\r\x0b\x0c\x85\u2028\u2029"
_LINE_BREAKS = re.compile(f"[{_BREAKS}]")


_CONTROLS: Final = bytes({*range(9), *range(11, 32), 127})


def has_unsafe(text: str) -> bool:
    """Whether `clean` would change the text; far faster than `UNSAFE` where it is ASCII."""
    if len(text) > 2 * _STRETCH and not text.isascii():
        return any(has_unsafe(text[at : at + _STRETCH]) for at in range(0, len(text), _STRETCH))
    if text.isascii():
        return len(text.encode().translate(None, _CONTROLS)) != len(text)
    if len(text) < 512:  # too short to load the automaton for
        return UNSAFE.search(text) is not None
    try:
        return bool(_unsafe_automaton()(text.encode()))
    except UnicodeEncodeError:  # half of a surrogate pair
        return True


@cache
def _unsafe_automaton() -> Callable[[bytes], list[int] | None]:
    return re.automaton([f"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x{{9f}}\u2028\u2029{FORMAT_MARKS}]"])


# Characters looked at together where not all is ASCII; most stretches are. Chosen by hand.
_STRETCH: Final = 8_192


def clean(text: str) -> str:
    """Makes text safe to show in a terminal or to put in a document.

    Terminal escape sequences, control characters other than newline and tab, marks that
    reorder text, tag characters and other invisible characters are removed; a lone surrogate
    becomes U+FFFD. Every line break becomes a newline, but one other than LF and CR LF that
    stands in a long word is removed, and no letter of a word is: a credential with something
    unseen in it is whole afterwards, so that redaction knows it before and after cleaning. The
    function is idempotent."""
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return cleaned_view(text).text if has_unsafe(text) else text


class View(NamedTuple):
    """A text without some of its characters, and where the rest of them stood."""

    text: str
    starts: list[int]
    """Offsets in `text` at which a stretch begins that stands together in the original."""
    shifts: list[int]
    """How much is added to an offset in such a stretch, for its offset in the original."""
    ends: dict[int, int]
    """Offsets of characters that were put in place of a span, and its end in the original."""
    inner: "View | None" = None
    """The view of the original that this is a view of; None: it is one of the original."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the original of a span of `text` that is not empty."""
        start, end = self._at(start), self.ends.get(end - 1) or self._at(end - 1) + 1
        return (start, end) if self.inner is None else self.inner.original(start, end)

    def _at(self, offset: int) -> int:
        return offset + self.shifts[bisect_right(self.starts, offset) - 1]


def without(text: str, spans: list[tuple[int, int, str]]) -> View:
    """Gives the text with each span (start, end, new text; in order, disjoint) replaced."""
    parts: list[str] = []
    starts, shifts, ends = [0], [0], {}
    at = size = 0
    for start, end, new in spans:
        parts += (text[at:start], new)
        size += start - at + len(new)
        at = end
        if new:
            ends[size - 1] = end
        starts.append(size)
        shifts.append(end - size)
    parts.append(text[at:])
    return View("".join(parts), starts, shifts, ends)


# It begins with a class, by which `re` finds the next place fast. Escape sequences within a
# line break do not make it two.
_ALL = re.compile(
    rf"{UNSAFE.pattern}(?:(?<=[\x1b\x90\x98\x9b\x9d-\x9f]){_SEQUENCE}"
    rf"|(?<=\r)(?:[\x1b\x90\x98\x9b\x9d-\x9f]{_SEQUENCE})*+\n?|(?<![\x1b\x90\x98\x9b\x9d-\x9f\r]))"
)
_BARE = re.compile(rf"{UNSAFE.pattern}(?:(?<=\x1b)\[{_CSI})?")

# Characters of a word in which a stray line break is removed. No credential that redaction
# knows by its letters is shorter; chosen by hand, not measured.
_LONG_WORD: Final = 16
_BEFORE = re.compile(rf"[{_WORD}\r-]*\Z")
_AFTER = re.compile(rf"[{_WORD}\r-]*")


def _shown(found: str) -> str:
    """What a match of `_ALL` becomes: a line break other than newline is a CR for now."""
    if found[0] in _BREAKS:
        return "\n" if found[-1] == "\n" else "\r"
    return "\ufffd" if "\ud800" <= found[0] <= "\udfff" else ""


def _in_long_word(text: str, at: int, end: int) -> bool:
    """Whether the stray line break between two places stands in a long word."""
    before = _BEFORE.search(text[max(0, at - 40) : at])
    after = _AFTER.match(text, end, end + 40)
    if before is None or after is None or not before[0] or not after[0]:
        return False
    word = (before[0] + after[0]).replace("\r", "")
    drawn = any(c.isdecimal() for c in word) or word != word.lower()
    return len(word) >= _LONG_WORD and drawn and not word.isdecimal()


def cleaned_view(text: str) -> View:
    """Gives `clean(text)`, with the place in `text` of every character of it."""
    view = without(text, [(*m.span(), _shown(m.group())) for m in _ALL.finditer(text)])
    if "\r" not in view.text:
        return view
    breaks = [
        (*m.span(), "" if _in_long_word(view.text, *m.span()) else "\n")
        for m in re.finditer("\r", view.text)
    ]
    return without(view.text, breaks)._replace(inner=view)


def bare_view(text: str) -> View | None:
    """Gives the text without sequences of ESC and "[", and without any other unsafe character,
    but with what `clean` takes for the payload of another sequence.

    A lone escape character in a word makes a terminal swallow what follows; in a file it is
    still there. Line breaks other than a newline are removed, too. None if the result is that
    of `cleaned_view`."""
    if _OTHER_ESCAPE.search(text) is None and _LINE_BREAKS.search(text) is None:
        return None
    return without(text, [(*m.span(), "") for m in _BARE.finditer(text)])
