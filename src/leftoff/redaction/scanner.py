"""Where a secret is in one text: gates, patterns, blocks, and the spellings of a text.

`redactor` describes the theory; here is what looks at the text of one string. `find` judges a
text as it is, as `leftoff.text.sanitize` will show it (`cleaned_view`, `bare_view`), as a
reader would spell it (`disguise`), decoded, and with the parts of a word joined that stand on
two lines or in two strings (`_joined_hits`); a hit in any of these is a span of the text."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from leftoff import lazy_re as re
from leftoff.redaction.disguise import DISGUISE, disguised, reveal, revealed
from leftoff.redaction.encodings import MAX_KEY, base64_text, hex_text, private_key_spans
from leftoff.redaction.plausible import CHECKS
from leftoff.redaction.rules import (
    HEAD_REACH,
    MAX_MEM,
    REACH,
    RULES,
    Rule,
    compiled,
    encode,
    gate_of,
    head_of,
    places,
)
from leftoff.text.sanitize import UNSAFE, View, bare_view, cleaned_view, has_unsafe, without

# Characters shown to the automata at once. A longer line is cut into blocks that overlap.
BLOCK: Final = 16_384
# Characters that two blocks of one line share. Chosen by hand; not measured.
OVERLAP: Final = 512
# How often base64 or hexadecimal is decoded again. Chosen by hand; not measured.
MAX_ENCODING_DEPTH: Final = 2

PLACEHOLDER = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}:([0-9]{1,9})\]")


class Hit(NamedTuple):
    """A stretch to be replaced; `secret` is what it stands for, in its plainest spelling."""

    start: int
    end: int
    rank: int
    kind: str
    secret: str


# Gives the rules of which a text may hold a match, in the order of the file.
Gate: TypeAlias = Callable[[bytes], list[Rule]]


@lru_cache(maxsize=2)
def gate_for(personal: bool) -> Gate:
    """All gates, without or with those of personal data, fused into three automata, whose
    states are together far fewer than those of one: gates that ignore case, those that do not,
    and those of encoded text."""
    sorts: list[list[Rule]] = [[], [], []]
    for rule in (*RULES, JOINED):
        encoded, folded = rule.kind == "encoded", rule.gate.startswith("(?i)")
        if personal or not rule.personal:
            sorts[2 if encoded else int(folded)].append(rule)
    sets = [
        (re.automaton((rule.gate for rule in sort), latin1=True, max_mem=MAX_MEM), sort)
        for sort in sorts
    ]

    def firing_rules(text: bytes) -> list[Rule]:
        found = [rules[i] for match, rules in sets for i in match(text) or ()]
        return sorted(found, key=attrgetter("rank")) if found else found

    return firing_rules


# ---------------------------------------------------------------- words in parts

_RUN: Final = "[A-Za-z0-9_+/.~=-]"
_LINE: Final = r"(?:\r?\n|\\+r\\+n|\\+n)"
_BREAK: Final = _LINE + r"[ \t]{0,40}"
_IN_DIFF: Final = _LINE + r"[+-]?[ \t]{0,40}"
_OPERATOR: Final = r"(?:\+|\.\.?|&|\|\|)"
# Between two strings that a program puts together: an operator, or nothing but blanks; also in
# a diff, where each line begins with its mark.
_GLUE: Final = (
    rf"\\*[\"'`](?:[ \t]{{0,8}}{_OPERATOR}[ \t]{{0,8}}(?:\\?{_IN_DIFF})?"
    rf"|[ \t]{{1,8}}|[ \t]{{0,8}}\\?{_IN_DIFF}(?:{_OPERATOR}[ \t]{{0,8}})?)\\*[\"'`]"
)
_RUN_LETTERS: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/.~=-"
)
_WORD_IN_PARTS = re.compile(rf"{_RUN}++(?:(?:{_GLUE}|{_BREAK}){_RUN}++)+", re.ASCII)
_BETWEEN = re.compile(rf"(?P<glue>{_GLUE})|{_BREAK}", re.ASCII)
# Where programs wrap lines. A line of another length ends where its writer ended it.
_COLUMNS: Final = frozenset({40, 60, 64, 70, 72, 76, 78, 79, 80, 100, 120, 128})
_MAX_PARTS: Final = 4_000
# Characters of a word in parts, with what stands between them. Chosen by hand: a shorter one
# holds no credential of a machine.
_MIN_JOINED: Final = 16
# Checks of rules that know a secret by its own letters; no other may match over two lines.
_SHAPES: Final = frozenset({"", "mixed", "mixed-letters"})


_CLASS_AT_END = re.compile(r"(?:\[[^\]]*\]\{[0-9]+\}|\[[^\]]*\]\+)$")


def _prefixes() -> str:
    """The heads of the gates of such rules, with which a wrapped word begins."""
    found = (
        _CLASS_AT_END.sub("", head)
        for rule in RULES
        if rule.pattern and not rule.back and rule.check in _SHAPES and not rule.personal
        for head in _alternatives(rule.gate)
    )
    return "|".join(sorted({head for head in found if head[:1].isalnum() or head[:1] == "("}))


def _alternatives(gate: str) -> list[str]:
    """The alternatives of a gate, as far as they stand outside of groups and classes."""
    if gate.startswith("(?i)"):
        return []
    heads = [""]
    depth = 0
    for letter in gate:
        depth += (letter in "([") - (letter in ")]")
        if letter == "|" and depth == 0:
            heads.append("")
        else:
            heads[-1] += letter
    return heads


_BLANK: Final = r"(?:[ \t]|\\?\r?\n[+-]?|\\+[rn])*"
# Fires where a word may stand in parts; `_joined_hits` looks at it.
JOINED: Final = Rule(
    kind="joined",
    gate=rf"{_RUN}\\*[\"'`]{_BLANK}{_OPERATOR}?{_BLANK}\\*[\"'`]{_RUN}"
    rf"|(?:{_prefixes()}){_RUN}*(?:\r?\n|\\+r\\+n|\\+n)[ \t]*{_RUN}",
    matcher="joined",
    rank=len(RULES),
)
# The same for single places: a part of a credential has four characters.
_JOINED_PLACE: Final = replace(
    JOINED, gate=JOINED.gate.replace(_RUN + r"\\*[", _RUN + r"{4}\\*[", 1)
)


def _joined_hits(text: str, start: int, end: int, raw: bytes, gate: Gate) -> Iterator[Hit]:
    """Hits in words of which the parts stand in several strings or on several lines."""
    after = start
    for hint in gate_of(_JOINED_PLACE).finditer(raw):
        at = start + hint.start()
        if at < after:
            continue
        while at > after and text[at - 1] in _RUN_LETTERS:
            at -= 1
        word = _WORD_IN_PARTS.match(text, at, end)
        after = start + hint.end() if word is None else word.end()
        if word is None or word.end() - word.start() < _MIN_JOINED:
            continue
        first = max(start, word.start() - 100)
        last = min(end, word.end() + 8)
        cuts: list[tuple[int, int, str]] = []
        named = False
        for between in _BETWEEN.finditer(text, word.start(), word.end()):
            glue = between["glue"] is not None
            if glue or _is_wrap(text, between.start()):
                named |= glue
                cuts.append((between.start() - first, between.end() - first, ""))
        if not cuts or len(cuts) > _MAX_PARTS:
            continue
        view = without(text[first:last], cuts)
        raw_view = encode(view.text)
        rules = [
            rule for rule in gate(raw_view) if rule.pattern and (named or rule.check in _SHAPES)
        ]
        for rule in rules:
            for hit in _matches_of(rule, view.text, 0, len(view.text), raw_view):
                own = placed(hit, view, first)
                if own.end - own.start > hit.end - hit.start:
                    yield own if named else own._replace(end=_end_of_secret(text, own, rule))


def _end_of_secret(text: str, hit: Hit, rule: Rule) -> int:
    """The end of a hit over lines, without a last line that is a word under a whole secret."""
    breaks = list(_BETWEEN.finditer(text, hit.start, hit.end))
    if not breaks:
        return hit.end
    rest = text[breaks[-1].end() : hit.end]
    if len(rest) >= 6 and not (rest.isalpha() and rest.islower()):
        return hit.end
    alone = "".join(_BETWEEN.split(text[hit.start : breaks[-1].start()])[::2])
    found = _matches_of(rule, alone, 0, len(alone), encode(alone))
    whole = any(hit.end == len(alone) for hit in found)
    return breaks[-1].start() if whole else hit.end


def _is_wrap(text: str, at: int) -> bool:
    """Whether the line that ends here has one of the lengths at which programs wrap."""
    low = max(0, at - 2 * max(_COLUMNS))
    line = text.rfind("\n", low, at) + 1
    heads = [line] if line or low == 0 else []
    escaped = text.rfind("\\n", max(low, line), at)
    if escaped >= 0:
        heads = [escaped + 2]
    for quote in "\"'":
        head = text.rfind(quote, max(low, line, escaped), at)
        if head >= 0:
            heads.append(head + 1)
    return any(at - head in _COLUMNS for head in heads)


# ---------------------------------------------------------------- finding

_SECRET_GROUPS: Final = ("secret", "secret2", "secret3")


def _matches_of(rule: Rule, text: str, start: int, end: int, raw: bytes) -> Iterator[Hit]:
    """The matches of one rule, tried only at the places of its gate; `raw` is this part of the
    text, encoded."""
    pattern = compiled(rule.pattern)
    head = head_of(rule.pattern)
    groups = [name for name in _SECRET_GROUPS if name in pattern.groupindex]
    check = CHECKS.get(rule.check)
    # What a check of the value alone has refused: a text may repeat one value without end.
    refused: set[tuple[str, str | None, str]] = set()
    repeats = rule.check in {"password", "credential"}
    at = start
    for low, high in places(rule, text, start, raw):
        at = max(at, low - rule.back)
        while at < high:
            if head is not None:
                first = head.search(text, at, min(end, high + HEAD_REACH))
                if first is None or first.start() >= high:
                    at = high
                    break
                at = first.start()
            match = pattern.match(text, at, end)
            at += 1
            if match is None:
                continue
            group = next((name for name in groups if match[name] is not None), 0)
            value = match[group]
            if check is not None and match.end() == end < len(text) and not text[end].isspace():
                continue  # cut off by the reach: the next block contains it whole
            key = (value, match.lastgroup, match[0][:4])
            if repeats and key in refused:
                continue
            if check is None or check(value, match):
                yield Hit(match.start(group), match.end(group), rule.rank, rule.kind, value)
                at = max(at, match.end())
            elif repeats:
                refused.add(key)


def _decoded_hits(rule: Rule, text: str, gate: Gate, depth: int) -> Iterator[Hit]:
    if depth >= MAX_ENCODING_DEPTH:
        return
    if rule.matcher == "base64_text":
        hints = (hint.start() for hint in gate_of(rule).finditer(encode(text)))
        runs = base64_text(text, hints)
    else:
        runs = hex_text(text)
    for start, end, decoded in runs:
        inner = find(decoded, gate, depth + 1)
        if inner:
            whole = len(inner) == 1 and inner[0].secret == decoded.strip()
            secret = inner[0].secret if whole else text[start:end]
            yield Hit(start, end, rule.rank, inner[0].kind, secret)


def _hits_of(
    rules: list[Rule], text: str, start: int, end: int, gate: Gate, depth: int
) -> list[Hit]:
    hits: list[Hit] = []
    raw = encode(text[start:end])
    for rule in rules:
        if rule.pattern:
            hits.extend(_matches_of(rule, text, start, end, raw))
        elif rule.kind == "encoded":
            hits.extend(
                hit._replace(start=hit.start + start, end=hit.end + start)
                for hit in _decoded_hits(rule, text[start:end], gate, depth)
            )
        elif rule is JOINED:
            hits.extend(_joined_hits(text, start, end, raw, gate))
    return hits


def _scan_block(text: str, start: int, end: int, gate: Gate, depth: int) -> list[Hit]:
    """The hits of one block as it is spelt, then as a reader would see it. `_KEYS` among them
    says that a private key may begin in the block."""
    block = text[start:end]
    reach = end
    if end < len(text) and text[end - 1] != "\n":  # cut from a long line: follow past the end
        line_end = text.find("\n", end, end + REACH)
        reach = line_end if line_end >= 0 else min(len(text), end + REACH)
    raw = encode(block)
    fired = gate(raw)
    hits = _hits_of(fired, text, start, reach, gate, depth) if fired else []
    if any(rule.matcher == "private_key" for rule in fired):
        hits.append(_KEYS)
    if disguised(block, raw):
        for low, high in _disguised_stretches(text, start, end):
            last = reach if high == end else high
            hits += _hits_as_spelt(text, low, high, last, gate, depth)
    return hits


# Characters of whole lines that are looked at together for spellings that hide something.
# Chosen by hand: a tenth of the lines in a block that has one have one.
_CHUNK: Final = 1_024


def _disguised_stretches(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches with all lines that `reveal` would change, and a line before and behind."""
    low = high = -1
    at = start
    while at < end:
        stop = text.find("\n", at + _CHUNK, end) + 1 or end
        if disguised(text[at:stop]):
            begin = text.rfind("\n", start, max(start, at - 1)) + 1 or start
            if begin > high:
                if high >= 0:
                    yield low, high
                low = begin
            high = text.find("\n", stop, end) + 1 or end
        at = stop
    if high >= 0:
        yield low, high


