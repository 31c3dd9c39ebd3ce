"""Programs that run other programs: ``env``, ``sudo``, ``bash -c``, ``xargs``."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from leftoff import lazy_re as re
from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation, Launcher, behind, program_rules, unwrapped
from leftoff.shell.parser import parse
from leftoff.shell.state import Status, Walk


def run_text(walk: Walk, text: str, expected_status: Status = None) -> Status:
    """Interpret a script text as a child shell in the same directory."""
    if len(text) > 20_000 or UNKNOWN in text:
        walk.effects.unknown("shell")
        return None
    return interpreter.subshell(walk, parse(text, home=walk.home).body, expected_status)


# With these options a program only says what it is or would do.
_DRY = frozenset({"--help", "--version", "--dry-run", "--check"})
# Subcommands that print, and those that serve, whatever the program.
_LOOKS = frozenset(
    "help list ls status show info view search explain whoami current doctor logs"
    " review".split()
)
_SERVES = frozenset("serve server dev start preview phx.server runserver".split())
# What scripts are called that print what there is; and those that test, or programs that serve.
_LOOKERS = re.compile(
    r"(?:list|show|print|find|count|check)[-_][\w-]+\.(?:sh|m?js|py|rb|pl|ps1)"
)
_TESTS = re.compile(r"(?:run_?)?tests?(?:[-_][\w-]+)?\.(?:sh|m?js|py|rb|pl|ps1)|[\w-]+-server")


def only_looks(words: list[str], name: str = "") -> bool:
    """Whether a program that is asked so changes no file, by what such words mean to most."""
    asked = not _DRY.isdisjoint(words) or not _LOOKS.isdisjoint(words[:2])
    return asked or _LOOKERS.fullmatch(name) is not None


def record_run(
    walk: Walk, words: list[str], program: str = "", *, builds: bool = False
) -> None:
    """Record that a program ran of which no more is known: it may have changed any file, unless
    it only looks; one that serves, tests or `builds` makes files of its own at most."""
    name = program.rpartition("/")[2]
    if only_looks(words, name):
        return
    makes = builds or not _SERVES.isdisjoint(words[:2]) or _TESTS.fullmatch(name)
    walk.effects.unknown(walk.tool, action="created" if makes else "unknown")


def launched(walk: Walk, words: list[str]) -> Callable[[], Status] | None:
    """What runs the program or the script behind a launcher such as ``uv run``; None where the
    words are of no launcher."""
    inner, script = unwrapped(words)
    if script:
        return partial(run_text, walk, script, walk.expected_status)
    if len(inner) == len(words):
        return None
    return partial(interpreter.call, walk, inner, walk.expected_status)


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
        record_run(walk, args.operands[1:], "".join(args.operands[:1]))
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
