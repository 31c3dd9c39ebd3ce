"""What is known of files: kinds, patterns, nets."""

from __future__ import annotations

import pytest

from leftoff.shell.ast import BRACKET, QUESTION, STAR
from leftoff.shell.filesystem import Effects, FileState
from leftoff.shell.globs import matches
from leftoff.shell.paths import join


@pytest.mark.parametrize(
    "base, path, whole",
    [
        ("/a", "b", "/a/b"),
        ("/a/b", "../c/./d", "/a/c/d"),
        ("/", "x", "/x"),
        ("/a", "/b//c/", "/b/c"),
        (".", "./x", "x"),
        (".", "..", ".."),
        ("/a", "..", "/"),
        ("/", "../..", "/"),
        (None, "x", None),
        (None, "/x", "/x"),
        ("/a", "~/x", "~/x"),
        ("/a", "C:\\x\\y", "C:/x/y"),
        (".", ".", "."),
    ],
)
def test_join(base: str | None, path: str, whole: str | None) -> None:
    assert join(base, path) == whole


def test_kinds_are_unknown_until_told() -> None:
    known = FileState()
    assert known.kind("a") == "unknown"
    known.put("d/a")
    assert (known.kind("d/a"), known.kind("d"), known.kind("d/b")) == (
        "file",
        "directory",
        "unknown",
    )
    known.remove("d")
    assert (known.kind("d/a"), known.kind("d")) == ("absent", "absent")


def test_a_new_directory_holds_nothing_else() -> None:
    known = FileState()
    known.put_directory("d", empty=True)
    known.put("d/a")
    assert (known.kind("d/b"), known.kind("d/e/f")) == ("absent", "absent")
    assert known.is_complete("d/e")


def test_copies_are_independent() -> None:
    known = FileState(["a"])
    other = known.copy()
    other.remove("a")
    assert known.kind("a") == "file"
    known.restore(other)
    assert known.kind("a") == "absent"


@pytest.mark.parametrize(
    "name, pattern, fits",
    [
        ("a.py", STAR + ".py", True),
        ("a.pyc", STAR + ".py", False),
        ("ab", "a" + QUESTION, True),
        ("b1", BRACKET + "a-c]1", True),
        ("d1", BRACKET + "!a-c]1", True),
        ("x", STAR * 3, True),
        ("[x", BRACKET + "x", True),
        ("", STAR, True),
        ("aXbXc", f"a{STAR}X{STAR}c", True),
    ],
)
def test_patterns(name: str, pattern: str, fits: bool) -> None:
    assert matches(name, pattern) is fits


def test_patterns_skip_hidden_names_and_say_whether_all_is_known() -> None:
    known = FileState(["a.c", ".b.c", "d/e.c"], [], ["."])
    assert known.expand(".", STAR + ".c") == (["a.c"], True)
    assert known.expand(".", STAR + "/" + STAR) == (["d/e.c"], True)
    assert FileState(["a.c"]).expand(".", STAR + ".c") == (["a.c"], False)
    assert known.expand(None, STAR) == ([], False)


def test_the_net_of_what_happened() -> None:
    known = FileState(["old"], [], ["."])
    effects = Effects(known)
    effects.write("new", "t")
    effects.delete("new", "t")
    effects.write("old", "t")
    effects.delete("old", "t")
    effects.write("old", "t")
    effects.read("old", "t")
    assert [(e.path, e.action) for e in effects.net_effects()] == [("old", "modified")]


def test_a_mark_can_be_gone_back_to() -> None:
    known = FileState(["a"], [], ["."])
    effects = Effects(known)
    snapshot = effects.snapshot()
    effects.delete("a", "rm")
    effects.unknown("make")
    effects.rollback(snapshot)
    assert effects.net_effects() == []
    assert known.kind("a") == "file"
