"""The knowledge of commands does what its own examples say."""

import shlex

import msgspec
import pytest

from leftoff.shell import analyze, resolve
from leftoff.shell.commands import ProgramRule, is_quiet, load, program_rules, unwrapped
from leftoff.shell.effects import FileEffect, FileState, Outcome
from leftoff.shell.programs.dispatch import HANDLERS

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
    roles = {"read", "write", "append", "modify", "tree", "none"}
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
    "command",
    ["git status", "git log --oneline | head -5", "cd src && go test ./...", "ls -la; pwd"],
)
def test_a_quiet_command_is_told_at_once(command: str) -> None:
    assert is_quiet(analyze(command).body)


@pytest.mark.parametrize(
    "command",
    ["rm a", "cat a", "git log > x", "git stash", "sort -o a a", "for i in 1; do ls; done"],
)
def test_what_touches_files_is_not_quiet(command: str) -> None:
    assert not is_quiet(analyze(command).body)
