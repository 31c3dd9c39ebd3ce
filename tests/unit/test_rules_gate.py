"""One gate in front of all rules: which match, where, and in which order."""

from __future__ import annotations

import tomllib
from pathlib import Path

from leftoff.extraction import rules as gate
from leftoff.extraction.rules import Gate, Rule, digest, lowered, rules


def test_small_letters_keep_their_places() -> None:
    text = "A\u0130B\u00dfC"
    assert lowered(text) == "aib\u00dfc"
    assert len(lowered(text)) == len(text)


def test_case_is_minded_only_where_a_rule_says_so() -> None:
    loose, strict = Rule("a", r"Go\S+"), Rule("b", "Go", ignore_case=False)
    found = loose.search("x GOING")
    assert found is not None
    assert found.span() == (2, 7)
    assert strict.search("x GO") is None
    assert strict.search("x Go") is not None
    # The class `\S` is no capital letter: it stays what it is.
    assert loose.search("go ") is None


def test_hits_are_told_by_extractor_in_order_of_place() -> None:
    word = Rule("word", r"(b+)", value="unused")
    first = Rule("a-first", "a", value="A")
    twice = Rule("a-second", "aB", value="AB", ignore_case=False)
    gapped = Rule("gapped", r"c[^.]{0,40}d", gate="d", value="C")
    scanner = Gate({"one": [word, twice, first], "two": [gapped]})
    text = "bb aB BBB"
    found = scanner.scan(text, 7)
    assert set(found) == {"one"}
    told = [(h.rule.id, h.part, h.start, h.end, h.value) for h in found["one"]]
    assert told == [
        ("word", 7, 0, 2, "bb"),
        ("a-first", 7, 3, 4, "A"),
        ("a-second", 7, 3, 5, "AB"),
        ("word", 7, 4, 5, "B"),
        ("word", 7, 6, 9, "BBB"),
    ]
    assert scanner.scan("", 0) == scanner.scan("xyz", 0) == {}
    assert scanner.candidates("") == []
    # The gate fires on the d alone; the pattern decides.
    assert scanner.candidates("D") == [3]
    assert scanner.scan("D", 0) == {}
    assert [h.value for h in scanner.scan("c d", 0)["two"]] == ["C"]


def test_a_group_that_took_no_part_gives_the_rules_value() -> None:
    scanner = Gate({"one": [Rule("x", "a(b)?", value="none")]})
    assert [h.value for h in scanner.scan("ab a", 0)["one"]] == ["b", "none"]


def test_a_digest_changes_with_what_a_rule_does() -> None:
    rule = Rule("a", "b", value="c", weight=0.5)
    others = [
        Rule("x", "b", value="c"),
        Rule("a", "x", value="c"),
        Rule("a", "b", value="x"),
        Rule("a", "b", value="c", weight=0.6),
    ]
    seen = {digest([rule]), digest([rule], salt="s"), digest([rule], [rule]), digest()}
    assert len(seen | {digest([other]) for other in others}) == 8
    assert digest([rule, others[0]]) == digest([rule], [others[0]])
    assert all(len(found) == 16 for found in seen)


def test_the_topic_of_a_file_is_that_of_its_rules() -> None:
    folder = Path(gate.__file__).with_name("rules")
    shared = 0
    for path in sorted(folder.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        if "topic" in table and "rule" in table:
            shared += 1
            found = rules(path.stem)
            told = [row.get("topic", table["topic"]) for row in table["rule"]]
            assert [rule.topic for rule in found] == told
    assert shared
    assert Rule("a", "b").good
