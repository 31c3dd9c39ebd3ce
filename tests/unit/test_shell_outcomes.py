"""What follows for files from how a call came back: exit code, output, and what may not have run.

The commands start in a folder with `SHELL_FILES` (see `conftest.py`); `?` stands for what we do
not know.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leftoff.shell import analyze, resolve
from leftoff.shell.effects import FileState, Outcome

Effects = Callable[[str, int, str], list[str]]


@pytest.mark.parametrize(
    "command,exit_code,output,made",
    [
        # With `set -e` and success, every step succeeded; with failure, the last one that ran.
        ("set -e; tar cf t.tar a.txt; true", 0, "", ["+t.tar"]),
        ("set -e; true; touch n", 1, "", []),
        ("set -e; touch m; sort nothing; touch n", 2, "sort: cannot read: nothing\n", ["+m"]),
        ("set -e; true && touch m; touch n", 0, "", ["+m", "+n"]),
        # One link of a chain failed: the one that complains, else the first that may fail.
        ("{ touch q; cd d; tar tf zz; } && true", 1, "", ["+q"]),
        ("touch q && tar cf t.tar a.txt", 1, "", ["+q"]),
        ("tar cf t.tar a.txt && rm zz", 1, "rm: cannot remove 'zz': No such file\n", ["+t.tar"]),
        ("rm $U && touch n m", 1, "rm: cannot remove 'zz': No such file or directory\n", ["?"]),
        ("cd e && touch n && false", 1, "", ["+e/n"]),
        # What an `echo` printed, or did not, tells whether what stands before it went well.
        ("tar cf t.tar a.txt && echo packed-it; true", 0, "packed-it\n", ["+t.tar"]),
        ("tar cf t.tar a.txt && echo packed-it; true", 0, "", []),
        ("{ tar cf t.tar a.txt && echo packed-it; } || touch n; true", 0, "", ["+n"]),
        ("{ false || false; } || touch n; true", 0, "", ["+n"]),
        ("tar cf t.tar a.txt || echo failed-it; true", 0, "failed-it\n", []),
        ("tar cf t.tar a.txt || echo failed-it; true", 0, "", ["+t.tar"]),
        ("tar cf t.tar a.txt && { echo packed-it; touch n; }; true", 0, "packed-it\n", ["+n", "+t.tar"]),
        ("tar cf t.tar a.txt && echo packed-it > n; true", 0, "", ["+n", "+t.tar"]),
        ('if [ -n "$U" ]; then echo yes-it-is; rm a.txt; else rm b.txt; fi', 0, "yes-it-is\n", ["-a.txt"]),
        ('if [ -n "$U" ]; then rm a.txt; else echo no-it-is; rm b.txt; fi', 0, "no-it-is\n", ["-b.txt"]),
        ('if [ -n "$U" ]; then rm a.txt; else echo no-it-is; rm b.txt; fi', 0, "", ["-a.txt"]),
        ('if [ -n "$U" ]; then rm a.txt; elif true; then rm b.txt; else echo no-it-is; fi', 0, "", ["?", "?"]),
        ('if [ -n "$U" ]; then exit 0; fi; touch n', 0, "", ["+n"]),
        # A program that complains has failed.
        ("cat $U && touch n; true", 0, "cat: zz: No such file or directory\n", []),
        ("cat $U || touch n; true", 0, "cat: zz: No such file or directory\n", ["+n"]),
        ("cat $U || touch n", 1, "", []),
        ("zz && touch n; true", 0, "bash: line 1: zz: command not found\n", []),
        ("./zz.sh || touch n; true", 0, "bash: ./zz.sh: Permission denied\n", ["+n"]),
        ("rm a.txt; touch n", 0, "rm: cannot remove 'a.txt': Permission denied\n", ["+n"]),
        # What may have run changes nothing but what may have been changed.
        ("make || cd d; touch n", 0, "", ["+n", "?"]),
        ('while [ -n "$U" ]; do rm a.txt; done', 0, "", ["?"]),
        ("for x in p; do true; done; break; touch n", 0, "bash: break: only meaningful\n", ["+n"]),
        ('while [ -n "$U" ]; do break; done; touch n', 0, "", ["+n"]),
        ('while [ -n "$U" ]; do x=$(whoami); rm $x; done; touch n', 0, "", ["+n", "?"]),
        ('x=p; while [ -n "$U" ]; do x=q; done; touch $x', 0, "", ["?"]),
        ('x=p; while [ -n "$U" ]; do true; done; touch $x', 0, "", ["+p"]),
        ('x=p; if [ -n "$U" ]; then x=q; fi; touch $x', 0, "", ["?"]),
        ('x=p; if [ -n "$U" ]; then x=p; fi; touch $x', 0, "", ["+p"]),
        ('case "$U" in a) exit;; *) cd d;; esac; touch n', 0, "", ["+n"]),
        # The last of a pipe or of a loop has the status of the whole.
        ("true | tar cf t.tar a.txt", 1, "", []),
        ("tar cf t.tar a.txt | true", 0, "", ["+t.tar"]),
        ("set -o pipefail; cat zz | tar cf t.tar a.txt", 0, "", ["+t.tar"]),
        ("for f in a b; do tar cf $f.tar a.txt; done", 1, "", ["+a.tar"]),
        ("for f in a; do false; done || touch n; true", 0, "", ["+n"]),
        ("for f in $(true); do rm $f; done && touch n; true", 0, "", ["+n"]),
        ("while false; do rm a.txt; done && touch n; true", 0, "", ["+n"]),
        ("{ sleep 1 & } && touch n; true", 0, "", ["+n"]),
        ("! tar cf t.tar a.txt; true", 0, "", ["+t.tar"]),
        ("! tar cf t.tar a.txt", 0, "", []),
        # Output that went elsewhere is not what the program printed.
        ("{ git clean -f; } 1> /dev/null; echo 'Removing a.txt'", 0, "Removing a.txt\n", ["?"]),
        ("{ git clean -f; } > /dev/null; echo 'Removing a.txt'", 0, "Removing a.txt\n", ["?"]),
        ("{ git clean -f; } 2> /dev/null; echo x", 0, "Removing a.txt\nx\n", ["-a.txt"]),
        ("{ git clean -f; } >&2; echo x", 0, "Removing a.txt\nx\n", ["-a.txt"]),
        ("git clean -f >| n; echo 'Removing a.txt'", 0, "Removing a.txt\n", ["+n", "?"]),
        ("git clean -f >&2; echo x", 0, "Removing a.txt\nx\n", ["-a.txt"]),
        ("git clean -f > /dev/null; echo 'Removing a.txt'", 0, "Removing a.txt\n", ["?"]),
        ("git clean -f 1> /dev/null; echo 'Removing a.txt'", 0, "Removing a.txt\n", ["?"]),
        ("git clean -f 2> /dev/null; echo x", 0, "Removing a.txt\nx\n", ["-a.txt"]),
        ("git clean -f | cat; echo 'Removing a.txt'", 0, "Removing a.txt\n", ["?"]),
        ("rm a.txt 2> /dev/null; true", 0, "rm: cannot remove 'a.txt': zz\n", ["-a.txt"]),
        ("{ rm a.txt; } < nothing || touch n", 0, "bash: nothing: No such file or directory\n", ["+n"]),
        ("(touch n) < nothing; trap 'touch z' EXIT", 0, "bash: nothing: No such file or directory\n", ["+z"]),
        ("rm a.txt 2>&-; true", 0, "rm: cannot remove 'a.txt': zz\n", ["-a.txt"]),
        ("rm a.txt 1>&-; true", 0, "rm: cannot remove 'a.txt': zz\n", []),
        ("echo x > /dev/null 2> n", 0, "", ["+n"]),
        ("echo x > q/n; mkdir q; echo x > q/n", 0, "bash: q/n: No such file or directory\n", ["+q/n"]),
        ("echo x > q/n && touch m; true", 0, "bash: q/n: No such file or directory\n", []),
        ("x=p; read y <<< $x; touch $y", 0, "", ["+p"]),
        ("read y <<< $U; touch n$y", 0, "", ["?"]),
        ("cat < $U > n; touch $(cat n)", 0, "", ["+n", "?"]),
        # What a statement leaves behind.
        ("exit 1 & touch n", 0, "", ["+n"]),
        ("touch x$(if false; then :; fi)", 0, "", ["+x"]),
        ("if false; then rm a.txt; fi && touch n; true", 0, "", ["+n"]),
        ("$(true) || touch n; true", 0, "", []),
        ("x=.y; touch $x", 0, "", ["+.y"]),
        ("x=$PWD/q; cd d; touch $x", 0, "", ["?"]),
        ("x=$PWD/q; touch $PWD/p", 0, "", ["+p"]),
        ("touch $(echo p; while read x; do echo $x; done <<< q)", 0, "", ["+p", "+q"]),
        ('touch x$(if [ -n "$U" ]; then echo p; fi)', 0, "", ["?"]),
        ("f() { touch ${9}; }; f 1 2 3 4 5 6 7 8 p", 0, "", ["+p"]),
        ("set -- 1 2 3 4 5 6 7 8 p; set -- q; touch $1 x${9}", 0, "", ["+q", "?"]),
        ("touch x$(echo p; cat < nothing)", 0, "bash: nothing: No such file or directory\n", ["+xp"]),
        # Variables that stand before a command are its own.
        ("X=; X=p true; touch n$X", 0, "", ["+n"]),
        ("X=p true; touch n$X", 0, "", ["?"]),
        ("X=; X=p cat < nothing; touch n$X", 0, "bash: nothing: No such file or directory\n", ["+n"]),
        ("export X=p; touch n$X", 0, "", ["+np"]),
        ("f() { local x=q; touch $x; }; f", 0, "", ["+q"]),
        # A trap belongs to the shell that sets it.
        ("touch $(trap 'echo q' EXIT; echo p)", 0, "", ["+p", "+q"]),
        ("(trap 'touch p' EXIT; exit 3); touch q", 0, "", ["+p", "+q"]),
        ("(trap 'touch p' EXIT; cd e); touch q; rm p", 0, "", ["+e/p", "+q"]),
        ("trap 'touch p' EXIT; (true); rm p", 0, "", ["+p"]),
        ("bash -c \"trap 'touch p' EXIT\"; rm p", 0, "", []),
        ("trap 'touch p' EXIT; trap - EXIT", 0, "", []),
        ("trap -p EXIT; trap; touch q", 0, "", ["+q"]),
        # More than can be followed is not followed.
        ("for a in {1..99}; do for b in {1..99}; do touch f; done; done; touch n", 0, "", ["+f", "?"]),
        ("for a in {1..250}; do true; true; true; true; true; true; true; done; touch n", 0, "", ["+n"]),
        ("f() { f; }; f; touch n", 0, "", ["?"]),
    ],
)  # fmt: skip
def test_how_it_came_back(
    shell_effects: Effects, command: str, exit_code: int, output: str, made: list[str]
) -> None:
    assert shell_effects(command, exit_code, output) == made


@pytest.mark.parametrize(
    "body,name",
    [
        ("a$.b", "a$.b"),
        ("a\\$x", "a$x"),
        ("a\\`b", ""),
        ("a\\\\b", "a\\b"),
        ("a\\b", "a\\b"),
        ("a\\\nb", "ab"),
        ("a$x", "a1"),
        ("a${x}b", "a1b"),
        ("$x_", ""),
        ("a$", "a$"),
        ("${x", ""),
        ("${x:-y}", ""),
        ("$y", ""),
        ("$(echo p)", ""),
        ("`echo p`", ""),
    ],
)
def test_a_document_is_expanded(shell_effects: Effects, body: str, name: str) -> None:
    script = f'x=1; cat > n <<E\n{body}\nE\ntouch "$(cat n)"'
    assert shell_effects(script, 0, "") == sorted(["+n", f"+{name}" if name else "?"])


@pytest.mark.parametrize(
    "command,made",
    [
        ("echo p > n; touch $(cat n)", ["+n", "+p"]),
        ("echo p > n; echo q >> n; touch $(cat n)", ["+n", "+p", "+q"]),
        ("echo q >> a.txt; touch $(cat a.txt)", ["?", "~a.txt"]),
        ("echo p &> n; touch $(cat n)", ["+n", "?"]),
        ("echo p > n; echo q 2> m; touch $(cat m)x", ["+m", "+n", "?"]),
        ("echo p > n; make > n; touch $(cat n)", ["+n", "?", "?"]),
        ("{ echo p; echo q; } > n; touch $(cat n)", ["+n", "+p", "+q"]),
        ("echo p 2> m > n; touch $(cat n)", ["+m", "+n", "+p"]),
        ("echo p > $U > n; touch $(cat n)", ["+n", "+p", "?"]),
        ("echo p > n | cat; touch $(cat n)", ["+n", "+p"]),
        ("touch x$(echo p > n)", ["+n", "+x"]),
        ("echo p > n; tr p q < n > m; touch $(< m)", ["+m", "+n", "+q"]),
        ("echo p > n; touch $(< n)", ["+n", "+p"]),
        ("touch x$(> n)", ["+n", "+x"]),
    ],
)
def test_what_was_printed_into_a_file_is_its_text(
    shell_effects: Effects, command: str, made: list[str]
) -> None:
    assert shell_effects(command, 0, "") == made


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
