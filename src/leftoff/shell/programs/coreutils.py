"""Programs that make, copy, move, remove and search files: ``cp``, ``mv``, ``rm``, ``grep``."""

from leftoff.shell import operations as ops
from leftoff.shell.ast import PATTERN_MARKS
from leftoff.shell.commands import Invocation
from leftoff.shell.state import Status, Walk, both_succeed


def _parse_targets(walk: Walk, args: Invocation) -> tuple[list[str], str, bool] | None:
    operands = args.operands
    if len(operands) < 2:
        return None
    sources, target = operands[:-1], operands[-1]
    if len(sources) > 1 or target.endswith("/") or target in (".", "..", "~"):
        return sources, target, True
    if walk.is_unresolved(target):
        return sources, target, False
    path = walk.path(target)
    kind = walk.state.kind(path) if path is not None else "unknown"
    # Several files fit into a directory only.
    if kind == "unknown" and not PATTERN_MARKS.isdisjoint(sources[0]):
        return sources, target, True
    if kind == "unknown" and path is not None:
        name = path.rpartition("/")[2]
        source = sources[0].rstrip("/").rpartition("/")[2]
        # `cp a.txt docs`: a name without a suffix is more likely a directory.
        has_dot = "." in source[1:] and "." not in name[1:]
        if has_dot and (name[:1].islower() or name[:1] == ".") and name != source:
            return sources, target, True
    return sources, target, kind == "directory"


# With these the names of the new files are not followed.
_OTHER_TARGETS = frozenset(
    "-t -T -b --target-directory --no-target-directory --parents --backup".split()
)


def _run_copy(walk: Walk, args: Invocation) -> Status:
    if args.has(*_OTHER_TARGETS):
        walk.effects.unknown(args.name)
        return None
    found = _parse_targets(walk, args)
    if found is None:
        return False
    sources, target, into = found
    move = args.name == "mv"
    recursive = args.has("-r", "-R", "-a", "--recursive", "--archive")
    path = walk.resolved(target)
    if into and path is not None:
        kind = walk.state.kind(path)
        tree = recursive or (move and walk.kind(sources[0]) == "directory")
        if kind == "file" or (kind == "absent" and (len(sources) > 1 or not tree)):
            return False
        if kind == "absent":
            into, target = False, target.rstrip("/")
        elif kind == "unknown" and walk.expected_status is not False and walk.uncertainty < 2:
            walk.state.put_directory(path)
    if walk.expected_status is False:
        if len(sources) == 1 and walk.kind(sources[0]) == "unknown":
            return False
        if any(walk.reports_error(args.name, item) for item in sources):
            walk.expected_status = None  # sources without an error message were copied
    # With these an existing target may stay as it is.
    perhaps = args.has("-i", "--interactive", "-u", "--update", "-n", "--no-clobber")
    status: Status = True
    for source in sources:
        goal = ops.destination(source, target, into)
        if walk.is_unresolved(source):
            if into and path is not None:
                ops.record_unknown_below(walk, target)
            else:
                ops.record_unknown(walk, goal, "unknown")
            ops.record_unknown(walk, source, "deleted" if move else "read")
            status = both_succeed(status, None)
            continue
        uncertainty = walk.uncertainty
        if perhaps and walk.kind(goal) != "absent":
            walk.uncertainty = 2
        # `cp -r a/. b` copies what is in it, not the directory.
        if recursive and not move and source.rstrip("/").endswith("/."):
            goal = target
        status = both_succeed(
            status, ops.transfer(walk, source, goal, move=move, recursive=recursive)
        )
        walk.uncertainty = uncertainty
    return status


def _run_link(walk: Walk, args: Invocation) -> Status:
    """``ln``: only `ln -s OLD NEW` is followed. What is there stays, unless it is forced."""
    target = args.operands[-1] if len(args.operands) == 2 else "/"
    if args.has(*_OTHER_TARGETS) or target[-1:] in "/." or walk.kind(target) == "directory":
        walk.effects.unknown(args.name)
        return None
    if (
        walk.expected_status is False
        or walk.kind(args.operands[0]) == "absent"
        and not args.has("-s")
    ):
        return False
    return (walk.kind(target) == "file" and not args.has("-f")) or ops.write(walk, target)


def _run_remove(walk: Walk, args: Invocation) -> Status:
    force = args.has("-f", "--force")
    recursive = args.has("-r", "-R", "--recursive")
    status: Status = True
    if args.has("-i", "-I", "--interactive"):  # the answers are not known
        for field in args.operands:
            walk.effects.unknown("rm", walk.resolved(field), action="deleted")
        return None
    if walk.expected_status is False:
        blamed = any(walk.reports_error(args.name, item) for item in args.operands)
        if not blamed or len(set(args.operands)) < len(args.operands):
            # Which of several are missing is not shown.
            if len(args.operands) > 1 or any(map(walk.is_unresolved, args.operands)):
                walk.effects.unknown(args.name, action="deleted")
            return False
        walk.expected_status = None  # operands without an error message are removed
    for field in args.operands:
        done = ops.delete(walk, field, force=force, recursive=recursive)
        status = both_succeed(status, done)
    return status if args.operands else force


def _run_mkdir(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        done = ops.make_directory(walk, field, parents=args.has("-p", "--parents"))
        status = both_succeed(status, done)
    walk.stdout = ""
    return status


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
