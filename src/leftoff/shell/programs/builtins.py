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
from leftoff.shell.programs.nested import MAX_ITEMS, both_succeed
from leftoff.shell.state import Status, Walk


def _run_cd(walk: Walk, args: Invocation) -> Status:
    target = args.operands[0] if args.operands else walk.home or "~"
    if args.name == "popd":
        walk.cwd = walk.directory_stack.pop() if walk.directory_stack else None
        return True
    if args.name == "pushd":
        walk.directory_stack.append(walk.cwd)
    if target == "-":
        walk.cwd, walk.variables["OLDPWD"] = (
            _known_string(walk.variables.get("OLDPWD")),
            walk.cwd or UNKNOWN,
        )
        walk.stdout = None
        return None
    if len(args.operands) > 1:
        return False
    path = walk.resolved(target)
    if path is None:
        walk.cwd = None
        walk.stdout = ""
        return None
    kind = walk.state.kind(path)
    if (
        kind in ("absent", "file")
        or walk.expected_status is False
        or walk.reports_error(args.name, target)
    ):
        return False
    walk.variables["OLDPWD"] = walk.cwd or UNKNOWN
    walk.cwd = path
    walk.stdout = ""
    if walk.uncertainty == 0:
        walk.state.put_directory(path)
    return True if kind == "directory" else None


def _known_string(value: str | list[str] | None) -> str | None:
    return value if isinstance(value, str) and UNKNOWN not in value else None


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
    if words[:1] == ["-v"] and len(words) > 2:
        text = _format_printf(words[2:])
        walk.variables[words[1]] = UNKNOWN if text is None else text
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
    """``trap ACTION EXIT``: the action runs at the end; one of ``ERR`` or ``DEBUG`` may run
    at any time; that of a signal, hardly ever."""
    walk.stdout = ""
    if args.flags - {"--"}:
        return None
    action, *signals = [word for word in args.words if word != "--"] or [""]
    if {"EXIT", "0"} & set(signals):
        walk.exit_trap = None if action in ("", "-") else action
    elif action not in ("", "-") and {"ERR", "DEBUG", "RETURN"} & set(signals):
        interpreter.run_speculatively(walk, parse(action, home=walk.home).body)
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


def _run_eval(walk: Walk, args: Invocation) -> Status:
    text = " ".join(args.words)
    if UNKNOWN in text:
        walk.effects.unknown("eval")
        return None
    return interpreter.run(walk, parse(text, home=walk.home).body, walk.expected_status)


def _run_test(walk: Walk, args: Invocation) -> Status:
    words = [word for word in args.words if word not in ("]", "]]")]
    walk.stdout = ""
    return _condition(walk, words, 0)


def _condition(walk: Walk, words: list[str], depth: int) -> Status:
    if depth > 20:
        return None
    for joiner, needs_both in (("||", False), ("-o", False), ("&&", True), ("-a", True)):
        if joiner in words[1:-1]:
            at = words.index(joiner, 1)
            if joiner in ("-o", "-a") and at < 2:
                continue
            left = _condition(walk, words[:at], depth + 1)
            right = _condition(walk, words[at + 1 :], depth + 1)
            if needs_both:
                return both_succeed(left, right)
            if left is True or right is True:
                return True
            return False if left is False and right is False else None
    if words[:1] == ["!"]:
        value = _condition(walk, words[1:], depth + 1)
        return None if value is None else not value
    if len(words) > 2 and words[0] == "(" and words[-1] == ")":
        return _condition(walk, words[1:-1], depth + 1)
    if len(words) == 2:
        return _unary(walk, words[0], words[1])
    if len(words) == 3:
        return _binary(walk.tool, *words)
    if len(words) == 1 and UNKNOWN not in words[0]:
        return bool(words[0])
    return None


def _unary(walk: Walk, operator: str, operand: str) -> Status:
    if operator in ("-z", "-n"):
        if UNKNOWN in operand:
            return None
        return (operand == "") == (operator == "-z")
    path = walk.resolved(operand)
    if path is None:
        return False if not operand else None
    kind = walk.state.kind(path)
    if kind == "unknown":
        return None
    if operator in ("-e", "-a"):
        return kind != "absent"
    if operator == "-f":
        return kind == "file"
    if operator == "-d":
        return kind == "directory"
    if kind == "absent":
        return False
    if operator == "-r":
        return True
    if operator == "-s":
        text = walk.contents.get(path)
        return None if text is None else bool(text)
    return None


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
