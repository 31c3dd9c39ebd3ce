"""What holds for the layout, the cleaning and the cutting of any text, and for what is done faster where a text allows it."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import orjson
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leftoff import codec
from leftoff.analysis import intents
from leftoff.extraction.requests import RULES, matches
from leftoff.extraction.rules import lowered
from leftoff.extraction.session_state import ContextOccupancy
from leftoff.redaction.redactor import redact
from leftoff.redaction.scanner import QuoteEnds, is_quiet, safe_quote_end
from leftoff.text.markdown import COMMENT, PROSE_KINDS, Layout, Span, blocks_of, sentences
from leftoff.text.sanitize import clean
from leftoff.text.truncation import one_line, short, truncate

# What holds for the layout, the cleaning and the cutting of any text.

# Pieces that build the shapes that matter far more often than random characters do.
_PIECES = st.sampled_from(
    [
        "```\n", "```py\n", "~~~\n", "````", "``", "`", "> ", "- ", "* ", "1. ", "2) ", "# ",
        "## ", "    ", "\t", "\n", "\n\n", "\r\n", " ", "  \n", ". ", ".", "? ", "! ", "... ",
        "\u2026 ", "e.g. ", "i.e. ", "etc. ", "v1.2 ", "foo.py ", "U.S. ", "No. 5 ", "(", ")",
        "[", "]", '"', "\u201c", "\u201d", "\u300c", "\u300d", "\u3002", "\uff01", "<!--",
        "-->", "a --- b\n", "Use it", "we will", "Then", "x", "7", "3.5", "https://a.b/c?d.e ",
        "\xe9", "e\u0301", "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea", "\u0600", "\u0301", "\ud55c\uad6d\uc5b4",
        "\u65e5\u672c", "\u200d", "\x1b[31m", "\x00", "\u202e", "\U000e0041", "===\n", "---\n",
        "***\n", "a|b\n", "|---|---\n", "| x | y |\n", "x|y",
    ]
)  # fmt: skip
_SHAPED = st.lists(_PIECES, max_size=40).map("".join)
_TEXTS = st.one_of(_SHAPED, st.text(max_size=80))

_MEASURES: dict[str, Callable[[str], int]] = {
    "characters": len,
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "words": lambda text: len(text.split()),
    "shrinking": lambda text: len(text) - 3 * text.count("\n"),
}
_MARKERS = ["...", "…", "", "\n\n[... truncated to fit budget ...]", " [cut]"]


def _is_increasing(spans: list[tuple[int, int]]) -> bool:
    ends = [0, *(place for span in spans for place in span)]
    return all(one <= two for one, two in pairwise(ends)) and all(
        start < end for start, end in spans
    )


def prose(text: str) -> list[Span]:
    return [(start, end) for start, end, kind in blocks_of(text)[0] if kind in PROSE_KINDS]


@given(_TEXTS)
def test_blocks_prose_and_sentences_are_disjoint_increasing_and_not_empty(text: str) -> None:
    blocks, _ = blocks_of(text)
    assert _is_increasing([(start, end) for start, end, _ in blocks])
    assert blocks == () or blocks[-1][1] <= len(text)
    assert _is_increasing(prose(text))
    assert _is_increasing(sentences(text))


@given(_TEXTS)
def test_sentences_cover_the_prose_and_only_that(text: str) -> None:
    kept: set[int] = set()
    for start, end in sentences(text):
        kept.update(range(start, end))
    for start, end in prose(text):
        for position in range(start, end):
            if not text[position].isspace():
                assert position in kept
            kept.discard(position)
    assert not kept


@given(_TEXTS)
def test_no_sentence_holds_a_blank_line(text: str) -> None:
    for start, end in sentences(text):
        assert not regex.search(r"\n[ \t]*\n", text[start:end])


@given(_TEXTS)
@example('a "b. c" d. e')
def test_sentence_at_agrees_with_sentences(text: str) -> None:
    spans = sentences(text)
    for position in range(len(text) + 1):
        expected = [span for span in spans if span[0] <= position < span[1]]
        assert Layout(text).sentence_at(position) == (*expected, (position, position))[0]


@given(_TEXTS)
def test_code_and_prose_are_apart_but_for_inline_code(text: str) -> None:
    spans, layout = prose(text), Layout(text)
    for position in range(len(text)):
        if layout.in_code(position) and any(start <= position < end for start, end in spans):
            block = next(span for span in spans if span[0] <= position < span[1])
            assert "`" in text[block[0] : position + 1]


def graphemes(text: str) -> set[int]:
    """The ends of the clusters of Unicode, and the beginning."""
    return {0, *(match.end() for match in regex.finditer(r"\X", text))}


@given(_TEXTS)
def test_cleaning_leaves_nothing_that_acts_on_a_terminal_and_is_done_once(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not regex.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]", cleaned
    )
    cleaned.encode("utf-8")


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=60))
def test_cleaning_keeps_letters_digits_and_signs(text: str) -> None:
    assert clean(text) == text


@given(_TEXTS, st.integers(-1, 60), st.sampled_from(["…", "...", ""]))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int, marker: str) -> None:
    line = one_line(text, limit, marker)
    assert len(line) <= max(0, limit)
    assert len(line.splitlines()) <= 1
    assert line == clean(line)
    whole = " ".join(clean(text).split())
    if len(whole) <= limit:
        assert line == whole
    else:
        body = line.removesuffix(marker) if limit > len(marker) else line
        assert whole.startswith(body)
        assert len(body.rstrip()) in graphemes(whole)


@given(_TEXTS)
def test_short_is_at_most_a_hundred_code_points(text: str) -> None:
    assert len(short(text * 3)) <= 100


@settings(max_examples=200)
@given(
    _TEXTS, st.integers(-2, 120), st.sampled_from(sorted(_MEASURES)), st.sampled_from(_MARKERS)
)
def test_truncation_fits_and_leaves_nothing_split_or_open(
    text: str, limit: int, measure: str, marker: str
) -> None:
    count = _MEASURES[measure]
    result = truncate(text, limit, measure=count, marker=marker)
    if limit >= 0 or result:
        assert count(result) <= limit or result == ""
    assert not blocks_of(result)[1], "a fence is left open"
    if result == text:
        return
    if count(text) <= limit:
        assert blocks_of(text)[1], "what fits is changed only to close its fence"
    comments = [span for span in blocks_of(text)[0] if span[2] == COMMENT]
    assert any(
        keep in graphemes(text) and not any(start < keep < end for start, end, _ in comments)
        for keep in _kept(text, result, marker)
    )


def _kept(text: str, result: str, marker: str) -> list[int]:
    """Gives the lengths of the parts of the text that, ended, would be the result."""
    ending = regex.compile(
        r"(?:\n?[ \t]*(?:`{3,}|~{3,})\n?)?[ \n]?(?:" + regex.escape(marker) + ")?"
    )
    return [
        keep
        for keep in range(min(len(text), len(result)) + 1)
        if result[:keep] == text[:keep] and ending.fullmatch(result, keep)
    ]


@given(_SHAPED, st.integers(0, 100))
def test_truncation_of_prose_keeps_at_least_half_of_what_fits(text: str, limit: int) -> None:
    words = " ".join(text.replace("`", "").replace("~", "").replace("<", "").split())
    result = truncate(words, limit, marker="")
    assert result == words or len(result) >= min(limit, len(words)) // 2 - 25


# What is done faster where a text allows it comes to what the long way does.

WORDS = st.sampled_from(
    "Fix the tests, please\nreview Commit it 1 ok. why? does not work push a PR plan yes x_y"
    " pytest ./test_a.py jest.exe my-lint /bin/go éjest check never mind do not use $(tsc)"
    " continue again | && ; cat git log diff \x0b \x1c ’ — ſ İ".split(" ")
)
TEXTS = st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=60)


@given(TEXTS)
def test_the_automaton_of_intents_is_its_patterns(text: str) -> None:
    long_way = {
        name
        for name, pattern in intents._PATTERNS.items()
        if re.search(pattern, text, re.IGNORECASE | re.MULTILINE)
    }
    assert intents._found(text) == long_way


@pytest.mark.parametrize("topic", sorted(RULES))
@given(text=TEXTS)
def test_an_anchored_rule_is_tried_at_the_beginning_alone(topic: str, text: str) -> None:
    long_way = any(
        re.search(rule.exact, lowered(text) if rule.ignore_case else text)
        for rule in RULES[topic]
    )
    assert matches(topic, text) == long_way


@given(
    st.lists(st.sampled_from(["passed", "token=" + "aB3" * 9, "ok \n", "x" * 30]), max_size=9)
)
def test_quotations_of_one_text_end_where_each_alone_would(parts: list[str]) -> None:
    text = "\n".join(parts)
    ends = QuoteEnds(text)
    for start in range(0, len(text), 7):
        end = min(len(text), start + 40)
        assert ends.end(start, end) == safe_quote_end(text, start, end)
    if is_quiet(text):
        assert redact(text)[0] == text


@given(st.lists(st.text(), max_size=5))
def test_packed_texts_have_the_same_estimate(texts: list[str]) -> None:
    plain, packed = ContextOccupancy(texts=list(texts)), ContextOccupancy(texts=list(texts))
    packed.pack_texts()
    assert packed.estimate_texts() == plain.estimate_texts()
    assert not packed.texts


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
PIECES = st.sampled_from(
    '{ } [ ] , : "a" "\\ud83d\\ude00" "\\ud800" -0 -0.0 1e5 01 1. NaN -Infinity 9223372036854775808'
    ' 1.7976931348623159e308 0.1 123456789012345678901 "\x7f" "\t" \ufeff null true'.split(" ")
)


@given(VALUES.map(json.dumps) | st.lists(PIECES).map("".join))
def test_a_hook_reads_json_as_orjson_does(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    with suppress(ValueError, RecursionError):
        read = codec._loads_plain(data)
        assert repr(read) == repr(orjson.loads(data))


@given(VALUES)
def test_a_hook_writes_json_as_orjson_does(value: object) -> None:
    if codec._is_plain(value):
        assert codec._dumps_plain(value) == codec.dumps(value)
