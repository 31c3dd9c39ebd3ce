"""Programs that run other programs: ``env``, ``sudo``, ``bash -c``, ``xargs``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed, run_text

if TYPE_CHECKING:
    from leftoff.shell.commands import Invocation
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
            status = _text_errexit(walk, text, "e" in word)
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
    if ops.read(walk, name) is False:
        return False
    if text_of is not None:
        interpreter.set_positional(walk, args.operands[1:])
        return run_text(walk, text_of, walk.expected_status)
    walk.effects.unknown(args.name)
    return None


def _text_errexit(walk: Walk, text: str, errexit: bool) -> Status:
    if not errexit:
        return run_text(walk, text, walk.expected_status)
    return run_text(walk, "set -e\n" + text, walk.expected_status)


def _run_xargs(walk: Walk, args: Invocation) -> Status:
    words = args.words
    takes = args.entry.takes
    replace: str | None = None
    single = False
    null = False
    delimiter: str | None = None
    source: str | None = None
    i = 0
    while i < len(words) and words[i][:1] == "-":
        word = words[i]
        if word in ("-I", "--replace", "-i"):
            replace = words[i + 1] if word == "-I" and i + 1 < len(words) else "{}"
            i += 2 if word == "-I" else 1
        elif word.startswith("-I"):
            replace = word[2:]
            i += 1
        elif word in ("-n", "-L", "-n1", "-L1"):
            single = word in ("-n1", "-L1") or words[i + 1 : i + 2] == ["1"]
            i += 1 if word in ("-n1", "-L1") else 2
        elif word in ("-d", "--delimiter") and i + 1 < len(words):
            delimiter = {"\\n": "\n", "\\0": "\0", "\\t": "\t"}.get(words[i + 1], words[i + 1])
            i += 2
        elif word in ("-a", "--arg-file") and i + 1 < len(words):
            source = words[i + 1]
            i += 2
        elif word in takes:
            i += 2
        else:
            if "0" in word:
                null = True
            if word.startswith("-d") and len(word) > 2:
                delimiter = {"\\n": "\n", "\\0": "\0"}.get(word[2:], word[2:])
            i += 1
    command = words[i:] or ["echo"]
    text = walk.stdin
    if source is not None:
        text = walk.known_content(source)
        ops.read(walk, source)
    if text is None:
        return _xargs_unknown_input(walk, command, replace)
    if null:
        items = [item for item in text.split("\0") if item]
        if len(items) == 1 and "\n" in items[0]:
            items = items[0].splitlines()
    elif delimiter is not None:
        items = [item for item in text.split(delimiter) if item]
    elif replace is not None:
        items = [item.strip() for item in text.splitlines() if item.strip()]
    else:
        items = _shell_words(text)
    items = items[:MAX_ITEMS]
    if not items and (args.has("-r", "--no-run-if-empty") or replace is not None):
        walk.stdout = ""
        return True
    status: Status = True
    expected_status = walk.expected_status
    if replace is not None:
        for item in items:
            status = both_succeed(
                status,
                interpreter.call(walk, [word.replace(replace, item) for word in command], None),
            )
        return status
    if single:
        for item in items:
            status = both_succeed(status, interpreter.call(walk, [*command, item], None))
        return status
    return interpreter.call(walk, [*command, *items], expected_status)


def _xargs_unknown_input(walk: Walk, command: list[str], replace: str | None) -> Status:
    """``xargs`` on unknown input: the program may run, on unknown operands."""
    uncertainty = walk.uncertainty
    walk.uncertainty = 2
    if replace is not None:
        words = [word.replace(replace, UNKNOWN) for word in command]
    else:
        words = [*command, UNKNOWN]
    interpreter.call(walk, words, None)
    walk.uncertainty = uncertainty
    walk.stdout = None
    return None


def _shell_words(text: str) -> list[str]:
    """Words as ``xargs`` takes them: quotes and backslashes keep blanks together."""
    if not any(char in text for char in "'\"\\"):
        return text.split()
    try:
        return shlex.split(text)
    except ValueError:
        return [UNKNOWN]
