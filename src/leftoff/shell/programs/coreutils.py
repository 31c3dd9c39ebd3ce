"""Programs that make, copy, move and remove files: ``cp``, ``mv``, ``rm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import both_succeed, is_directory, kind_of, prompt_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Interpreter, Status

__all__ = ["HANDLERS"]


def _parse_targets(shell: Interpreter, args: Invocation) -> tuple[list[str], str, bool] | None:
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
    if shell.is_unresolved(target):
        return sources, target, False
    path = shell.path(target)
    kind = shell.state.kind(path) if path is not None else "unknown"
    if kind == "unknown" and not PATTERN_MARKS.isdisjoint(sources[0]):
        return sources, target, True
    if kind == "unknown" and path is not None:
        name = path.rpartition("/")[2]
        source = sources[0].rstrip("/").rpartition("/")[2]
        has_dot = "." in source[1:] and "." not in name[1:]
        if has_dot and (name[:1].islower() or name[:1] == ".") and name != source:
            return sources, target, True
    return sources, target, kind == "directory"


def _copy(shell: Interpreter, args: Invocation) -> Status:
    found = _parse_targets(shell, args)
    if found is None:
        return False
    sources, target, into = found
    move = args.name == "mv"
    recursive = args.has("-r", "-R", "-a", "--recursive", "--archive")
    path = shell.path(target) if not shell.is_unresolved(target) else None
    if into and path is not None:
        kind = shell.state.kind(path)
        if kind in ("absent", "file"):
            if (
                kind == "file"
                or len(sources) > 1
                or not (move and is_directory(shell, sources[0]))
            ):
                if not (recursive and len(sources) == 1):
                    if len(sources) == 1 and not move:
                        shell.read(sources[0])
                    return False
            into = False
            target = target.rstrip("/")
        elif kind == "unknown" and shell.expected_status is not False and shell.uncertainty < 2:
            shell.state.put_directory(path)
    if shell.expected_status is False and len(sources) == 1:
        source = shell.path(sources[0])
        if source is None or shell.state.kind(source) == "unknown":
            return False
    if shell.expected_status is False and any(
        shell.reports_error(args.name, item) for item in sources
    ):
        shell.expected_status = None  # sources without an error message were copied
    if (
        (into or recursive)
        and args.has("-v", "--verbose")
        and _apply_verbose_output(shell, move)
    ):
        return None
    if args.has("--parents"):
        return _copy_with_parents(shell, sources, target, recursive)
    keep = args.has("-n", "--no-clobber")
    asked = prompt_answer(shell) if args.has("-i", "--interactive") else True
    update = args.has("-u", "--update")
    backup = args.has("-b", "--backup")
    status: Status = True
    for source in sources:
        goal = shell.destination(source, target, into)
        if goal is None:
            continue
        if UNKNOWN in source or not PATTERN_MARKS.isdisjoint(source):
            if into and path is not None:
                shell.record_unknown_below(target)
            shell.record_unknown(source, "deleted" if move else "read")
            status = both_succeed(status, None)
            continue
        goal_path = shell.path(goal)
        exists = goal_path is not None and shell.state.kind(goal_path) == "file"
        if exists and (keep or asked is False):
            continue
        if exists and asked is None:
            shell.effects.unknown(args.name, goal_path, action="modified")
            if move:
                shell.record_unknown(source, "deleted")
            continue
        uncertainty = shell.uncertainty
        if update and exists:
            shell.uncertainty = max(uncertainty, 2)
        if backup and exists and goal_path is not None:
            shell.effects.write(goal_path + "~", shell.tool, shell.uncertainty)
        if recursive and not move and source.rstrip("/").endswith("/."):
            goal = target
        status = both_succeed(
            status, shell.transfer(source, goal, move=move, recursive=recursive)
        )
        shell.uncertainty = uncertainty
    return status


def _copy_with_parents(
    shell: Interpreter, sources: list[str], target: str, recursive: bool
) -> Status:
    """``cp --parents``: the folders of each source are made below the target."""
    if kind_of(shell, target) in ("absent", "file"):
        return False
    status: Status = True
    for source in sources:
        path = shell.path(source) if not shell.is_unresolved(source) else None
        if path is None or shell.is_unresolved(target) or path[:1] in "/~" or path[:2] == "..":
            shell.record_unknown_below(target)
            status = both_succeed(status, None)
            continue
        goal = target.rstrip("/") + "/" + source.removeprefix("./")
        if shell.state.kind(path) != "absent":
            shell.make_directory(parent_of(goal), parents=True)
        status = both_succeed(
            status, shell.transfer(source, goal, move=False, recursive=recursive)
        )
    return status


def _apply_verbose_output(shell: Interpreter, move: bool) -> bool:
    """Apply the transfers that ``cp -v`` or ``mv -v`` printed; False where there are none."""
    if shell.captured or shell.stderr_hidden or shell.output is None:
        return False
    found: list[tuple[str, str]] = []
    for line in shell.lines():
        text = line.removeprefix("renamed ")
        old, arrow, new = text.partition("' -> '")
        if arrow and old[:1] == "'" and new[-1:] == "'":
            found.append((old[1:], new[:-1]))
    above = {parent_of(old) for old, _ in found}
    for old, new in found:
        tree = is_directory(shell, old)
        if move or not (tree or old in above):
            shell.transfer(old, new, move=move, recursive=tree)
        else:  # its files follow in lines of their own
            shell.make_directory(new, parents=True)
    return bool(found)


def _install(shell: Interpreter, args: Invocation) -> Status:
    if args.has("-d", "--directory"):
        for field in args.operands:
            shell.make_directory(field, parents=True)
        return True
    found = _parse_targets(shell, args)
    if found is None:
        return False
    sources, target, into = found
    if shell.expected_status is False:
        if len(sources) < 2 or not any(
            shell.reports_error("install", item) for item in sources
        ):
            return False
        shell.expected_status = None  # sources without an error message were copied
    if args.has("-D"):
        path = shell.path(target)
        if path is not None:
            shell.state.put_directory(path if into else parent_of(path))
    status: Status = True
    for source in sources:
        goal = shell.destination(source, target, into)
        if goal is not None:
            done = shell.transfer(source, goal, move=False, recursive=False)
            status = both_succeed(status, done)
    return status


def _link(shell: Interpreter, args: Invocation) -> Status:
    operands = args.operands
    if shell.expected_status is False:
        return False
    if len(operands) == 1:
        operands = [*operands, "."]
    if len(operands) < 2 and not args.has("-t"):
        return False
    symbolic = args.has("-s", "--symbolic")
    into = args.value("-t", "--target-directory")
    target = into or operands[-1]
    sources = operands if into else operands[:-1]
    path = shell.path(target) if not shell.is_unresolved(target) else None
    directory = (
        into is not None
        or target.endswith("/")
        or len(sources) > 1
        or (path is not None and shell.state.kind(path) == "directory" and not args.has("-n"))
        or target == "."
    )
    status: Status = True
    for source in sources:
        if not symbolic:
            old = shell.path(source) if not shell.is_unresolved(source) else None
            if old is not None and shell.state.kind(old) in ("absent", "directory"):
                status = False
                continue
        goal = shell.destination(source, target, directory)
        if goal is None:
            continue
        goal_path = shell.path(goal) if not shell.is_unresolved(goal) else None
        kind = shell.state.kind(goal_path) if goal_path is not None else "unknown"
        if kind in ("file", "directory") and not args.has("-f", "--force"):
            status = False
            continue
        status = status if shell.write(goal) else False
    return status


def _rsync(shell: Interpreter, args: Invocation) -> Status:
    if args.has("-n", "--dry-run") or len(args.operands) < 2 or shell.expected_status is False:
        return None
    target = args.operands[-1]
    if ":" in target or any(":" in item for item in args.operands):
        shell.effects.unknown("rsync")
        return None
    recursive = args.has("-a", "-r", "--archive", "--recursive")
    if kind_of(shell, target) == "absent" and (recursive or target.endswith("/")):
        shell.make_directory(target)
    for source in args.operands[:-1]:
        path = shell.path(source) if not shell.is_unresolved(source) else None
        if path is None:
            shell.effects.unknown("rsync")
        elif shell.state.kind(path) == "directory" and recursive:
            goal = target if source.endswith("/") else shell.destination(source, target, True)
            shell.transfer(source.rstrip("/"), goal or target, move=False, recursive=True)
        else:
            into = target.endswith("/") or is_directory(shell, target)
            goal = shell.destination(source, target, into)
            shell.transfer(source, goal or target, move=False, recursive=recursive)
    if args.has("--delete"):
        shell.effects.unknown("rsync", action="deleted")
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


def _remove(shell: Interpreter, args: Invocation) -> Status:
    force = args.has("-f", "--force")
    recursive = args.has("-r", "-R", "--recursive")
    status: Status = True
    if args.name == "unlink" and len(args.operands) != 1:
        return False
    if args.name == "shred" and not args.has("-u", "--remove"):
        for field in args.operands:
            status = both_succeed(status, shell.modify(field))
        return status
    if args.name == "rm" and _prompts(args):
        answer = prompt_answer(shell)
        if answer is None:
            for field in args.operands:
                shell.effects.unknown(
                    "rm",
                    None if shell.is_unresolved(field) else shell.path(field),
                    action="deleted",
                )
        if not answer:
            return None
    if args.has("-v", "--verbose") and not shell.captured and not shell.stderr_hidden:
        for line in shell.lines():
            if line.startswith("removed '") and line[-1:] == "'":
                shell.effects.delete(
                    shell.path(line[9:-1]) or line[9:-1],
                    args.name,
                    shell.uncertainty,
                    existed=True,
                )
    unknown_operands = 0
    failing = shell.expected_status is False
    reported = not failing or any(
        shell.reports_error(args.name, item) for item in args.operands
    )
    for field in args.operands:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if path is not None and shell.state.kind(path) == "unknown" and failing:
            if not reported or shell.reports_error(args.name, field):
                unknown_operands += 1
                continue
            shell.expected_status = None
        done = shell.delete(field, force=force, recursive=recursive)
        if failing:
            shell.expected_status = False
        status = both_succeed(status, done)
    if failing and unknown_operands > 1 and not reported:
        shell.effects.unknown(args.name, action="deleted")
    if not args.operands:
        return force
    return status


def _rmdir(shell: Interpreter, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if path is None:
            status = both_succeed(status, None)
            continue
        kind = shell.state.kind(path)
        while True:
            if kind in ("absent", "file") or shell.state.below(path, directories=True):
                status = False
                break
            if shell.expected_status is not False and shell.uncertainty == 0:
                shell.state.remove(path)
                status = both_succeed(status, True if kind == "directory" else None)
            path = parent_of(path)
            if not args.has("-p", "--parents") or path in (".", "/", shell.cwd):
                break
            kind = shell.state.kind(path)
    return status


def _mkdir(shell: Interpreter, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        done = shell.make_directory(field, parents=args.has("-p", "--parents"))
        status = both_succeed(status, done)
    shell.stdout = ""
    return status


def _touch(shell: Interpreter, args: Invocation) -> Status:
    if shell.expected_status is False and len(args.operands) == 1:
        return False
    keep = args.has("-c", "--no-create")
    status: Status = True
    for field in args.operands:
        if shell.is_unresolved(field):
            if not keep:
                shell.record_unknown(field, "created")
            status = both_succeed(status, None)
            continue
        path = shell.path(field)
        if path is None:
            status = False
            continue
        kind = shell.state.kind(path)
        if kind in ("file", "directory") or keep or shell.reports_error("touch", field):
            continue
        if kind == "absent":
            if shell.state.kind(parent_of(path)) in ("absent", "file"):
                status = False
                continue
            shell.effects.write(path, "touch", shell.uncertainty)
            shell.contents[path] = ""
        else:
            shell.effects.write(path, "touch", max(shell.uncertainty, 1))
            status = both_succeed(status, None)
    return status


def _truncate(shell: Interpreter, args: Invocation) -> Status:
    if not args.has("-s", "--size", "-r", "--reference") or (
        shell.expected_status is False and len(args.operands) < 2
    ):
        return False
    for field in args.operands:
        path = shell.path(field) if not shell.is_unresolved(field) else None
        if args.has("-c") and path is not None and shell.state.kind(path) == "absent":
            continue
        shell.write(field, guess_append=True)
    return None if shell.expected_status is False else True


def _tee(shell: Interpreter, args: Invocation) -> Status:
    text = shell.stdin
    status: Status = True
    for field in args.operands:
        if not shell.write(field, guess_append=args.has("-a", "--append")):
            status = False
        elif text is not None and not shell.is_unresolved(field):
            path = shell.path(field)
            if path is not None and not args.has("-a", "--append"):
                shell.contents[path] = text
    shell.stdout = text
    return status


def _dd(shell: Interpreter, args: Invocation) -> Status:
    status: Status = True
    for word in args.words:
        if word.startswith("if="):
            status = both_succeed(status, shell.read(word[3:]))
            if status is False:
                return False
    for word in args.words:
        if word.startswith("of=") and shell.expected_status is not False:
            shell.write(word[3:], guess_append="conv=notrunc" in args.words)
    return status


def _split(shell: Interpreter, args: Invocation) -> Status:
    if args.operands:
        status = shell.read(args.operands[0])
        if status is False:
            return False
    if shell.expected_status is not False:
        prefix = args.operands[1] if len(args.operands) > 1 else "x"
        if args.name == "split" and args.operands and not args.has("-d", "-a"):
            shell.write(prefix + "aa", named=False)
        shell.effects.unknown(args.name, action="created")
    return None


def _sponge(shell: Interpreter, args: Invocation) -> Status:
    for field in args.operands:
        shell.write(field, guess_append=True)
    return True


def _rename(shell: Interpreter, args: Invocation) -> Status:
    """Both programs called ``rename``: with OLD NEW FILES, and with s/OLD/NEW/ FILES."""
    operands = args.operands
    if shell.expected_status is False or args.has("-n", "--no-act") or not operands:
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
        shell.effects.unknown("rename")
        return None
    for field in files:
        if old in field:
            if operands[0].startswith("s/") and field.endswith(old):
                goal = field[: -len(old)] + new
            else:
                goal = field.replace(old, new, 1)
            shell.transfer(field, goal, move=True, recursive=False)
    return None


HANDLERS: dict[str, Callable[[Interpreter, Invocation], Status]] = {
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
