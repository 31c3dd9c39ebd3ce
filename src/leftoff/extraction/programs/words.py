"""Words of the shell itself, and programs that only print: ``cd``, ``echo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.extraction.expansion import globbed
from leftoff.extraction.file_state import matches, parent_of
from leftoff.extraction.programs.running import MANY, both
from leftoff.extraction.script import PATTERN_MARKS, TEMPORARY, UNKNOWN
from leftoff.extraction.shell_syntax import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.extraction.commands import Invocation
    from leftoff.extraction.machine import Machine, Status

__all__ = ["HANDLERS"]


def _cd(machine: Machine, run: Invocation) -> Status:
    target = run.operands[0] if run.operands else machine.home or "~"
    if run.name == "popd":
        machine.cwd = machine.directories.pop() if machine.directories else None
        return True
    if run.name == "pushd":
        machine.directories.append(machine.cwd)
    if target == "-":
        machine.cwd, machine.variables["OLDPWD"] = (
            _text(machine.variables.get("OLDPWD")),
            machine.cwd or UNKNOWN,
        )
        machine.stdout = None
        return None
    path = machine.path(target) if not machine.special(target) else None
    if path is None:
        machine.cwd = None
        machine.stdout = ""
        return None
    kind = machine.state.kind(path)
    if (
        kind in ("absent", "file")
        or machine.want is False
        or machine.complains(run.name, target)
    ):
        return False
    machine.variables["OLDPWD"] = machine.cwd or UNKNOWN
    machine.cwd = path
    machine.stdout = ""
    if machine.rank == 0:
        machine.state.put_directory(path)
    return True if kind == "directory" else None


def _text(value: str | list[str] | None) -> str | None:
    return value if isinstance(value, str) and UNKNOWN not in value else None


def _pwd(machine: Machine, run: Invocation) -> Status:
    machine.stdout = machine.cwd + "\n" if machine.cwd and machine.cwd[:1] == "/" else None
    return True


def _echo(machine: Machine, run: Invocation) -> Status:
    words = list(run.words)
    newline = True
    escapes = False
    while words and words[0] in ("-n", "-e", "-ne", "-en", "-E"):
        newline = newline and "n" not in words[0]
        escapes = escapes or "e" in words[0]
        words.pop(0)
    text = " ".join(words)
    if UNKNOWN in text or not PATTERN_MARKS.isdisjoint(text):
        machine.stdout = None
        return True
    if escapes:
        text = text.replace("\\n", "\n").replace("\\t", "\t")
    machine.stdout = text + "\n" if newline else text
    return True


def _printf(machine: Machine, run: Invocation) -> Status:
    words = run.words[1:] if run.words[:1] == ["--"] else run.words
    machine.stdout = None
    if not words or any(UNKNOWN in word for word in words) or words[0] == "-v":
        return True
    form = words[0].replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0")
    rest = words[1:]
    slots = form.count("%s") + form.count("%d")
    if form.count("%") != slots + 2 * form.count("%%"):
        return True
    if not rest or not slots:
        machine.stdout = form.replace("%s", "").replace("%d", "").replace("%%", "%")
        return True
    out: list[str] = []
    while rest and len(out) < MANY:
        piece = form
        for _ in range(slots):
            value = rest.pop(0) if rest else ""
            at = min(i for i in (piece.find("%s"), piece.find("%d")) if i >= 0)
            piece = piece[:at] + value.replace("%", "\ue00f") + piece[at + 2 :]
        out.append(piece)
    machine.stdout = "".join(out).replace("\ue00f", "%").replace("%%", "%")
    return True


def _true(machine: Machine, run: Invocation) -> Status:
    machine.stdout = ""
    return True


def _false(machine: Machine, run: Invocation) -> Status:
    machine.stdout = ""
    return False


def _exit(machine: Machine, run: Invocation) -> Status:
    machine.stopped = True
    machine.stdout = ""
    code = run.operands[0] if run.operands else ""
    return code == "0" if code.isdecimal() else None


def _set(machine: Machine, run: Invocation) -> Status:
    letters = "".join(word[1:] for word in run.words if word[:1] == "-" and word[:2] != "--")
    if "e" in letters or "errexit" in run.words:
        machine.strict = "+e" not in run.words
    if "pipefail" in run.words:
        machine.pipefail = "+o" not in run.words
    if "+e" in run.words:
        machine.strict = False
    if "--" in run.words:
        machine.positional(run.words[run.words.index("--") + 1 :])
    machine.stdout = ""
    return True


def _shift(machine: Machine, run: Invocation) -> Status:
    values = machine.variables.get("@")
    if isinstance(values, list):
        machine.positional(values[1:])
    return True


def _unset(machine: Machine, run: Invocation) -> Status:
    for name in run.operands:
        machine.variables[name] = ""
    machine.stdout = ""
    return True


def _declare(machine: Machine, run: Invocation) -> Status:
    for word in run.operands:
        name, found, value = word.partition("=")
        if found:
            machine.variables[name] = value
    machine.stdout = ""
    return True


def _read_line(machine: Machine, run: Invocation) -> Status:
    names = run.operands or ["REPLY"]
    text = machine.stdin
    if run.has("-a"):
        names = run.values.get("-a", names)
    if text is None:
        for name in names:
            machine.variables[name] = UNKNOWN
        return None
    line = text.split("\n", 1)[0]
    if run.has("-a"):
        machine.variables[names[0]] = line.split()
        return True
    pieces = line.split(None, len(names) - 1) if len(names) > 1 else [line.strip()]
    for i, name in enumerate(names):
        machine.variables[name] = pieces[i] if i < len(pieces) else ""
    return True


def _source(machine: Machine, run: Invocation) -> Status:
    if not run.operands:
        return None
    text = machine.known_text(run.operands[0])
    status = machine.read(run.operands[0])
    if status is False:
        return False
    if text is not None:
        return machine.run(parse(text, home=machine.home).body)
    return None


def _eval(machine: Machine, run: Invocation) -> Status:
    text = " ".join(run.words)
    if UNKNOWN in text:
        machine.effects.unknown("eval")
        return None
    return machine.run(parse(text, home=machine.home).body, machine.want)


def _test(machine: Machine, run: Invocation) -> Status:
    words = [word for word in run.words if word not in ("]", "]]")]
    machine.stdout = ""
    return _condition(machine, words, 0)


def _condition(machine: Machine, words: list[str], depth: int) -> Status:
    if depth > 20:
        return None
    for joiner, needs_both in (("||", False), ("-o", False), ("&&", True), ("-a", True)):
        if joiner in words[1:-1]:
            at = words.index(joiner, 1)
            if joiner in ("-o", "-a") and at < 2:
                continue
            left = _condition(machine, words[:at], depth + 1)
            right = _condition(machine, words[at + 1 :], depth + 1)
            if needs_both:
                return both(left, right)
            if left is True or right is True:
                return True
            return False if left is False and right is False else None
    if words[:1] == ["!"]:
        value = _condition(machine, words[1:], depth + 1)
        return None if value is None else not value
    if len(words) > 2 and words[0] == "(" and words[-1] == ")":
        return _condition(machine, words[1:-1], depth + 1)
    if len(words) == 2:
        return _unary(machine, words[0], words[1])
    if len(words) == 3:
        return _binary(machine.tool, *words)
    if len(words) == 1 and UNKNOWN not in words[0]:
        return bool(words[0])
    return None


def _unary(machine: Machine, operator: str, operand: str) -> Status:
    if operator in ("-z", "-n"):
        if UNKNOWN in operand:
            return None
        return (operand == "") == (operator == "-z")
    path = machine.path(operand) if not machine.special(operand) else None
    if path is None:
        return False if not operand else None
    kind = machine.state.kind(path)
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
        text = machine.contents.get(path)
        return None if text is None else bool(text)
    return None


def _same(tool: str, left: str, right: str) -> bool:
    return matches(left, globbed(right)) if tool == "[[" else left == right


def _binary(tool: str, left: str, operator: str, right: str) -> Status:
    if UNKNOWN in left or UNKNOWN in right:
        return None
    if operator in ("=", "=="):
        return _same(tool, left, right)
    if operator == "!=":
        return not _same(tool, left, right)
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


def _seq(machine: Machine, run: Invocation) -> Status:
    numbers = [item for item in run.operands if item.lstrip("-").isdecimal() and len(item) < 7]
    if len(numbers) != len(run.operands) or not numbers or run.flags - {"-w"}:
        return None
    values = [int(item) for item in numbers]
    first = values[0] if len(values) > 1 else 1
    step = values[1] if len(values) == 3 else 1
    if step == 0:
        return None
    span = range(first, values[-1] + (1 if step > 0 else -1), step)[:MANY]
    width = max((len(str(n)) for n in span), default=0) if run.has("-w") else 0
    machine.stdout = "".join(str(n).zfill(width) + "\n" for n in span)
    return True


def _basename(machine: Machine, run: Invocation) -> Status:
    names = run.operands
    if run.name == "dirname":
        found = [parent_of(name.rstrip("/")) if "/" in name else "." for name in names]
    else:
        suffix = run.value("-s", "--suffix") or ""
        if len(names) == 2 and not run.has("-a", "-s"):
            suffix, names = names[1], names[:1]
        found = [name.rstrip("/").rpartition("/")[2] for name in names]
        if suffix:
            found = [
                name[: -len(suffix)] if name.endswith(suffix) and name != suffix else name
                for name in found
            ]
    if not any(UNKNOWN in name for name in names):
        machine.stdout = "".join(name + "\n" for name in found)
    return True


def _mktemp(machine: Machine, run: Invocation) -> Status:
    number = len(machine.contents)
    path = f"/tmp/{TEMPORARY}{number}"  # noqa: S108  # stands for a name, never opened
    machine.contents[path] = ""
    if run.has("-d", "--directory"):
        machine.state.put_directory(path, empty=True)
    machine.stdout = path + "\n"
    return True


def _date(machine: Machine, run: Invocation) -> Status:
    """A date is not known, but the same text wherever it is used again."""
    words = "".join(char for word in run.words for char in word if char.isalnum())
    machine.stdout = f"{TEMPORARY}date{words}\n"
    return True


def _let(machine: Machine, run: Invocation) -> Status:
    """``((i++))``, ``((i+=2))``, ``let i=i+1``: the variable has a new number."""
    text = "".join(run.words).replace(" ", "")
    name = text.strip("+-").partition("+")[0].partition("-")[0].partition("=")[0]
    if text in (f"{name}++", f"++{name}"):
        text = f"{name}+1"
    elif text in (f"{name}--", f"--{name}"):
        text = f"{name}-1"
    elif text.startswith((f"{name}+=", f"{name}-=")):
        text = name + text[len(name)] + text[len(name) + 2 :]
    elif text.startswith(f"{name}=") and text[len(name) + 1 : len(name) + 2] != "=":
        text = text[len(name) + 1 :]
    else:
        return None
    number = machine.arithmetic(text)
    machine.variables[name] = UNKNOWN if number is None else str(number)
    machine.stdout = ""
    return None if number is None else True


HANDLERS: dict[str, Callable[[Machine, Invocation], Status]] = {
    "cd": _cd,
    "pwd": _pwd,
    "echo": _echo,
    "printf": _printf,
    "true": _true,
    "false": _false,
    "exit": _exit,
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "declare": _declare,
    "read": _read_line,
    "source": _source,
    "eval": _eval,
    "test": _test,
    "seq": _seq,
    "basename": _basename,
    "date": _date,
    "let": _let,
    "mktemp": _mktemp,
}
