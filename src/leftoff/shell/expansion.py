"""Expands the words of a command: variables, substitutions, splitting, patterns."""

from __future__ import annotations

from leftoff import lazy_re as re
from leftoff.shell.ast import (
    BRACKET,
    MAX_FIELDS,
    PATTERN_MARKS,
    QUESTION,
    STAR,
    TEMPORARY,
    UNKNOWN,
    Command,
    Statement,
    Substitution,
    Variable,
    Word,
)
from leftoff.shell.globs import ends
from leftoff.shell.quoting import unmark_patterns
from leftoff.shell.state import MAX_TEXT, UNRESOLVED, Walk

_IFS = " \t\n"


def fields(walk: Walk, words: tuple[str | Word, ...]) -> list[str]:
    """The fields that words expand to. A field holds `UNKNOWN` where its text is not known,
    and pattern marks where not all files that it matches are known."""
    out: list[str] = []
    for word in words:
        if isinstance(word, str):
            if PATTERN_MARKS.isdisjoint(word):
                out.append(word)
            else:
                out.extend(_glob(walk, word))
        else:
            out.extend(_word(walk, word))
        if len(out) > 4 * MAX_FIELDS:
            out.append(UNKNOWN)
            break
    return [field if len(field) <= MAX_TEXT else UNKNOWN for field in out]


def word_text(walk: Walk, word: str | Word, *, keep: bool = False) -> str:
    """One word without splitting or globbing; with `keep`, pattern marks stay."""
    parts: tuple[str | Variable | Substitution, ...]
    parts = (word,) if isinstance(word, str) else word.parts
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out.append(part if keep else unmark_patterns(part))
        elif isinstance(part, Variable):
            out.append(" ".join(variable(walk, part)))
        else:
            out.append(substitute(walk, part))
    return "".join(out)


def _word(walk: Walk, word: Word) -> list[str]:
    rows: list[str] = [""]
    split = False
    started = False
    for part in word.parts:
        if isinstance(part, str):
            rows[-1] += part
            started = True
            continue
        if isinstance(part, Variable):
            values = variable(walk, part)
            quoted = part.quoted
            if quoted and part.name == "@" or (quoted and "[@]" in part.operation):
                if not values and len(word.parts) == 1:
                    return []
                for i, value in enumerate(values):
                    if i:
                        rows.append("")
                    rows[-1] += unmark_patterns(value)
                started = started or bool(values)
                continue
            text = " ".join(values)
        else:
            text = substitute(walk, part)
            quoted = part.quoted
        if quoted:
            rows[-1] += unmark_patterns(text)
            started = True
            continue
        split = True
        pieces = text.split()
        if len(pieces) > 4 * MAX_FIELDS:
            pieces = [*pieces[: 4 * MAX_FIELDS], UNKNOWN]
        if not pieces:
            continue
        if text[:1] in _IFS and rows[-1]:
            rows.append("")
        rows[-1] += mark_patterns(pieces[0])
        rows.extend(mark_patterns(piece) for piece in pieces[1:])
        if text[-1:] in _IFS:
            rows.append("")
        started = True
    if split:
        rows = [row for row in rows if row] if len(rows) > 1 or not rows[0] else rows
        if not started:
            return []
    out: list[str] = []
    for row in rows:
        if PATTERN_MARKS.isdisjoint(row):
            out.append(row)
        else:
            out.extend(_glob(walk, row))
    return out


def _glob(walk: Walk, pattern: str) -> list[str]:
    if UNKNOWN in pattern:
        return [pattern]
    if "=" in pattern and pattern[:1] == "-":
        return [unmark_patterns(pattern)]
    found, complete = walk.state.expand(walk.cwd, pattern)
    if complete:
        return found or [unmark_patterns(pattern)]
    return [*found, pattern]


