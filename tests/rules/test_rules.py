"""The rules that are data: their examples, and what each finds."""

import re
import shlex

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.analysis.claim_checks import RULES as CLAIM_RULES
from leftoff.extraction.errors import ERROR_RULES
from leftoff.extraction.rule_sets import CHECK_RULES, GIT_RULES, GROUPS, OUTPUT_RULES
from leftoff.extraction.rules import Gate, Rule, digest, lowered
from leftoff.shell import analyze, resolve
from leftoff.shell.commands import ProgramRule, is_quiet, load, program_rules, unwrapped
from leftoff.shell.effects import Outcome
from leftoff.shell.filesystem import FileEffect, FileState
from leftoff.shell.programs.dispatch import HANDLERS

# Every extraction rule does what its own examples say, and its gate lets through all it takes.
#
# The tests are made from the TOML files themselves: a rule without examples fails.

ALL: list[Rule] = [
    *(rule for group in GROUPS.values() for rule in group), *OUTPUT_RULES, *GIT_RULES,
    *CHECK_RULES, *ERROR_RULES,
]  # fmt: skip
ASSERTS = re.compile(r"\(\?<?[=!]")
"""Hypothesis cannot make text for patterns that look around."""
PLAIN = [rule for rule in ALL if not ASSERTS.search(rule.pattern)]

rules = pytest.mark.parametrize("rule", ALL, ids=[rule.id for rule in ALL])
WITH_EXAMPLES = [*ALL, *CLAIM_RULES.values()]
"""Rules on claims read single sentences, without a gate."""
shown_rules = pytest.mark.parametrize(
    "rule", WITH_EXAMPLES, ids=[rule.id for rule in WITH_EXAMPLES]
)


@shown_rules
def test_rule_matches_its_examples(rule: Rule) -> None:
    assert len(rule.matches) >= 3
    for line in rule.matches:
        assert rule.search(line), line


@shown_rules
def test_rule_leaves_its_counterexamples(rule: Rule) -> None:
    assert len(rule.misses) >= 2
    for line in rule.misses:
        assert rule.search(line) is None, line


@rules
def test_gate_lets_the_examples_through(rule: Rule) -> None:
    gate = Gate({"any": [rule]})
    for line in rule.matches:
        assert gate.candidates(line) == [0], line


@pytest.mark.parametrize("rule", PLAIN, ids=[rule.id for rule in PLAIN])
@settings(max_examples=12)
@given(data=st.data())
def test_gate_lets_through_whatever_the_pattern_takes(rule: Rule, data: st.DataObject) -> None:
    """The gate is at least as wide as the pattern, for text made from the pattern."""
    made = data.draw(st.from_regex(rule.exact, alphabet=_LETTERS))
    text = lowered(made) if rule.ignore_case else made
    if any(ord(c) > 127 and c.isalnum() for c in text):
        return  # a letter for `re`, none for RE2
    if rule.search(text) is None:
        return  # what is around the match took it away
    assert Gate({"any": [rule]}).candidates(text) == [0]


# RE2 knows no letters, digits and spaces beyond ASCII; the marks that rules name are wanted.
_LETTERS = st.characters(
    min_codepoint=10,
    max_codepoint=126,
    exclude_characters="\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f",
    include_characters="✅✔✓✖ℹ–—’×→←›●─",
)


def test_ids_are_unique() -> None:
    ids = [rule.id for rule in ALL]
    assert sorted(set(ids)) == sorted(ids)


def test_digest_tells_of_a_changed_rule() -> None:
    first, *rest = OUTPUT_RULES
    changed = Rule(**{**{f: getattr(first, f) for f in first.__struct_fields__}, "value": "x"})
    assert digest([first, *rest]) != digest([changed, *rest])


def test_a_match_is_found_whatever_stands_around_it() -> None:
    """A fused gate gives the same hits as each rule alone."""
    fused = Gate(dict(GROUPS))
    for name, group in GROUPS.items():
        for rule in group:
            text = f"First.\n\n{rule.matches[0]}\n\nLast."
            alone = [h.rule.id for h in Gate({name: [rule]}).scan(text, 0).get(name, [])]
            together = [h.rule.id for h in fused.scan(text, 0).get(name, [])]
            assert set(alone) <= set(together), rule.id


LINES = ("Done.", "- All fixed now", "Perfect!", "***", "", "Before merging, rebase it", "_ _",
         "I did not run it", "The bug is fixed", "plain words", "Great", "complete")  # fmt: skip


