"""Shell builtins, and programs that only print: ``cd``, ``echo``, ``read``, ``test``."""

from __future__ import annotations

import re

from leftoff.shell import interpreter
from leftoff.shell import operations as ops
from leftoff.shell.ast import PATTERN_MARKS, TEMPORARY, UNKNOWN
from leftoff.shell.commands import Invocation
from leftoff.shell.expansion import mark_patterns
from leftoff.shell.globs import matches
from leftoff.shell.parser import parse
from leftoff.shell.paths import parent_of
from leftoff.shell.programs.nested import MAX_ITEMS
from leftoff.shell.state import Status, Walk


def _run_cd(walk: Walk, args: Invocation) -> Status:
    """``cd``; where ``popd`` and ``cd -`` lead is not followed."""
    target = args.operands[0] if args.operands else walk.home or "~"
    if args.name == "popd" or target == "-":
        walk.cwd = walk.stdout = None
        return None
    if len(args.operands) > 1:
        return False
    path = walk.resolved(target)
    walk.stdout = ""
    if path is None:
        walk.cwd = None
        return None
    kind = walk.state.kind(path)
    if (
        kind in ("absent", "file")
        or walk.expected_status is False
        or walk.reports_error(args.name, target)
    ):
        return False
    walk.cwd = path
    if walk.uncertainty == 0:
        walk.state.put_directory(path)
    return True if kind == "directory" else None


def _run_pwd(walk: Walk, args: Invocation) -> Status:
    walk.stdout = walk.cwd + "\n" if walk.cwd and walk.cwd[:1] == "/" else None
    return True


def _run_echo(walk: Walk, args: Invocation) -> Status:
    words = list(args.words)
    newline = True
    escapes = False
    while words and words[0] in ("-n", "-e", "-ne", "-en", "-E"):
        newline = newline and "n" not in words[0]
        escapes = escapes or "e" in words[0]
        words.pop(0)
    text = " ".join(words)
    if UNKNOWN in text or not PATTERN_MARKS.isdisjoint(text):
        walk.stdout = None
        return True
    if escapes:
        text = text.replace("\\n", "\n").replace("\\t", "\t")
    walk.stdout = text + "\n" if newline else text
    return True


def _run_printf(walk: Walk, args: Invocation) -> Status:
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if words[:1] == ["-v"]:
        walk.variables.update(dict.fromkeys(words[1:2], UNKNOWN))
        walk.stdout = ""
    else:
        walk.stdout = _format_printf(words)
    return True


def _format_printf(words: list[str]) -> str | None:
    """The text that ``printf`` prints; None where the format is not supported."""
    if not words or any(UNKNOWN in word for word in words):
        return None
    form = words[0].replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0")
    rest = words[1:]
    slots = form.count("%s") + form.count("%d")
    if form.count("%") != slots + 2 * form.count("%%"):
        return None
    if not rest or not slots:
        return form.replace("%s", "").replace("%d", "").replace("%%", "%")
    out: list[str] = []
    while rest and len(out) < MAX_ITEMS:
        piece = form
        for _ in range(slots):
            value = rest.pop(0) if rest else ""
            at = min(i for i in (piece.find("%s"), piece.find("%d")) if i >= 0)
            piece = piece[:at] + value.replace("%", "\ue00f") + piece[at + 2 :]
        out.append(piece)
    return "".join(out).replace("%%", "%").replace("\ue00f", "%")


def _run_constant(walk: Walk, args: Invocation) -> Status:
    walk.stdout = ""
    return args.name != "false"


def _run_read(walk: Walk, args: Invocation) -> Status:
    """``read``, ``mapfile``, ``shift``, ``((``: their values are not followed."""
    names = args.values.get("-a", args.operands) or ["REPLY", "MAPFILE"]
    if args.name == "shift":
        names = ["@", "#", *"123456789"]
    elif args.name in ("((", "let"):
        names = re.findall(r"[A-Za-z_]\w*", " ".join(args.words))
    for name in names:
        walk.variables[name] = UNKNOWN
    walk.stdout = ""
    return None


def _run_exit(walk: Walk, args: Invocation) -> Status:
    walk.stdout = ""
    number = args.operands[0] if args.operands else ""
    if args.name in ("exit", "return"):
        walk.stop(args.name)
        return number == "0" if number.isdecimal() else None
    if walk.loop_depth:  # outside of a loop they do nothing
        walk.stop(args.name, int(number[:3]) if number.isdecimal() else 1)
    return True


def _run_set(walk: Walk, args: Invocation) -> Status:
    letters = "".join(word[1:] for word in args.words if word[:1] == "-" and word[:2] != "--")
    if "e" in letters or "errexit" in args.words:
        walk.errexit = "+e" not in args.words
    if "pipefail" in args.words:
        walk.pipefail = "+o" not in args.words
    if "+e" in args.words:
        walk.errexit = False
    if "--" in args.words:
        interpreter.set_positional(walk, args.words[args.words.index("--") + 1 :])
    walk.stdout = ""
    return True


