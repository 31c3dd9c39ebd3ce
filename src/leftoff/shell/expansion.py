"""Expands the words of a command: variables, substitutions, splitting, patterns."""

from leftoff.shell.ast import (
    MAX_FIELDS,
    PATTERN_MARKS,
    UNKNOWN,
    Statement,
    Substitution,
    Variable,
    Word,
)
from leftoff.shell.quoting import mark_patterns, unmark_patterns
from leftoff.shell.state import MAX_TEXT, UNRESOLVED, Walk


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


def word_text(walk: Walk, word: str | Word) -> str:
    """One word without splitting or globbing."""
    parts: tuple[str | Variable | Substitution, ...]
    parts = (word,) if isinstance(word, str) else word.parts
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out.append(unmark_patterns(part))
        elif isinstance(part, Variable):
            out.append(variable(walk, part))
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
        text = variable(walk, part) if isinstance(part, Variable) else substitute(walk, part)
        if part.quoted:
            rows[-1] += unmark_patterns(text)
            started = True
            continue
        split = True
        if text.strip() != text:  # a blank at its end divides words
            text = UNKNOWN
        pieces = text.split()
        if len(pieces) > 4 * MAX_FIELDS:
            pieces = [*pieces[: 4 * MAX_FIELDS], UNKNOWN]
        if not pieces:
            continue
        rows[-1] += mark_patterns(pieces[0])
        rows.extend(mark_patterns(piece) for piece in pieces[1:])
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
    # An option such as `--include=*.py` names no file, so that the shell passes it on.
    if "=" in pattern and pattern[:1] == "-":
        return [unmark_patterns(pattern)]
    found, complete = walk.state.expand(walk.cwd, pattern)
    if complete:
        # The shell passes on what matches nothing, unless `nullglob` is set.
        return found or [unmark_patterns(pattern)]
    return [*found, pattern]


def variable(walk: Walk, part: Variable) -> str:
    """The value of a variable. An operation on it is not followed."""
    name = part.name
    value = walk.variables.get(name)
    if value is None and name == "HOME":
        value = walk.home
    elif value is None and name == "PWD" and walk.cwd is not None:
        # A directory known only relative to the working directory is written as ".".
        value = walk.cwd if walk.cwd[0] in "/~" else "."
    return UNKNOWN if part.operation or value is None else value


def substitute(walk: Walk, part: Substitution) -> str:
    """The text that ``$(…)`` stands for is not known; what it runs may change files."""
    run_substitution(walk, part.body)
    return "/dev/fd/63" if part.process else UNKNOWN


def run_substitution(walk: Walk, body: Statement) -> None:
    """Run a substituted statement; what it prints is in `stdout`."""
    # What runs in it has neither the status nor the input of the command around it.
    expected_status, captured, stdin = walk.expected_status, walk.captured, walk.stdin
    walk.captured = True
    walk.subshell(walk, body, None)
    walk.expected_status, walk.captured, walk.stdin = expected_status, captured, stdin


def value_or_unknown(value: str) -> str:
    """The field as the value of a variable, or `UNKNOWN` where it is not known in full."""
    return value if UNRESOLVED.isdisjoint(value) else UNKNOWN
