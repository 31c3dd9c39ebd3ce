"""The text of shell words: quotes, escapes, patterns and braces."""

from leftoff import lazy_re as re
from leftoff.shell.ast import (
    BRACKET,
    PATTERN_MARKS,
    QUESTION,
    STAR,
    UNKNOWN,
    Substitution,
    Variable,
    Word,
)

Part = str | Variable | Substitution
_BRACE_OPEN = "\ue004"
_BRACE_COMMA = "\ue005"
_BRACE_CLOSE = "\ue006"
_PATTERNS = {"*": STAR, "?": QUESTION, "[": BRACKET}
_BRACES = {"{": _BRACE_OPEN, ",": _BRACE_COMMA, "}": _BRACE_CLOSE}
_MARKED = _PATTERNS | _BRACES
_MARK_PATTERNS = str.maketrans(_PATTERNS)
_UNMARK_PATTERNS = str.maketrans({mark: char for char, mark in _PATTERNS.items()})
_UNMARK_BRACES = str.maketrans({mark: char for char, mark in _BRACES.items()})
_UNQUOTED = re.compile(r"\\(.|\Z)|[*?\[{,}]", re.DOTALL)
_QUOTED = re.compile(r"""\\([$`"\\\n])""")
# An unquoted word without them stands for itself.
ESCAPED_OR_PATTERN = frozenset("\\*?[{},")
_NAME = re.compile(r"\w+|.?", re.DOTALL | re.ASCII)


def mark_patterns(text: str) -> str:
    """Text with its pattern characters marked, as the shell sees unquoted text."""
    return text.translate(_MARK_PATTERNS)


def unmark_patterns(text: str) -> str:
    """Text with its pattern marks turned back into the characters."""
    return text if PATTERN_MARKS.isdisjoint(text) else text.translate(_UNMARK_PATTERNS)


def append_text(parts: list[Part], text: str) -> None:
    """Add text, joined to text before it."""
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    else:
        parts.append(text)


def make_word(parts: list[Part]) -> str | Word:
    """The word that the parts make."""
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return Word(tuple(parts))


def mark_unquoted(text: str) -> str:
    """Unquoted text with escapes resolved and pattern characters marked."""
    if ESCAPED_OR_PATTERN.isdisjoint(text):
        return text
    # A backslash before a line end joins the lines.
    return _UNQUOTED.sub(lambda m: _MARKED[m[0]] if m[1] is None else m[1].strip("\n"), text)


def unescape_quoted(text: str) -> str:
    """Text between double quotes with its escapes resolved."""
    return _QUOTED.sub(lambda found: found[1].strip("\n"), text) if "\\" in text else text


def parse_expansion(text: str, quoted: bool) -> Variable:
    """The variable of ``${…}``, given what is between the braces."""
    # `${name%.c}`, `${#name}`, and names of one sign: `${@}`, `${?}`.
    name = _NAME.match(text)[0]  # type: ignore[index]
    return Variable(name, text[len(name) :], quoted)


# `{a,b}` and `{1..3}`, but not the `{}` of `find -exec`, nor a comma without braces.
_EXPANDS = re.compile(
    f"{_BRACE_OPEN}[^{_BRACE_CLOSE}]*(?:{_BRACE_COMMA}|[.][.])[^{_BRACE_CLOSE}]*{_BRACE_CLOSE}"
)


def without_braces(parts: list[Part]) -> list[Part]:
    """The parts of a word with their braces and commas turned back into the characters;
    `UNKNOWN` where they stand for several words: ``{a,b}``, ``{1..3}``."""
    if _EXPANDS.search("".join(part for part in parts if isinstance(part, str))):
        return [UNKNOWN]
    return [part.translate(_UNMARK_BRACES) if isinstance(part, str) else part for part in parts]