@settings(max_examples=300)
@given(lines=st.lists(st.sampled_from(LINES), max_size=12))
def test_marked_lines_hold_all_that_the_whole_text_does(lines: list[str]) -> None:
    text = "\n".join(lines)
    for rule in (rule for rule in ALL if rule.lines):
        found = [(hit.start, hit.end) for hit in Gate({"": [rule]}).scan(text, 0).get("", [])]
        assert found == [match.span() for match in rule.exact.finditer(lowered(text))]


# The knowledge of commands does what its own examples say.

RULES = program_rules().rules


def state(listing: str) -> FileState:
    names = listing.split()
    return FileState(
        [name for name in names if not name.endswith("/")],
        [name[:-1] for name in names if name.endswith("/")],
        ["."],
    )


def shown(effect: FileEffect) -> str:
    if effect.action == "unknown":
        return f"unknown {effect.tool} {effect.path or ''}".strip()
    if effect.path is None or effect.pattern:
        return f"?{effect.action} {effect.path}"
    origin = f" <- {effect.renamed_from}" if effect.renamed_from else ""
    return f"{effect.action} {effect.path}{origin}"


FIRES = [(rule.names[0], *example) for rule in RULES for example in rule.fires]
SILENT = [(rule.names[0], command) for rule in RULES for command in rule.silent]


@pytest.mark.parametrize("name, files, command, expected", FIRES)
def test_example_fires(name: str, files: str, command: str, expected: str) -> None:
    effects = resolve(analyze(command), outcome=Outcome(), known=state(files))
    wanted = sorted(part.strip() for part in expected.split(",") if part.strip())
    assert sorted(map(shown, effects)) == wanted


@pytest.mark.parametrize("name, command", SILENT)
def test_example_is_silent(name: str, command: str) -> None:
    effects = resolve(analyze(command), outcome=Outcome(), known=state("a src/ c"))
    assert [shown(effect) for effect in effects if effect.action != "read"] == []


LAUNCHERS = [one for one in program_rules().launchers.values() if one.runs]


@pytest.mark.parametrize("command, inner", [pair for one in LAUNCHERS for pair in one.runs])
def test_example_of_a_launcher_names_what_it_runs(command: str, inner: str) -> None:
    words, script = unwrapped(shlex.split(command), tasks=True)
    assert (script or " ".join(words)) == inner


@pytest.mark.parametrize("command", [line for one in LAUNCHERS for line in one.silent])
def test_example_of_a_launcher_runs_nothing(command: str) -> None:
    assert unwrapped(command.split(), tasks=True) == (command.split(), "")


def test_every_rule_has_an_example_or_is_refined_by_another() -> None:
    for rule in RULES:
        doubled = all(sum(name in other.names for other in RULES) > 1 for name in rule.names)
        assert rule.fires or rule.silent or doubled or rule.handler in {"wrapper", "cd"}, (
            rule.names
        )


def test_every_handler_exists_and_is_used() -> None:
    named = {rule.handler for rule in RULES if rule.handler}
    assert named <= HANDLERS.keys()
    assert HANDLERS.keys() - named == set()


def test_roles_and_kinds_are_known_words() -> None:
    roles = {"read", "write", "append", "modify", "touch", "tree", "none"}
    for rule in RULES:
        assert rule.kind in {"inert", "table", "opaque"}
        assert rule.operands in roles
        assert set(rule.roles.values()) <= roles
        assert rule.fails in {"", "normal", "contents"}


def test_a_misspelt_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        load({"command": [{"names": ["x"], "skip": "two"}]})


def test_a_later_rule_refines_an_earlier_one() -> None:
    found = load({"command": [{"names": ["x", "y"]}, {"names": ["y"], "kind": "inert"}]})
    assert found.by_name["x"] == ProgramRule(("x", "y"))
    assert found.by_name["y"].kind == "inert"


@pytest.mark.parametrize(
    ("commands", "quiet"),
    [
        (("git status", "git log --oneline | head -5", "cd src && go test ./..."), True),
        (("for i in 1; do ls; done",), True),
        (("rm a", "cat a", "git log > x", "git stash", "sort -o a a", "x=$(cat a)"), False),
        (("for i in a; do rm $i; done",), False),
    ],
)
def test_a_command_is_quiet_that_touches_no_file(
    commands: tuple[str, ...], quiet: bool
) -> None:
    assert [is_quiet(analyze(command).body) for command in commands] == [quiet] * len(commands)
