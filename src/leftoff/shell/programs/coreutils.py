"""Programs that make, copy, move, remove and search files: ``cp``, ``mv``, ``rm``, ``grep``."""

from leftoff.shell import operations as ops
from leftoff.shell.commands import Invocation
from leftoff.shell.state import Status, Walk, both_succeed


def _is_directory(walk: Walk, sources: list[str], target: str) -> bool:
    """Whether files are copied into the target, as against under its name."""
    kind = walk.kind(target)
    # Several files fit into a directory only.
    if len(sources) > 1 or target.endswith("/") or target in (".", "..", "~"):
        return True
    name = target.rpartition("/")[2]
    source = sources[0].rstrip("/").rpartition("/")[2]
    # `cp a.txt docs`: a name without a suffix is more likely a directory.
    has_dot = "." in source[1:] and "." not in name[1:]
    likely = has_dot and (name[:1].islower() or name[:1] == ".") and name != source
    return kind == "directory" or kind == "unknown" and likely


# With these the names of the new files are not followed.
_OTHER_TARGETS = frozenset(
    "-t -T -b --target-directory --no-target-directory --parents --backup".split()
)
# With these an existing target may stay as it is.
_PERHAPS = frozenset("-i --interactive -u --update --no-clobber".split())


def _run_copy(walk: Walk, args: Invocation) -> Status:
    sources, target = args.operands[:-1], args.operands[-1] if args.operands else ""
    failed = walk.expected_status is False
    recursive = args.has("-r", "-R", "-a", "--recursive", "--archive")
    into = bool(sources) and _is_directory(walk, sources, target)
    if into and len(sources) == 1 and walk.kind(target) == "absent":
        # `cp -r lib new/` makes a directory of that name.
        into = not (recursive or args.name == "mv" and walk.kind(sources[0]) == "directory")
        target = target if into else target.rstrip("/")
    if (
        args.has("-n", *_OTHER_TARGETS, *_PERHAPS)
        or (failed and len(sources) > 1)
        or (into and walk.kind(target) in ("absent", "file"))
    ):
        walk.effects.unknown(args.name)
        return None
    status: Status = bool(sources) and not failed
    for source in sources if status else ():
        goal = ops.destination(source, target, into)
        done = ops.transfer(walk, source, goal, move=args.name == "mv", recursive=recursive)
        status = both_succeed(status, done)
    return status


def _run_link(walk: Walk, args: Invocation) -> Status:
    """``ln``: only `ln -s OLD NEW` is followed. What is there stays, unless it is forced."""
    target = args.operands[-1] if len(args.operands) == 2 else "/"
    if args.has(*_OTHER_TARGETS) or target[-1:] in "/." or walk.kind(target) == "directory":
        walk.effects.unknown(args.name)
        return None
    symbolic, force = args.has("-s", "--symbolic"), args.has("-f", "--force")
    source = walk.kind(args.operands[0])
    if walk.expected_status is False or source == "absent" and not symbolic:
        return False
    # With `-f` one that nothing is known of more likely replaces one.
    taken = walk.kind(target) == "file" and not force
    return taken or ops.write(walk, target, guess_append=force)


def _run_remove(walk: Walk, args: Invocation) -> Status:
    force = args.has("-f", "--force")
    recursive = args.has("-r", "-R", "--recursive")
    status: Status = True
    blamed = any(walk.reports_error(args.name, item) for item in args.operands)
    if walk.expected_status is False and blamed:
        # Operands without an error message are removed; one named twice was there at first.
        walk.expected_status = None if len(set(args.operands)) == len(args.operands) else False
    failed = walk.expected_status is False
    several = len(args.operands) > 1 or any(map(walk.is_unresolved, args.operands))
    asks = args.has("-i", "-I", "--interactive")
    if asks or (failed and several):
        walk.effects.unknown(args.name, action="deleted")
    if asks or failed:
        return walk.expected_status
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
    read = ops.read_tree if recursive else ops.read
    found = [read(walk, field) for field in operands]
    return False if found == [False] else None
