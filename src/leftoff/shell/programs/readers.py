"""Programs that read and list files: ``find``, ``ls``, ``cat``, ``grep`` and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.expansion import globbed, plain
from leftoff.shell.filesystem import matches
from leftoff.shell.programs.nested import MANY, answers, both

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Machine, Status

__all__ = ["HANDLERS"]

_FIND_VALUE = frozenset(
    (
        "-newer",
        "-size",
        "-mtime",
        "-mmin",
        "-user",
        "-group",
        "-perm",
        "-regex",
        "-iregex",
        "-atime",
        "-ctime",
        "-cmin",
        "-amin",
        "-samefile",
        "-inum",
        "-links",
        "-regextype",
        "-printf",
        "-fprintf",
        "-lname",
        "-uid",
        "-gid",
        "-used",
        "-newermt",
        "-anewer",
    )
)


def _find(machine: Machine, run: Invocation) -> Status:
    words = run.words
    roots: list[str] = []
    i = 0
    while i < len(words) and words[i][:1] not in ("-", "(", "!"):
        roots.append(words[i])
        i += 1
    while i < len(words) and words[i] in ("-L", "-H", "-P"):
        i += 1
    while not roots and i < len(words) and words[i][:1] not in ("-", "(", "!"):
        roots.append(words[i])
        i += 1
    tests, actions = _find_expression(words[i:])
    if not machine.captured and all(action == "print" for action, _ in actions):
        return None  # it only prints, to where nothing else in the command reads it
    found, complete = _find_matches(machine, roots or ["."], tests)
    printed = True
    status: Status = None
    for action, command in actions:
        if action == "-delete":
            printed = False
            for item in sorted(found, key=lambda pair: -pair[0].count("/")):
                if item[1] == "directory":
                    path = machine.path(item[0])
                    if path is not None and not machine.state.below(path):
                        machine.state.remove(path)
                else:
                    machine.delete(item[0])
            if not complete:
                machine.effects.unknown("find", action="deleted")
        elif action in ("-exec", "-execdir", "-ok"):
            printed = False
            names = [name for name, _ in found]
            if action == "-ok" and answers(machine) is not True:
                if answers(machine) is None:
                    _find_exec(machine, command, [], False)
            elif action == "-execdir":
                status = _find_exec_beside(machine, command, names, complete)
            else:
                status = _find_exec(machine, command, names, complete)
        elif action == "print":
            printed = True
        elif action == "-fprint":
            machine.write(command[0])
            printed = False
        elif action == "-quit":
            found = found[:1]
    if complete and printed and len(found) <= MANY:
        end = "\0" if "-print0" in words else "\n"
        machine.stdout = "".join(name + end for name, _ in found)
    elif not printed:
        machine.stdout = None
    return status if actions and status is False else None


def _find_expression(
    words: list[str],
) -> tuple[list[list[tuple[bool, str, str]]] | None, list[tuple[str, list[str]]]]:
    """The tests (alternatives of conjunctions; None where not understood) and the actions."""
    groups: list[list[tuple[bool, str, str]]] = [[]]
    actions: list[tuple[str, list[str]]] = []
    understood = True
    negate = False
    depth = 0
    common: list[tuple[bool, str, str]] = []
    i = 0
    while i < len(words):
        word = words[i]
        following = words[i + 1] if i + 1 < len(words) else ""
        i += 1
        if word in ("(", ")"):
            if word == "(":
                depth += 1
                if depth == 1 and not negate and len(groups) == 1:
                    common = groups[0]
                    groups = [[]]
                elif groups != [[]]:
                    understood = False
            elif depth:
                depth -= 1
                if depth == 0:
                    groups = [common + group for group in groups]
                    if i < len(words) and len(groups) > 1:
                        rest, more = _find_expression(words[i:])
                        if rest is None or len(rest) != 1:
                            understood = False
                        else:
                            groups = [group + rest[0] for group in groups]
                        actions.extend(more)
                        break
        elif word in ("!", "-not"):
            negate = not negate
        elif word in ("-o", "-or"):
            if actions or any(test[1] == "-prune" for test in groups[-1]):
                understood = understood and not actions
            groups.append([])
        elif word in ("-name", "-iname", "-path", "-wholename", "-ipath", "-type"):
            groups[-1].append((negate, word, following))
            negate = False
            i += 1
        elif word in ("-maxdepth", "-mindepth"):
            groups[-1].append((False, word, following))
            i += 1
        elif word in ("-fprint", "-fprint0", "-fls"):
            actions.append(("-fprint", [following]))
            i += 1
        elif word in ("-print", "-print0", "-ls", "-prune", "-quit"):
            if word == "-prune":
                groups[-1].append((False, word, ""))
            elif word == "-quit":
                actions.append((word, []))
            else:
                actions.append(("print", []))
        elif word == "-delete":
            actions.append((word, []))
        elif word in ("-exec", "-execdir", "-ok"):
            end = i
            while end < len(words) and words[end] not in (";", "+"):
                end += 1
            mode = words[end] if end < len(words) else ";"
            actions.append((word, [mode, *words[i:end]]))
            i = end + 1
        elif word == "-empty":
            groups[-1].append((negate, word, ""))
            negate = False
        elif word in _FIND_VALUE:
            understood = False
            i += 1
    return (groups if understood else None), actions


def _find_matches(
    machine: Machine, roots: list[str], tests: list[list[tuple[bool, str, str]]] | None
) -> tuple[list[tuple[str, str]], bool]:
    if tests is None:
        return [], False
    out: list[tuple[str, str]] = []
    complete = True
    pruning = [
        [test for test in group if test[1] != "-prune"]
        for group in tests
        if any(test[1] == "-prune" for test in group)
    ]
    empties = any(test[1] == "-empty" for group in tests for test in group)
    for root in roots:
        path = machine.path(root) if not machine.special(root) else None
        if path is None:
            complete = False
            continue
        kind = machine.state.kind(path)
        if kind == "unknown" or (kind == "directory" and not machine.state.is_complete(path)):
            complete = False
        shown = root.rstrip("/") or "/"
        below = machine.state.below(path, directories=True)
        start = 0 if path == "." else len(path) + (path != "/")
        entries: list[tuple[str, str, int]] = []
        if kind in ("file", "directory"):
            entries.append((shown, path, 0))
        for item in below:
            relative = item[start:]
            joint = "" if shown.endswith("/") else "/"
            entries.append((shown + joint + relative, item, relative.count("/") + 1))
        pruned: list[str] = []
        for name, item, depth in entries:
            item_kind = machine.state.kind(item)
            if any(name.startswith(above + "/") for above in pruned):
                continue
            if any(_find_passes(machine, name, item, item_kind, depth, g) for g in pruning):
                pruned.append(name)
                continue
            for group in tests:
                if _find_passes(machine, name, item, item_kind, depth, group):
                    out.append((name, item_kind))
                    break
    if empties and any(kind == "file" for _, kind in out):
        return [pair for pair in out if pair[1] == "directory"], False
    return out, complete


def _find_passes(
    machine: Machine,
    name: str,
    path: str,
    kind: str,
    depth: int,
    group: list[tuple[bool, str, str]],
) -> bool:
    for negate, test, value in group:
        if test == "-type":
            passed = (kind == "directory") == (value == "d") and value in ("f", "d")
        elif test in ("-name", "-iname"):
            last = name.rstrip("/").rpartition("/")[2]
            pattern = globbed(value)
            passed = (
                matches(last.lower(), pattern.lower())
                if test == "-iname"
                else matches(last, pattern)
            )
        elif test in ("-path", "-wholename", "-ipath"):
            passed = matches(name, globbed(value))
        elif test == "-maxdepth":
            passed = value.isdecimal() and depth <= int(value[:4])
        elif test == "-mindepth":
            passed = value.isdecimal() and depth >= int(value[:4])
        elif test == "-empty":
            passed = kind == "file" or not machine.state.below(path, directories=True)
        else:
            passed = False
        if passed == negate:
            return False
    return True


def _find_exec(
    machine: Machine, command: list[str], found: list[str], complete: bool
) -> Status:
    mode, words = command[0], command[1:]
    status: Status = True
    if not words:
        return None
    if found:
        if mode == "+":
            spread: list[str] = []
            for word in words:
                spread.extend(found if word == "{}" else [word])
            status = machine.call(spread, None)
        else:
            for name in found[:MANY]:
                done = machine.call([word.replace("{}", name) for word in words], None)
                status = both(status, done)
    if not complete:
        rank, machine.rank = machine.rank, 2
        machine.call([word.replace("{}", UNKNOWN) for word in words], None)
        machine.rank = rank
    return status


def _find_exec_beside(
    machine: Machine, command: list[str], found: list[str], complete: bool
) -> Status:
    """``-execdir``: the command runs in the directory of each file."""
    cwd = machine.cwd
    status: Status = True
    for name in found[:MANY]:
        above, slash, last = name.rpartition("/")
        machine.cwd = machine.path(above or "/") if slash else cwd
        done = _find_exec(machine, [";", *command[1:]], ["./" + last], True)
        status = both(status, done)
        machine.cwd = cwd
    if not complete:
        machine.cwd = None
        _find_exec(machine, command, [], False)
        machine.cwd = cwd
    return status


def _ls(machine: Machine, run: Invocation) -> Status:
    """Listings print names; where they are all known, so is the output."""
    machine.stdout = None
    names: list[str] = []
    status: Status = True
    for field in run.operands or ["."]:
        path = machine.path(field) if not machine.special(field) else None
        if path is None:
            if machine.complains("ls", plain(field)):
                status = False
                continue
            return None
        kind = machine.state.kind(path)
        if kind == "absent" or machine.complains("ls", field):
            status = False
        elif kind == "file" or run.has("-d"):
            names.append(field)
        elif kind == "directory" and machine.state.is_complete(path) and len(run.operands) < 2:
            start = 0 if path == "." else len(path) + (path != "/")
            for item in machine.state.below(path, directories=True):
                name = item[start:]
                if "/" not in name and (name[0] != "." or run.has("-a", "-A")):
                    names.append(name)
        else:
            return None
    if not run.has("-l", "-t", "-r", "-S", "-R", "-a", "-F", "-p"):
        machine.stdout = "".join(name + "\n" for name in sorted(names))
    return status


def _cat(machine: Machine, run: Invocation) -> Status:
    status: Status = True
    pieces: list[str | None] = []
    for field in run.operands:
        if field == "-":
            pieces.append(machine.stdin)
            continue
        pieces.append(machine.known_text(field))
        status = both(status, machine.read(field))
    if not run.operands:
        pieces.append(machine.stdin)
    plain_output = not (run.flags - {"-u"})
    if plain_output and all(piece is not None for piece in pieces):
        machine.stdout = "".join(piece for piece in pieces if piece is not None)
    return status


def _filter(machine: Machine, run: Invocation) -> Status:
    """``head``, ``tail``, ``sort``, ``uniq``, ``tr`` … on text that is known."""
    status: Status = True
    text = machine.stdin
    operands = run.operands if run.name not in ("tr", "seq") else []
    if operands:
        pieces = []
        for field in operands:
            pieces.append(machine.known_text(field))
            status = both(status, machine.read(field))
        text = pieces[0] if len(pieces) == 1 else None
    target = run.value("-o", "--output")
    if run.name == "sort" and target is not None and machine.want is not False:
        machine.write(target)
    if text is None:
        return status
    if run.has("-c", "--bytes", "-z", "--zero-terminated"):
        return status
    lines = text.splitlines()
    if run.name == "sort" and not (run.flags - {"-u", "-r"}):
        lines = sorted(set(lines) if run.has("-u") else lines, reverse=run.has("-r"))
    elif run.name in ("head", "tail"):
        count = run.value("-n", "--lines") or "10"
        for flag in run.flags:
            if flag[1:].isdecimal():
                count = flag[1:]
        if not count.isdecimal():
            return status
        number = int(count[:9])
        lines = lines[:number] if run.name == "head" else lines[max(len(lines) - number, 0) :]
    elif run.name == "uniq" and not run.flags:
        lines = [line for i, line in enumerate(lines) if i == 0 or lines[i - 1] != line]
    else:
        return status
    machine.stdout = "".join(line + "\n" for line in lines)
    return status


def _tr(machine: Machine, run: Invocation) -> Status:
    text = machine.stdin
    if text is not None and not run.flags and len(run.operands) == 2:
        names = {
            "A-Z": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "a-z": "abcdefghijklmnopqrstuvwxyz",
            "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
            "\\n": "\n",
        }
        old, new = (names.get(item, item) for item in run.operands)
        if len(old) == len(new) or len(new) == 1:
            new = new * len(old) if len(new) == 1 else new
            machine.stdout = text.translate(str.maketrans(old, new))
    return True


def _grep(machine: Machine, run: Invocation) -> Status:
    operands = run.operands if run.has("-e", "-f", "--regexp", "--file") else run.operands[1:]
    if machine.want is False:
        machine.want = None
    recursive = run.has("-r", "-R", "--recursive", "--dereference-recursive")
    always = run.name in ("rg", "ag", "ack")
    pattern_file = run.value("-f", "--file")
    if pattern_file is not None:
        machine.read(pattern_file)
    if run.has("--files"):
        return None
    if not operands and not recursive:
        if always and machine.stdin is None:
            operands = ["."]
        elif machine.stdin is not None and len(run.operands) == 1:
            return _grep_text(machine, run)
        else:
            return None
    _matched_files(machine, operands, recursive or always)
    if recursive or always:
        suffixes = tuple(
            value.lstrip("*")
            for value in run.values.get("--include", ())
            if value.startswith("*.") and "*" not in value[1:]
        )
        status: Status = None
        for field in operands or ["."]:
            done = machine.read_tree(field, suffixes)
            status = False if done is False else status
        return status
    worst: Status = None
    for field in operands:
        if machine.read(field) is False:
            worst = False
    return worst if len(operands) == 1 else None


def _matched_files(machine: Machine, operands: list[str], recursive: bool) -> None:
    """Files in ``name:match`` lines were read; nothing else tells them from the call alone."""
    if machine.captured or machine.output is None:
        return
    prefixes = tuple(
        operand.rstrip("/") + "/" for operand in operands if not machine.special(operand)
    )
    patterns = [operand for operand in operands if not PATTERN_MARKS.isdisjoint(operand)]
    if not patterns and not (recursive and prefixes):
        return
    seen: set[str] = set()
    for line in machine.lines()[:MANY]:
        name, colon, _ = line.partition(":")
        if not colon or name in seen or " " in name:
            continue
        seen.add(name)
        fits = name.startswith(prefixes) if recursive and prefixes else False
        if fits or any(_fits(name, pattern) for pattern in patterns):
            path = machine.path(name)
            if path is not None and machine.state.kind(path) != "directory":
                machine.effects.read(path, machine.tool, max(machine.rank, 1), named=False)


def _fits(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and matches(name, pattern)


def _grep_text(machine: Machine, run: Invocation) -> Status:
    """A plain pattern on known lines."""
    pattern, text = run.operands[0], machine.stdin or ""
    suffix = pattern.endswith("$") and not pattern.endswith("\\$")
    core = (pattern[:-1] if suffix else pattern).replace("\\.", "\ue00e")
    if not run.has("-F") and any(char in core for char in ".*[]^$\\+?(){}|"):
        return None
    if run.flags - {"-F", "-v", "-q"} or UNKNOWN in pattern:
        return None
    core = core.replace("\ue00e", ".")
    keep = [
        line
        for line in text.splitlines()
        if (line.endswith(core) if suffix else core in line) != run.has("-v")
    ]
    machine.stdout = "" if run.has("-q") else "".join(line + "\n" for line in keep)
    return bool(keep)


def _uniq(machine: Machine, run: Invocation) -> Status:
    if len(run.operands) == 2:
        status = machine.read(run.operands[0])
        if status is not False and machine.want is not False:
            machine.write(run.operands[1])
        return status
    return _filter(machine, run)


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    "find": _find,
    "ls": _ls,
    "cat": _cat,
    "filter": _filter,
    "tr": _tr,
    "grep": _grep,
    "uniq": _uniq,
}
