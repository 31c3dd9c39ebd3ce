"""Regular expressions that are compiled when they are first used.

    from leftoff import lazy_re as re

The names are those of the standard library's `re`, and so is their meaning, except that
`compile` returns at once: a mistake in a pattern shows when the pattern is first used. Most of
the package's patterns are not needed for most recordings, and to compile all of them took a
quarter of the time of a short one.

What compiling gives is stored between runs beside Python's bytecode (`__pycache__`), as `re`
hands it to its engine: the 230 patterns of a mean session take 2 ms to load and 55 to compile.
The command line writes that file (`unsaved`), and it is decoded when a pattern is first needed;
what does not fit (another Python, no file, other private functions of `re`) is compiled. Only
patterns of the package are stored: one made of a recording's text is to be compiled with `re`.
"""

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source
from itertools import groupby
from re import *  # noqa: F403 - what has the name of `re` and its meaning, but for `compile`
from typing import Any, AnyStr, Final, NamedTuple, cast


class Lazy:
    """Stands for a compiled pattern. Its methods are those of the compiled pattern, each stored
    here when it is first asked for: from then on a call costs what it costs there."""

    __slots__ = (
        "_compiled _given findall finditer flags fullmatch groupindex groups match pattern"
        " search split sub subn"
    ).split()

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._given = (pattern, flags)
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        """What has no value yet."""
        if name == "_compiled":
            found: Any = compiled(*self._given)
        else:
            found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


