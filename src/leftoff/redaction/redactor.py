"""The gate in front of every output: what looks like a credential becomes a placeholder.

A `Redactor` belongs to one document. `[REDACTED:kind:n]` stands for one secret; n counts the
secrets of the document by first appearance, over all kinds, and the same secret keeps its n.
There is no key and no clock, so that the output is a function of the input, and what is
already redacted stays as it is.

How it is fast: all rules give a short RE2 shape to one fused automaton. Text is joined and
shown to it in blocks; only where it fires do the exact patterns run, over that block alone.
How it sees through disguise: a block that holds JSON escapes of ASCII letters, percent codes,
invisible characters or look-alike letters is judged a second time in the spelling that a
reader would see; runs of base64 or hexadecimal that spell text are decoded, two levels deep.
JSON inside strings is read as text at every depth of escaping, so its layout survives.

The rules are data (`redaction_rules`); what patterns cannot judge is
in `credentials`.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple, Protocol

import re2
from msgspec import Struct
from msgspec.structs import astuple

from leftoff.errors import UsageError
from leftoff.redaction.disguise import DISGUISE, disguised, positions, reveal
from leftoff.redaction.encodings import MAX_KEY, base64_text, hex_text, private_key_spans
from leftoff.redaction.plausible import CHECKS
from leftoff.redaction.rules import RULES, Rule, expand_macros, is_secret_path, rules_digest
from leftoff.registry import Registry

__all__ = [
    "BLOCK",
    "MAX_NESTING",
    "RULES",
    "Finder",
    "Redactor",
    "Rule",
    "Span",
    "expand_macros",
    "is_secret_path",
    "redact",
    "redactors",
    "rules_digest",
    "shown_alone",
]

BLOCK: Final = 16_384
"""Characters shown to the automaton at once; a line that is longer is cut with an overlap."""
OVERLAP: Final = 512
REACH: Final = 16_384
"""A single credential that begins in a block of a long line is followed this far."""
MAX_ENCODING_DEPTH: Final = 2
MAX_NESTING: Final = 200
"""Containers nested deeper than this are replaced whole: the gate fails closed."""

_PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}:([0-9]{1,9})\]")


class Span(NamedTuple):
    """A stretch of a text that must not be shown, in code points, end exclusive."""

    start: int
    end: int
    kind: str


class Finder(Protocol):
    """A redactor of one's own: says which stretches of a text must go."""

    def __call__(self, text: str) -> Iterable[Span]:
        """The spans of one text, inside it, in any order; must not raise for any text."""
        ...


redactors: Registry[Finder] = Registry("redactor")
"""Redactors of other packages. The built-in rules always run; these only when named, as
`Redactor(extra=[redactors.get(name)])`."""


class _Hit(NamedTuple):
    start: int
    end: int
    rank: int
    kind: str
    secret: str


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(expand_macros(pattern), re.ASCII)


def _encode(text: str) -> bytes:
    """The text for the gate: as many bytes as characters, `?` for all that is not ASCII."""
    return text.encode("ascii", "replace")


def _gate_options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 128 << 20
    return options


@cache
def _gate_of(rule: Rule) -> Any:
    return re2.compile(rule.gate.encode(), _gate_options())


def _fuse(rules: list[Rule]) -> tuple[Callable[[bytes], list[int] | None], list[Rule]]:
    fused = re2.Set.SearchSet(_gate_options())
    for rule in rules:
        fused.Add(rule.gate)
    fused.Compile()
    return fused.Match, rules


class _Gate:
    """All rules fused into two automata: one of both would be far larger than the two."""

    def __init__(self, *, personal: bool) -> None:
        rules = [rule for rule in RULES if personal or not rule.personal]
        self._sets = [
            _fuse([rule for rule in rules if rule.kind != "encoded"]),
            _fuse([rule for rule in rules if rule.kind == "encoded"]),
        ]

    def fires(self, text: bytes) -> list[Rule]:
        """The rules of which this text may hold a match, in the order of the file."""
        return [rules[i] for match, rules in self._sets for i in sorted(match(text) or ())]