def _hits_as_spelt(
    text: str, start: int, end: int, reach: int, gate: Gate, depth: int
) -> Iterator[Hit]:
    """The hits of a stretch as a reader would see it; one may go on up to `reach`."""
    fired = gate(encode(DISGUISE.sub(reveal, text[start:end])))
    if not fired:
        return
    keys = any(rule.matcher == "private_key" for rule in fired)
    given = text[start : max(reach, start + MAX_KEY) if keys else reach]
    view = revealed(given)
    seen = _hits_of(fired, view.text, 0, len(view.text), gate, depth)
    if keys:
        seen.extend(_private_keys(view.text))
    yield from (placed(hit, view, start) for hit in seen)


_KEYS: Final = Hit(0, 0, 0, "", "")


def _private_keys(text: str) -> Iterator[Hit]:
    rank = next(rule.rank for rule in RULES if rule.matcher == "private_key")
    for start, end in private_key_spans(text):
        yield Hit(start, end, rank, "private-key", text[start:end])


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


def find(text: str, gate: Gate, depth: int = 0) -> list[Hit]:
    """Disjoint hits, in order."""
    if "\r" in text and "\r\n" in text:  # judged with the line ends that are shown
        view = without(text, [(m.start(), m.end(), "\n") for m in _CRLF.finditer(text)])
        return disjoint(text, [placed(hit, view, 0) for hit in _found(view.text, gate, depth)])
    return _found(text, gate, depth)