def compile(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:  # type: ignore[no-redef] # noqa: A001
    """A pattern that is compiled by its first use."""
    return cast("re.Pattern[AnyStr]", Lazy(pattern, flags))


def folded(text: str) -> str:
    """A pattern of a table. One that begins with two blanks stands on several lines, each
    indented so; the line breaks are no part of it."""
    lines = text.splitlines() if text.startswith("  ") else ()
    return "".join(line[2:] for line in lines) or text


def patterns(rows: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """The patterns of a table by name, folded."""
    return dict(zip(rows, map(compile, map(folded, rows.values())), strict=True))


def automaton(
    patterns: Iterable[str],
    *,
    ignore_case: bool = False,
    latin1: bool = False,
    max_mem: int = 8 << 20,
) -> Callable[[object], list[int] | None]:
    """Patterns as RE2 means them, all in one automaton, which reads a text once.

    Args:
        latin1: patterns and texts are bytes, one for each character.
        max_mem: bytes that its states may take.

    Returns:
        What gives the numbers of the patterns that match somewhere in a text; None or [] if
        none does."""
    import re2

    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.log_errors = False
    options.max_mem = max_mem
    if latin1:
        options.encoding = re2.Options.Encoding.LATIN1
    made = re2.Set.SearchSet(options)
    for pattern in patterns:
        made.Add(pattern)
    made.Compile()
    match: Callable[[object], list[int] | None] = made.Match
    return match


# -- stored between runs -----------------------------------------------------------------------

# The file of compiled patterns.
STORED: Final = cache_from_source(__file__) + ".patterns"


class _Code(NamedTuple):
    """What `re` gives to its engine: flags, number and names of groups, instructions; and
    whether a match can only begin where the text does."""

    flags: int
    groups: int
    names: dict[str, int]
    code: bytes
    anchored: bool = False


# Incremented when `_compile` gives other instructions for the same pattern.
_VERSION: Final = 2
_PYTHON: Final = f"{sys.version} {MAGIC_NUMBER.hex()} {sys.byteorder} {_VERSION}"
_new: dict[str, _Code] = {}


_file = b""
# Read at import, since what uses a pattern may open no file.
with suppress(OSError), open(STORED, "rb") as file:  # noqa: PTH123
    _file = file.read()


def _decoded(data: bytes) -> dict[str, _Code]:
    """What earlier runs compiled; nothing of another Python, or of a damaged file."""
    from msgspec import msgpack

    with suppress(ValueError):
        python, codes = msgpack.decode(data, type=tuple[str, dict[str, _Code]])
        if python == _PYTHON:
            return codes
    return {}


@cache
def _known() -> dict[str, _Code]:
    return _decoded(_file)


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A compiled pattern of the package, if possible from what an earlier run compiled."""
    if isinstance(pattern, bytes):
        return re.compile(pattern, flags)
    if "msgspec" not in sys.modules:  # to import it takes as long as to compile 40 patterns
        return re.compile(pattern, flags)
    key = f"{int(flags)} {pattern!a}"
    try:
        known = _known().get(key)
        if known is None:
            known = _new[key] = _compile(pattern, int(flags))
        return _engine(pattern, known)
    except (AttributeError, ImportError, OverflowError, RuntimeError, TypeError, ValueError):
        # Other private functions in `re`, or a file that was damaged.
        _known().pop(key, None)
        _new.pop(key, None)
        return re.compile(pattern, flags)


def finder(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """Gives the first match of a pattern of the package in a text: its `search`, or its `match`
    where that is the same, since `re` tries a pattern that begins with "^" at every place."""
    made = compiled(pattern)
    key = f"0 {pattern!a}"
    known = _known().get(key) or _new.get(key)
    return made.match if known is not None and known.anchored else made.search


def _compile(pattern: str, flags: int) -> _Code:
    """As `re._compiler.compile`, up to the engine, but for two steps that make a search two to
    eight times as fast: alternatives that begin alike are divided behind that (`_joined`), and
    only places with a letter that a match can begin with are tried (`_starts`)."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(pattern, flags)
    state = parsed.state
    flags |= state.flags
    first = len(parsed) > 0 and parsed[0] == (_parser.AT, _parser.AT_BEGINNING)
    anchored = first and not flags & re.MULTILINE
    _joined(parsed)
    start, letters = parsed, list[Any]()
    known = parsed.getwidth()[0] and _starts(parsed, letters) is False
    if known and not _compiler._get_literal_prefix(parsed, flags)[0]:  # noqa: SLF001
        if flags & re.IGNORECASE:
            letters = _in_both_cases(letters)
        if letters:
            # `re` itself finds the letters of few patterns: not behind "\b", for one.
            start = _parser.SubPattern(state, [(_parser.IN, letters)])
            start.width = parsed.getwidth()
    code: list[int] = []
    same = flags if start is parsed else flags & ~re.IGNORECASE
    _compiler._compile_info(code, start, same)  # noqa: SLF001
    _compiler._compile(code, parsed.data, flags)  # noqa: SLF001
    code.append(_compiler.SUCCESS)
    stored = array("I", code).tobytes()
    return _Code(flags, state.groups - 1, dict(state.groupdict), stored, anchored)


def _joined(items: Any) -> None:
    r"""Makes alternatives in a row that begin with the same assertion, such as `\b`, one that
    begins with it: `re` does so only where all of them do, and tries it once for each."""
    from re import _parser  # type: ignore[attr-defined]

    for op, value in items:
        if op is _parser.SUBPATTERN:
            _joined(value[-1])
        if op is not _parser.BRANCH:
            continue
        given = list(value[1])
        value[1].clear()
        for head, group in groupby(given, lambda one: one[0] if len(one) else None):
            alike = list(group)
            if len(alike) > 1 and head is not None and head[0] is _parser.AT:
                rest = (_parser.BRANCH, (None, [one[1:] for one in alike]))
                alike = [_parser.SubPattern(items.state, [head, rest])]
            for one in alike:
                _joined(one)
            value[1].extend(alike)


def _starts(items: Any, letters: list[Any]) -> bool | None:
    """Adds the letters with which a match of a part of a pattern can begin; says whether the
    part can match nothing, so that those of the next count, too; None if there are too many."""
    here: list[bool | None]
    for op, value in items:
        name = str(op)
        if name == "LITERAL":
            letters.append((op, value))
            return False
        if name == "IN":
            letters += value
            many = {"NEGATE", "CATEGORY_WORD", "CATEGORY_NOT_WORD"}
            many |= {"CATEGORY_NOT_DIGIT", "CATEGORY_NOT_SPACE"}
            return False if many.isdisjoint(str(x) for one in value for x in one) else None
        if name in {"AT", "ASSERT", "ASSERT_NOT"}:
            continue
        if name == "SUBPATTERN" and not value[1] and not value[2]:
            here = [_starts(value[3], letters)]
        elif name == "BRANCH":
            here = [_starts(one, letters) for one in value[1]]
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            here = [_starts(value[2], letters), not value[0]]
        else:
            return None
        if None in here:
            return None
        if not any(here):
            return False
    return True


def _engine(pattern: str, known: _Code) -> re.Pattern[str]:
    """As the end of `re._compiler.compile`."""
    import _sre  # type: ignore[import-not-found]

    # The engine wants the names by the numbers of their groups.
    names: list[str | None] = [None] * (known.groups + 1)
    for name, number in known.names.items():
        names[number] = name
    code = memoryview(known.code).cast("I").tolist()
    made: re.Pattern[str] = _sre.compile(
        pattern, known.flags, code, known.groups, known.names, tuple(names)
    )
    return made


def _in_both_cases(letters: list[Any]) -> list[Any]:
    """The same letters in either case; [] if not all are ASCII, also those that `re` takes for
    them ("\u017f" for "s"): a larger set takes longer to look up than it saves."""
    from re import _parser  # type: ignore[attr-defined]

    found: set[int] = set()
    classes = [one for one in letters if one[0] is _parser.CATEGORY]
    for op, value in letters:
        if op is not _parser.CATEGORY:
            first, last = (value, value) if op is _parser.LITERAL else value
            if last > 127:
                return []
            found.update(range(first, last + 1))
    text = "".join(map(chr, found))
    cases = {*text.lower(), *text.upper()}
    if not cases.isdisjoint("isk"):
        return []
    return [*classes, *((_parser.LITERAL, ord(one)) for one in sorted(cases))]


def unsaved() -> bytes | None:
    """What the file should hold after this run; None if it need not be written."""
    # Who wants no bytecode beside the source wants no patterns there either.
    if not _new or sys.dont_write_bytecode:
        return None
    from msgspec import msgpack

    return msgpack.encode((_PYTHON, _known() | _new))