@lru_cache(maxsize=2)
def _gate(personal: bool) -> _Gate:
    return _Gate(personal=personal)


# ---------------------------------------------------------------- finding

_SECRET_GROUPS: Final = ("secret", "secret2", "secret3")


def _apply(rule: Rule, text: str, start: int, end: int) -> Iterator[_Hit]:
    """The matches of one rule, tried only where its gate says that one may begin."""
    pattern = _compiled(rule.pattern)
    groups = [name for name in _SECRET_GROUPS if name in pattern.groupindex]
    check = CHECKS.get(rule.check)
    at = start
    for hint in _gate_of(rule).finditer(_encode(text[start:end])):
        at = max(at, start + hint.start() - rule.back)
        while at < start + hint.end():
            match = pattern.match(text, at, end)
            at += 1
            if match is None:
                continue
            group = next((name for name in groups if match[name] is not None), 0)
            value = match[group]
            if check is not None and match.end() == end < len(text) and not text[end].isspace():
                continue  # cut by our own reach: the next block sees it whole, and judges it
            if check is None or check(value, match):
                yield _Hit(match.start(group), match.end(group), rule.rank, rule.kind, value)
                at = max(at, match.end())


def _nested(rule: Rule, text: str, gate: _Gate, depth: int) -> Iterator[_Hit]:
    if depth >= MAX_ENCODING_DEPTH:
        return
    if rule.matcher == "base64_text":
        hints = (hint.start() for hint in _gate_of(rule).finditer(_encode(text)))
        runs = base64_text(text, hints)
    else:
        runs = hex_text(text)
    for start, end, decoded in runs:
        inner = _find(decoded, gate, depth + 1)
        if inner:
            whole = len(inner) == 1 and inner[0].secret == decoded.strip()
            secret = inner[0].secret if whole else text[start:end]
            yield _Hit(start, end, rule.rank, inner[0].kind, secret)


def _run(
    rules: list[Rule], text: str, start: int, end: int, gate: _Gate, depth: int
) -> list[_Hit]:
    """The hits of these rules between two places; private keys are looked for elsewhere."""
    hits: list[_Hit] = []
    for rule in rules:
        if rule.pattern:
            hits.extend(_apply(rule, text, start, end))
        elif rule.kind == "encoded":
            hits.extend(
                hit._replace(start=hit.start + start, end=hit.end + start)
                for hit in _nested(rule, text[start:end], gate, depth)
            )
    return hits


def _scan(text: str, start: int, end: int, gate: _Gate, depth: int) -> Iterator[_Hit]:
    """The hits of one block as it stands, then as a reader would see it."""
    block = text[start:end]
    reach = end
    if end < len(text) and text[end - 1] != "\n":  # cut from a long line: follow past the end
        line_end = text.find("\n", end, end + REACH)
        reach = line_end if line_end >= 0 else min(len(text), end + REACH)
    fired = gate.fires(_encode(block))
    if fired:
        yield from _run(fired, text, start, reach, gate, depth)
    if not disguised(block):
        return
    fired = gate.fires(_encode(DISGUISE.sub(reveal, block)))
    if not fired:
        return
    keys = any(rule.matcher == "private_key" for rule in fired)
    block = text[start : max(reach, start + MAX_KEY) if keys else reach]
    shown = DISGUISE.sub(reveal, block)
    seen = _run(fired, shown, 0, len(shown), gate, depth)
    if keys:
        seen.extend(_private_keys(shown))
    if seen:
        starts, ends = positions(block)
        for hit in seen:
            yield hit._replace(start=start + starts[hit.start], end=start + ends[hit.end - 1])


def _private_keys(text: str) -> Iterator[_Hit]:
    rank = next(rule.rank for rule in RULES if rule.matcher == "private_key")
    for start, end in private_key_spans(text):
        yield _Hit(start, end, rank, "private-key", text[start:end])


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    size = len(text)
    start = 0
    while start < size:
        end = start + BLOCK
        if end >= size:
            yield start, size
            return
        line_end = text.find("\n", end, end + BLOCK)
        if line_end >= 0:
            yield start, line_end + 1
            start = line_end + 1
        else:
            yield start, end
            start = end - OVERLAP