def _run_unset(walk: Walk, args: Invocation) -> Status:
    for name in args.operands:
        walk.variables[name] = ""
    walk.stdout = ""
    return True


def _run_declare(walk: Walk, args: Invocation) -> Status:
    for word in args.operands:
        name, found, value = word.partition("=")
        if args.name in ("local", "declare", "typeset") and not args.has("-g"):
            walk.local.setdefault(name, walk.variables.get(name))
        if found:
            walk.variables[name] = value
    walk.stdout = ""
    return True


def _run_trap(walk: Walk, args: Invocation) -> Status:
    """``trap``: its action, which is not followed, may undo what is done until it runs."""
    if {"EXIT", "0", "ERR", "DEBUG", "RETURN"}.intersection(args.words[1:]):
        walk.effects.unknown("trap")
        walk.uncertainty = 2
    walk.stdout = ""
    return True


def _run_source(walk: Walk, args: Invocation) -> Status:
    if not args.operands:
        return None
    text = walk.known_content(args.operands[0])
    if args.operands[0] == "/dev/stdin":
        text = walk.stdin
    status = ops.read(walk, args.operands[0], named=False)
    if status is False:
        return False
    if text is None:
        return None
    done = interpreter.run(walk, parse(text, home=walk.home).body)
    if walk.jump == "return":
        walk.resume()
    return done


def _run_test(walk: Walk, args: Invocation) -> Status:
    """``test``, ``[``, ``[[``: one condition; several joined ones are not followed."""
    words = [word for word in args.words if word not in ("]", "]]")]
    walk.stdout = ""
    negated = words[:1] == ["!"]
    words = words[negated:]
    value: Status = None
    if len(words) == 2:
        value = _unary(walk, *words)
    elif len(words) == 3:
        value = _binary(walk.tool, *words)
    elif len(words) == 1 and UNKNOWN not in words[0]:
        value = bool(words[0])
    return value if value is None else value != negated


def _unary(walk: Walk, operator: str, operand: str) -> Status:
    if operator in ("-z", "-n"):
        return None if UNKNOWN in operand else (operand == "") == (operator == "-z")
    if not operand:
        return False
    kind = walk.kind(operand)
    if kind == "unknown":
        return None
    if operator in _KINDS:
        return kind in _KINDS[operator]
    return False if kind == "absent" else None


_KINDS = {"-e": ("file", "directory"), "-f": ("file",), "-d": ("directory",)}


def _equal(tool: str, left: str, right: str) -> bool:
    return matches(left, mark_patterns(right)) if tool == "[[" else left == right


def _binary(tool: str, left: str, operator: str, right: str) -> Status:
    if UNKNOWN in left or UNKNOWN in right:
        return None
    if operator in ("=", "=="):
        return _equal(tool, left, right)
    if operator == "!=":
        return not _equal(tool, left, right)
    try:
        first, second = int(left[:12]), int(right[:12])
    except ValueError:
        return None
    return {
        "-eq": first == second,
        "-ne": first != second,
        "-lt": first < second,
        "-le": first <= second,
        "-gt": first > second,
        "-ge": first >= second,
    }.get(operator)


def _run_basename(walk: Walk, args: Invocation) -> Status:
    names = args.operands
    if args.name == "dirname":
        found = [parent_of(name.rstrip("/")) if "/" in name else "." for name in names]
    else:
        suffix = args.value("-s", "--suffix") or ""
        if len(names) == 2 and not args.has("-a", "-s"):
            suffix, names = names[1], names[:1]
        found = [name.rstrip("/").rpartition("/")[2] for name in names]
        if suffix:
            found = [
                name[: -len(suffix)] if name.endswith(suffix) and name != suffix else name
                for name in found
            ]
    if not any(UNKNOWN in name for name in names):
        walk.stdout = "".join(name + "\n" for name in found)
    return True


def _run_mktemp(walk: Walk, args: Invocation) -> Status:
    folder, name = "/tmp", ""  # noqa: S108  # stands for a name, never opened
    if args.operands and not args.has("-t", "--tmpdir", "-p"):
        folder, slash, name = args.operands[-1].rpartition("/")
        folder = folder or ("/" if slash else ".")
    folder = args.value("-p", "--tmpdir") or folder
    path = walk.resolved(f"{folder}/{name.rstrip('X')}{TEMPORARY}{len(walk.contents)}")
    if path is None:
        walk.effects.unknown("mktemp")
        return True
    if not path.startswith("/tmp/") and not args.has("-d", "--directory", "-u"):  # noqa: S108
        walk.effects.write(path, "mktemp", walk.uncertainty)
    walk.contents[path] = ""
    if args.has("-d", "--directory"):
        walk.state.put_directory(path, empty=True)
    walk.stdout = path + "\n"
    return True
