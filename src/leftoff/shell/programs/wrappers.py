"""Programs that run other programs: ``env``, ``sudo``, ``bash -c``, ``xargs``."""

from itertools import pairwise

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation, Launcher, behind, program_rules
from leftoff.shell.parser import parse
from leftoff.shell.state import Status, Walk


def run_text(walk: Walk, text: str, expected_status: Status = None) -> Status:
    """Interpret a script text as a child shell in the same directory."""
    if len(text) > 20_000 or UNKNOWN in text:
        walk.effects.unknown("shell")
        return None
    return interpreter.subshell(walk, parse(text, home=walk.home).body, expected_status)


def _program_behind(args: Invocation) -> list[str]:
    launcher = Launcher((args.name,), takes=args.entry.takes, skip=args.entry.skip)
    return behind(launcher, [args.name, *args.words])


def _run_wrapper(walk: Walk, args: Invocation) -> Status:
    words = _program_behind(args)
    if not words:
        return None
    if args.has("-C", "-D", "--chdir"):  # which directory that is, is not followed
        walk.effects.unknown(words[0])
        return None
    # The time limit may have ended it: how far it came is not known.
    ended = args.name in ("timeout", "gtimeout") and walk.expected_status is False
    with interpreter.raised(walk, 2 if ended else 0):
        return interpreter.call(walk, words, walk.expected_status)


def _run_npx(walk: Walk, args: Invocation) -> Status:
    """``npx``: of a package that is no known program it is not known what it does."""
    known = program_rules()
    words = behind(known.launchers[args.name], [args.name, *args.words])
    name = words[0].partition("@")[0] if words else ""
    if name in known.by_name or name in known.with_subcommands:
        return interpreter.call(walk, [name, *words[1:]], walk.expected_status)
    if walk.expected_status is not False:
        walk.effects.unknown(args.name)
    return None


def _run_shell(walk: Walk, args: Invocation) -> Status:
    """``bash -c TEXT``, ``bash SCRIPT``, or a script on standard input."""
    if args.has("-n"):
        return None
    text = walk.stdin
    if args.has("-c"):
        text = args.value("-c")
    elif args.operands and not args.has("-s"):
        text = walk.known_content(args.operands[0])
        if ops.read(walk, args.operands[0], named=False) is False:
            return False
    if text is None:
        walk.effects.unknown(args.name)
        return None
    # `bash -e` is `set -e` before the first command.
    if args.has("-e"):
        text = "set -e\n" + text
    return run_text(walk, text, walk.expected_status)


def _run_xargs(walk: Walk, args: Invocation) -> Status:
    """``xargs``: it runs a program on operands that are not followed, perhaps on none."""
    words = _program_behind(args)
    marks = [*args.values.get("-I", ()), "{}"]
    if words:
        given = [UNKNOWN if mark in word else word for word in words for mark in marks[:1]]
        with interpreter.raised(walk, 2):
            interpreter.call(walk, [*given, UNKNOWN], None)
    walk.stdout = None
    return None


def _run_find(walk: Walk, args: Invocation) -> Status:
    """``find``: which files it finds is not followed, so it may have changed any that it
    deletes or runs a program on."""
    words = args.words
    # It deletes files that an expression selects, which only the disk knows.
    if "-delete" in words:
        walk.effects.unknown("find", action="deleted")
    for option, name in pairwise(words):
        if option in ("-fprint", "-fprint0", "-fprintf", "-fls"):
            ops.write(walk, name)
    cwd = walk.cwd
    for i, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((n for n in range(i, len(words)) if words[n] in (";", "+")), len(words))
            command = [UNKNOWN if "{}" in part else part for part in words[i + 1 : end]]
            if command:
                walk.cwd = None if word.endswith("dir") else cwd
                with interpreter.raised(walk, 2):
                    interpreter.call(walk, command, None)
    walk.cwd = cwd
    return None
