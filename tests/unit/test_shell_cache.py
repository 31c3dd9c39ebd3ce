"""Parsed commands are held as bytes; what is unpacked equals what was parsed."""

import pytest

from leftoff.shell import effects

COMMANDS = (
    "cd src && grep -rn 'retry' . | head -5 > found.txt",
    "for name in a b; do touch \"$name\"; done; cat <<'END' > notes.md\none\nEND",
    "echo unfinished (",
    "Get-ChildItem -Path src",
    "cat ~/notes.md",
    "echo \ud800 > odd.txt",  # cannot be packed
    "echo 1 99999999999999999999999>&1",
)


def test_an_unpacked_script_is_the_parsed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    effects.clear_caches()
    parsed = [effects.analyze(command, home="/home/ada") for command in COMMANDS]
    effects._parsed.cache_clear()
    assert [effects.analyze(command, home="/home/ada") for command in COMMANDS] == parsed
    assert effects.analyze("cat ~/notes.md") != parsed[4]


def test_the_latest_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    effects.clear_caches()
    monkeypatch.setattr(effects._PackedScripts, "SIZE", 1000)
    for number in range(50):
        effects.analyze(f"touch {number}.txt")
    assert effects._PACKED.get("touch 0.txt", None) is None
    assert effects._PACKED.get("touch 49.txt", None) == effects.analyze("touch 49.txt")
    effects.clear_caches()
    assert effects._PACKED.get("touch 49.txt", None) is None
