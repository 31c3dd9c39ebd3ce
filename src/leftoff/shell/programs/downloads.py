"""Programs that download files: ``curl`` and ``wget``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Interpreter, Status

__all__ = ["HANDLERS"]


def _curl(shell: Interpreter, args: Invocation) -> Status:
    if shell.expected_status is False:
        return False
    for value in args.values.get("-o", []) + args.values.get("--output", []):
        shell.write(value)
    for value in args.values.get("-d", []) + args.values.get("--data", []):
        if value.startswith("@") and value != "@-":
            shell.read(value[1:])
    for option in ("-T", "--upload-file"):
        for value in args.values.get(option, ()):
            shell.read(value)
    if args.has("-O", "--remote-name"):
        for url in args.operands:
            name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
            if name and UNKNOWN not in url:
                shell.write(name)
            else:
                shell.effects.unknown("curl")
    return None


def _wget(shell: Interpreter, args: Invocation) -> Status:
    target = args.value("-O", "--output-document")
    if target is not None:  # made before anything is fetched
        shell.write(target)
        return None
    if shell.expected_status is False:
        return False
    if args.has("--spider"):
        return None
    prefix = args.value("-P", "--directory-prefix")
    for url in args.operands:
        name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
        if name and "://" in url and not args.has("-r", "-m", "--mirror"):
            shell.write(prefix.rstrip("/") + "/" + name if prefix else name)
        else:
            shell.effects.unknown("wget")
    return None


HANDLERS: dict[str, Callable[[Interpreter, Invocation], Status]] = {
    "curl": _curl,
    "wget": _wget,
}
