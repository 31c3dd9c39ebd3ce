"""Shell builtins that decide what later commands do: ``cd``, ``echo``, ``exit``, ``read``."""

import re

from leftoff.shell import operations as ops
from leftoff.shell.ast import UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.state import Status, Walk, both_succeed

# Where ``cd -`` and ``popd`` lead: no names of variables, so that no word expands to them.
_LAST, _PUSHED = "cd -", "pushd +"


def _run_cd(walk: Walk, args: Invocation) -> Status:
    """``cd``, ``pushd`` and ``popd``, but with a number."""
    walk.stdout = ""
    target = args.operands[0] if args.operands else walk.home or "~"
    pushed = walk.variables.get(_PUSHED, "").splitlines()
    if len(args.operands) > 1:
        return False
    if args.name == "popd":
        path = pushed.pop() if pushed and not args.words else None
    elif target == "-":
        path = walk.variables.get(_LAST)
    else:
        swaps = args.name == "pushd" and (not args.operands or target[:1] == "+")
        path = None if swaps else walk.resolved(target)
    path = None if path == UNKNOWN else path
    # A `cd` that fails leaves the directory as it was. One that is shown to succeed found a
    # directory that something made unseen, or a link to one that is not followed.
    kind = "unknown" if path is None else walk.state.kind(path)
    missing = kind in ("absent", "file") and walk.expected_status is not True
    failed = walk.expected_status is False and path is not None
    if missing or failed or walk.reports_error(args.name, target):
        return False
    before, walk.cwd = walk.cwd or UNKNOWN, None if kind == "file" else path
    walk.variables[_LAST] = before
    if args.name != "cd":
        walk.variables[_PUSHED] = "\n".join(
            [*pushed, before] if args.name == "pushd" else pushed
        )
    # That it worked shows that there is such a directory.
    if walk.uncertainty == 0 and walk.cwd is not None:
        walk.state.put_directory(walk.cwd)
    return True if kind in ("file", "directory") else None


def _run_cat(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    pieces: list[str | None] = []
    for field in args.operands or ["-"]:
        if field == "-":
            pieces.append(walk.stdin)
        else:
            pieces.append(walk.known_content(field))
            status = both_succeed(status, ops.read(walk, field))
    if not args.flags and all(piece is not None for piece in pieces):
        walk.stdout = "".join(piece for piece in pieces if piece is not None)
    return status


def _run_source(walk: Walk, args: Invocation) -> Status:
    """``source``: what the commands of the script do is not followed."""
    return ops.read(walk, args.operands[0], named=False) if args.operands else None


def _run_forget(walk: Walk, args: Invocation) -> Status:
    """``read``, ``unset``, ``((`` and their like: the values that they set are not followed."""
    names = re.findall(r"[A-Za-z_]\w*", " ".join(args.words))
    for name in names or ["REPLY", "MAPFILE"]:
        walk.variables[name] = UNKNOWN
    walk.stdout = ""
    return None


def _run_eval(walk: Walk, args: Invocation) -> Status:
    """``eval`` and ``trap``: commands that may change anything, now or at the end."""
    walk.effects.unknown(args.name)
    walk.end(surely=False)
    walk.cwd = None if args.name == "eval" else walk.cwd
    return None


def _run_exit(walk: Walk, args: Invocation) -> Status:
    number = args.operands[0] if args.operands else ""
    if walk.uncertainty == 2 and walk.succeeded and number.isdecimal() and int(number):
        return None  # it was not reached: the shell succeeded
    walk.end(surely=True)
    return number == "0" if number.isdecimal() else None


def _run_set(walk: Walk, args: Invocation) -> Status:
    """``set -e``: unless the shell succeeded, it may have ended after any command."""
    letters = "".join(word[1:] for word in args.words if word[:1] == "-" and word[:2] != "--")
    # `set -euo pipefail`, `set -o errexit`
    if ("e" in letters or "errexit" in args.words) and not walk.succeeded:
        walk.end(surely=False)
    walk.stdout = ""
    return True
