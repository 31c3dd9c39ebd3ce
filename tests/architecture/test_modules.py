"""Modules are named for what they hold, and none has become two things."""

from pathlib import Path

NAMELESS = frozenset(
    "base common core enhanced helper helpers manager misc service services shared stuff "
    "util utils".split()
)
LONGEST = 600

# Files that may be longer, each with the reason.
LONGER: dict[str, str] = {}


def test_modules_are_named_for_what_they_hold(package: Path) -> None:
    found = [
        str(path.relative_to(package))
        for path in sorted(package.rglob("*"))
        if path.suffix in {"", ".py"}
        if {path.stem, *path.stem.split("_")} & NAMELESS
    ]
    assert found == []


def test_no_file_is_two_things(package: Path) -> None:
    lengths = {
        path.relative_to(package).as_posix(): len(path.read_bytes().splitlines())
        for path in sorted(package.rglob("*.py"))
    }
    too_long = {name: n for name, n in lengths.items() if n > LONGEST and name not in LONGER}
    assert too_long == {}
    needless = [name for name in LONGER if lengths.get(name, 0) <= LONGEST]
    assert needless == [], "these are short again: take them out of LONGER"


def test_the_package_declares_its_types(package: Path) -> None:
    assert (package / "py.typed").is_file()
