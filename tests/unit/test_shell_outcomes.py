"""How sure what leftoff says of a command is, by its outcome and by what was known before.

The outcomes were not measured: the output is what the programs print by their documentation.
"""

from __future__ import annotations

import pytest

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import FileState, Outcome


@pytest.mark.parametrize(
    "command,outcome,said",
    [
        ("touch n", Outcome(status="ok"), [("created", "n", "sure")]),
        ("touch n", Outcome(status="failed"), []),
        ("touch n", Outcome(), [("created", "n", "likely")]),
        ("touch n", Outcome(exit_code=0, background=True), [("created", "n", "likely")]),
        ("touch n", Outcome(exit_code=1, background=True), [("created", "n", "likely")]),
        ("touch n", Outcome(exit_code=0, denied=True), []),
        ("touch n", Outcome(interrupted=True), []),
        ("touch n; sleep 9; touch m", Outcome(interrupted=True), [("created", "n", "likely")]),
        ("touch n; make; touch m", Outcome(interrupted=True), [("created", "n", "likely")]),
        ("bash -c 'touch n'; touch m", Outcome(interrupted=True), []),
        ("sleep 9 & touch m; sleep 8", Outcome(interrupted=True), [("created", "m", "likely")]),
        ("touch n\necho 'x", Outcome(exit_code=0), [("created", "n", "likely"), ("unknown", None, "unknown")]),
        ("touch n\necho 'x", Outcome(exit_code=2, output="bash: -c: line 2: unexpected EOF while looking\n"),
         [("created", "n", "unknown"), ("unknown", None, "unknown")]),
        ("touch n; rm zz", Outcome(exit_code=2, output="x\n/bin/sh: 1: Syntax error: zz\n"), [("created", "n", "unknown")]),
        ("touch n; awk x", Outcome(exit_code=2, output="awk: line 1: syntax error at or near x\n"), [("created", "n", "sure")]),
        ("pwsh -c 'Get-Item x'; rm a.txt", Outcome(exit_code=0),
         [("deleted", "a.txt", "sure"), ("unknown", None, "unknown")]),
        ("Get-Item x; rm a.txt", Outcome(exit_code=0), [("unknown", None, "unknown")]),
        ("rm $env:TEMP/x", Outcome(exit_code=0), [("unknown", None, "unknown")]),
        ("echo hi | Out-File x; rm a.txt", Outcome(exit_code=0), [("unknown", None, "unknown")]),
        ("echo Get-Item; rm a.txt", Outcome(exit_code=0), [("deleted", "a.txt", "sure")]),
    ],
)  # fmt: skip
def test_how_sure_it_is(
    command: str, outcome: Outcome, said: list[tuple[str, str | None, str]]
) -> None:
    known = FileState(["a.txt"], [], ["."])
    found = resolve(analyze(command), outcome=outcome, known=known)
    assert [(e.action, e.path, e.certainty) for e in found if e.action != "read"] == said


def test_what_is_not_understood_is_told_by_its_program() -> None:
    def tools(command: str) -> list[str]:
        found = resolve(
            analyze(command), outcome=Outcome(exit_code=0), known=FileState([], [], [])
        )
        return [e.tool for e in found]

    assert tools("Get-Item x") == ["powershell"]
    assert tools("edit 1:2\nx") == ["edit"]
    assert tools("make && ninja") == ["make", "ninja"]


def test_each_effect_names_its_program() -> None:
    known = FileState(["a.txt", "b.txt"], [], ["."])
    script = analyze("find . -name 'a*' -exec touch {}.x \\; -delete; env rm b.txt")
    found = resolve(script, outcome=Outcome(exit_code=0), known=known)
    assert [(e.path, e.tool) for e in found] == [
        ("a.txt", "find"),
        ("a.txt.x", "touch"),
        ("b.txt", "rm"),
    ]