_CRLF: Final = re.compile("\r\n")


def _found(text: str, gate: Gate, depth: int) -> list[Hit]:
    hits: list[Hit] = []
    for start, end in _blocks(text):
        hits += _scan_block(text, start, end, gate, depth)
    if _KEYS in hits:
        hits += _private_keys(text)
    if has_unsafe(text):
        hits.extend(_hits_as_shown(text, gate, depth))
    return disjoint(text, hits) if hits else hits


def _hits_as_shown(text: str, gate: Gate, depth: int) -> Iterator[Hit]:
    """The hits in the text without what `clean` removes, so that removing it makes no new one.

    No terminal sequence goes over the end of a line, so blocks that end there are looked at
    one by one, and those with nothing to remove not again."""
    first = 0
    keys = "PRIVATE KEY" in text or "Private-Lines" in text
    for _, end in _blocks(text):
        if end < len(text) and text[end - 1] != "\n":
            continue
        part = text[first:end]
        for window, stop in _around_unsafe(part) if has_unsafe(part) else ():
            for view in (cleaned_view(part[window:stop]), bare_view(part[window:stop])):
                if view is None:
                    continue
                for low, high in _blocks(view.text):
                    for hit in _scan_block(view.text, low, high, gate, depth):
                        if hit is _KEYS:
                            keys = True
                        else:
                            yield placed(hit, view, first + window)
        first = end
    if keys:
        whole = cleaned_view(text)
        for hit in _private_keys(whole.text):
            yield placed(hit, whole, 0)