def _find(text: str, gate: _Gate, depth: int = 0) -> list[_Hit]:
    """Disjoint hits, in order."""
    hits: list[_Hit] = []
    for start, end in _blocks(text):
        hits.extend(_scan(text, start, end, gate, depth))
    hits.extend(_private_keys(text))
    return _disjoint(text, hits) if hits else hits


def _disjoint(text: str, hits: list[_Hit]) -> list[_Hit]:
    """Overlapping hits become one, of the kind and secret that the first rule gave."""
    merged: list[_Hit] = []
    for hit in sorted(hits):
        if hit.start >= hit.end:
            continue
        if merged and hit.start < merged[-1].end:
            last = merged[-1]
            best = min(last, hit, key=lambda h: h.rank)
            merged[-1] = best._replace(start=last.start, end=max(last.end, hit.end))
        else:
            merged.append(hit)
    if "[REDACTED:" in text:
        merged = [h for h in merged if _left_over(text[h.start : h.end])]
    return merged


def _left_over(found: str) -> bool:
    """Whether a hit holds more than a placeholder or a piece of one."""
    rest = _PLACEHOLDER.sub("", found)
    if rest == found and "[REDACTED:" not in found:
        return True
    return sum(c.isalnum() for c in rest.replace("REDACTED", "")) >= 4


_NAME_PW = r"(?i)<PW><SUFFIX>$"
_NAME_TK = r"(?i)<TK><SUFFIX>$"


@lru_cache(maxsize=4096)
def _name_check(name: str) -> str:
    """The check that a value under this name must pass to be replaced, or nothing."""
    if len(name) > 80:
        return ""
    if _compiled(_NAME_PW).search(name):
        return "password"
    return "credential" if _compiled(_NAME_TK).search(name) else ""


_TOKEN_RUN = re.compile(r"[A-Za-z0-9_+/~-]{16,}")