def test_no_more_written_texts_are_kept_than_are_of_use() -> None:
    known = FileState([], [], ["."])
    for number in range(500):
        resolve(
            analyze(f"echo {number} > f{number}"), outcome=Outcome(exit_code=0), known=known
        )
    assert 200 <= len(known.contents) <= 400
    found = resolve(analyze("touch x$(cat f499)"), outcome=Outcome(exit_code=0), known=known)
    assert "x499" in [e.path for e in found]


@pytest.mark.parametrize(
    "command,exit_code,output,said",
    [
        ("cp a.txt b.txt", 0, "", [("created", "b.txt", "likely"), ("read", "a.txt", "sure")]),
        ("cp a.txt src", 0, "", [("created", "src/a.txt", "likely"), ("read", "a.txt", "sure")]),
        ("cp *.txt b", 0, "", [("read", "*.txt", "unknown"), ("unknown", "b", "unknown")]),
        ("mv a.txt b.txt", 1, "", []),
        ("mv src lib", 0, "", [("created", "lib/", "likely"), ("deleted", "src/", "likely")]),
        ("mv .notes notes.txt", 0, "", [("created", "notes.txt", "likely"), ("deleted", ".notes", "sure")]),
        ("rm -rf build", 0, "", [("deleted", "build/", "likely")]),
        ("rm -f a.txt", 0, "", [("deleted", "a.txt", "unknown")]),
        ("rm a.txt b.txt", 1, "", [("deleted", None, "unknown")]),
        ("rm a.txt b.txt", 1, "rm: cannot remove 'a.txt': No such file\n", [("deleted", "b.txt", "sure")]),
        ("rm src/", 1, "", []),
        ("touch a.txt", 0, "", [("created", "a.txt", "likely")]),
        ("sed -i s/x/y/ a.txt b.txt", 1, "sed: can't read b.txt: No such file\n", [("modified", "a.txt", "sure")]),
        ("cat a.txt b.txt", 1, "cat: b.txt: No such file or directory\n", [("read", "a.txt", "likely")]),
        ("tar xf t.tar src", 0, "", [("read", "t.tar", "sure"), ("unknown", None, "unknown")]),
        ("tar xf t.tar a.txt", 0, "", [("created", "a.txt", "likely"), ("read", "t.tar", "sure")]),
        ("tar cf t.tar src", 0, "", [("created", "t.tar", "likely")]),
        ("gzip -r src", 0, "", [("unknown", None, "unknown")]),
        ("gzip $U", 0, "", [("unknown", None, "unknown")]),
        ("ln -s a.txt l", 0, "", [("created", "l", "likely")]),
        ("find src -name '*.o' -delete", 0, "", [("deleted", None, "unknown")]),
        ("find . -name '*.o' -execdir rm {} \\;", 0, "", [("deleted", None, "unknown")]),
        ("for f in *.txt; do rm $f; done", 0, "", [("deleted", None, "unknown")]),
        ("cd src && touch a", 0, "", [("created", "src/a", "likely")]),
        ("cd nowhere; touch a", 0, "bash: line 1: cd: nowhere: No such file or directory\n", [("created", "a", "likely")]),
        ("touch ~/a; rm ~/a", 0, "", []),
        ("cd; touch a", 0, "", [("created", "~/a", "likely")]),
        ("rm -i a.txt", 0, "rm: remove regular file 'a.txt'? ", [("deleted", "a.txt", "unknown")]),
    ],
)  # fmt: skip
def test_where_nothing_is_known_before(
    command: str, exit_code: int, output: str, said: list[tuple[str, str | None, str]]
) -> None:
    found = resolve(
        analyze(command),
        outcome=Outcome(exit_code=exit_code, output=output),
        known=FileState([], [], []),
    )
    assert sorted(
        ((e.action, e.path, e.certainty) for e in found), key=lambda e: (e[0], e[1] or "")
    ) == sorted(said, key=lambda e: (e[0], e[1] or ""))
