"""Programs that run other programs: ``env``, ``sudo``, ``bash -c``, ``xargs``."""

from __future__ import annotations

import shlex

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed, run_text
from leftoff.shell.state import Status, Walk


def _run_wrapper(walk: Walk, args: Invocation) -> Status:
    words = args.words
    takes = args.entry.takes
    i = 0
    directory: str | None = None
    while i < len(words):
        word = words[i]
        if word == "--":
            i += 1
            break
        if word[:1] == "-" and len(word) > 1:
            if args.name == "command" and word in ("-v", "-V"):
                return None
            if word in takes and i + 1 < len(words):
                if word in ("-C", "--chdir"):
                    directory = words[i + 1]
                i += 2
            elif word.startswith("--chdir="):
                directory = word[8:]
                i += 1
            else:
                i += 1
        elif "=" in word and word.partition("=")[0].isidentifier():
            i += 1
        else:
            break
    if args.name == "flock" and i < len(words) and walk.kind(words[i]) != "file":
        walk.effects.unknown("flock", walk.path(words[i]), action="created")
    i += args.entry.skip
    if i >= len(words):
        return True
    cwd = walk.cwd
    if directory is not None:
        walk.cwd = walk.path(directory)
    uncertainty = walk.uncertainty
    if args.name in ("timeout", "gtimeout") and walk.expected_status is False:
        walk.uncertainty = max(uncertainty, 1)
    status = interpreter.call(walk, words[i:], walk.expected_status)
    if directory is not None:
        walk.cwd = cwd
    walk.uncertainty = uncertainty
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


_SEPARATORS = {"\\n": "\n", "\\0": "\0", "\\t": "\t"}


def _run_xargs(walk: Walk, args: Invocation) -> Status:
    words, text = args.words, walk.stdin
    replace = separator = ""
    single, i = False, 0
    while i < len(words) and words[i][:1] == "-":
        word, value = words[i], words[i + 1] if i + 1 < len(words) else ""
        i += 1
        if word[:2] in ("-I", "-n", "-L", "-d") or word in ("--delimiter", "-a", "--arg-file"):
            apart = word[:2] == "--" or len(word) == 2
            value = value if apart else word[2:]
            i += apart
            if word[:2] == "-I":
                replace = value or "{}"
            elif word in ("-a", "--arg-file"):
                text = walk.known_content(value)
                ops.read(walk, value)
            elif word[:2] in ("-n", "-L"):
                single = value == "1"
            else:
                separator = _SEPARATORS.get(value, value)
        elif word[:2] == "-i" or word.startswith("--replace"):
            replace = word.removeprefix("-i").removeprefix("--replace").lstrip("=") or "{}"
        elif word in args.entry.takes:
            i += 1
        elif word == "--null" or word[1:2] in ("0", "r") and "0" in word:
            separator = "\0"
    command = words[i:] or ["echo"]

    def call(item: str, expected_status: Status = None) -> Status:
        given = (
            [word.replace(replace, item) for word in command] if replace else [*command, item]
        )
        return interpreter.call(walk, given, expected_status)

    if text is None:  # it may run, on unknown operands
        uncertainty, walk.uncertainty = walk.uncertainty, 2
        call(UNKNOWN)
        walk.uncertainty, walk.stdout = uncertainty, None
        return None
    if separator and not (separator == "\0" and separator not in text):
        items = text.split(separator)
    elif separator or replace:
        items = [item.strip() for item in text.splitlines()]
    else:
        try:
            items = shlex.split(text)
        except ValueError:
            items = [UNKNOWN]
    items = [item for item in items if item][:MAX_ITEMS]
    if not items and (args.has("-r", "--no-run-if-empty") or replace):
        walk.stdout = ""
        return True
    if not replace and not single:
        return interpreter.call(walk, [*command, *items], walk.expected_status)
    status: Status = True
    for item in items:
        status = both_succeed(status, call(item))
    return status