class Redactor:
    """Replaces the secrets of one document.

    Args:
        personal: also replace e-mail addresses, phone numbers and card numbers (Luhn digit).
        extra: functions from a text to the `Span`s of it that must go; they see every string.

    Attributes:
        counts: kind to number of replaced occurrences, so far.
    """

    def __init__(
        self, *, personal: bool = False, extra: Sequence[Callable[[str], Iterable[Span]]] = ()
    ) -> None:
        self.counts: dict[str, int] = {}
        self._gate = _gate(personal)
        self._extra = tuple(extra)
        self._numbers: dict[str, str] = {}
        self._known: dict[str, _Hit] = {}
        self._last = 0

    @property
    def total(self) -> int:
        """How many occurrences were replaced, over all kinds."""
        return sum(self.counts.values())

    def text(self, s: str) -> str:
        """`s` with every secret replaced; `s` itself when it holds none."""
        return self._replace([s], {})[0]

    def value(self, v: Any) -> Any:
        """`v` with every secret in its strings replaced, in keys and at every depth: plain
        values and msgspec Structs of them.

        `v` is never changed: containers that hold a replaced string are rebuilt, and `v`
        itself is returned when nothing was replaced. A value under a name such as `password`
        or `api_key` is judged as an assignment is. Strings of JSON are read as text.
        """
        texts: list[str] = []
        names: dict[int, str] = {}
        deep = _collect(v, texts, names, 0)
        replaced = self._replace(texts, names)
        if not deep and (replaced is texts or replaced == texts):
            return v
        return self._rebuild(v, iter(replaced), 0)

    def file(self, path: str, content: str) -> str:
        """`content` with its secrets replaced; replaced whole where `path` says so."""
        if not content.strip() or not is_secret_path(path):
            return self.text(content)
        if _PLACEHOLDER.fullmatch(content.strip()):
            return content
        self._bump(content)
        return self._placeholder("file", content)

    def _placeholder(self, kind: str, secret: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        placeholder = self._numbers.get(secret)
        if placeholder is None:
            self._last += 1
            placeholder = self._numbers[secret] = f"[REDACTED:{kind}:{self._last}]"
        return placeholder

    def _bump(self, text: str) -> None:
        """New numbers begin after those that the text already uses."""
        for found in _PLACEHOLDER.finditer(text):
            self._last = max(self._last, int(found.group(1)))

    def _replace(self, given: list[str], names: dict[int, str]) -> list[str]:
        """The strings, redacted; those at the indices in `names` are judged as named values."""
        pending: Iterable[int] = self._candidates(given) | names.keys()
        if not pending and not self._known:
            return given
        texts = list(given)
        for _ in range(3):  # a replacement may uncover another; two rounds settle all we know
            found = {i: hits for i in sorted(pending) if (hits := self._hits(texts, i, names))}
            for hits in found.values():
                for hit in hits:
                    if len(hit.secret) >= 16 and _TOKEN_RUN.fullmatch(hit.secret.rstrip("=")):
                        self._known[hit.secret.rstrip("=")] = hit
            if self._known:
                self._add_known(texts, found)
            if not found:
                break
            for text in texts:
                if "[REDACTED:" in text:
                    self._bump(text)
            for i in sorted(found):
                texts[i] = self._cut(texts[i], found[i])
            pending = found.keys()
        return texts

    def _candidates(self, texts: list[str]) -> set[int]:
        """The strings on which the automaton fires; short ones are asked in company."""
        if self._extra:
            return set(range(len(texts)))
        wanted: set[int] = set()
        group: list[int] = []
        size = 0
        for i, text in enumerate(texts):
            length = len(text)
            if length >= BLOCK:
                wanted.add(i)
            elif length >= 8:
                group.append(i)
                size += length
                if size >= BLOCK:
                    wanted.update(self._fired(texts, group))
                    group, size = [], 0
        wanted.update(self._fired(texts, group))
        return wanted

    def _fired(self, texts: list[str], group: list[int]) -> set[int]:
        joined = "\n".join([texts[i] for i in group])
        raw = _encode(joined)
        fired = self._gate.fires(raw)
        wanted: set[int] = set()
        if fired:
            ends = list(accumulate(len(texts[i]) + 1 for i in group))
            for rule in fired:
                for hint in _gate_of(rule).finditer(raw):
                    first, last = hint.span()
                    wanted.update(group[bisect(ends, first) : bisect(ends, last - 1) + 1])
        if disguised(joined):
            wanted.update(i for i in group if disguised(texts[i]))
        return wanted

    def _hits(self, texts: list[str], i: int, names: dict[int, str]) -> list[_Hit]:
        text = texts[i]
        hits = _find(text, self._gate)
        more: list[_Hit] = []
        name = names.get(i, "")
        if name and CHECKS[name](text, None):
            kind = "password" if name == "password" else "secret"
            more.append(_Hit(0, len(text), len(RULES), kind, text))
        for redactor in self._extra:
            for span in redactor(text):
                if not 0 <= span.start <= span.end <= len(text):
                    raise UsageError(
                        f"a redactor returned the span {span.start}:{span.end} for a text of "
                        f"{len(text)} characters; spans are code points inside the text"
                    )
                if not re.fullmatch(r"[a-z0-9-]{1,40}", span.kind):
                    raise UsageError(
                        f"a redactor returned the kind {span.kind!r}; a kind is small "
                        "letters, digits and '-'"
                    )
                secret = text[span.start : span.end]
                more.append(_Hit(span.start, span.end, len(RULES), span.kind, secret))
        return _disjoint(text, hits + more) if more else hits

    def _add_known(self, texts: list[str], found: dict[int, list[_Hit]]) -> None:
        """A secret that its surroundings gave away is replaced where it stands bare, too."""
        for i, text in enumerate(texts):
            if len(text) < 16:
                continue
            more = [
                self._known[run.group()]._replace(start=run.start(), end=run.end())
                for run in _TOKEN_RUN.finditer(text)
                if run.group() in self._known
            ]
            if more:
                found[i] = _disjoint(text, found.get(i, []) + more)

    def _cut(self, text: str, hits: list[_Hit]) -> str:
        parts: list[str] = []
        at = 0
        for hit in hits:
            parts.append(text[at : hit.start])
            parts.append(self._placeholder(hit.kind, hit.secret))
            at = hit.end
        parts.append(text[at:])
        return "".join(parts)

    def _rebuild(self, v: Any, texts: Iterator[str], depth: int) -> Any:
        if isinstance(v, str):
            return next(texts)
        if depth >= MAX_NESTING and isinstance(v, (dict, list, tuple, Struct)):
            return self._placeholder("nesting", f"nesting {self._last}")
        if isinstance(v, dict):
            rebuilt: dict[Any, Any] = {}
            for key, item in v.items():
                new = shown = next(texts) if isinstance(key, str) else key
                twin = 2
                while new in rebuilt:  # two spellings of one secret as keys: keep both values
                    new, twin = f"{shown} ({twin})", twin + 1
                rebuilt[new] = self._rebuild(item, texts, depth + 1)
            return rebuilt
        if isinstance(v, list):
            return [self._rebuild(item, texts, depth + 1) for item in v]
        if isinstance(v, tuple):
            items = [self._rebuild(item, texts, depth + 1) for item in v]
            return type(v)(*items) if hasattr(v, "_fields") else tuple(items)
        if isinstance(v, Struct):
            fields = [self._rebuild(item, texts, depth + 1) for item in astuple(v)]
            return type(v)(**dict(zip(v.__struct_fields__, fields, strict=True)))
        return v


_LEAVES: Final = frozenset({int, float, bool, type(None)})


def _collect(v: Any, texts: list[str], names: dict[int, str], depth: int) -> bool:
    """All strings of `v` in order, keys before their values; true if some lie too deep."""
    deep = False
    if isinstance(v, dict):
        if depth >= MAX_NESTING:
            return True
        entry = v.get("name") if "value" in v else None
        for key, item in v.items():
            if isinstance(key, str):
                texts.append(key)
                if isinstance(item, str):
                    named = entry if key == "value" and isinstance(entry, str) else key
                    if check := _name_check(named):
                        names[len(texts)] = check
                    texts.append(item)
                    continue
            if type(item) not in _LEAVES:
                deep |= _collect(item, texts, names, depth + 1)
    elif isinstance(v, Struct):
        if depth >= MAX_NESTING:
            return True
        for key, item in zip(v.__struct_fields__, astuple(v), strict=True):
            if isinstance(item, str):
                if check := _name_check(key):
                    names[len(texts)] = check
                texts.append(item)
            elif type(item) not in _LEAVES:
                deep |= _collect(item, texts, names, depth + 1)
    elif isinstance(v, (list, tuple)):
        if depth >= MAX_NESTING:
            return True
        before = ""
        for item in v:
            if isinstance(item, str):
                if before.startswith("-") and (check := _name_check(before)):
                    names[len(texts)] = check
                texts.append(item)
                before = item
            else:
                if type(item) not in _LEAVES:
                    deep |= _collect(item, texts, names, depth + 1)
                before = ""
    elif isinstance(v, str):
        texts.append(v)
    return deep


_BEFORE: Final = 6_000
_AFTER: Final = 2_000


def shown_alone(text: str, start: int, end: int) -> int:
    """Where a quotation that begins at `start` must end, at most at `end`, so that it shows
    nothing alone that would be hidden where it stands.

    What says that a secret follows may stand before the quotation: `password:` on the line
    above, or the head of a private key; and a cut may halve one. Looked at is what stands up to
    6,000 characters before it and 2,000 after it.
    """
    first = max(0, start - _BEFORE)
    around = text[first : end + _AFTER]
    gate = _gate(False)
    here = [h for h in _find(around, gate) if h.end + first > start and h.start + first < end]
    if not here:
        return end
    alone = _find(text[start:end], gate)
    for hit in here:
        low, high = max(hit.start + first, start), min(hit.end + first, end)
        if not any(own.start + start <= low and high <= own.end + start for own in alone):
            return low
    return end


def redact(value: Any, **options: Any) -> tuple[Any, dict[str, int]]:
    """`value` redacted as one document, and how many occurrences of each kind went.

    Options are those of `Redactor`.
    """
    redactor = Redactor(**options)
    return redactor.value(value), redactor.counts
