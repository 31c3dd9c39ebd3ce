"""A command is parsed once, however many judges ask what it runs."""

import pytest

from leftoff.analysis.activities import programs_in
from leftoff.analysis.check_runs import runs_of
from leftoff.analysis.git_commands import git_steps
from leftoff.shell import effects, per_command
from leftoff.shell.ast import Script
from leftoff.shell.parser import parse


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    effects.clear_caches()
    found: list[str] = []

    def counted(text: str, *, home: str | None) -> Script:
        found.append(text)
        return parse(text, home=home)

    monkeypatch.setattr("leftoff.shell.effects.parse", counted)
    return found


COMMANDS = [f"git add {number}.txt && pytest" for number in range(2 * effects._HELD)]


def test_a_command_is_parsed_once_for_all_judges(parsed: list[str]) -> None:
    for command in COMMANDS:
        effects.analyze(command)
        per_command.read_all(command)
    for command in COMMANDS:
        assert programs_in(command) == (("git", "add"), ("pytest", ""))
        assert [run.tool for run in runs_of(command).runs] == ["pytest"]
        assert [step.verb for step in git_steps(command)] == ["add"]
    assert parsed == COMMANDS


def test_more_commands_than_are_held(
    parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(per_command, "MOST", 3)
    for command in 2 * COMMANDS[:4]:
        assert programs_in(command) == (("git", "add"), ("pytest", ""))
        assert len(per_command._held) <= 3
    programs_in("echo \ud800 > odd.txt")
    assert set(parsed) > set(COMMANDS[:4])
