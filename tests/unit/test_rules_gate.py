"""One gate in front of all rules: which match, where, and in which order."""

from leftoff.extraction.rules import Rule


def test_case_is_minded_only_where_a_rule_says_so() -> None:
    loose, strict = Rule("a", r"Go\S+"), Rule("b", "Go", ignore_case=False)
    found = loose.search("x GOING")
    assert found is not None
    assert found.span() == (2, 7)
    assert strict.search("x GO") is None
    assert strict.search("x Go") is not None
    # The class `\S` is no capital letter: it stays what it is.
    assert loose.search("go ") is None
