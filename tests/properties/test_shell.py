"""Any string can be analysed, in linear time, and twice with the same result; what is read without the grammar says what the grammar says."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.shell import analyze, command_facts, observe, resolve
from leftoff.shell.ast import Script
from leftoff.shell.effects import Outcome
from leftoff.shell.filesystem import FileState
from leftoff.shell.parser import parse
from leftoff.shell.statements import simple_command

# Any string can be analysed, in linear time, and twice with the same result.

Linear: TypeAlias = Callable[[Callable[[int], Callable[[], object]], int], None]

PIECES = st.sampled_from(
    [
        "rm", "mv", "cp", "cat", "git", "sed -i", "find .", "xargs", "-exec", "{}", "\\;", "+",
        "for x in", "do", "done", "if", "then", "fi", "while", "case", "esac", "a", "b/c", "*",
        "?", "[", "]", "[[", "]]", "(", ")", "{", "}", "$(", "`", "$x", "${x%.*}", "${", '"',
        "'", "\\", "&&", "||", "|", ";", ";;", "&", ">", ">>", "<", "<<E", "\nE\n", "<<<",
        "2>&1", "&>", "\n", "$((", "))", "=", "x=(", "~", "!", "#", "é", "\ue000", "\x00",
        "python3 -c", "bash -c", "eval", "tar xzf", "-C", "{a,b}", "{1..9}", "--", "-",
        "function f", "f()", "set -e", "patch", "apply_patch", "*** Add File: x", "awk",
        "perl -pi -e", "node -e", "exit", "test", "printf '%s'",
    ]
)  # fmt: skip
COMMANDS = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=40).map(" ".join),
    st.lists(PIECES, max_size=40).map("".join),
)
OUTCOMES = st.builds(
    Outcome,
    status=st.sampled_from(["ok", "failed", "unknown"]),
    output=st.one_of(
        st.none(), st.text(max_size=80), st.just("rm: cannot remove 'a': x\n a | 2 +")
    ),
    interrupted=st.booleans(),
    background=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(COMMANDS, OUTCOMES, st.booleans())
def test_any_string_can_be_analysed(command: str, outcome: Outcome, told: bool) -> None:
    script = analyze(command, cwd="/p")
    assert msgspec.json.decode(msgspec.json.encode(script), type=Script) == script
    command_facts(script)
    observe(script, outcome=outcome)

    def once() -> list[object]:
        known = FileState(["/p/a", "/p/b/c"], [], ["/p"]) if told else FileState()
        return list(resolve(script, outcome=outcome, known=known))

    assert once() == once()


@settings(max_examples=75, deadline=None)
@given(COMMANDS)
def test_a_denied_call_does_nothing(command: str) -> None:
    known = FileState(["/p/a"])
    assert resolve(analyze(command, cwd="/p"), outcome=Outcome(denied=True), known=known) == []
    assert known.kind("/p/a") == "file"


HOSTILE = {
    "parentheses": "(", "substitutions": "$(", "quotes": '"', "backquotes": "`", "less": "<",
    "here documents": "cat <<A\n", "no here documents": "<<A", "arrays": "a=(",
    "lists": "a && ", "braces": "{a,b}", "ranges": "{1..99999}", "expansions": "${",
    "escapes": "\\", "words": "rm a ", "quoted": "'a' ", "cases": "case x in ",
    "loops": "for x in a; do ", "mixed": "$(\"'`", "globs": "*a", "patch": "--- a\n+++ b\n",
    "errors": "rm: cannot remove 'x'\n", "slashes": "../", "echo": "echo $(echo ",
    "and": "a=$a$a; ",
}  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_is_linear_in_the_length_of_a_command(piece: str, assert_linear: Linear) -> None:
    def prepare(size: int) -> Callable[[], object]:
        command = piece * (size // len(piece))
        outcome = Outcome(exit_code=1, output=command)
        return lambda: resolve(analyze(command, cwd="/p"), outcome=outcome, known=FileState())

    prepare(1_000_000)()
    assert_linear(prepare, 9_900)
    assert_linear(prepare, 400_000)


def test_a_megabyte_of_data_in_a_here_document_is_still_understood() -> None:
    command = "cat > a.txt <<'EOF'\n" + "rm b && $(x) '\n" * 65_000 + "EOF\nrm c"
    known = FileState(["c"], [], ["."])
    effects = resolve(analyze(command), outcome=Outcome(exit_code=0), known=known)
    assert [(effect.path, effect.action) for effect in effects] == [
        ("a.txt", "created"),
        ("c", "deleted"),
    ]


@pytest.mark.parametrize(
    "command",
    [
        "x=aa; " + "x=$x$x; " * 60 + "touch $x",
        "f() { f; f; }; f",
        "while true; do touch a; done",
        "for a in {1..200}; do for b in {1..200}; do touch $a$b; done; done",
        "eval " * 200 + "ls",
        "bash -c '" + "bash -c " * 100 + "'",
    ],
)
def test_a_small_bomb_is_defused(
    command: str, calls_made: Callable[[Callable[[], object]], int]
) -> None:
    def work() -> None:
        resolve(analyze(command), outcome=Outcome(exit_code=0), known=FileState())

    assert calls_made(work) < 2_000_000


# What is read without the grammar says what the grammar says.


@given(st.text(alphabet="ab -./:_", max_size=24))
def test_plain_words_are_read_as_by_the_grammar(command: str) -> None:
    plain = simple_command(command)
    if plain is not None:
        assert parse(command + " #").body == plain
