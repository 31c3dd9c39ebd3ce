"""The layout, the cleaning and the cutting of text, by example."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from leftoff.text import clean, in_code, prose, sentence_at, sentences
from leftoff.text.truncation import graphemes, one_line, short, truncate, whole

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]


def _told(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        (" \n\n ", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Use v1.2 now. It fixes 3.5 bugs.", ["Use v1.2 now.", "It fixes 3.5 bugs."]),
        ("Edit foo.py. Then run it.", ["Edit foo.py.", "Then run it."]),
        ("Fixed. foo.py passes.", ["Fixed.", "foo.py passes."]),
        ("Try e.g. Redis or i.e. a store.", ["Try e.g. Redis or i.e. a store."]),
        ("Logs, caches, etc. are kept. Good.", ["Logs, caches, etc. are kept.", "Good."]),
        ("Logs, caches, etc. We keep them.", ["Logs, caches, etc.", "We keep them."]),
        ("See No. 5 of the list. Done.", ["See No. 5 of the list.", "Done."]),
        ("Is it? no. Then stop.", ["Is it?", "no.", "Then stop."]),
        ("Open https://a.example/b.c?d=e. Then read.", None),
        ("Run `a. B` twice. Stop.", ["Run `a. B` twice.", "Stop."]),
        ("Run ``a ` b. C`` twice. Stop.", ["Run ``a ` b. C`` twice.", "Stop."]),
        ("It works (I tried. Twice.) now. Good.", ["It works (I tried. Twice.) now.", "Good."]),
        ("It works. (I tried it.) Good.", ["It works.", "(I tried it.)", "Good."]),
        ('He said "Stop. Now." and left. Good.', ['He said "Stop. Now." and left.', "Good."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("wait... what? ok", ["wait... what?", "ok"]),
        ("Wait... Then we go.", ["Wait...", "Then we go."]),
        ("ok looks good. now do the next", ["ok looks good.", "now do the next"]),
        ("Copy it to . and run cd .. && make", ["Copy it to . and run cd .. && make"]),
        ("**Done.** Next step.", ["**Done.**", "Next step."]),
        ("これは文です。次の文！「はい。そう」と言った。", None),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str] | None) -> None:
    if expected is None:
        expected = {
            "O": ["Open https://a.example/b.c?d=e.", "Then read."],
            "こ": ["これは文です。", "次の文！", "「はい。そう」と言った。"],
        }[text[0]]
    assert _told(text) == expected


def test_items_headings_and_paragraphs_are_apart() -> None:
    text = (
        "# The plan\nWe start here:\n- first item\n- second item\n  goes on\n  1. inner\n"
        "- [ ] a task\n\nAfter the list.\n\nUnderlined\n==========\nText."
    )
    assert _told(text) == [
        "The plan",
        "We start here:",
        "first item",
        "second item\n  goes on",
        "inner",
        "a task",
        "After the list.",
        "Underlined",
        "Text.",
    ]


def test_a_wrapped_line_goes_on_and_a_short_line_ends() -> None:
    wrapped = "This line is long enough that an editor will have wrapped it\nHere it goes on."
    assert _told(wrapped) == [wrapped]
    assert _told("Fixed the parser\nAdded a test") == ["Fixed the parser", "Added a test"]
    assert _told("fixed the parser\nand added a test") == ["fixed the parser\nand added a test"]


@pytest.mark.parametrize(
    "quoted",
    [
        "```py\nx = 1. # A\n```",
        "```\nnever closed. A",
        "~~~\na. B\n```\nc. D\n~~~",
        "````\n```\na. B\n```\n````",
        "    indented = code. B",
        "> quoted. Words\n> more",
        "<!-- hidden. Words\n\nover lines -->",
    ],
)
def test_code_quotes_and_comments_are_no_prose_and_count_as_code(quoted: str) -> None:
    text = f"Before it.\n\n{quoted}"
    assert _told(text) == ["Before it."]
    at = text.index(quoted)
    inner = text.index("=" if "=" in quoted else ". ", at)
    assert in_code(text, inner)
    assert not in_code(text, 2)
    assert sentence_at(text, inner) == (inner, inner)


def test_tables_are_no_prose_and_no_code() -> None:
    piped = "| a. B | c |\n|---|---|\n| d. E | f |"
    text = f"Before.\n\n{piped}\n\nname | size\n---|---\nx | 2\n\nAfter."
    assert _told(text) == ["Before.", "After."]
    assert not in_code(text, text.index("a. B"))


def test_a_fence_may_open_on_the_line_of_an_item() -> None:
    assert _told("- ```sh\n  rm x. Y\n  ```\n- next") == ["next"]


def test_an_item_goes_on_after_a_blank_line_but_holds_code_when_deep() -> None:
    assert _told("1. first\n\n   goes on\n\n2. second") == ["first", "goes on", "second"]
    assert _told("1. first\n\n    goes on. So") == ["first", "goes on.", "So"]
    assert _told("- first\n\n        code = 1. B\n\nend") == ["first", "end"]
    assert _told("- first\n\nText.\n\n    code = 1. B") == ["first", "Text."]


def test_what_follows_a_fence_is_no_code() -> None:
    text = "```\ncode\n```\n\nplain"
    assert in_code(text, text.index("code"))
    assert not in_code(text, text.index("\n\nplain") + 1)


def test_inline_code_counts_as_code() -> None:
    text = "Use `run.sh` here."
    assert in_code(text, text.index("run"))
    assert not in_code(text, text.index("here"))
    assert not in_code("A lone ` is nothing", 10)


def test_prose_gives_text_without_markers() -> None:
    text = "## Head\n\n- item `x`\n\n```\ncode\n```\nplain"
    assert [text[start:end] for start, end in prose(text)] == ["Head", "item `x`", "plain"]


def test_sentences_of_a_range_are_whole() -> None:
    text = "One here. Two here. Three here."
    assert sentences(text, 12, 13) == [(10, 19)]
    assert sentences(text, 12, 12) == []


@pytest.mark.parametrize(
    "dirty, expected",
    [
        ("plain\n\ttext é 日本 👩‍👩‍👧", None),
        ("\x1b[31mred\x1b[0m and \x1b[1;2Hmoved", "red and moved"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred \x90payload\x9cshown", "red shown"),
        ("a\x00b\x08c\x7fd\x85e", "abcd\ne"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("safe\u202egnp.exe\u2066x\u2069", "safegnp.exex"),
        ("hid\U000e0068\U000e0069den\u200b\ufeff", "hidden"),
        ("lone \ud83d half", "lone \ufffd half"),
    ],
)
def test_cleaning_removes_what_acts_or_hides(dirty: str, expected: str | None) -> None:
    assert clean(dirty) == (dirty if expected is None else expected)


def test_graphemes_keep_families_flags_and_accents_whole() -> None:
    assert graphemes("ae\u0301👩‍👩‍👧🇫🇷\r\nz") == [1, 3, 8, 10, 12, 13]
    assert graphemes("abc") == [1, 2, 3]
    assert graphemes("") == []


def test_one_line_folds_cuts_and_cleans() -> None:
    assert one_line("  a\n\n b\tc ", 20) == "a b c"
    assert one_line("the quick brown fox", 12) == "the quick…"
    assert one_line("the quick brown fox", 2) == "t…"
    assert one_line("the quick", 0) == ""
    assert one_line("👩‍👩‍👧👩‍👩‍👧", 7) == "👩‍👩‍👧…"
    assert one_line("\x1b[31m" * 1000 + "red", 10) == "red"
    assert one_line("word " * 100_000, 14) == "word word…"


def test_short_is_for_requests() -> None:
    assert short("Please fix the parser") == "Please fix the parser"
    long = short("Please fix the parser and then " * 9)
    assert len(long) <= 100
    assert long.endswith((" the...", "..."))


@pytest.mark.parametrize(
    "text, limit, expected",
    [
        ("Short.", 10, "Short."),
        ("First one. Second one. Third", 24, "First one. Second..."),
        ("First one. Second one. Third", 27, "First one. Second one. ..."),
        ("one two three four", 12, "one two..."),
        ("abcdefghijklmnop", 10, "abcdefg..."),
        ("ab\u0600 cdefgh", 7, "ab..."),
        ("abcdef", 3, "..."),
        ("abcdef", 2, "ab"),
        ("abcdef", 0, ""),
        ("👩‍👩‍👧👩‍👩‍👧", 8, "👩‍👩‍👧..."),
        ("# Head\n\nSome words here.\n\n- an item. And more", 36, None),
    ],
)
def test_truncation_cuts_at_sentence_word_or_grapheme(
    text: str, limit: int, expected: str | None
) -> None:
    result = truncate(text, limit)
    assert len(result) <= limit
    if expected is not None:
        assert result == expected
    else:
        assert result == "# Head\n\nSome words here. ..."


def test_truncation_closes_a_fence_before_its_marker() -> None:
    text = "Look:\n\n```py\n" + "value = 1\n" * 20 + "```\nEnd."
    result = truncate(text, 80)
    assert len(result) <= 80
    assert result.endswith("value = 1\n```\n...")
    tilde = truncate("~~~~\n" + "value = 1\n" * 20 + "~~~~\n", 60, marker="\n\n[cut]")
    assert tilde.endswith("value = 1\n~~~~\n\n[cut]")


def test_truncation_does_not_keep_an_empty_fence_or_open_a_comment() -> None:
    text = "A first sentence here.\n\n```python\nvalue = 1\n```\n"
    assert truncate(text, 36) == "A first sentence here. ..."
    hidden = "A first sentence here.\n\n<!-- hidden words that go on and on -->\n\nEnd."
    assert truncate(hidden, 50) == "A first sentence here. ..."


def test_truncation_does_not_keep_part_of_the_line_that_opens_a_fence() -> None:
    text = "Hi.\n\n```python a-long-word-of-info another-word\nvalue = 1\n```\n"
    assert truncate(text, 34) == "Hi. ..."


def test_truncation_closes_a_fence_that_the_cut_made() -> None:
    assert truncate("- ```some code here``` and more", 22) == "- ```some code\n```\n..."
    assert truncate("```some code here``` and more", 20) == "```some code\n```\n..."


def test_truncation_closes_a_fence_that_the_text_left_open() -> None:
    assert truncate("```\ncode", 100) == "```\ncode\n```"
    assert truncate("```\ncode\n", 100) == "```\ncode\n```"


def test_truncation_measures_what_it_is_told_to() -> None:
    def count(text: str) -> int:
        return len(text.encode())

    text = "日本語の文です。次の文です。" * 20
    result = truncate(text, 100, measure=count, marker="…")
    assert count(result) <= 100
    assert count(result) > 50
    assert result.endswith(("。…", "。 …"))


@pytest.mark.parametrize(
    "piece",
    [
        "`",
        "`a",
        "(",
        "<!-- ",
        "a. ",
        '"a ',
        "> ",
        "- ",
        " ",
        "\n    x",
        "```\n",
        "| a |\n",
        "--- | ",
        "x",
        "\u0301",
        "\x1b[",
        "\x1b]",
        "1.",
    ],
    ids=repr,
)
def test_hostile_text_takes_time_linear_in_its_length(
    piece: str, assert_linear: Linear
) -> None:
    def work(hostile: str) -> None:
        for start, _ in sentences(hostile)[:50]:
            sentence_at(hostile, start)
            in_code(hostile, start)
        clean(hostile)
        one_line(hostile, 100)
        truncate(hostile, len(hostile) // 2)

    def prepare(size: int) -> Callable[[], object]:
        hostile = piece * (size // len(piece))
        return lambda: work(hostile)

    assert_linear(prepare, 120_000)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 10, "short"),
        ("the key is AKIAIOSFODNN7EXAMPLE", 20, "the key is"),
        ("the key is AKIAIOSFODNN7EXAMPLE and", 31, "the key is AKIAIOSFODNN7EXAMPLE"),
        ("AKIAIOSFODNN7EXAMPLE", 10, ""),
        ("設定を変えました。次に進みます", 5, "設定を変え"),
        ("値はAKIAIOSFODNN7EXAMPLE", 9, "値は"),
    ],
)
def test_raw_text_is_cut_where_no_key_is_halved(text: str, limit: int, expected: str) -> None:
    assert whole(text, limit) == expected
