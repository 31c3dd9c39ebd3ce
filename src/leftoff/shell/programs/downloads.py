"""``git`` before its subcommand, and downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS"]


def _git(machine: Machine, run: Invocation) -> Status:
    """Take the options before the subcommand and hand over to it."""
    words = run.words
    cwd = machine.cwd
    i = 0
    while i < len(words) and words[i][:1] == "-":
        if words[i] == "-C" and i + 1 < len(words):
            field = words[i + 1]
            machine.cwd = machine.path(field) if not machine.special(field) else None
            i += 2
        elif words[i] in ("-c", "--git-dir", "--work-tree", "--namespace"):
            i += 2
        else:
            i += 1
    from leftoff.shell.programs.git import SUBCOMMANDS

    name = words[i] if i < len(words) else ""
    handler = SUBCOMMANDS.get(name)
    status: Status = None
    if handler is not None:
        status = handler(machine, words[i + 1 :])
    machine.cwd = cwd
    return status


def _curl(machine: Machine, run: Invocation) -> Status:
    if machine.want is False:
        return False
    for value in run.values.get("-o", []) + run.values.get("--output", []):
        machine.write(value)
    for value in run.values.get("-d", []) + run.values.get("--data", []):
        if value.startswith("@") and value != "@-":
            machine.read(value[1:])
    for option in ("-T", "--upload-file"):
        for value in run.values.get(option, ()):
            machine.read(value)
    if run.has("-O", "--remote-name"):
        for url in run.operands:
            name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
            if name and UNKNOWN not in url:
                machine.write(name)
            else:
                machine.effects.unknown("curl")
    return None


def _wget(machine: Machine, run: Invocation) -> Status:
    target = run.value("-O", "--output-document")
    if target is not None:  # made before anything is fetched
        machine.write(target)
        return None
    if machine.want is False:
        return False
    if run.has("--spider"):
        return None
    prefix = run.value("-P", "--directory-prefix")
    for url in run.operands:
        name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
        if name and "://" in url and not run.has("-r", "-m", "--mirror"):
            machine.write(prefix.rstrip("/") + "/" + name if prefix else name)
        else:
            machine.effects.unknown("wget")
    return None


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    "git": _git,
    "curl": _curl,
    "wget": _wget,
}
