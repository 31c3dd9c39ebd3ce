"""Programs that search files: ``grep`` and ``find``."""

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.state import Status, Walk


def _run_find(walk: Walk, args: Invocation) -> Status:
    """``find``: which files it finds is not followed, so it may have changed any that it
    deletes or runs a program on."""
    words = args.words
    # It deletes files that an expression selects, which only the disk knows.
    if "-delete" in words:
        walk.effects.unknown("find", action="deleted")
    uncertainty, cwd, walk.uncertainty = walk.uncertainty, walk.cwd, 2
    for i, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((n for n in range(i, len(words)) if words[n] in (";", "+")), len(words))
            command = [UNKNOWN if "{}" in part else part for part in words[i + 1 : end]]
            if command:
                walk.cwd = None if word.endswith("dir") else cwd
                interpreter.call(walk, command, None)
        elif word in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            walk.effects.unknown("find")
    walk.uncertainty, walk.cwd = uncertainty, cwd
    return None


def _run_grep(walk: Walk, args: Invocation) -> Status:
    named = args.has("-e", "-f", "--regexp", "--file")
    operands = args.operands if named else args.operands[1:]
    walk.expected_status = None if walk.expected_status is False else walk.expected_status
    recursive = args.name in ("rg", "ag", "ack") or args.has(
        "-r", "-R", "--recursive", "--dereference-recursive"
    )
    if args.has("--files"):
        return None
    for field in args.values.get("-f", ()):
        ops.read(walk, field)
    read = ops.read_tree if recursive else ops.read
    found = [read(walk, field) for field in operands]
    return False if found == [False] else None
