"""One gate in front of all rules: which match, where, and in which order."""

from leftoff.extraction.rules import Gate, Rule


def test_case_is_minded_only_where_a_rule_says_so() -> None:
    loose, strict = Rule("a", r"Go\S+"), Rule("b", "Go", ignore_case=False)
    found = loose.search("x GOING")
    assert found is not None
    assert found.span() == (2, 7)
    assert strict.search("x GO") is None
    assert strict.search("x Go") is not None
    # The class `\S` is no capital letter: it stays what it is.
    assert loose.search("go ") is None


def test_a_short_line_needs_no_automaton() -> None:
    gate = Gate({"one": [Rule("a", "merged$", lines=True)]})
    assert [hit.start for hit in gate.scan("It is merged", 0)["one"]] == [6]
    assert "_match" not in gate.__dict__
    # Where there are several lines, `$` is the end of each.
    assert [hit.start for hit in gate.scan("x merged\n\nend", 0)["one"]] == [2]
