"""Programs that run other programs: ``env``, ``sudo``, ``bash -c``, ``xargs``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from leftoff.shell.ast import UNKNOWN
from leftoff.shell.programs.nested import MANY, both, run_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS"]


def _wrapper(machine: Machine, run: Invocation) -> Status:
    """``env``, ``sudo``, ``timeout`` …: options, settings, then a command."""
    words = run.words
    takes = run.entry.takes
    i = 0
    directory: str | None = None
    while i < len(words):
        word = words[i]
        if word == "--":
            i += 1
            break
        if word[:1] == "-" and len(word) > 1:
            if run.name == "command" and word in ("-v", "-V"):
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
    i += run.entry.skip
    if i >= len(words):
        return True
    cwd = machine.cwd
    if directory is not None:
        machine.cwd = machine.path(directory)
    rank = machine.rank
    if run.name in ("timeout", "gtimeout") and machine.want is False:
        machine.rank = max(rank, 1)
    status = machine.call(words[i:], machine.want)
    if directory is not None:
        machine.cwd = cwd
    machine.rank = rank
    return status


def _shell(machine: Machine, run: Invocation) -> Status:
    """``bash -c TEXT``, ``bash FILE``, ``bash < TEXT``."""
    for i, word in enumerate(run.words):
        if word[:1] == "-" and word[:2] != "--" and "c" in word[1:] and i + 1 < len(run.words):
            text = run.words[i + 1]
            if UNKNOWN in text:
                machine.effects.unknown(run.name)
                return None
            saved = dict(machine.variables)
            if len(run.words) > i + 2:
                machine.variables["0"] = run.words[i + 2]
                machine.positional(run.words[i + 3 :])
            strict, machine.strict = machine.strict, False
            status = run_text_strict(machine, text, "e" in word)
            machine.strict, machine.variables = strict, saved
            return status
    if "-n" in run.flags:
        return None
    if not run.operands or run.operands[0] == "-" or "-s" in run.flags:
        if "-s" in run.flags:
            machine.positional(run.operands)
        if machine.stdin is not None:
            return run_text(machine, machine.stdin, machine.want)
        machine.effects.unknown(run.name)
        return None
    name = run.operands[0]
    if UNKNOWN in name:
        machine.effects.unknown(run.name)
        return None
    text_of = machine.known_text(name)
    if machine.read(name) is False:
        return False
    if text_of is not None:
        machine.positional(run.operands[1:])
        return run_text(machine, text_of, machine.want)
    machine.effects.unknown(run.name)
    return None


def run_text_strict(machine: Machine, text: str, strict: bool) -> Status:
    """`run_text`, stopping at the first failure where `strict`."""
    if not strict:
        return run_text(machine, text, machine.want)
    return run_text(machine, "set -e\n" + text, machine.want)


def _xargs(machine: Machine, run: Invocation) -> Status:
    words = run.words
    takes = run.entry.takes
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
    text = machine.stdin
    if source is not None:
        text = machine.known_text(source)
        machine.read(source)
    if text is None:
        return _blind_xargs(machine, command, replace)
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
    items = items[:MANY]
    if not items and (run.has("-r", "--no-run-if-empty") or replace is not None):
        machine.stdout = ""
        return True
    status: Status = True
    want = machine.want
    if replace is not None:
        for item in items:
            status = both(
                status,
                machine.call([word.replace(replace, item) for word in command], None),
            )
        return status
    if single:
        for item in items:
            status = both(status, machine.call([*command, item], None))
        return status
    return machine.call([*command, *items], want)


def _blind_xargs(machine: Machine, command: list[str], replace: str | None) -> Status:
    """The operands are not known: the program runs on something."""
    rank = machine.rank
    machine.rank = 2
    if replace is not None:
        words = [word.replace(replace, UNKNOWN) for word in command]
    else:
        words = [*command, UNKNOWN]
    machine.call(words, None)
    machine.rank = rank
    machine.stdout = None
    return None


def _shell_words(text: str) -> list[str]:
    """Words as ``xargs`` takes them: quotes and backslashes keep blanks together."""
    if not any(char in text for char in "'\"\\"):
        return text.split()
    try:
        return shlex.split(text)
    except ValueError:
        return [UNKNOWN]


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    "wrapper": _wrapper,
    "shell": _shell,
    "xargs": _xargs,
}
