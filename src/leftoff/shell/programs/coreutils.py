"""Programs that make, copy, move and remove files: ``cp``, ``mv``, ``rm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell import operations as ops
from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import both_succeed, prompt_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.state import Status, Walk

__all__ = ["HANDLERS"]


def _parse_targets(walk: Walk, args: Invocation) -> tuple[list[str], str, bool] | None:
    """The sources, the target and whether the target is a directory."""
    into = args.value("-t", "--target-directory")
    operands = args.operands
    if into is not None:
        return operands, into, True
    if len(operands) < 2:
        return None
    sources, target = operands[:-1], operands[-1]
    if args.has("-T", "--no-target-directory"):
        return sources, target, False
    if len(sources) > 1 or target.endswith("/") or target in (".", "..", "~"):
        return sources, target, True
    if walk.is_unresolved(target):
        return sources, target, False
    path = walk.path(target)
    kind = walk.state.kind(path) if path is not None else "unknown"
    if kind == "unknown" and not PATTERN_MARKS.isdisjoint(sources[0]):
        return sources, target, True
    if kind == "unknown" and path is not None:
        name = path.rpartition("/")[2]
        source = sources[0].rstrip("/").rpartition("/")[2]
        has_dot = "." in source[1:] and "." not in name[1:]
        if has_dot and (name[:1].islower() or name[:1] == ".") and name != source:
            return sources, target, True
    return sources, target, kind == "directory"


def _copy(walk: Walk, args: Invocation) -> Status:
    found = _parse_targets(walk, args)
    if found is None:
        return False
    sources, target, into = found
    move = args.name == "mv"
    recursive = args.has("-r", "-R", "-a", "--recursive", "--archive")
    path = walk.resolved(target)
    if into and path is not None:
        kind = walk.state.kind(path)
        if kind in ("absent", "file"):
            if (
                kind == "file"
                or len(sources) > 1
                or not (move and walk.kind(sources[0]) == "directory")
            ):
                if not (recursive and len(sources) == 1):
                    if len(sources) == 1 and not move:
                        ops.read(walk, sources[0])
                    return False
            into = False
            target = target.rstrip("/")
        elif kind == "unknown" and walk.expected_status is not False and walk.uncertainty < 2:
            walk.state.put_directory(path)
    if walk.expected_status is False and len(sources) == 1:
        source = walk.path(sources[0])
        if source is None or walk.state.kind(source) == "unknown":
            return False
    if walk.expected_status is False and any(
        walk.reports_error(args.name, item) for item in sources
    ):
        walk.expected_status = None  # sources without an error message were copied
    if (
        (into or recursive)
        and args.has("-v", "--verbose")
        and _apply_verbose_output(walk, move)
    ):
        return None
    if args.has("--parents"):
        return _copy_with_parents(walk, sources, target, recursive)
    keep = args.has("-n", "--no-clobber")
    asked = prompt_answer(walk) if args.has("-i", "--interactive") else True
    update = args.has("-u", "--update")
    backup = args.has("-b", "--backup")
    status: Status = True
    for source in sources:
        goal = ops.destination(source, target, into)
        if UNKNOWN in source or not PATTERN_MARKS.isdisjoint(source):
            if into and path is not None:
                ops.record_unknown_below(walk, target)
            ops.record_unknown(walk, source, "deleted" if move else "read")
            status = both_succeed(status, None)
            continue
        goal_path = walk.path(goal)
        exists = goal_path is not None and walk.state.kind(goal_path) == "file"
        if exists and (keep or asked is False):
            continue
        if exists and asked is None:
            walk.effects.unknown(args.name, goal_path, action="modified")
            if move:
                ops.record_unknown(walk, source, "deleted")
            continue
        uncertainty = walk.uncertainty
        if update and exists:
            walk.uncertainty = max(uncertainty, 2)
        if backup and exists and goal_path is not None:
            walk.effects.write(goal_path + "~", walk.tool, walk.uncertainty)
        if recursive and not move and source.rstrip("/").endswith("/."):
            goal = target
        status = both_succeed(
            status, ops.transfer(walk, source, goal, move=move, recursive=recursive)
        )
        walk.uncertainty = uncertainty
    return status


def _copy_with_parents(walk: Walk, sources: list[str], target: str, recursive: bool) -> Status:
    """``cp --parents``: the folders of each source are made below the target."""
    if walk.kind(target) in ("absent", "file"):
        return False
    status: Status = True
    for source in sources:
        path = walk.resolved(source)
        if path is None or walk.is_unresolved(target) or path[:1] in "/~" or path[:2] == "..":
            ops.record_unknown_below(walk, target)
            status = both_succeed(status, None)
            continue
        goal = target.rstrip("/") + "/" + source.removeprefix("./")
        if walk.state.kind(path) != "absent":
            ops.make_directory(walk, parent_of(goal), parents=True)
        status = both_succeed(
            status, ops.transfer(walk, source, goal, move=False, recursive=recursive)
        )
    return status


def _apply_verbose_output(walk: Walk, move: bool) -> bool:
    """Apply the transfers that ``cp -v`` or ``mv -v`` printed; False where there are none."""
    if walk.captured or walk.stderr_hidden or walk.output is None:
        return False
    found: list[tuple[str, str]] = []
    for line in walk.lines():
        text = line.removeprefix("renamed ")
        old, arrow, new = text.partition("' -> '")
        if arrow and old[:1] == "'" and new[-1:] == "'":
            found.append((old[1:], new[:-1]))
    above = {parent_of(old) for old, _ in found}
    for old, new in found:
        tree = walk.kind(old) == "directory"
        if move or not (tree or old in above):
            ops.transfer(walk, old, new, move=move, recursive=tree)
        else:  # its files follow in lines of their own
            ops.make_directory(walk, new, parents=True)
    return bool(found)


def _install(walk: Walk, args: Invocation) -> Status:
    if args.has("-d", "--directory"):
        for field in args.operands:
            ops.make_directory(walk, field, parents=True)
        return True
    found = _parse_targets(walk, args)
    if found is None:
        return False
    sources, target, into = found
    if walk.expected_status is False:
        if len(sources) < 2 or not any(walk.reports_error("install", item) for item in sources):
            return False
        walk.expected_status = None  # sources without an error message were copied
    if args.has("-D"):
        path = walk.path(target)
        if path is not None:
            walk.state.put_directory(path if into else parent_of(path))
    status: Status = True
    for source in sources:
        goal = ops.destination(source, target, into)
        done = ops.transfer(walk, source, goal, move=False, recursive=False)
        status = both_succeed(status, done)
    return status


def _link(walk: Walk, args: Invocation) -> Status:
    operands = args.operands
    if walk.expected_status is False:
        return False
    if len(operands) == 1:
        operands = [*operands, "."]
    if len(operands) < 2 and not args.has("-t"):
        return False
    symbolic = args.has("-s", "--symbolic")
    into = args.value("-t", "--target-directory")
    target = into or operands[-1]
    sources = operands if into else operands[:-1]
    path = walk.resolved(target)
    directory = (
        into is not None
        or target.endswith("/")
        or len(sources) > 1
        or (path is not None and walk.state.kind(path) == "directory" and not args.has("-n"))
        or target == "."
    )
    status: Status = True
    for source in sources:
        if not symbolic:
            old = walk.resolved(source)
            if old is not None and walk.state.kind(old) in ("absent", "directory"):
                status = False
                continue
        goal = ops.destination(source, target, directory)
        goal_path = walk.resolved(goal)
        kind = walk.state.kind(goal_path) if goal_path is not None else "unknown"
        if kind in ("file", "directory") and not args.has("-f", "--force"):
            status = False
            continue
        status = status if ops.write(walk, goal) else False
    return status


def _rsync(walk: Walk, args: Invocation) -> Status:
    if args.has("-n", "--dry-run") or len(args.operands) < 2 or walk.expected_status is False:
        return None
    target = args.operands[-1]
    if ":" in target or any(":" in item for item in args.operands):
        walk.effects.unknown("rsync")
        return None
    recursive = args.has("-a", "-r", "--archive", "--recursive")
    if walk.kind(target) == "absent" and (recursive or target.endswith("/")):
        ops.make_directory(walk, target)
    for source in args.operands[:-1]:
        path = walk.resolved(source)
        if path is None:
            walk.effects.unknown("rsync")
        elif walk.state.kind(path) == "directory" and recursive:
            goal = target if source.endswith("/") else ops.destination(source, target, True)
            ops.transfer(walk, source.rstrip("/"), goal, move=False, recursive=True)
        else:
            into = target.endswith("/") or walk.kind(target) == "directory"
            goal = ops.destination(source, target, into)
            ops.transfer(walk, source, goal, move=False, recursive=recursive)
    if args.has("--delete"):
        walk.effects.unknown("rsync", action="deleted")
    return None


def _prompts(args: Invocation) -> bool:
    """Whether ``rm`` prompts, which its last option decides."""
    asks = ""
    for word in args.words:
        if word == "--":
            break
        if word.startswith("--interactive"):
            when = word.partition("=")[2]
            asks = {"never": "", "no": "", "none": "", "once": "I"}.get(when, "i")
        elif word == "--force":
            asks = ""
        elif word[:1] == "-" and word[:2] != "--":
            for letter in word[1:]:
                asks = letter if letter in "iI" else "" if letter == "f" else asks
    once = len(args.operands) > 3 or args.has("-r", "-R", "--recursive")
    return asks == "i" or (asks == "I" and once)


def _remove(walk: Walk, args: Invocation) -> Status:
    force = args.has("-f", "--force")
    recursive = args.has("-r", "-R", "--recursive")
    status: Status = True
    if args.name == "unlink" and len(args.operands) != 1:
        return False
    if args.name == "shred" and not args.has("-u", "--remove"):
        for field in args.operands:
            status = both_succeed(status, ops.modify(walk, field))
        return status
    if args.name == "rm" and _prompts(args):
        answer = prompt_answer(walk)
        if answer is None:
            for field in args.operands:
                walk.effects.unknown(
                    "rm",
                    walk.resolved(field),
                    action="deleted",
                )
        if not answer:
            return None
    if args.has("-v", "--verbose") and not walk.captured and not walk.stderr_hidden:
        for line in walk.lines():
            if line.startswith("removed '") and line[-1:] == "'":
                walk.effects.delete(
                    walk.path(line[9:-1]) or line[9:-1],
                    args.name,
                    walk.uncertainty,
                    existed=True,
                )
    unknown_operands = 0
    failing = walk.expected_status is False
    reported = not failing or any(walk.reports_error(args.name, item) for item in args.operands)
    for field in args.operands:
        path = walk.resolved(field)
        if path is not None and walk.state.kind(path) == "unknown" and failing:
            if not reported or walk.reports_error(args.name, field):
                unknown_operands += 1
                continue
            walk.expected_status = None
        done = ops.delete(walk, field, force=force, recursive=recursive)
        if failing:
            walk.expected_status = False
        status = both_succeed(status, done)
    if failing and unknown_operands > 1 and not reported:
        walk.effects.unknown(args.name, action="deleted")
    if not args.operands:
        return force
    return status


def _rmdir(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        path = walk.resolved(field)
        if path is None:
            status = both_succeed(status, None)
            continue
        kind = walk.state.kind(path)
        while True:
            if kind in ("absent", "file") or walk.state.below(path, directories=True):
                status = False
                break
            if walk.expected_status is not False and walk.uncertainty == 0:
                walk.state.remove(path)
                status = both_succeed(status, True if kind == "directory" else None)
            path = parent_of(path)
            if not args.has("-p", "--parents") or path in (".", "/", walk.cwd):
                break
            kind = walk.state.kind(path)
    return status


def _mkdir(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        done = ops.make_directory(walk, field, parents=args.has("-p", "--parents"))
        status = both_succeed(status, done)
    walk.stdout = ""
    return status


def _touch(walk: Walk, args: Invocation) -> Status:
    if walk.expected_status is False and len(args.operands) == 1:
        return False
    keep = args.has("-c", "--no-create")
    status: Status = True
    for field in args.operands:
        if walk.is_unresolved(field):
            if not keep:
                ops.record_unknown(walk, field, "created")
            status = both_succeed(status, None)
            continue
        path = walk.path(field)
        if path is None:
            status = False
            continue
        kind = walk.state.kind(path)
        if kind in ("file", "directory") or keep or walk.reports_error("touch", field):
            continue
        if kind == "absent":
            if walk.state.kind(parent_of(path)) in ("absent", "file"):
                status = False
                continue
            walk.effects.write(path, "touch", walk.uncertainty)
            walk.contents[path] = ""
        else:
            walk.effects.write(path, "touch", max(walk.uncertainty, 1))
            status = both_succeed(status, None)
    return status


def _truncate(walk: Walk, args: Invocation) -> Status:
    if not args.has("-s", "--size", "-r", "--reference") or (
        walk.expected_status is False and len(args.operands) < 2
    ):
        return False
    for field in args.operands:
        path = walk.resolved(field)
        if args.has("-c") and path is not None and walk.state.kind(path) == "absent":
            continue
        ops.write(walk, field, guess_append=True)
    return None if walk.expected_status is False else True


def _tee(walk: Walk, args: Invocation) -> Status:
    text = walk.stdin
    status: Status = True
    for field in args.operands:
        if not ops.write(walk, field, guess_append=args.has("-a", "--append")):
            status = False
        elif text is not None and not walk.is_unresolved(field):
            path = walk.path(field)
            if path is not None and not args.has("-a", "--append"):
                walk.contents[path] = text
    walk.stdout = text
    return status


def _dd(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    for word in args.words:
        if word.startswith("if="):
            status = both_succeed(status, ops.read(walk, word[3:]))
            if status is False:
                return False
    for word in args.words:
        if word.startswith("of=") and walk.expected_status is not False:
            ops.write(walk, word[3:], guess_append="conv=notrunc" in args.words)
    return status


def _split(walk: Walk, args: Invocation) -> Status:
    if args.operands:
        status = ops.read(walk, args.operands[0])
        if status is False:
            return False
    if walk.expected_status is not False:
        prefix = args.operands[1] if len(args.operands) > 1 else "x"
        if args.name == "split" and args.operands and not args.has("-d", "-a"):
            ops.write(walk, prefix + "aa", named=False)
        walk.effects.unknown(args.name, action="created")
    return None


def _sponge(walk: Walk, args: Invocation) -> Status:
    for field in args.operands:
        ops.write(walk, field, guess_append=True)
    return True


def _rename(walk: Walk, args: Invocation) -> Status:
    """Both programs called ``rename``: with OLD NEW FILES, and with s/OLD/NEW/ FILES."""
    operands = args.operands
    if walk.expected_status is False or args.has("-n", "--no-act") or not operands:
        return None
    old = new = None
    files: list[str] = []
    if operands[0].startswith("s/"):
        pieces = operands[0].split("/")
        if len(pieces) == 4 and not any(char in pieces[1] for char in "*+?[(|^"):
            anchored = pieces[1].endswith("$")
            old, new = pieces[1].rstrip("$").replace("\\.", "."), pieces[2]
            files = operands[1:]
            files = [f for f in files if not anchored or f.endswith(old)]
    elif len(operands) > 2:
        old, new, files = operands[0], operands[1], operands[2:]
    if old is None or new is None:
        walk.effects.unknown("rename")
        return None
    for field in files:
        if old in field:
            if operands[0].startswith("s/") and field.endswith(old):
                goal = field[: -len(old)] + new
            else:
                goal = field.replace(old, new, 1)
            ops.transfer(walk, field, goal, move=True, recursive=False)
    return None


HANDLERS: dict[str, Callable[[Walk, Invocation], Status]] = {
    "copy": _copy,
    "install": _install,
    "link": _link,
    "rsync": _rsync,
    "remove": _remove,
    "rmdir": _rmdir,
    "mkdir": _mkdir,
    "touch": _touch,
    "truncate": _truncate,
    "tee": _tee,
    "dd": _dd,
    "split": _split,
    "sponge": _sponge,
    "rename": _rename,
}
