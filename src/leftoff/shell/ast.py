"""A shell command line as plain data: its words, redirections and control structure.

`parser.parse` reads a command once with the tree-sitter grammar for bash and saves what decides
later which files it touches. Nothing is evaluated here: a variable stays a `Variable`,
a substitution stays the statement that it runs, a glob stays a pattern. The values are frozen
and can be serialised by msgspec.

Here-documents are taken out before the grammar sees the text and put back as redirections:
their bodies are data, and the grammar misreads lines such as ``cat <<A; next`` or
``cat <<A <<B``.

Marks: an unquoted pattern character is stored as a private-use code point (`STAR`, `QUESTION`,
`BRACKET`), so that a quoted ``*`` remains an ordinary character of a word."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

# Stands for text that cannot be known from the recording.
UNKNOWN = "\ue000"
STAR = "\ue001"
QUESTION = "\ue002"
BRACKET = "\ue003"
PATTERN_MARKS = frozenset((STAR, QUESTION, BRACKET))

# Words that braces or a counted loop expand to; chosen by hand, not measured.
MAX_FIELDS = 256


class _Node(msgspec.Struct, frozen=True, tag=True, array_like=True, gc=False):
    """The base of all parts of a script."""


class Variable(_Node, frozen=True):
    """``$name`` or ``${name…}``; `operation` is the text after the name, as written."""

    name: str
    operation: str
    quoted: bool


class Substitution(_Node, frozen=True):
    """The output of a statement; `process` where it is ``<(…)`` or ``>(…)``."""

    body: Statement
    quoted: bool
    process: bool


class Word(_Node, frozen=True):
    """A word whose text depends on variables or on the output of commands."""

    parts: tuple[str | Variable | Substitution, ...]


class Document(_Node, frozen=True):
    """The body of a here-document; `text` is None where it is not known."""

    text: str | None
    expands: bool


class Redirect(_Node, frozen=True):
    """One redirection: operator, file descriptor (-1 where not given) and target."""

    operator: str
    descriptor: int
    target: str | Word | Document


class Command(_Node, frozen=True):
    """One simple command: its words, the variables set for it, its redirections.

    `plain` where no word needs an expansion."""

    words: tuple[str | Word, ...]
    assignments: tuple[tuple[str, str | Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    plain: bool = False


class Sequence(_Node, frozen=True):
    """Statements run one after another."""

    items: tuple[Statement, ...]


class Logical(_Node, frozen=True):
    """``left && right`` (`both`) or ``left || right``."""

    both: bool
    left: Statement
    right: Statement


class Negated(_Node, frozen=True):
    """``! item``."""

    item: Statement


class Pipeline(_Node, frozen=True):
    """``a | b``."""

    items: tuple[Statement, ...]


class Group(_Node, frozen=True):
    """Braces or parentheses with redirections; `subshell` keeps its directory to itself."""

    item: Statement
    redirects: tuple[Redirect, ...]
    subshell: bool


class Background(_Node, frozen=True):
    """``item &``."""

    item: Statement


class Loop(_Node, frozen=True):
    """``for name in values``; values is None where they cannot be listed."""

    name: str
    values: tuple[str | Word, ...] | None
    body: Statement


class Branches(_Node, frozen=True):
    """``if``, ``case``, ``while``: which of the parts run is not decided, nor how often."""

    items: tuple[Statement, ...]


class Function(_Node, frozen=True):
    """The definition of a function."""

    name: str
    body: Statement


class Opaque(_Node, frozen=True):
    """Something that is not understood: `reason` names it."""

    reason: str


Statement = (
    Command
    | Sequence
    | Logical
    | Negated
    | Pipeline
    | Group
    | Background
    | Loop
    | Branches
    | Function
    | Opaque
)


class Script(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parsed command line with the directory and home it was run with.

    `broken` is true where the grammar could not read every part of it; `quiet` where none of
    its programs touches files. `programs` are those that it runs, with their subcommands."""

    body: Statement
    cwd: str | None = None
    home: str | None = None
    broken: bool = False
    quiet: bool = False
    programs: tuple[tuple[str, str], ...] = ()


def named_commands(node: Statement) -> list[tuple[str, Command]]:
    """The commands whose program name is literal, as (name, command), in order of
    appearance."""
    found: list[tuple[str, Command]] = []
    stack: list[Statement] = [node]
    while stack:
        item = stack.pop()
        if type(item) is Command:
            if item.words and isinstance(item.words[0], str):
                found.append((item.words[0].rpartition("/")[2], item))
            if item.plain:
                continue  # as most, and nothing is substituted in it
        stack.extend(reversed(parts(item)))
    return found


def parts(node: Statement) -> list[Statement] | tuple[Statement, ...]:
    """The statements directly inside a statement, in order of appearance: for a command, what
    is substituted in its words."""
    if type(node) is Command:  # far faster than `isinstance`, and most are one
        return () if node.plain else substituted(node.words)
    if isinstance(node, Sequence | Pipeline | Branches):
        return node.items
    if isinstance(node, Logical):
        return node.left, node.right
    if isinstance(node, Negated | Group | Background):
        return (node.item,)
    if isinstance(node, Loop | Function):
        return (node.body,)
    return ()


def substituted(words: Iterable[str | Word | Document]) -> list[Statement]:
    """The statements that are substituted in some words."""
    found: list[Statement] = []
    for word in words:
        if isinstance(word, Word):
            found += [part.body for part in word.parts if isinstance(part, Substitution)]
    return found
