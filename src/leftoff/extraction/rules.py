"""Rules: regular expressions with a meaning, behind one fused pre-filter, the gate.

A rule matches where its gate and its pattern both match. The gates of all rules form one RE2
set that scans a text once; the pattern, a Python regular expression compiled on first use, runs
only on texts that pass. A pattern is its own gate unless it has gaps (`[^.]{0,40}`) or
look-around: RE2 has no look-around, and gaps in a set multiply its states, so such a rule gives
its rarest part as its gate."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from leftoff import lazy_re as re
from leftoff.codec import blake2b
from leftoff.tables import table


class Rule(Struct, frozen=True, dict=True):
    """One pattern with its meaning.

    Attributes:
        id: stable name; it appears in the output.
        pattern: a Python regular expression without look-around and back-references.
        topic, value: what a match means, e.g. topic "milestone", value "tests_pass".
        weight: what a match is worth, 0 to 1, where the topic has degrees.
        good: False where a match shows the opposite of `value`.
        tools: programs that print the line, for rules on checks; "" is any program.
        own: the match counts only in the output of one of `tools`.
        ends: each run of `tools` prints one such line, at its end.
        lines: a match stands on one line, but for what may open it on the two lines with words
            above, and `$` is an end of a line: only lines on which the gate fires are searched.
        matches, misses: lines that the rule must and must not match."""

    id: str
    pattern: str
    gate: str = ""
    topic: str = ""
    value: str = ""
    weight: float = 0.5
    good: bool = True
    ignore_case: bool = True
    tools: tuple[str, ...] = ()
    own: bool = False
    ends: bool = False
    lines: bool = False
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    @property
    def _lowered(self) -> str:
        # Lower-case pattern on lower-case text: with IGNORECASE, `re` cannot look ahead for
        # literals and takes several times as long.
        pattern = self.pattern
        return _UPPER.sub(lambda m: m[0].lower(), pattern) if self.ignore_case else pattern

    @cached_property
    def exact(self) -> re.Pattern[str]:
        """The compiled pattern; it expects `lowered` text unless the rule is case-sensitive."""
        return re.compiled(self._lowered)

    def search(self, text: str) -> re.Match[str] | None:
        """The pattern's first match in a text, without the gate."""
        return self.finder(lowered(text) if self.ignore_case else text)

    @cached_property
    def finder(self) -> Callable[[str], re.Match[str] | None]:
        """Gives the pattern's first match in a text that is `lowered` if case is ignored."""
        return re.finder(self._lowered)


# Not `\S` and the like, nor the P of a named group: these capitals mean something.
_UPPER = re.compile(r"(?<!\\)(?<!\(\?)[A-Z]")


_WORD = re.compile(r"[^\W_]")

# Code points; for a shorter text the patterns themselves are tried, so that the few words of a
# short session need no automaton. Chosen by hand: about as fast where it is made already.
SHORT_TEXT = 40
# Short texts after which the automaton is made all the same: it takes 2 ms, each of them 30 µs.
MAX_TRIED = 64


def lowered(text: str) -> str:
    """`text` in lower case, code point for code point: U+0130 alone would become two."""
    return text.lower() if text.isascii() else text.replace("\u0130", "i").lower()


# Four brackets inside each other are the deepest that a rule has.
_LOOK_AROUND = re.compile(r"\(\?<?[!=](?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)")
# `$` is before a last line break to `re`, and not to RE2.
_END = re.compile(r"(?<!\\)\$")
# White space to `re`, and none to RE2, becomes a space.
_SPACES = bytes(32 if 0x1C <= code < 0x20 or code == 0x0B else code for code in range(256))


def ascii_gate(
    patterns: Iterable[str], *, ignore_case: bool = False
) -> Callable[[str], list[int]]:
    """Gives the numbers of the patterns that may match in an ASCII text, by one automaton: RE2
    has no look-around, so what is left of a pattern without it may match more."""
    plain = (_END.sub(r"\\n?\\z", _LOOK_AROUND.sub("", pattern)) for pattern in patterns)
    match = re.automaton(plain, ignore_case=ignore_case)
    return lambda text: match(text.encode().translate(_SPACES)) or []


class Hit(NamedTuple):
    """A match of a rule: `start` and `end` in code points of the text of part `part`."""

    rule: Rule
    part: int
    start: int
    end: int
    value: str


