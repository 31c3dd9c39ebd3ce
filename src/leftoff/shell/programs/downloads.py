"""Programs that download files: ``curl`` and ``wget``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN

if TYPE_CHECKING:
    from leftoff.shell.commands import Invocation
    from leftoff.shell.state import Status, Walk


def _run_curl(walk: Walk, args: Invocation) -> Status:
    if walk.expected_status is False:
        return False
    for value in args.values.get("-o", []) + args.values.get("--output", []):
        ops.write(walk, value)
    for value in args.values.get("-d", []) + args.values.get("--data", []):
        if value.startswith("@") and value != "@-":
            ops.read(walk, value[1:])
    for option in ("-T", "--upload-file"):
        for value in args.values.get(option, ()):
            ops.read(walk, value)
    if args.has("-O", "--remote-name"):
        for url in args.operands:
            name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
            if name and UNKNOWN not in url:
                ops.write(walk, name)
            else:
                walk.effects.unknown("curl")
    return None


def _run_wget(walk: Walk, args: Invocation) -> Status:
    target = args.value("-O", "--output-document")
    if target is not None:  # made before anything is fetched
        ops.write(walk, target)
        return None
    if walk.expected_status is False:
        return False
    if args.has("--spider"):
        return None
    prefix = args.value("-P", "--directory-prefix")
    for url in args.operands:
        name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
        if name and "://" in url and not args.has("-r", "-m", "--mirror"):
            ops.write(walk, prefix.rstrip("/") + "/" + name if prefix else name)
        else:
            walk.effects.unknown("wget")
    return None