def _around_unsafe(text: str) -> Iterator[tuple[int, int]]:
    """Stretches with all that `clean` would remove, with the line before and the one behind; of
    a long line, `REACH` characters."""
    low = high = line_end = -1
    for found in UNSAFE.finditer(text):
        at = found.start()
        if at < line_end:
            continue
        first = max(0, at - REACH)
        line = text.rfind("\n", first, at)
        begin = text.rfind("\n", first, line) + 1 if line > 0 else 0
        line_end = text.find("\n", at, at + REACH)
        line_end = min(at + REACH, len(text)) if line_end < 0 else line_end
        after = text.find("\n", line_end + 1, line_end + REACH)
        begin, end = max(begin, first), min(line_end + REACH, len(text))
        if begin > high >= 0:
            yield low, high
        low = begin if begin > high else low
        high = after + 1 if after >= 0 else end
    if high >= 0:
        yield low, high


def placed(hit: Hit, view: View, offset: int) -> Hit:
    """A hit in a view as one in its original, which begins at `offset`."""
    start, end = view.original(hit.start, hit.end)
    return hit._replace(start=start + offset, end=end + offset)


def disjoint(text: str, hits: list[Hit]) -> list[Hit]:
    """Merges overlapping hits; kind and secret are those of the rule that comes first."""
    merged: list[Hit] = []
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
        merged = [h for h in merged if _beyond_placeholder(text[h.start : h.end])]
    return merged


