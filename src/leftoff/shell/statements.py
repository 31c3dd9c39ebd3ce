"""Builds statements from their parts where the grammar groups them otherwise than the shell."""

import functools
from typing import Any

from leftoff import lazy_re as re
from leftoff.shell.ast import (
    UNKNOWN,
    Command,
    Document,
    Group,
    Logical,
    Negated,
    Pipeline,
    Redirect,
    Sequence,
    Statement,
    Word,
)

# Longest word, in characters, that can be a path; a longer one is dropped unless it is a
# script. Chosen by hand; not measured.
MAX_WORD = 1_000
# First four letters of programs whose long arguments are scripts to be read.
SCRIPT_READERS = frozenset(
    "bash sh zsh dash ksh eval pyth node deno bun ruby perl awk gawk mawk sed patc git"
    " appl ssh sudo env time".split()
)
# The most frequent redirections, parsed in advance.
COMMON_REDIRECTS = {
    "2>&1": Redirect(">&", 2, "1"),
    "2>/dev/null": Redirect(">", 2, "/dev/null"),
    "2> /dev/null": Redirect(">", 2, "/dev/null"),
    ">/dev/null": Redirect(">", -1, "/dev/null"),
    "> /dev/null": Redirect(">", -1, "/dev/null"),
    "&>/dev/null": Redirect("&>", -1, "/dev/null"),
    ">&2": Redirect(">&", -1, "2"),
}

_PLAIN = re.compile(r"[\w./:@%+,-]+(?: +[\w./:@%+,=-]+)*\Z", re.ASCII)
# What begins a construct or a declaration is left to the grammar.
RESERVED = frozenset(
    "if then else elif fi for while until do done case esac in function select time coproc"
    " declare typeset export readonly local unset unsetenv".split()
)


@functools.cache
def grammar() -> Any:
    """The parser of the shell's grammar, loaded when it is first needed."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def simple_command(command: str) -> Command | None:
    """Parse a command of plain words without the grammar; None for any other command."""
    # Longer ones take the grammar; the limit was chosen by hand.
    if len(command) >= 400 or _PLAIN.match(command) is None:
        return None
    words = command.split()
    return None if words[0] in RESERVED else Command(tuple(words), (), (), True)


def make_pipeline(items: list[Statement]) -> Statement:
    """The pipeline of some statements. Of ``a && b 2>&1 | c`` the grammar takes all that is
    left of the bar into the pipe, and of some ``a | b && c`` all that is right of it; the shell
    takes one command. What is in brackets is a `Group`."""
    parts: list[Statement] = []
    for number, item in enumerate(items):
        if isinstance(item, Logical):
            left = make_pipeline([*parts, item.left])
            return Logical(item.both, left, make_pipeline([item.right, *items[number + 1 :]]))
        if isinstance(item, Sequence) and item.items:  # two lines, see `parser.command`
            one, *rest = item.items
            later = make_pipeline([rest.pop(), *items[number + 1 :]]) if rest else None
            lines = (make_pipeline([*parts, one]), *rest, *((later,) if later else ()))
            return Sequence(lines)
        parts += item.items if isinstance(item, Pipeline) else (item,)
    return parts[0] if len(parts) == 1 else Pipeline(tuple(parts))


def attach_redirects(body: Statement, found: tuple[Redirect, ...]) -> Statement:
    """Attach redirections to the command that they belong to: the grammar attaches
    those of ``a && b > c`` and ``a | b > c`` on the whole."""
    if isinstance(body, Command):
        return Command(body.words, body.assignments, body.redirects + found, body.plain)
    if isinstance(body, Logical):
        return Logical(body.both, body.left, attach_redirects(body.right, found))
    if isinstance(body, Pipeline):
        return Pipeline((*body.items[:-1], attach_redirects(body.items[-1], found)))
    if isinstance(body, Negated):
        return Negated(attach_redirects(body.item, found))
    if isinstance(body, Group):
        return Group(body.item, body.redirects + found, body.subshell)
    return Group(body, found, False)


def without_long_words(words: list[str | Word]) -> tuple[str | Word, ...]:
    """The words, with `UNKNOWN` for each that is too long for a path and is no script."""
    for i, word in enumerate(words):
        if isinstance(word, str) and len(word) > MAX_WORD and i:
            name = words[0] if isinstance(words[0], str) else ""
            if name.rpartition("/")[2][:4] not in SCRIPT_READERS:
                words[i] = UNKNOWN
    return tuple(words)


def heredoc(number: str, documents: list[tuple[str, bool]]) -> Document:
    """The here-document with that number, of those that `extract_heredocs` returned."""
    index = int(number) if number.isdecimal() else -1
    if not 0 <= index < len(documents):
        return Document(None, False)
    text, expands = documents[index]
    return Document(text, expands and any(char in text for char in "$`\\"))
