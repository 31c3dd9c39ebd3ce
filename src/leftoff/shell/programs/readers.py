"""Programs that read and list files: ``find``, ``ls``, ``cat``, ``grep`` and similar
programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.expansion import mark_patterns
from leftoff.shell.globs import matches
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed, prompt_answer
from leftoff.shell.quoting import unmark_patterns

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.state import Status, Walk

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


def _find(walk: Walk, args: Invocation) -> Status:
    words = args.words
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
    if not walk.captured and all(action == "print" for action, _ in actions):
        return None  # it only prints, and no other command reads its output
    found, complete = _find_matches(walk, roots or ["."], tests)
    printed = True
    status: Status = None
    for action, command in actions:
        if action == "-delete":
            printed = False
            for item in sorted(found, key=lambda pair: -pair[0].count("/")):
                if item[1] == "directory":
                    path = walk.path(item[0])
                    if path is not None and not walk.state.below(path):
                        walk.state.remove(path)
                else:
                    ops.delete(walk, item[0])
            if not complete:
                walk.effects.unknown("find", action="deleted")
        elif action in ("-exec", "-execdir", "-ok"):
            printed = False
            names = [name for name, _ in found]
            if action == "-ok" and prompt_answer(walk) is not True:
                if prompt_answer(walk) is None:
                    _find_exec(walk, command, [], False)
            elif action == "-execdir":
                status = _find_execdir(walk, command, names, complete)
            else:
                status = _find_exec(walk, command, names, complete)
        elif action == "print":
            printed = True
        elif action == "-fprint":
            ops.write(walk, command[0])
            printed = False
        elif action == "-quit":
            found = found[:1]
    if complete and printed and len(found) <= MAX_ITEMS:
        end = "\0" if "-print0" in words else "\n"
        walk.stdout = "".join(name + end for name, _ in found)
    elif not printed:
        walk.stdout = None
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
    walk: Walk, roots: list[str], tests: list[list[tuple[bool, str, str]]] | None
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
        path = walk.resolved(root)
        if path is None:
            complete = False
            continue
        kind = walk.state.kind(path)
        if kind == "unknown" or (kind == "directory" and not walk.state.is_complete(path)):
            complete = False
        shown = root.rstrip("/") or "/"
        below = walk.state.below(path, directories=True)
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
            item_kind = walk.state.kind(item)
            if any(name.startswith(above + "/") for above in pruned):
                continue
            if any(_find_passes(walk, name, item, item_kind, depth, g) for g in pruning):
                pruned.append(name)
                continue
            for group in tests:
                if _find_passes(walk, name, item, item_kind, depth, group):
                    out.append((name, item_kind))
                    break
    if empties and any(kind == "file" for _, kind in out):
        return [pair for pair in out if pair[1] == "directory"], False
    return out, complete


def _find_passes(
    walk: Walk,
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
            pattern = mark_patterns(value)
            passed = (
                matches(last.lower(), pattern.lower())
                if test == "-iname"
                else matches(last, pattern)
            )
        elif test in ("-path", "-wholename", "-ipath"):
            passed = matches(name, mark_patterns(value))
        elif test == "-maxdepth":
            passed = value.isdecimal() and depth <= int(value[:4])
        elif test == "-mindepth":
            passed = value.isdecimal() and depth >= int(value[:4])
        elif test == "-empty":
            passed = kind == "file" or not walk.state.below(path, directories=True)
        else:
            passed = False
        if passed == negate:
            return False
    return True


def _find_exec(walk: Walk, command: list[str], found: list[str], complete: bool) -> Status:
    mode, words = command[0], command[1:]
    status: Status = True
    if not words:
        return None
    if found:
        if mode == "+":
            spread: list[str] = []
            for word in words:
                spread.extend(found if word == "{}" else [word])
            status = interpreter.call(walk, spread, None)
        else:
            for name in found[:MAX_ITEMS]:
                done = interpreter.call(
                    walk, [word.replace("{}", name) for word in words], None
                )
                status = both_succeed(status, done)
    if not complete:
        uncertainty, walk.uncertainty = walk.uncertainty, 2
        interpreter.call(walk, [word.replace("{}", UNKNOWN) for word in words], None)
        walk.uncertainty = uncertainty
    return status


def _find_execdir(walk: Walk, command: list[str], found: list[str], complete: bool) -> Status:
    """``-execdir``: the command runs in the directory of each file."""
    cwd = walk.cwd
    status: Status = True
    for name in found[:MAX_ITEMS]:
        above, slash, last = name.rpartition("/")
        walk.cwd = walk.path(above or "/") if slash else cwd
        done = _find_exec(walk, [";", *command[1:]], ["./" + last], True)
        status = both_succeed(status, done)
        walk.cwd = cwd
    if not complete:
        walk.cwd = None
        _find_exec(walk, command, [], False)
        walk.cwd = cwd
    return status


def _ls(walk: Walk, args: Invocation) -> Status:
    """``ls``: its output is known where all names are."""
    walk.stdout = None
    names: list[str] = []
    status: Status = True
    for field in args.operands or ["."]:
        path = walk.resolved(field)
        if path is None:
            if walk.reports_error("ls", unmark_patterns(field)):
                status = False
                continue
            return None
        kind = walk.state.kind(path)
        if kind == "absent" or walk.reports_error("ls", field):
            status = False
        elif kind == "file" or args.has("-d"):
            names.append(field)
        elif kind == "directory" and walk.state.is_complete(path) and len(args.operands) < 2:
            start = 0 if path == "." else len(path) + (path != "/")
            for item in walk.state.below(path, directories=True):
                name = item[start:]
                if "/" not in name and (name[0] != "." or args.has("-a", "-A")):
                    names.append(name)
        else:
            return None
    if not args.has("-l", "-t", "-r", "-S", "-R", "-a", "-F", "-p"):
        walk.stdout = "".join(name + "\n" for name in sorted(names))
    return status


def _cat(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    pieces: list[str | None] = []
    for field in args.operands:
        if field == "-":
            pieces.append(walk.stdin)
            continue
        pieces.append(walk.known_content(field))
        status = both_succeed(status, ops.read(walk, field))
    if not args.operands:
        pieces.append(walk.stdin)
    plain_output = not (args.flags - {"-u"})
    if plain_output and all(piece is not None for piece in pieces):
        walk.stdout = "".join(piece for piece in pieces if piece is not None)
    return status


def _filter(walk: Walk, args: Invocation) -> Status:
    """``head``, ``tail``, ``sort``, ``uniq``, ``tr`` … on text that is known."""
    status: Status = True
    text = walk.stdin
    operands = args.operands if args.name not in ("tr", "seq") else []
    if operands:
        pieces = []
        for field in operands:
            pieces.append(walk.known_content(field))
            status = both_succeed(status, ops.read(walk, field))
        text = pieces[0] if len(pieces) == 1 else None
    target = args.value("-o", "--output")
    if args.name == "sort" and target is not None and walk.expected_status is not False:
        ops.write(walk, target)
    if text is None:
        return status
    if args.has("-c", "--bytes", "-z", "--zero-terminated"):
        return status
    lines = text.splitlines()
    if args.name == "sort" and not (args.flags - {"-u", "-r"}):
        lines = sorted(set(lines) if args.has("-u") else lines, reverse=args.has("-r"))
    elif args.name in ("head", "tail"):
        count = args.value("-n", "--lines") or "10"
        for flag in args.flags:
            if flag[1:].isdecimal():
                count = flag[1:]
        if not count.isdecimal():
            return status
        number = int(count[:9])
        lines = lines[:number] if args.name == "head" else lines[max(len(lines) - number, 0) :]
    elif args.name == "uniq" and not args.flags:
        lines = [line for i, line in enumerate(lines) if i == 0 or lines[i - 1] != line]
    else:
        return status
    walk.stdout = "".join(line + "\n" for line in lines)
    return status


def _tr(walk: Walk, args: Invocation) -> Status:
    text = walk.stdin
    if text is not None and not args.flags and len(args.operands) == 2:
        names = {
            "A-Z": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "a-z": "abcdefghijklmnopqrstuvwxyz",
            "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
            "\\n": "\n",
        }
        old, new = (names.get(item, item) for item in args.operands)
        if len(old) == len(new) or len(new) == 1:
            new = new * len(old) if len(new) == 1 else new
            walk.stdout = text.translate(str.maketrans(old, new))
    return True


def _grep(walk: Walk, args: Invocation) -> Status:
    operands = (
        args.operands if args.has("-e", "-f", "--regexp", "--file") else args.operands[1:]
    )
    if walk.expected_status is False:
        walk.expected_status = None
    recursive = args.has("-r", "-R", "--recursive", "--dereference-recursive")
    always = args.name in ("rg", "ag", "ack")
    pattern_file = args.value("-f", "--file")
    if pattern_file is not None:
        ops.read(walk, pattern_file)
    if args.has("--files"):
        return None
    if not operands and not recursive:
        if always and walk.stdin is None:
            operands = ["."]
        elif walk.stdin is not None and len(args.operands) == 1:
            return _grep_text(walk, args)
        else:
            return None
    _read_matched_files(walk, operands, recursive or always)
    if recursive or always:
        suffixes = tuple(
            value.lstrip("*")
            for value in args.values.get("--include", ())
            if value.startswith("*.") and "*" not in value[1:]
        )
        status: Status = None
        for field in operands or ["."]:
            done = ops.read_tree(walk, field, suffixes)
            status = False if done is False else status
        return status
    worst: Status = None
    for field in operands:
        if ops.read(walk, field) is False:
            worst = False
    return worst if len(operands) == 1 else None


def _read_matched_files(walk: Walk, operands: list[str], recursive: bool) -> None:
    """Read the files of ``name:match`` lines in the output, which the command does not name."""
    if walk.captured or walk.output is None:
        return
    prefixes = tuple(
        operand.rstrip("/") + "/" for operand in operands if not walk.is_unresolved(operand)
    )
    patterns = [operand for operand in operands if not PATTERN_MARKS.isdisjoint(operand)]
    if not patterns and not (recursive and prefixes):
        return
    seen: set[str] = set()
    for line in walk.lines()[:MAX_ITEMS]:
        name, colon, _ = line.partition(":")
        if not colon or name in seen or " " in name:
            continue
        seen.add(name)
        fits = name.startswith(prefixes) if recursive and prefixes else False
        if fits or any(_matches_at_depth(name, pattern) for pattern in patterns):
            path = walk.path(name)
            if path is not None and walk.state.kind(path) != "directory":
                walk.effects.read(path, walk.tool, max(walk.uncertainty, 1), named=False)


def _matches_at_depth(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and matches(name, pattern)


def _grep_text(walk: Walk, args: Invocation) -> Status:
    """A plain pattern on known lines."""
    pattern, text = args.operands[0], walk.stdin or ""
    suffix = pattern.endswith("$") and not pattern.endswith("\\$")
    core = (pattern[:-1] if suffix else pattern).replace("\\.", "\ue00e")
    if not args.has("-F") and any(char in core for char in ".*[]^$\\+?(){}|"):
        return None
    if args.flags - {"-F", "-v", "-q"} or UNKNOWN in pattern:
        return None
    core = core.replace("\ue00e", ".")
    keep = [
        line
        for line in text.splitlines()
        if (line.endswith(core) if suffix else core in line) != args.has("-v")
    ]
    walk.stdout = "" if args.has("-q") else "".join(line + "\n" for line in keep)
    return bool(keep)


def _uniq(walk: Walk, args: Invocation) -> Status:
    if len(args.operands) == 2:
        status = ops.read(walk, args.operands[0])
        if status is not False and walk.expected_status is not False:
            ops.write(walk, args.operands[1])
        return status
    return _filter(walk, args)


HANDLERS: dict[str, Callable[[Walk, Invocation], Status]] = {
    "find": _find,
    "ls": _ls,
    "cat": _cat,
    "filter": _filter,
    "tr": _tr,
    "grep": _grep,
    "uniq": _uniq,
}
