"""Programs that make, copy, move and remove files: ``cp``, ``mv``, ``rm``."""

from __future__ import annotations

from leftoff.shell import operations as ops
from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import both_succeed
from leftoff.shell.state import Status, Walk


def _parse_targets(walk: Walk, args: Invocation) -> tuple[list[str], str, bool] | None:
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


def _run_copy(walk: Walk, args: Invocation) -> Status:
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
    if args.has("--parents", "-b", "--backup"):  # which names these make is not followed
        walk.effects.unknown(args.name, path, action="unknown")
        return None
    keep = args.has("-n", "--no-clobber")
    perhaps = args.has("-i", "--interactive", "-u", "--update")
    status: Status = True
    for source in sources:
        goal = ops.destination(source, target, into)
        if UNKNOWN in source or not PATTERN_MARKS.isdisjoint(source):
            if into and path is not None:
                ops.record_unknown_below(walk, target)
            else:
                ops.record_unknown(walk, goal, "unknown")
            ops.record_unknown(walk, source, "deleted" if move else "read")
            status = both_succeed(status, None)
            continue
        goal_path = walk.path(goal)
        exists = goal_path is not None and walk.state.kind(goal_path) == "file"
        if exists and keep:
            continue
        uncertainty = walk.uncertainty
        if perhaps and exists:
            walk.uncertainty = 2
        if recursive and not move and source.rstrip("/").endswith("/."):
            goal = target
        status = both_succeed(
            status, ops.transfer(walk, source, goal, move=move, recursive=recursive)
        )
        walk.uncertainty = uncertainty
    return status


def _run_link(walk: Walk, args: Invocation) -> Status:
    found = _parse_targets(walk, args)
    if found is None or walk.expected_status is False:
        return False
    sources, target, into = found
    # What is not known to be a directory is a new name: most links are.
    into = into and (args.has("-t") or len(sources) > 1 or walk.kind(target) == "directory")
    force = args.has("-f", "--force")
    status: Status = True
    for source in sources:
        hard = not args.has("-s", "--symbolic")
        goal = ops.destination(source, target, into and not args.has("-n"))
        taken = walk.kind(goal) in ("file", "directory") and not force
        if taken or (hard and walk.kind(source) in ("absent", "directory")):
            status = False
        elif not ops.write(walk, goal, guess_append=force):  # most such links replace one
            status = False
    return status


def _run_remove(walk: Walk, args: Invocation) -> Status:
    force = args.has("-f", "--force")
    recursive = args.has("-r", "-R", "--recursive")
    status: Status = True
    if args.name == "unlink" and len(args.operands) != 1:
        return False
    if args.name == "shred" and not args.has("-u", "--remove"):
        for field in args.operands:
            status = both_succeed(status, ops.modify(walk, field))
        return status
    letters = "".join(word for word in args.words if word[:1] == "-" and word[:2] != "--")
    asks = max(letters.rfind("i"), letters.rfind("I")) > letters.rfind("f")
    if args.name == "rm" and (asks or args.has("--interactive")):
        for field in args.operands:  # the answers are not known
            walk.effects.unknown("rm", walk.resolved(field), action="deleted")
        return None
    if args.has("-v", "--verbose") and not walk.captured and not walk.stderr_hidden:
        for line in walk.lines():
            if line.startswith("removed '") and line[-1:] == "'":
                gone = walk.path(line[9:-1]) or line[9:-1]
                walk.effects.delete(gone, args.name, walk.uncertainty, existed=True)
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


def _run_rmdir(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        path = walk.resolved(field)
        while path is not None and path not in (".", "/", walk.cwd):
            if walk.state.below(path, directories=True) or walk.kind(path) in (
                "absent",
                "file",
            ):
                status = False
                break
            if walk.expected_status is not False and walk.uncertainty == 0:
                walk.state.remove(path)
            path = parent_of(path) if args.has("-p", "--parents") else None
    return status


def _run_mkdir(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        done = ops.make_directory(walk, field, parents=args.has("-p", "--parents"))
        status = both_succeed(status, done)
    walk.stdout = ""
    return status


def _run_touch(walk: Walk, args: Invocation) -> Status:
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


def _run_tee(walk: Walk, args: Invocation) -> Status:
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


def _run_download(walk: Walk, args: Invocation) -> Status:
    """``curl`` and ``wget``: the file that an option names, else the one that the address
    names."""
    if walk.expected_status is False or args.has("--spider"):
        return None
    curl = args.name == "curl"
    targets: list[str] = []
    for option, use in args.entry.roles.items():
        for field in args.values.get(option, ()):
            if use == "read":
                ops.read(walk, field)
            else:
                targets.append(field)
    named = bool(targets)
    if curl and args.has("-O", "--remote-name", "--remote-name-all") or not (curl or named):
        found = [url.partition("?")[0].partition("://") for url in args.operands]
        addresses = [rest if mark else host for host, mark, rest in found]
        targets += [one.partition("/")[2].rpartition("/")[2] for one in addresses]
    if (
        args.has(*_OTHER_NAMES[args.name].split())
        or not all(targets)
        or not (curl or named or targets)
        or not (curl or named)
        and any(walk.kind(name) == "file" for name in targets)
    ):
        walk.effects.unknown(args.name)
        return None
    for field in targets:
        ops.write(walk, field)
    return None


# Options with which other files than the named one are written.
_OTHER_NAMES = {
    "curl": "--output-dir -K --config -J --remote-header-name --stderr",
    "wget": "-r -m -p -P -i -o -a -b -x -N -c -nc -k -E --recursive --mirror --directory-prefix"
    " --input-file --output-file --append-output --content-disposition --save-cookies"
    " --no-clobber --page-requisites --continue --background --timestamping",
}
