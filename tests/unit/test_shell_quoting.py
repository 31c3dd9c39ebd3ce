"""The text of shell words: quotes, escapes, patterns, braces, and what variables expand to."""

from __future__ import annotations

import pytest

from leftoff.shell import analyze, quoting, resolve
from leftoff.shell.ast import BRACKET, MAX_FIELDS, QUESTION, STAR, UNKNOWN, Variable, Word
from leftoff.shell.effects import FileState, Outcome
from leftoff.shell.quoting import (
    ansi_text,
    append_text,
    expand_braces,
    has_braces,
    is_plain,
    make_word,
    mark_unquoted,
    parse_expansion,
    rejoin_dollar,
    unescape_quoted,
    unmark_patterns,
)


def created(command: str) -> list[str]:
    """The files that a command made, in a folder that is known to be empty."""
    outcome = Outcome(status="ok", exit_code=0, output="")
    effects = resolve(analyze(command), outcome=outcome, known=FileState([], [], ["."]))
    return sorted(e.path for e in effects if e.path is not None and e.action == "created")


@pytest.mark.parametrize(
    "text,marked",
    [
        ("plain", "plain"),
        ("a*b?c[d", f"a{STAR}b{QUESTION}c{BRACKET}d"),
        (r"a\*\?\[b", "a*?[b"),
        (r"\{a\,b\}", "{a,b}"),
        (r"a\ b\\c", "a b\\c"),
        ("a\\\nb", "ab"),
        ("a\\", "a"),
    ],
)
def test_escapes_go_and_patterns_are_marked(text: str, marked: str) -> None:
    assert mark_unquoted(text) == marked
    assert is_plain(text) == (text == marked)


def test_marked_patterns_turn_back() -> None:
    assert unmark_patterns(mark_unquoted("a*b?[c]*")) == "a*b?[c]*"


@pytest.mark.parametrize("text", ["{", ",", "}"])
def test_braces_are_seen_unless_escaped(text: str) -> None:
    assert has_braces(mark_unquoted(f"a{text}b"))
    assert not has_braces(mark_unquoted(f"a\\{text}b"))


@pytest.mark.parametrize(
    "text,read",
    [
        (r"a\"b\$c\`d\\e", 'a"b$c`d\\e'),
        (r"a\nb\'c", r"a\nb\'c"),
        ("a\\\nb", "ab"),
        ("end\\", "end\\"),
        ("plain", "plain"),
    ],
)
def test_between_double_quotes_few_escapes_count(text: str, read: str) -> None:
    assert unescape_quoted(text) == read


def test_ansi_quotes() -> None:
    assert ansi_text("plain") == "plain"
    assert ansi_text(r"a\tb\nc\'d\\e\0") == "a\tb\nc'd\\e\0"
    assert ansi_text(r"a\x41") == f"a{UNKNOWN}41"
    assert ansi_text("end\\") == "end\\"


@pytest.mark.parametrize(
    "text,name,operation",
    [
        ("x", "x", ""),
        ("a_1:-y", "a_1", ":-y"),
        ("#x", "x", "#"),
        ("!x", "x", "!"),
        ("#", "#", ""),
        ("@", "@", ""),
        ("@:2", "@", ":2"),
        ("", "", ""),
    ],
)
def test_a_variable_in_braces(text: str, name: str, operation: str) -> None:
    for quoted in (False, True):
        assert parse_expansion(text, quoted) == Variable(name, operation, quoted)


@pytest.mark.parametrize(
    "word,text,joined",
    [
        ("a$", "b_1/c*", Word(("a", Variable("b_1", "", False), f"/c{STAR}"))),
        ("$", "b", Word((Variable("b", "", False),))),
        ("$", "+", Word((UNKNOWN,))),
        ("a$", "b'c'", Word(("a", UNKNOWN))),
        ("a", "b", Word(("a", UNKNOWN))),
        (
            Word((Variable("x", "", True), "$")),
            "y",
            Word((Variable("x", "", True), Variable("y", "", False))),
        ),
    ],
)
def test_a_dollar_at_the_end_takes_the_text_after_it(
    word: str | Word, text: str, joined: Word
) -> None:
    assert rejoin_dollar(word, text) == joined


def test_neighbouring_texts_are_one() -> None:
    variable = Variable("x", "", False)
    parts: list[quoting.Part] = []
    append_text(parts, "a")
    append_text(parts, "b")
    assert make_word(parts) == "ab"
    parts.append(variable)
    append_text(parts, "c")
    assert make_word(parts) == Word(("ab", variable, "c"))
    assert make_word([variable]) == Word((variable,))


@pytest.mark.parametrize(
    "text,words",
    [
        ("a{b,c}d", "abd acd"),
        ("{a,b{c,d}e}", "a bce bde"),
        ("{a,b}{c,d}", "ac ad bc bd"),
        ("x{,y}", "x xy"),
        ("{a}", "{a}"),
        ("{a,b", "{a,b"),
        ("a}b,c", "a}b,c"),
        ("{{a,b}", "{a {b"),
        ("f{1..3}", "f" + UNKNOWN),
        ("{a..e..2}", UNKNOWN),
    ],
)
def test_braces(text: str, words: str) -> None:
    assert ["".join(map(str, p)) for p in expand_braces([mark_unquoted(text)])] == words.split()


def test_braces_around_a_variable_are_kept_in_order() -> None:
    variable = Variable("x", "", False)
    parts: list[quoting.Part] = [mark_unquoted("{a,"), variable, mark_unquoted("b}c")]
    assert expand_braces(parts) == [["ac"], [variable, "bc"]]


def test_too_many_words_are_one_that_is_not_known() -> None:
    many = "{" + ",".join("x" * MAX_FIELDS) + "}"
    assert len(expand_braces([mark_unquoted(many)])) == MAX_FIELDS
    assert expand_braces([mark_unquoted("{a,b}" + many[:400] + "}")]) == [[UNKNOWN]]
    assert expand_braces([mark_unquoted("{a,b}" + "c" * 995)]) == [
        ["a" + "c" * 995],
        ["b" + "c" * 995],
    ]
    assert expand_braces([mark_unquoted("{a,b}" + "c" * 996)]) == [[UNKNOWN]]