def rules(name: str) -> tuple[Rule, ...]:
    """The rules of `rules/<name>.toml`, in file order.

    Called when a module is imported, never while a recording is read."""
    found = table(__file__, "rules", f"{name}.toml")
    shared = {key: found[key] for key in ("topic", "ignore_case") if key in found}
    return as_rules(found["rule"], **shared)


def as_rules(rows: Iterable[dict[str, Any]], **shared: object) -> tuple[Rule, ...]:
    """Rows of a table as rules that have some fields in common."""
    return tuple(msgspec.convert(shared | row, Rule) for row in rows)


def digest(*groups: Sequence[Rule], salt: str = "") -> str:
    """16 hex digits that change whenever a rule or the salt changes."""
    state = blake2b(salt.encode(), digest_size=8)
    for group in groups:
        for rule in group:
            of = "\0".join((rule.topic, f"{rule.own} {rule.ends}", *rule.tools))
            of = of if rule.tools else ""
            line = f"{rule.id}\0{rule.pattern}\0{rule.value}\0{rule.weight}{of}\n"
            state.update(line.encode())
    return state.hexdigest()


# Matches of one rule in one text that are looked for: one more than the collector uses of all
# rules of an extractor in one message (`session_state.MAX_CLAIMS`).
MAX_MATCHES = 1001


class Gate:
    """Scans a text once for many rules.

    Args:
        named: the rules by the name of the extractor that asked for them."""

    def __init__(self, named: dict[str, Sequence[Rule]]) -> None:
        self.rules: list[tuple[str, Rule]] = [
            (name, rule) for name, group in named.items() for rule in group
        ]
        self._tried = 0

    @cached_property
    def _match(self) -> Callable[[bytes], list[int] | None]:
        patterns = (rule.gate or rule.pattern for _, rule in self.rules)
        return re.automaton(patterns, ignore_case=True, max_mem=64 << 20)

    def forget(self) -> None:
        """Drops the automaton, which grows with what it reads (12 MB after 500); who scans
        again makes it again."""
        self.__dict__.pop("_match", None)
        self._tried = 0

    def candidates(self, text: str) -> list[int]:
        """Numbers of the rules that might match; [] for most texts. Until a text that is longer
        or has several lines needs the automaton, it is not made: that takes 2 ms."""
        short = len(text) < SHORT_TEXT and len(self.rules) < 32
        if short and self._tried < MAX_TRIED and "_match" not in self.__dict__:
            self._tried += 1
            return list(range(len(self.rules))) if text else []
        return (self._match(text.encode()) or []) if text else []

    def _lines(self, text: str) -> dict[int, list[tuple[int, int]]]:
        """For each rule, the stretches of a text with the lines on which its gate fires."""
        found: dict[int, list[tuple[int, int]]] = {}
        before = last = at = 0  # where the last two lines with words begin
        for line in text.split("\n"):
            end = at + len(line) + 1
            for number in self._match(line.encode()) or ():
                known = found.setdefault(number, [])
                first = known.pop()[0] if known and known[-1][1] >= before else before
                known.append((first, end))
            if _WORD.search(line):
                before, last = last, at
            at = end
        return found

    def matches(self, text: str) -> Iterator[tuple[str, Rule, Iterable[re.Match[str]]]]:
        """The matches of each rule whose gate fires on a text, beside the extractor's name."""
        numbers = self.candidates(text)
        low = lowered(text) if numbers else ""
        lines: dict[int, list[tuple[int, int]]] = {}
        for number in sorted(numbers):
            name, rule = self.rules[number]
            searched, find = low if rule.ignore_case else text, rule.exact.finditer
            if not rule.lines or "\n" not in text:
                yield name, rule, find(searched)
                continue
            lines = lines or self._lines(text)
            parts = lines.get(number, ())
            yield name, rule, chain.from_iterable(find(searched, *part) for part in parts)

    def scan(self, text: str, part: int) -> dict[str, list[Hit]]:
        """The first `MAX_MATCHES` matches of every rule, by extractor, in order of place."""
        found: dict[str, list[Hit]] = {}
        for name, rule, matches in self.matches(text):
            for match in islice(matches, MAX_MATCHES):
                start, end = match.span(1) if match.re.groups else (-1, -1)
                captured = text[start:end] if start >= 0 else rule.value
                hit = Hit(rule, part, match.start(), match.end(), captured)
                found.setdefault(name, []).append(hit)
        for hits in found.values():
            hits.sort(key=lambda h: (h.start, h.rule.id))
        return found
