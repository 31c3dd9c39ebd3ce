"""Parsed commands are held as bytes; what is unpacked equals what was parsed."""

import pytest

from leftoff.shell import effects
from leftoff.shell.ast import Script
from leftoff.shell.parser import parse

COMMANDS = (
    "cd src && grep -rn 'retry' . | head -5 > found.txt",
    "for name in a b; do touch \"$name\"; done; cat <<'END' > notes.md\none\nEND",
    "echo unfinished (",
    "Get-ChildItem -Path src",
    "cat ~/notes.md",
    "echo \ud800 > odd.txt",  # cannot be packed
    "echo 1 99999999999999999999999>&1",
    "touch " + "a" * effects._LONGEST,  # too long to be packed
)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unpacked_script_is_the_parsed_one(command: str) -> None:
    effects.clear_caches()
    home = "/home/ada" if "~" in command else None
    assert effects._parsed(command, home) == effects._examined(command, home)


def test_a_command_is_parsed_once_for_all_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    effects.clear_caches()
    parsed: list[str] = []

    def counted(text: str, *, home: str | None) -> Script:
        parsed.append(text)
        return parse(text, home=home)

    monkeypatch.setattr("leftoff.shell.effects.parse", counted)
    commands = [f"touch {number}.txt" for number in range(2 * effects._HELD)]
    for command in 2 * commands:
        effects.analyze(command)
    assert parsed == commands
    effects.clear_caches()