def _beyond_placeholder(found: str) -> bool:
    """Whether a hit contains more than a placeholder or a piece of one."""
    rest = PLACEHOLDER.sub("", found)
    if rest == found and "[REDACTED:" not in found:
        return True
    return sum(c.isalnum() for c in rest.replace("REDACTED", "")) >= 4


CONTEXT_BEFORE: Final = 6_000
CONTEXT_AFTER: Final = 2_000


def safe_quote_end(text: str, start: int, end: int) -> int:
    """Where a quotation of `text` that begins at `start` must end, at most at `end`, so that
    redacting the quotation alone hides what redacting the whole text would hide.

    What shows that a secret follows may stand before the quotation: `password:` on the line
    above, or the head of a private key; and the cut may halve a secret. The context scanned is
    `CONTEXT_BEFORE` and `CONTEXT_AFTER` characters."""
    first = max(0, start - CONTEXT_BEFORE)
    around = QuoteEnds(text[first : end + CONTEXT_AFTER])
    return first + around.end(start - first, end - first)


class QuoteEnds:
    """`safe_quote_end` for several quotations of one text, which is scanned once, and whole."""

    __slots__ = ("_hits", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._hits: list[Hit] | None = None

    def end(self, start: int, end: int) -> int:
        """Where a quotation from `start` must end, at most at `end`: before the first hit that
        is not one in the quotation alone."""
        if start == 0 and end == len(self._text):
            return end
        if self._hits is None:
            self._hits = find(self._text, gate_for(False))
        hits = [hit for hit in self._hits if hit.end > start and hit.start < end]
        alone = find(self._text[start:end], gate_for(False)) if hits else []
        for hit in hits:
            low, high = max(hit.start, start), min(hit.end, end)
            if not any(own.start + start <= low and high <= own.end + start for own in alone):
                return low
        return end

    def near(self, start: int, end: int) -> int:
        """What `safe_quote_end` gives; of a short text without a scan of its own."""
        if start <= CONTEXT_BEFORE and len(self._text) <= end + CONTEXT_AFTER:
            return self.end(start, end)
        return safe_quote_end(self._text, start, end)


def is_quiet(text: str) -> bool:
    """Whether nothing in a text, nor in any line of it, can be a secret, by the gates alone."""
    if len(text) < 8:  # no credential is so short
        return True
    raw = encode(text)
    return not (gate_for(False)(raw) or disguised(text, raw) or has_unsafe(text))
