"""Words of the shell itself, and programs that only print: ``cd``, ``echo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leftoff.shell.ast import PATTERN_MARKS, TEMPORARY, UNKNOWN
from leftoff.shell.expansion import globbed, split_words
from leftoff.shell.filesystem import matches, parent_of
from leftoff.shell.parser import parse
from leftoff.shell.programs.nested import MANY, both

if TYPE_CHECKING:
    from collections.abc import Callable

    from leftoff.shell.commands import Invocation
    from leftoff.shell.interpreter import Machine, Status

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
    if len(run.operands) > 1:
        return False
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
    if words[:1] == ["-v"] and len(words) > 2:
        text = _formatted(words[2:])
        machine.variables[words[1]] = UNKNOWN if text is None else text
        machine.stdout = ""
    else:
        machine.stdout = _formatted(words)
    return True


def _formatted(words: list[str]) -> str | None:
    """What ``printf`` prints of its words; None where that is not worked out."""
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
    while rest and len(out) < MANY:
        piece = form
        for _ in range(slots):
            value = rest.pop(0) if rest else ""
            at = min(i for i in (piece.find("%s"), piece.find("%d")) if i >= 0)
            piece = piece[:at] + value.replace("%", "\ue00f") + piece[at + 2 :]
        out.append(piece)
    return "".join(out).replace("%%", "%").replace("\ue00f", "%")


def _true(machine: Machine, run: Invocation) -> Status:
    machine.stdout = ""
    return True


def _false(machine: Machine, run: Invocation) -> Status:
    machine.stdout = ""
    return False


def _exit(machine: Machine, run: Invocation) -> Status:
    """``exit``, ``return``, ``break`` and ``continue``."""
    machine.stdout = ""
    number = run.operands[0] if run.operands else ""
    if run.name in ("exit", "return"):
        machine.stop(run.name)
        return number == "0" if number.isdecimal() else None
    if machine.loops:  # else there is nothing that it could leave
        machine.stop(run.name, int(number[:3]) if number.isdecimal() else 1)
    return True


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
    names = run.values.get("-a", run.operands)
    found = _taken(machine, run)
    if found is None:
        for name in names or ["REPLY"]:
            machine.variables[name] = UNKNOWN
        return None
    line, ended = found
    separators = machine.variables.get("IFS", " \t\n")
    if isinstance(separators, list) or UNKNOWN in separators:
        words: list[str] | None = None
    elif "\\" in line and not run.has("-r"):
        words = None  # what it escapes is not worked out
    else:
        most = None if run.has("-a") else len(names)
        words = split_words(line, most, separators) if names else [line]
    for i, name in enumerate(names or ["REPLY"]):
        if words is None:
            machine.variables[name] = UNKNOWN
        elif run.has("-a"):
            machine.variables[name] = words
        else:
            machine.variables[name] = words[i] if i < len(words) else ""
    machine.stdout = ""
    return ended


def _taken(machine: Machine, run: Invocation) -> tuple[str, bool] | None:
    """What ``read`` takes from its input, and whether that ended as it should."""
    text = machine.stdin
    if text is None or run.value("-u") not in (None, "0"):
        return None
    end = "\n"
    if run.has("-d"):
        end = (run.value("-d") or "")[:1] or "\0"
    line, mark, rest = text.partition(end)
    ended = bool(mark)
    count = run.value("-n", "-N")
    if count is not None:
        if not count.isdecimal():
            return None
        size = int(count[:6])
        if len(line) >= size:
            line, rest, ended = text[:size], text[size:], True
    machine.stdin = rest
    return line, ended


def _read_lines(machine: Machine, run: Invocation) -> Status:
    """``mapfile``: each line is a value of an array."""
    name = run.operands[-1] if run.operands else "MAPFILE"
    text = machine.stdin
    if text is None or run.flags - {"-t", "-d"}:
        machine.variables[name] = UNKNOWN
        return None
    end = ((run.value("-d") or "")[:1] or "\0") if run.has("-d") else "\n"
    lines = text.split(end)
    kept = "" if run.has("-t") else end.strip("\0")
    machine.variables[name] = [line + kept for line in lines[:-1]] + [
        line for line in lines[-1:] if line
    ]
    machine.stdout = ""
    return True


def _trap(machine: Machine, run: Invocation) -> Status:
    """``trap ACTION SIGNAL...``: what stands for the end is done there; an error may come."""
    machine.stdout = ""
    if run.flags - {"--"} or len(run.words) < 2:
        return None
    action, *signals = [word for word in run.words if word != "--"]
    if {"EXIT", "0"} & set(signals):
        machine.parting = None if action in ("", "-") else action
    if {"ERR", "DEBUG", "RETURN"} & set(signals) and action not in ("", "-"):
        machine.suppose(parse(action, home=machine.home).body)
    return True


def _yes(machine: Machine, run: Invocation) -> Status:
    text = " ".join(run.words) or "y"
    machine.stdout = (text + "\n") * MANY if len(text) < 80 and UNKNOWN not in text else None
    return None


def _source(machine: Machine, run: Invocation) -> Status:
    if not run.operands:
        return None
    text = machine.known_text(run.operands[0])
    status = machine.read(run.operands[0])
    if status is False:
        return False
    if text is None:
        return None
    done = machine.run(parse(text, home=machine.home).body)
    if machine.leap == "return":
        machine.resume()
    return done


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
    words = [word for word in run.words if word != "-w"]
    numbers = [item for item in words if item.lstrip("-").isdecimal() and len(item) < 7]
    if len(numbers) != len(words) or not numbers:
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
    "read_lines": _read_lines,
    "trap": _trap,
    "yes": _yes,
    "source": _source,
    "eval": _eval,
    "test": _test,
    "seq": _seq,
    "basename": _basename,
    "date": _date,
    "let": _let,
    "mktemp": _mktemp,
}
