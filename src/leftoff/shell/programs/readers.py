"""Programs that read and list files: ``find``, ``ls``, ``cat``, ``grep`` and similar
programs."""

from __future__ import annotations

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import PATTERN_MARKS, UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.expansion import mark_patterns
from leftoff.shell.globs import matches
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed
from leftoff.shell.quoting import unmark_patterns
from leftoff.shell.state import Status, Walk

# Conditions of ``find`` that must all hold: whether one is negated, its option, its value.
_Tests = list[tuple[bool, str, str]]
_TESTS = frozenset("-name -iname -path -wholename -ipath -type -maxdepth -mindepth".split())
_PRINTING = frozenset("-print -print0 -ls -prune -quit -L -H -P".split())


def _run_find(walk: Walk, args: Invocation) -> Status:
    """``find``: what it prints is not followed; what it deletes or runs is, for known files."""
    words = [word for word in args.words if word not in ("-L", "-H", "-P")]
    start = 0
    while start < len(words) and words[start][:1] not in ("-", "(", "!"):
        start += 1
    tests, actions = _find_expression(words[start:])
    if not actions:
        return None
    found, complete = _find_matches(walk, words[:start] or ["."], tests)
    status: Status = None
    for action, command in actions:
        if action == "-delete":
            for name, kind in sorted(found, key=lambda pair: -pair[0].count("/")):
                path = walk.path(name)
                if kind != "directory":
                    ops.delete(walk, name)
                elif path is not None and not walk.state.below(path):
                    walk.state.remove(path)
            if not complete:
                walk.effects.unknown("find", action="deleted")
        elif action == "-exec":
            status = _find_exec(walk, command, [name for name, _ in found], complete)
        else:  # in a directory that is not followed
            cwd, walk.cwd = walk.cwd, None
            _find_exec(walk, command, [], False)
            walk.cwd = cwd
    return False if status is False else None


def _find_expression(words: list[str]) -> tuple[_Tests | None, list[tuple[str, list[str]]]]:
    """The tests (None for an expression with alternatives or other tests), and the actions."""
    tests: _Tests | None = []
    actions: list[tuple[str, list[str]]] = []
    negate = False
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word in ("!", "-not"):
            negate = not negate
        elif word in _TESTS:
            if tests is not None:
                tests.append((negate, word, words[i] if i < len(words) else ""))
            negate = False
            i += 1
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            end = i
            while end < len(words) and words[end] not in (";", "+"):
                end += 1
            actions.append((word, [*words[end : end + 1], *words[i:end]]))
            i = end + 1
        elif word == "-delete":
            actions.append((word, []))
        elif word in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            actions.append((word, [";", "tee", *words[i : i + 1]]))
            i += 1
        elif word[:1] in "-(" and word not in _PRINTING:
            tests = None
        elif word == "-prune":
            tests = None
    return tests, actions


def _find_matches(
    walk: Walk, roots: list[str], tests: _Tests | None
) -> tuple[list[tuple[str, str]], bool]:
    if tests is None:
        return [], False
    found: list[tuple[str, str]] = []
    complete = True
    for root in roots:
        path = walk.resolved(root)
        if path is None:
            complete = False
            continue
        kind = walk.state.kind(path)
        if kind == "unknown" or (kind == "directory" and not walk.state.is_complete(path)):
            complete = False
        shown = root.rstrip("/") or "/"
        start = 0 if path == "." else len(path) + (path != "/")
        entries = [(shown, path, 0)] if kind in ("file", "directory") else []
        for item in walk.state.below(path, directories=True):
            name = shown.rstrip("/") + "/" + item[start:]
            entries.append((name, item, item[start:].count("/") + 1))
        for name, item, depth in entries:
            item_kind = walk.state.kind(item)
            if all(_passes(name, item_kind, depth, *test) for test in tests):
                found.append((name, item_kind))
    return found, complete


def _passes(name: str, kind: str, depth: int, negate: bool, test: str, value: str) -> bool:
    if test == "-type":
        passed = (kind == "directory") == (value == "d") and value in ("f", "d")
    elif test in ("-maxdepth", "-mindepth"):
        limit = int(value[:4]) if value.isdecimal() else 0
        return depth <= limit if test == "-maxdepth" else depth >= limit
    else:
        text = (
            name.rstrip("/").rpartition("/")[2]
            if "name" in test and test != "-wholename"
            else name
        )
        pattern = mark_patterns(value)
        if test[1] == "i":
            text, pattern = text.lower(), pattern.lower()
        passed = matches(text, pattern)
    return passed != negate


def _find_exec(walk: Walk, command: list[str], found: list[str], complete: bool) -> Status:
    mode, words = command[0] if command else "", command[1:]
    status: Status = True
    if not words:
        return None
    if found and mode == "+":
        fields = [found if word == "{}" else [word] for word in words]
        status = interpreter.call(walk, [field for group in fields for field in group], None)
    for name in found[:MAX_ITEMS] if mode != "+" else ():
        done = interpreter.call(walk, [word.replace("{}", name) for word in words], None)
        status = both_succeed(status, done)
    if not complete:
        uncertainty, walk.uncertainty = walk.uncertainty, 2
        interpreter.call(walk, [word.replace("{}", UNKNOWN) for word in words], None)
        walk.uncertainty = uncertainty
    return status


def _run_ls(walk: Walk, args: Invocation) -> Status:
    status: Status = True
    for field in args.operands:
        path = walk.resolved(field)
        kind = "unknown" if path is None else walk.state.kind(path)
        if kind == "absent" or walk.reports_error("ls", unmark_patterns(field)):
            status = False
        elif kind == "unknown" and status is True:
            status = None
    return status


def _run_cat(walk: Walk, args: Invocation) -> Status:
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


def _run_grep(walk: Walk, args: Invocation) -> Status:
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
