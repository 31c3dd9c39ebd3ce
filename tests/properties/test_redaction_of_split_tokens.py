"""No secret is shown because something unseen stood in it.

Redaction once judged the raw text, and cleaning joined the halves afterwards: what `grep
--color` or `jq -C` wrote into a session showed a whole key. A separator of every sort is put
into a token of several kinds; `test_redaction_of_every_way_out.py` does it in whole sessions.
"""

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.redaction.redactor import Redactor
from leftoff.text.sanitize import bare_view, clean, cleaned_view

CHANCE = random.Random(11)
ALNUM = string.ascii_letters + string.digits


def drawn(size: int, letters: str = ALNUM) -> str:
    return "".join(CHANCE.choices(letters, k=size))


KINDS = {
    "aws": "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567"),
    "github": "gh" + "p_" + drawn(36),
    "anthropic": "sk-" + "ant-api03-" + drawn(93) + "AA",
    "slack": "xo" + f"xb-{drawn(12, string.digits)}-{drawn(12, string.digits)}-{drawn(24)}",
    "stripe": "sk" + "_live_" + drawn(24),
    "google": "AI" + "za" + drawn(35),
}
CONTROLS = [chr(c) for c in (*range(0x20), *range(0x7F, 0xA0)) if chr(c) not in "\t\n"]
SEQUENCES = [
    "\x1b[0m", "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K", "\x1b[38;5;208m", "\x1b[1;2H", "\x9b31m",
    "\x1b]8;;https://a.example\x1b\\", "\x1b]8;;\x07", "\x1b]0;title\x07", "\x1b(B", "\x1b=",
]  # fmt: skip
UNSEEN = [
    "\u00ad", "\u034f", "\u061c", "\u115f", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e",
    "\u200f", "\u202a", "\u202e", "\u2060", "\u2066", "\u206f", "\u3164", "\ufe0f",
    "\ufeff", "\ufff9", "\U000e0041", "\U000e0100", "\U0001d173",
]  # fmt: skip
SPELT = [
    "\\u001b[0m", "\\u001B[01;31m\\u001b[K", "\\x1b[0m", "\\033[0m", "\\e[0m", "\\\\u001b[0m",
    "\\u200b", "\\u00ad", "\\u0000", "\\u202e", "\\x00", "\\udb40\\udc41", "\\u{200b}",
    "%E2%80%8B", "%1B[0m", "%C2%AD", "&shy;", "&ZeroWidthSpace;", "&#8203;", "&#x200b;",
]  # fmt: skip
PARTS = [
    "\\\n", "\\\r\n", "\\\n    ", '" + "', "' + '", '" "', "' '", '" . "', '" ..  "', '" +\n    "',
    '"\n    "', '"\n    + "', '\\" + \\"', "\\\\\\n",
]  # fmt: skip
SEPARATORS = [*CONTROLS, *SEQUENCES, *UNSEEN, *SPELT, *PARTS]


def pieces_shown(secret: str, shown: str) -> list[str]:
    """Pieces of the random part of a secret that can be read in a text."""
    tail = secret[-16:]
    return [p for p in (secret, tail[:8], tail[8:], secret[8:16]) if p in shown]


@pytest.mark.parametrize("secret", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("separator", SEPARATORS, ids=ascii)
def test_a_separator_in_a_token_hides_nothing(separator: str, secret: str) -> None:
    quote = '"' if '"' in separator else "'" if "'" in separator else ""
    quote = "\\" * ("\\" in separator) + quote if quote else ""
    for at in (7, len(secret) // 2, len(secret) - 9):
        given = f"Use {quote}{secret[:at]}{separator}{secret[at:]}{quote} for the upload."
        shown = clean(Redactor().text(given))
        assert pieces_shown(secret, shown) == [], (given, shown)
        # A line break stays one, and an escape alone swallows a letter: no whole key is left.
        assert secret not in Redactor().text(clean(given))
        assert shown.startswith("Use ")
        assert shown.endswith(" for the upload.")


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("end", ["\\\n", "\\\r\n", "\\\n  "])
def test_the_hyphen_of_a_key_at_the_beginning_of_a_line_is_no_mark_of_a_diff(
    end: str, folded: bool
) -> None:
    """It was taken for one and left out, so that the key was none any more."""
    shown = f"/srv/{'gl'}pat{end}-lMpyaqKFbFdI76mHEaYC.py"
    given = " ".join(shown.split()) if folded else shown
    assert "lMpyaqKF" not in Redactor().text(given)
    diff = f"-curl {'gl'}pat-lMpyaqK\\\n-FbFdI76mHEaYC\n"
    assert "FbFdI76m" not in Redactor().text(diff)


@pytest.mark.parametrize("column", [40, 64, 76])
@pytest.mark.parametrize("secret", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n"])
def test_a_token_wrapped_at_a_column_is_one(secret: str, column: int, end: str) -> None:
    """`fold -w 40` breaks a key wherever it stands; its head stands on the first line."""
    head = "x" * (column - 21) + " the key: "
    line = head + secret
    given = end.join(line[i : i + column] for i in range(0, len(line), column))
    shown = Redactor().text(given + end + "and more")
    assert pieces_shown(secret, shown) == [], shown
    assert shown.endswith(f"{end}and more")


_HOSTILE = st.lists(
    st.sampled_from(
        [*CONTROLS, *SEQUENCES, *UNSEEN, *KINDS.values(), "\x1b[", "m", " ", "a", "\n", "%41",
         "\\", "password=", "xK9v2QpLm3", "&amp;", *(k[:9] for k in KINDS.values()),
         *(k[9:] for k in KINDS.values())]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(_HOSTILE)
@settings(max_examples=150, deadline=None)
def test_cleaning_redacted_text_makes_no_secret(text: str) -> None:
    """What is shown is what was judged: cleaning after redaction joins nothing that redaction
    of the clean text would replace."""
    shown = clean(Redactor().text(text))
    again = Redactor()
    again.text(shown)
    assert again.counts.keys() <= {"password"}, shown


@given(_HOSTILE)
@settings(max_examples=150, deadline=None)
def test_views_map_every_character_to_its_place(text: str) -> None:
    assert cleaned_view(text).text == clean(text)
    for view in (cleaned_view(text), bare_view(text)):
        after = 0
        for i, letter in enumerate(view.text if view else ""):
            start, end = view.original(i, i + 1)  # type: ignore[union-attr]
            assert after <= start < end <= len(text)
            assert text[start] == letter or letter in "\n\ufffd"
            after = end
