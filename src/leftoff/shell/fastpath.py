"""Parses lists of plain words, which most commands are, without the grammar.

The result must equal that of the grammar, or be None: a property test compares them. Whatever
needs an expansion or a nested statement is left to the grammar."""

from __future__ import annotations

from leftoff import lazy_re as re
from leftoff.shell.ast import Command, Logical, Pipeline, Redirect, Sequence, Statement
from leftoff.shell.quoting import mark_unquoted, unescape_quoted
from leftoff.shell.statements import COMMON_REDIRECTS, MAX_WORD, RESERVED, simple_command

# Longest command, in characters, that is tried here: of a longer one, long words are dropped.
MAX_LENGTH = MAX_WORD

_WORD = r"[\w./:@%+,-][\w./:@%+,=-]*"
# A word with a pattern; a comma in it may be one of braces.
_GLOB = r"[\w./:@%+=-]*\*[\w./:@%+=*-]*"
_REDIRECTS = "|".join(map(re.escape, sorted(COMMON_REDIRECTS, key=len, reverse=True)))
_TOKEN = re.compile(
    rf"(?:({_REDIRECTS})|({_WORD})|({_GLOB})|((?:{_WORD})?)(?:'([^'\x00-\x1f\x7f]*)'"
    r"|\"((?:[^\"$`\\\x00-\x1f\x7f]|\\[^\x00-\x1f\x7f])*)\"))(?:[ \t]+|(?=[;|&\n])|\Z)"
    r"|(&&|\|\||[;|\n])[ \t]*",
    re.ASCII,
)
_REDIRECT, _PLAIN, _PATTERN, _BEFORE_QUOTE, _SINGLE, _DOUBLE, _OPERATOR = range(1, 8)


def plain_list(command: str) -> Statement | None:
    """A command of plain and quoted words, with the redirections that most commands use, in
    pipes and lists; None for any other."""
    simple = simple_command(command)
    size = len(command)
    if simple is not None or size >= MAX_LENGTH:
        return simple
    items: list[Statement] = []
    left: Statement | None = None
    both = True
    piped: list[Statement] = []
    words: list[str] = []
    redirects: list[Redirect] = []
    open_end, plain = "", True
    at = size - len(command.lstrip(" \t"))
    match = _TOKEN.match
    while at < size:
        token = match(command, at)
        if token is None:
            return None
        at = token.end()
        kind = token.lastindex
        if kind != _OPERATOR:
            text = token[kind]  # type: ignore[index]
            if kind == _REDIRECT:
                if not words:
                    return None
                redirects.append(COMMON_REDIRECTS[text])
                continue
            if redirects:
                return None
            if not words and (kind != _PLAIN or text in RESERVED or "=" in text):
                return None
            if kind == _PATTERN:
                plain, text = False, mark_unquoted(text)
            elif kind != _PLAIN:
                text = token[_BEFORE_QUOTE] + (
                    unescape_quoted(text) if kind == _DOUBLE else text
                )
            words.append(text)
            continue
        operator = token[_OPERATOR]
        if not words:
            if operator == "\n" and not open_end:
                continue
            return None
        piped.append(Command(tuple(words), (), tuple(redirects), plain))
        words, redirects, plain = [], [], True
        if operator == "|":
            open_end = operator
            continue
        whole = piped[0] if len(piped) == 1 else Pipeline(tuple(piped))
        left = whole if left is None else Logical(both, left, whole)
        piped = []
        if operator == ";" or operator == "\n":
            items.append(left)
            left, open_end = None, ""
        else:
            both, open_end = operator == "&&", operator
    if words:
        piped.append(Command(tuple(words), (), tuple(redirects), plain))
        whole = piped[0] if len(piped) == 1 else Pipeline(tuple(piped))
        items.append(whole if left is None else Logical(both, left, whole))
    elif open_end:
        return None
    if not items:
        return None
    return items[0] if len(items) == 1 else Sequence(tuple(items))
