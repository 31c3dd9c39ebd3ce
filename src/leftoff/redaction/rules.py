"""The rules of redaction, from `rules.toml`, and the places where each may match."""

from collections.abc import Iterator
from functools import cache
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

import re2
from msgspec import Struct, convert

from leftoff import lazy_re as re
from leftoff.codec import JsonObject
from leftoff.tables import table

_TABLE: Final = table(__file__, "rules.toml")


class Rule(Struct, frozen=True):
    """One entry of the rules file, where its fields are described; `rank` is its position."""

    kind: str
    gate: str
    pattern: str = ""
    back: int = 0
    check: str = ""
    matcher: str = ""
    personal: bool = False
    rank: int = 0


def expand_macros(pattern: str) -> str:
    """The pattern with the macros of the rules file (`<L>`, `<WS>`, ...) expanded."""
    for name, macro in _MACROS.items():
        pattern = pattern.replace(f"<{name}>", macro)
    return pattern


_MACROS: Final = {name: re.folded(macro) for name, macro in _TABLE["macros"].items()}


def _rule(rank: int, entry: JsonObject) -> Rule:
    more = {"gate": expand_macros(entry["gate"]), "personal": entry.get("set") == "personal"}
    return convert({**entry, **more, "rank": rank}, Rule)


RULES: Final = tuple(_rule(rank, entry) for rank, entry in enumerate(_TABLE["rule"]))


@cache
def rules_digest() -> str:
    """Sixteen hex digits that change whenever a rule changes."""
    import hashlib  # loads OpenSSL

    return hashlib.sha256(repr((RULES, _TABLE["paths"])).encode()).hexdigest()[:16]


def _glob(patterns: list[str]) -> re.Pattern[str]:
    parts = (re.escape(p).replace(r"\*", "[^/]*") for p in patterns)
    return re.compile(rf"(?:^|/)(?:{'|'.join(parts)})$")


_SECRET_PATH, _PLAIN_PATH = (_glob(_TABLE["paths"][name]) for name in ("secret", "plain"))


def is_secret_path(path: str) -> bool:
    """Whether a file of this path is secret as a whole: `.env`, `*.pem`, `id_rsa`, `.netrc`."""
    plain = path.strip().rstrip("/\\").replace("\\", "/").lower()
    return bool(_SECRET_PATH.search(plain)) and not _PLAIN_PATH.search(plain)


# -- where a rule may match: its gate, an automaton, over a block of text; and its pattern -----

# A credential that begins in a block of a long line is matched up to this far past its end.
REACH: Final = 16_384


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of a rule, compiled."""
    return re.compiled(expand_macros(pattern), re.ASCII)


def encode(text: str) -> bytes:
    """The text for the gate: as many bytes as characters, `?` for all that is not ASCII."""
    return text.encode("ascii", "replace")


# Bytes that the states of an automaton may take.
MAX_MEM: Final = 128 << 20


@cache
def gate_of(rule: Rule) -> Any:
    """The gate of one rule, for the places where it fires."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = MAX_MEM
    return re2.compile(rule.gate.encode(), options)


# Characters of the longest name with which `<PW>` and `<TK>` match (`secret_key_base`, or two
# words and a mark), rounded up.
HEAD_REACH: Final = 24


@cache
def head_of(pattern: str) -> re.Pattern[str] | None:
    """The macro of names with which a pattern begins, compiled; None if it begins otherwise.
    `re` finds the next place of such a name far faster than a match is tried at each place."""
    for name in ("<PW>", "<TK>"):
        if pattern.startswith(f"(?i){name}"):
            return compiled(f"(?i){name}")
    return None


# Characters of a text that is looked for as one that repeats. Chosen by hand.
_MAX_PERIOD: Final = 128
# Characters before a match that a pattern or a check may look at, rounded up.
_CONTEXT: Final = 256


def places(rule: Rule, text: str, start: int, raw: bytes) -> Iterator[tuple[int, int]]:
    """The places of the gate; of a short text that repeats for long, those at both ends.

    In its middle each place looks to the pattern as the one before it did: all that a match can
    reach is the same."""
    gate = gate_of(rule)
    last: dict[bytes, int] = {}
    since: dict[int, int] = {}
    at = 0
    while at >= 0:
        hints = gate.finditer(raw, at)
        at = -1
        for hint in hints:
            low, high = hint.span()
            yield start + low, start + high
            key = raw[low : low + 16]
            period = low - last.get(key, -_MAX_PERIOD - 1)
            last[key] = low
            if not 0 < period <= _MAX_PERIOD:
                continue
            begun = since.setdefault(period, low)
            if low - begun < _CONTEXT + rule.back:
                continue
            stop = _end_of_repeats(raw, low - period, period) - _width(rule.pattern)
            if raw[begun : low - period] != raw[begun + period : low]:
                since[period] = low
            elif stop > low + period:
                at = stop - (stop - low) % period
                since.clear()
                break


def _end_of_repeats(raw: bytes, at: int, period: int) -> int:
    """Where a text that repeats from a place on ends to do so."""
    step = 4_096
    while step:
        part = raw[at : at + step]
        if len(part) == step and part == raw[at + period : at + period + step]:
            at += step
        else:
            step //= 2
    return at + period


@cache
def _width(pattern: str) -> int:
    """The most characters that a pattern matches; `REACH` if there is no limit."""
    longest: int = _parser.parse(expand_macros(pattern)).getwidth()[1]
    return min(REACH, longest)
