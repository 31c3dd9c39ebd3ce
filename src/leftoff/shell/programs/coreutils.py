"""Programs that make, copy, move and remove files: ``cp``, ``mv``, ``rm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.filesystem import parent_of
from leftoff.shell.programs.nested import answers, both, is_tree, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS"]


def _target(machine: Machine, run: Invocation) -> tuple[list[str], str, bool] | None:
    """Sources, target and whether the target is a directory."""
    into = run.value("-t", "--target-directory")
    operands = run.operands
    if into is not None:
        return operands, into, True
    if len(operands) < 2:
        return None
    sources, target = operands[:-1], operands[-1]
    if run.has("-T", "--no-target-directory"):
        return sources, target, False
    if len(sources) > 1 or target.endswith("/") or target in (".", "..", "~"):
        return sources, target, True
    if machine.special(target):
        return sources, target, False
    path = machine.path(target)
    kind = machine.state.kind(path) if path is not None else "unknown"
    if kind == "unknown" and not PATTERN_MARKS.isdisjoint(sources[0]):
        return sources, target, True
    if kind == "unknown" and path is not None:
        name = path.rpartition("/")[2]
        source = sources[0].rstrip("/").rpartition("/")[2]
        has_dot = "." in source[1:] and "." not in name[1:]
        if has_dot and (name[:1].islower() or name[:1] == ".") and name != source:
            return sources, target, True
    return sources, target, kind == "directory"


def _copy(machine: Machine, run: Invocation) -> Status:
    found = _target(machine, run)
    if found is None:
        return False
    sources, target, into = found
    move = run.name == "mv"
    recursive = run.has("-r", "-R", "-a", "--recursive", "--archive")
    path = machine.path(target) if not machine.special(target) else None
    if into and path is not None:
        kind = machine.state.kind(path)
        if kind in ("absent", "file"):
            if (
                kind == "file"
                or len(sources) > 1
                or not (move and is_tree(machine, sources[0]))
            ):
                if not (recursive and len(sources) == 1):
                    if len(sources) == 1 and not move:
                        machine.read(sources[0])
                    return False
            into = False
            target = target.rstrip("/")
        elif kind == "unknown" and machine.want is not False and machine.rank < 2:
            machine.state.put_directory(path)
    if machine.want is False and len(sources) == 1:
        source = machine.path(sources[0])
        if source is None or machine.state.kind(source) == "unknown":
            return False
    if machine.want is False and any(machine.complains(run.name, item) for item in sources):
        machine.want = None  # the sources that it does not complain of went through
    if (into or recursive) and run.has("-v", "--verbose") and _shown_transfers(machine, move):
        return None
    if run.has("--parents"):
        return _copy_with_folders(machine, sources, target, recursive)
    keep = run.has("-n", "--no-clobber")
    asked = answers(machine) if run.has("-i", "--interactive") else True
    update = run.has("-u", "--update")
    backup = run.has("-b", "--backup")
    status: Status = True
    for source in sources:
        goal = machine.place(source, target, into)
        if goal is None:
            continue
        if UNKNOWN in source or not PATTERN_MARKS.isdisjoint(source):
            if into and path is not None:
                machine.lost_into(target)
            machine.lost(source, "deleted" if move else "read")
            status = both(status, None)
            continue
        goal_path = machine.path(goal)
        exists = goal_path is not None and machine.state.kind(goal_path) == "file"
        if exists and (keep or asked is False):
            continue
        if exists and asked is None:
            machine.effects.unknown(run.name, goal_path, action="modified")
            if move:
                machine.lost(source, "deleted")
            continue
        rank = machine.rank
        if update and exists:
            machine.rank = max(rank, 2)
        if backup and exists and goal_path is not None:
            machine.effects.write(goal_path + "~", machine.tool, machine.rank)
        if recursive and not move and source.rstrip("/").endswith("/."):
            goal = target
        status = both(status, machine.transfer(source, goal, move=move, recursive=recursive))
        machine.rank = rank
    return status


def _copy_with_folders(
    machine: Machine, sources: list[str], target: str, recursive: bool
) -> Status:
    """``cp --parents``: the folders of each source are made below the target."""
    if kind_of(machine, target) in ("absent", "file"):
        return False
    status: Status = True
    for source in sources:
        path = machine.path(source) if not machine.special(source) else None
        if path is None or machine.special(target) or path[:1] in "/~" or path[:2] == "..":
            machine.lost_into(target)
            status = both(status, None)
            continue
        goal = target.rstrip("/") + "/" + source.removeprefix("./")
        if machine.state.kind(path) != "absent":
            machine.make_directory(parent_of(goal), parents=True)
        status = both(status, machine.transfer(source, goal, move=False, recursive=recursive))
    return status


def _shown_transfers(machine: Machine, move: bool) -> bool:
    """Take the files from the lines that ``cp -v`` and ``mv -v`` print, where shown."""
    if machine.captured or machine.hidden or machine.output is None:
        return False
    found: list[tuple[str, str]] = []
    for line in machine.lines():
        text = line.removeprefix("renamed ")
        old, arrow, new = text.partition("' -> '")
        if arrow and old[:1] == "'" and new[-1:] == "'":
            found.append((old[1:], new[:-1]))
    above = {parent_of(old) for old, _ in found}
    for old, new in found:
        tree = is_tree(machine, old)
        if move or not (tree or old in above):
            machine.transfer(old, new, move=move, recursive=tree)
        else:  # its files follow on lines of their own
            machine.make_directory(new, parents=True)
    return bool(found)


def _install(machine: Machine, run: Invocation) -> Status:
    if run.has("-d", "--directory"):
        for field in run.operands:
            machine.make_directory(field, parents=True)
        return True
    found = _target(machine, run)
    if found is None:
        return False
    sources, target, into = found
    if machine.want is False:
        if len(sources) < 2 or not any(machine.complains("install", item) for item in sources):
            return False
        machine.want = None  # the sources that it does not complain of went through
    if run.has("-D"):
        path = machine.path(target)
        if path is not None:
            machine.state.put_directory(path if into else parent_of(path))
    status: Status = True
    for source in sources:
        goal = machine.place(source, target, into)
        if goal is not None:
            done = machine.transfer(source, goal, move=False, recursive=False)
            status = both(status, done)
    return status


def _link(machine: Machine, run: Invocation) -> Status:
    operands = run.operands
    if machine.want is False:
        return False
    if len(operands) == 1:
        operands = [*operands, "."]
    if len(operands) < 2 and not run.has("-t"):
        return False
    symbolic = run.has("-s", "--symbolic")
    into = run.value("-t", "--target-directory")
    target = into or operands[-1]
    sources = operands if into else operands[:-1]
    path = machine.path(target) if not machine.special(target) else None
    directory = (
        into is not None
        or target.endswith("/")
        or len(sources) > 1
        or (path is not None and machine.state.kind(path) == "directory" and not run.has("-n"))
        or target == "."
    )
    status: Status = True
    for source in sources:
        if not symbolic:
            old = machine.path(source) if not machine.special(source) else None
            if old is not None and machine.state.kind(old) in ("absent", "directory"):
                status = False
                continue
        goal = machine.place(source, target, directory)
        if goal is None:
            continue
        goal_path = machine.path(goal) if not machine.special(goal) else None
        kind = machine.state.kind(goal_path) if goal_path is not None else "unknown"
        if kind in ("file", "directory") and not run.has("-f", "--force"):
            status = False
            continue
        status = status if machine.write(goal) else False
    return status


def _rsync(machine: Machine, run: Invocation) -> Status:
    if run.has("-n", "--dry-run") or len(run.operands) < 2 or machine.want is False:
        return None
    target = run.operands[-1]
    if ":" in target or any(":" in item for item in run.operands):
        machine.effects.unknown("rsync")
        return None
    recursive = run.has("-a", "-r", "--archive", "--recursive")
    if kind_of(machine, target) == "absent" and (recursive or target.endswith("/")):
        machine.make_directory(target)
    for source in run.operands[:-1]:
        path = machine.path(source) if not machine.special(source) else None
        if path is None:
            machine.effects.unknown("rsync")
        elif machine.state.kind(path) == "directory" and recursive:
            goal = target if source.endswith("/") else machine.place(source, target, True)
            machine.transfer(source.rstrip("/"), goal or target, move=False, recursive=True)
        else:
            into = target.endswith("/") or is_tree(machine, target)
            goal = machine.place(source, target, into)
            machine.transfer(source, goal or target, move=False, recursive=recursive)
    if run.has("--delete"):
        machine.effects.unknown("rsync", action="deleted")
    return None


def _asks(run: Invocation) -> bool:
    """Whether ``rm`` asks: the last of its options says."""
    asks = ""
    for word in run.words:
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
    once = len(run.operands) > 3 or run.has("-r", "-R", "--recursive")
    return asks == "i" or (asks == "I" and once)


def _remove(machine: Machine, run: Invocation) -> Status:
    force = run.has("-f", "--force")
    recursive = run.has("-r", "-R", "--recursive")
    status: Status = True
    if run.name == "unlink" and len(run.operands) != 1:
        return False
    if run.name == "shred" and not run.has("-u", "--remove"):
        for field in run.operands:
            status = both(status, machine.modify(field))
        return status
    if run.name == "rm" and _asks(run):
        answer = answers(machine)
        if answer is None:
            for field in run.operands:
                machine.effects.unknown(
                    "rm",
                    None if machine.special(field) else machine.path(field),
                    action="deleted",
                )
        if not answer:
            return None
    if run.has("-v", "--verbose") and not machine.captured and not machine.hidden:
        for line in machine.lines():
            if line.startswith("removed '") and line[-1:] == "'":
                machine.effects.delete(
                    machine.path(line[9:-1]) or line[9:-1], run.name, machine.rank, existed=True
                )
    unknown_operands = 0
    failing = machine.want is False
    told = not failing or any(machine.complains(run.name, item) for item in run.operands)
    for field in run.operands:
        path = machine.path(field) if not machine.special(field) else None
        if path is not None and machine.state.kind(path) == "unknown" and failing:
            if not told or machine.complains(run.name, field):
                unknown_operands += 1
                continue
            machine.want = None
        done = machine.delete(field, force=force, recursive=recursive)
        if failing:
            machine.want = False
        status = both(status, done)
    if failing and unknown_operands > 1 and not told:
        machine.effects.unknown(run.name, action="deleted")
    if not run.operands:
        return force
    return status


def _rmdir(machine: Machine, run: Invocation) -> Status:
    status: Status = True
    for field in run.operands:
        path = machine.path(field) if not machine.special(field) else None
        if path is None:
            status = both(status, None)
            continue
        kind = machine.state.kind(path)
        while True:
            if kind in ("absent", "file") or machine.state.below(path, directories=True):
                status = False
                break
            if machine.want is not False and machine.rank == 0:
                machine.state.remove(path)
                status = both(status, True if kind == "directory" else None)
            path = parent_of(path)
            if not run.has("-p", "--parents") or path in (".", "/", machine.cwd):
                break
            kind = machine.state.kind(path)
    return status


def _mkdir(machine: Machine, run: Invocation) -> Status:
    status: Status = True
    for field in run.operands:
        done = machine.make_directory(field, parents=run.has("-p", "--parents"))
        status = both(status, done)
    machine.stdout = ""
    return status


def _touch(machine: Machine, run: Invocation) -> Status:
    if machine.want is False and len(run.operands) == 1:
        return False
    keep = run.has("-c", "--no-create")
    status: Status = True
    for field in run.operands:
        if machine.special(field):
            if not keep:
                machine.lost(field, "created")
            status = both(status, None)
            continue
        path = machine.path(field)
        if path is None:
            status = False
            continue
        kind = machine.state.kind(path)
        if kind in ("file", "directory") or keep or machine.complains("touch", field):
            continue
        if kind == "absent":
            if machine.state.kind(parent_of(path)) in ("absent", "file"):
                status = False
                continue
            machine.effects.write(path, "touch", machine.rank)
            machine.contents[path] = ""
        else:
            machine.effects.write(path, "touch", max(machine.rank, 1))
            status = both(status, None)
    return status


def _truncate(machine: Machine, run: Invocation) -> Status:
    if not run.has("-s", "--size", "-r", "--reference") or (
        machine.want is False and len(run.operands) < 2
    ):
        return False
    for field in run.operands:
        path = machine.path(field) if not machine.special(field) else None
        if run.has("-c") and path is not None and machine.state.kind(path) == "absent":
            continue
        machine.write(field, guess_append=True)
    return None if machine.want is False else True


def _tee(machine: Machine, run: Invocation) -> Status:
    text = machine.stdin
    status: Status = True
    for field in run.operands:
        if not machine.write(field, guess_append=run.has("-a", "--append")):
            status = False
        elif text is not None and not machine.special(field):
            path = machine.path(field)
            if path is not None and not run.has("-a", "--append"):
                machine.contents[path] = text
    machine.stdout = text
    return status


def _dd(machine: Machine, run: Invocation) -> Status:
    status: Status = True
    for word in run.words:
        if word.startswith("if="):
            status = both(status, machine.read(word[3:]))
            if status is False:
                return False
    for word in run.words:
        if word.startswith("of=") and machine.want is not False:
            machine.write(word[3:], guess_append="conv=notrunc" in run.words)
    return status


def _split(machine: Machine, run: Invocation) -> Status:
    if run.operands:
        status = machine.read(run.operands[0])
        if status is False:
            return False
    if machine.want is not False:
        prefix = run.operands[1] if len(run.operands) > 1 else "x"
        if run.name == "split" and run.operands and not run.has("-d", "-a"):
            machine.write(prefix + "aa", named=False)
        machine.effects.unknown(run.name, action="created")
    return None


def _sponge(machine: Machine, run: Invocation) -> Status:
    for field in run.operands:
        machine.write(field, guess_append=True)
    return True


def _rename(machine: Machine, run: Invocation) -> Status:
    """Both programs called ``rename``: with OLD NEW FILES, and with s/OLD/NEW/ FILES."""
    operands = run.operands
    if machine.want is False or run.has("-n", "--no-act") or not operands:
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
        machine.effects.unknown("rename")
        return None
    for field in files:
        if old in field:
            if operands[0].startswith("s/") and field.endswith(old):
                goal = field[: -len(old)] + new
            else:
                goal = field.replace(old, new, 1)
            machine.transfer(field, goal, move=True, recursive=False)
    return None


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
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