def variable(walk: Walk, part: Variable) -> list[str]:
    """The values of a variable; several for arrays."""
    name, operation = part.name, part.operation
    if name == "((":
        number = arithmetic(walk, operation)
        return [UNKNOWN if number is None else str(number)]
    if name == "$":
        return [TEMPORARY + "pid"]
    value = walk.variables.get(name)
    if name == "OLDPWD" and isinstance(value, str) and value[:1] not in "/~":
        return [UNKNOWN]
    if value is None:
        if name == "HOME" and walk.home is not None:
            value = walk.home
        elif name == "PWD" and walk.cwd is not None:
            # A directory known only relative to the working directory is written as ".".
            value = walk.cwd if walk.cwd[0] in "/~" else "."
        elif name in ("@", "*"):
            value = walk.variables.get("@", [])
        elif operation[:2] in (":-", ":="):
            return [UNKNOWN if "$" in operation else operation[2:].strip("\"'")]
        else:
            return [UNKNOWN]
    if isinstance(value, list):
        if operation in ("[@]", "[*]") or name in ("@", "*"):
            return value
        if operation[:1] == "[" and operation[-1:] == "]" and operation[1:-1].isdecimal():
            index = int(operation[1:-1][:6])
            return [value[index]] if index < len(value) else [""]
        if operation == "#":
            return [UNKNOWN]
        value = value[0] if value else ""
        operation = "" if operation[:1] == "[" else operation
    if not operation:
        return [value]
    if UNKNOWN in value:
        return [UNKNOWN]
    return [_apply_operation(value, operation)]


def arithmetic(walk: Walk, text: str) -> int | None:
    """The value of ``a``, ``a + b`` and the like, on plain numbers and variables."""
    for operators in ("+", "-", "*%/"):  # operators of one precedence: the last is applied last
        at = max(map(text.rfind, operators))
        left, operator, right = text[: max(at, 0)], text[at : at + 1], text[at + 1 :]
        if at > 0 and left.strip():
            first, second = arithmetic(walk, left), arithmetic(walk, right)
            if first is None or second is None or (operator in "%/" and second == 0):
                return None
            if operator in "+-":
                return first + second if operator == "+" else first - second
            if operator == "*":
                return first * second if abs(first) + abs(second) < 10**9 else None
            return first % second if operator == "%" else first // second
    text = text.strip().strip("${}")
    if text.lstrip("-").isdecimal():
        return int(text[:12])
    value = walk.variables.get(text)
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 12:
        return int(value)
    return None


def substitute(walk: Walk, part: Substitution) -> str:
    """The text that ``$(…)`` stands for."""
    text = run_substitution(walk, part.body)
    if part.process:
        return "/dev/fd/63"
    return UNKNOWN if text is None else text.rstrip("\n")


def run_substitution(walk: Walk, body: Statement) -> str | None:
    """The text that a substituted statement prints; None where it is not known."""
    expected_status, captured, stdin = walk.expected_status, walk.captured, walk.stdin
    walk.captured = True
    walk.subshell(walk, body)
    if isinstance(body, Command) and not body.words and len(body.redirects) == 1:
        walk.stdout = walk.stdin if body.redirects[0].operator == "<" else ""
    walk.expected_status, walk.captured, walk.stdin = expected_status, captured, stdin
    return walk.stdout


def value_or_unknown(value: str) -> str:
    """The field as the value of a variable, or `UNKNOWN` where it is not known in full."""
    return value if UNRESOLVED.isdisjoint(value) else UNKNOWN


def mark_patterns(text: str) -> str:
    """Text with its pattern characters marked, as the shell sees unquoted text."""
    if "*" in text or "?" in text or "[" in text:
        return text.replace("*", STAR).replace("?", QUESTION).replace("[", BRACKET)
    return text


def _apply_operation(value: str, operation: str) -> str:
    """``${name operation}`` for the usual operations; `UNKNOWN` for the rest."""
    if "$" in operation or "`" in operation:
        return UNKNOWN
    if operation == "#":
        return str(len(value))
    head = operation[0]
    if head in "%#":
        greedy = operation[:2] in ("%%", "##")
        pattern = _pattern(operation[2 if greedy else 1 :])
        found = ends(value, pattern, last=head == "%")
        if found is None:
            return value
        size = found[greedy]
        return value[: len(value) - size] if head == "%" else value[size:]
    if head == ":":
        if operation[1:2] in ("-", "=", "?"):
            return value or operation[2:].strip("\"'")
        if operation[1:2] == "+":
            return operation[2:].strip("\"'") if value else ""
    return UNKNOWN


def _pattern(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return _PATTERN.sub(lambda m: m[1] or mark_patterns(m[0]), text)


_PATTERN = re.compile(r"\\(.)|[*?\[]", re.DOTALL)
