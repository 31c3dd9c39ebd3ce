"""The text of shell words: quotes, escapes, patterns, braces, and what variables expand to."""

from leftoff.shell.ast import MAX_FIELDS, UNKNOWN
from leftoff.shell.quoting import expand_braces, mark_unquoted


def test_too_many_words_are_one_that_is_not_known() -> None:
    many = "{" + ",".join("x" * MAX_FIELDS) + "}"
    assert len(expand_braces([mark_unquoted(many)])) == MAX_FIELDS
    assert expand_braces([mark_unquoted("{a,b}" + many[:400] + "}")]) == [[UNKNOWN]]
    assert expand_braces([mark_unquoted("{a,b}" + "c" * 995)]) == [
        ["a" + "c" * 995],
        ["b" + "c" * 995],
    ]
    assert expand_braces([mark_unquoted("{a,b}" + "c" * 996)]) == [[UNKNOWN]]
