"""Programs that run other programs: ``env``, ``sudo``, ``bash -c``, ``xargs``."""

from __future__ import annotations

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation, Launcher, behind
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed, run_text
from leftoff.shell.state import Status, Walk


def _run_wrapper(walk: Walk, args: Invocation) -> Status:
    """``env``, ``sudo``, ``timeout``, ``flock``: what is behind their own options runs."""
    launcher = Launcher((), takes=args.entry.takes, skip=args.entry.skip)
    inner = behind(launcher, [args.name, *args.words])
    if not inner:
        return None if args.name == "command" else True
    own = args.words[: -len(inner)]
    if args.name == "flock" and own and walk.kind(own[-1]) != "file":
        walk.effects.unknown("flock", walk.path(own[-1]), action="created")
    cwd, uncertainty = walk.cwd, walk.uncertainty
    if any(word.startswith(("-C", "-D", "--chdir")) for word in own):
        walk.cwd = None  # in another directory, which is not followed
    if args.name in ("timeout", "gtimeout") and walk.expected_status is False:
        walk.uncertainty = max(uncertainty, 1)
    status = interpreter.call(walk, inner, walk.expected_status)
    walk.cwd, walk.uncertainty = cwd, uncertainty
    return status


def _run_shell(walk: Walk, args: Invocation) -> Status:
    for i, word in enumerate(args.words):
        if word[:1] == "-" and word[:2] != "--" and "c" in word[1:] and i + 1 < len(args.words):
            text = args.words[i + 1]
            if UNKNOWN in text:
                walk.effects.unknown(args.name)
                return None
            saved = dict(walk.variables)
            if len(args.words) > i + 2:
                walk.variables["0"] = args.words[i + 2]
                interpreter.set_positional(walk, args.words[i + 3 :])
            errexit, walk.errexit = walk.errexit, False
            text = "set -e\n" + text if "e" in word else text
            status = run_text(walk, text, walk.expected_status)
            walk.errexit, walk.variables = errexit, saved
            return status
    if "-n" in args.flags:
        return None
    if not args.operands or args.operands[0] == "-" or "-s" in args.flags:
        if "-s" in args.flags:
            interpreter.set_positional(walk, args.operands)
        if walk.stdin is not None:
            return run_text(walk, walk.stdin, walk.expected_status)
        walk.effects.unknown(args.name)
        return None
    name = args.operands[0]
    if UNKNOWN in name:
        walk.effects.unknown(args.name)
        return None
    text_of = walk.known_content(name)
    if ops.read(walk, name, named=False) is False:
        return False
    if text_of is not None:
        interpreter.set_positional(walk, args.operands[1:])
        return run_text(walk, text_of, walk.expected_status)
    walk.effects.unknown(args.name)
    return None


def _run_xargs(walk: Walk, args: Invocation) -> Status:
    """``xargs``: its items are words, or lines with ``-I``; other ways to separate them are
    not followed."""
    words, text, replace = args.words, walk.stdin, ""
    i = 0
    while i < len(words) and words[i][:1] == "-":
        word = words[i]
        i += 1
        if word[:2] in ("-I", "-i") or word.startswith("--replace"):
            replace = word.removeprefix("--replace").lstrip("=")[2:] or "{}"
            if word == "-I":
                replace = words[i] if i < len(words) else ""
                i += 1
        elif word in _XARGS_VALUES or word in args.entry.takes:
            if word in ("-a", "--arg-file"):
                ops.read(walk, "".join(words[i : i + 1]))
            i += 1
        if word[:2] in ("-a", "-d", "-0", "-L", "-n") or word[:2] == "--":
            text = None
    command = words[i:] or ["echo"]
    items = text.splitlines() if replace and text is not None else (text or "").split()
    if text is None or "'" in text or '"' in text or "\\" in text:
        uncertainty, walk.uncertainty = walk.uncertainty, 2  # it may run, on unknown operands
        for_unknown = [word.replace(replace, UNKNOWN) for word in command] if replace else None
        interpreter.call(walk, for_unknown or [*command, UNKNOWN], None)
        walk.uncertainty, walk.stdout = uncertainty, None
        return None
    if not items and (replace or args.has("-r")):
        walk.stdout = ""
        return True
    if not replace:
        return interpreter.call(walk, [*command, *items[:MAX_ITEMS]], walk.expected_status)
    status: Status = True
    for item in items[:MAX_ITEMS]:
        given = [word.replace(replace, item.strip()) for word in command]
        status = both_succeed(status, interpreter.call(walk, given, None))
    return status


_XARGS_VALUES = ("-n", "-L", "-d", "-a", "--delimiter", "--arg-file")
