"""Programs that make, copy, move, remove and search files: ``cp``, ``mv``, ``rm``, ``grep``."""

from itertools import chain

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
_OTHER_NAMES = frozenset("-b --parents --backup".split())
# With these an existing target may stay as it is.
_PERHAPS = frozenset("-i --interactive -u --update --no-clobber".split())


def _operands(args: Invocation) -> tuple[list[str], str]:
    """What is copied, moved or linked, and where to."""
    folder = args.value("-t", "--target-directory")
    if folder is not None:
        return args.operands, folder.rstrip("/") + "/"
    return args.operands[:-1], args.operands[-1] if args.operands else ""


def _run_copy(walk: Walk, args: Invocation) -> Status:
    sources, target = _operands(args)
    walk.blame(sources)
    failed = walk.expected_status is False
    recursive = args.has("-r", "-R", "-a", "--recursive", "--archive")
    named = args.has("-T", "--no-target-directory")
    into = bool(sources) and not named and _is_directory(walk, sources, target)
    if into and len(sources) == 1 and walk.kind(target) == "absent":
        # `cp -r lib new/` makes a directory of that name.
        into = not (recursive or args.name == "mv" and walk.kind(sources[0]) == "directory")
        target = target if into else target.rstrip("/")
    if (
        args.has("-n", *_OTHER_NAMES, *_PERHAPS)
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


def _run_rsync(walk: Walk, args: Invocation) -> Status:
    """``rsync -a a/ b/a/``: a copy of a folder under its name, where there is none yet; what
    else it changes depends on both sides."""
    sources, target = _operands(args)
    source, new = "".join(sources), target.rstrip("/")
    same = new.rpartition("/")[2] == source.rstrip("/").rpartition("/")[2]
    plain = len(sources) == 1 and source[-1:] == "/" and same and ":" not in source + target
    if not plain or args.values or not args.has("-a", "-r") or walk.kind(new) == "directory":
        walk.effects.unknown(args.name)
        return None
    return ops.transfer(walk, source.rstrip("/"), new, move=False, recursive=True)


def _run_link(walk: Walk, args: Invocation) -> Status:
    """``ln``: what is there stays, unless it is forced."""
    sources, target = _operands(args)
    sources, target = (sources, target) if sources else ([target], ".")
    directory = walk.kind(target) == "directory"
    # Whether a name is a directory, or a link to one that is replaced, is not known.
    if not target or args.has(*_OTHER_NAMES, "-i") or directory and args.has("-n", "-h"):
        walk.effects.unknown(args.name)
        return None
    into = directory or len(sources) > 1 or target[-1:] in "/."
    into = into and not args.has("-T", "--no-target-directory")
    goals = [ops.destination(source, target, into) for source in sources]
    walk.blame(goals)
    if walk.expected_status is False and len(sources) > 1:
        walk.effects.unknown(args.name)
    symbolic, force = args.has("-s", "--symbolic"), args.has("-f", "--force")
    status = walk.expected_status is not False
    for source, goal in zip(sources, goals, strict=True) if status else ():
        missing = not symbolic and walk.kind(source) == "absent"
        taken = walk.kind(goal) == "file" and not force
        if missing or walk.reports_error(args.name, goal):
            status = False
        # With `-f` one that nothing is known of more likely replaces one.
        elif not taken:
            status = ops.write(walk, goal, guess_append=force) and status
    return status


def _run_remove(walk: Walk, args: Invocation) -> Status:
    force = args.has("-f", "--force")
    recursive = args.has("-r", "-R", "--recursive")
    status: Status = True
    walk.blame(args.operands)
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


def _run_tar(walk: Walk, args: Invocation) -> Status:
    """``tar``: it writes an archive; which files it takes out of one is not followed."""
    letters, *words = args.words or ["-"]
    if letters[:1] != "-":  # `tar cfz x.tgz d`: values stand behind all the letters, in order
        options = ["-" + letter for letter in letters]
        given = [[o, words.pop(0)] if o in args.entry.takes and words else [o] for o in options]
        args = Invocation(args.name, [*chain.from_iterable(given), *words], args.entry)
    adds = args.has("-r", "-u", "--append", "--update")
    name = args.value("-f", "--file")
    if args.has(*args.entry.looks) or walk.expected_status is False:
        return None
    if not (adds or args.has("-c", "--create")) or args.has("--remove-files"):
        walk.effects.unknown(args.name)
        return None
    return ops.write(walk, name, guess_append=adds) if name else None
