"""The redactor: replaces whatever looks like a credential by a placeholder, in every output.

What lives here: the text without its secrets. `scanner` finds them. The rules are data
(`rules.toml`, loaded by `rules`); `plausible` decides whether a match may be real, `disguise`
undoes spellings that hide a secret, `encodings` finds private keys, base64 and hexadecimal.
No files, clocks or random numbers: the output is a function of the input.

Theory of operation
-------------------
*Gate, then pattern.* Each rule has a short RE2 expression, its gate; all gates are fused into
two automata. Short strings are joined into blocks of `BLOCK` characters, and each block is
shown to them once; most fire nothing and are done. Where a rule fires, its exact Python pattern
is tried at the places of its gate (`_matches_of`), and a check of `plausible` may refuse it.

*Shown is what was judged.* Outputs remove terminal codes, control and invisible characters
(`text.sanitize.clean`). So a text with any of them is scanned a second time without them, from
the same patterns, and a third time without the characters alone; a hit is mapped back and
covers all that stood in between. No secret can come into being by cleaning redacted text.

*Disguise.* A block with escapes of letters or unseen characters, percent codes, entities or
look-alike letters is scanned again in the spelling that a reader would see (`revealed`), and
the hits are mapped back. Base64 and hexadecimal that decode to text are scanned as texts of
their own. A word whose parts stand in several strings or on wrapped lines is put together
(`_joined_hits`). JSON inside a string is scanned as text at every depth of escaping, so its
layout survives.

*Placeholders.* `[REDACTED:kind:n]` stands for one secret; n counts the secrets of a document by
first appearance, over all kinds, and the same secret always gets the same n. A secret found by
its surroundings (`token = ...`) is replaced where it stands alone, too (`_seen`); that is why a
`Redactor` belongs to one document and takes its strings together.

Invariants
----------
* A gate fires on every text that its pattern matches; the reverse need not hold. It sees one
  byte for each character (`encode`), so its positions are those of the text.
* Blocks of one long line overlap by `OVERLAP`, and a match may reach `REACH` past the end; a
  checked match that touches the end of that reach is left to the next block.
* Hits are disjoint and sorted before anything is replaced (`disjoint`).
* Redacting redacted text changes nothing; new numbers begin after those in the text.
* Containers nested deeper than `MAX_NESTING` are replaced whole: the redactor fails closed.

Before you edit: run `python -m benchmarks.accuracy.redaction` (recall, false redactions, speed)
before and after. No rule matches half of a secret, so code that shortens raw text must use
`text.whole`, and a quotation must end at `safe_quote_end`. Saved passes set `last_number`."""

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import astuple

from leftoff import lazy_re as re
from leftoff.codec import JsonObject
from leftoff.errors import UsageError
from leftoff.model import Ref
from leftoff.redaction.disguise import disguised
from leftoff.redaction.plausible import CHECKS
from leftoff.redaction.rules import RULES, compiled, encode, gate_of, is_secret_path
from leftoff.redaction.scanner import BLOCK, PLACEHOLDER, Hit, disjoint, find, gate_for, placed
from leftoff.registry import Registry
from leftoff.text.sanitize import clean, cleaned_view, has_unsafe

# Containers nested deeper than this are replaced whole.
MAX_NESTING: Final = 200


class Span(NamedTuple):
    """A part of a text to be replaced, in code points, end exclusive."""

    start: int
    end: int
    kind: str


class SafeText(str):
    """Text as it may be shown: redacted, then cleaned. `Redactor.shown` alone makes it."""

    __slots__ = ()


class SafeValues(JsonObject):
    """A document's plain values, redacted: what renderers demand. `Redactor.document` alone
    makes them. Their strings are as recorded but for secrets; cleaning makes no new one."""

    __slots__ = ()


class Finder(Protocol):
    """A redactor of a plug-in: finds the parts of a text to be replaced."""

    def __call__(self, text: str) -> Iterable[Span]:
        """The spans of one text, inside it, in any order; must not raise for any text."""
        ...


# Redactors of other packages; they run as `Redactor(extra=[redactors.get(name)])`.
redactors: Registry[Finder] = Registry("redactor")


_NAME_PW = r"(?i)<PW><SUFFIX>$"
_NAME_TK = r"(?i)<TK><SUFFIX>$"


@lru_cache(maxsize=4096)
def _name_check(name: str) -> str:
    # A longer key is text, not a name; the limit was chosen by hand.
    if len(name) > 80:
        return ""
    name = clean(name)
    if compiled(_NAME_PW).search(name):
        return "password"
    return "credential" if compiled(_NAME_TK).search(name) else ""


_TOKEN_RUN = re.compile(r"[A-Za-z0-9_+/~-]{16,}")


class Redactor:
    """Replaces the secrets of one document.

    Args:
        personal: also replace e-mail addresses, phone numbers and card numbers (Luhn digit).
        extra: functions from a text to the `Span`s to be replaced; they get every string.

    Attributes:
        counts: kind to number of replaced occurrences, so far.
        last_number: the highest number of a placeholder, so far; the next one has the next."""

    def __init__(
        self, *, personal: bool = False, extra: Sequence[Callable[[str], Iterable[Span]]] = ()
    ) -> None:
        self.counts: dict[str, int] = {}
        self._gate = gate_for(personal)
        self._extra = tuple(extra)
        self._numbers: dict[str, str] = {}
        self._seen: dict[str, Hit] = {}
        self.last_number = 0

    @property
    def total(self) -> int:
        """How many occurrences were replaced, over all kinds."""
        return sum(self.counts.values())

    def text(self, s: str) -> str:
        """`s` with every secret replaced; `s` itself if it contains none."""
        return self._replace([s], {})[0]

    def value(self, v: object) -> Any:
        """`v` with every secret in its strings replaced, in keys and at every depth: plain
        values and msgspec Structs of them.

        `v` is never changed: containers of a replaced string are rebuilt, and `v` itself is
        returned if nothing was replaced. A value under a name such as `password` or `api_key`
        is treated like an assignment. Strings of JSON are treated as text."""
        texts: list[str] = []
        names: dict[int, str] = {}
        deep = _collect(v, texts, names, 0)
        replaced = self._replace(texts, names)
        if not deep and (replaced is texts or replaced == texts):
            return v
        return self._rebuild(v, iter(replaced), 0)

    def shown(self, s: str) -> SafeText:
        """`s` redacted and cleaned."""
        return SafeText(clean(self.text(s)))

    def document(self, values: JsonObject) -> SafeValues:
        """`value` of a document's plain values, for the renderers."""
        return SafeValues(self.value(values))

    def file(self, path: str, content: str) -> str:
        """`content` with its secrets replaced; replaced whole if `is_secret_path(path)`."""
        if not content.strip() or not is_secret_path(path):
            return self.text(content)
        if PLACEHOLDER.fullmatch(content.strip()):
            return content
        self._skip_used_numbers(content)
        return self._placeholder("file", content)

    def _placeholder(self, kind: str, secret: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        # With and without colours it is one secret.
        secret = clean(secret)
        placeholder = self._numbers.get(secret)
        if placeholder is None:
            self.last_number += 1
            placeholder = self._numbers[secret] = f"[REDACTED:{kind}:{self.last_number}]"
        return placeholder

    def _skip_used_numbers(self, text: str) -> None:
        """Lets new numbers begin after those that the text already uses."""
        for found in PLACEHOLDER.finditer(text):
            self.last_number = max(self.last_number, int(found.group(1)))

    def _replace(self, given: list[str], names: dict[int, str]) -> list[str]:
        """The strings, redacted; those with an index in `names` as values under a name."""
        pending: Iterable[int] = self._candidates(given) | names.keys()
        if not pending and not self._seen:
            return given
        texts = list(given)
        for _ in range(3):  # a replacement may uncover another hit; two rounds sufficed so far
            found = {i: hits for i in sorted(pending) if (hits := self._hits(texts, i, names))}
            for hits in found.values():
                for hit in hits:
                    # `_TOKEN_RUN` has no padding of base64.
                    secret = clean(hit.secret).rstrip("=")
                    if len(secret) >= 16 and _TOKEN_RUN.fullmatch(secret):
                        self._seen[secret] = hit
            if self._seen:
                self._add_repeats(texts, found)
            if not found:
                break
            for text in texts:
                if "[REDACTED:" in text:
                    self._skip_used_numbers(text)
            for i in sorted(found):
                texts[i] = self._substitute(texts[i], found[i])
            pending = found.keys()
        return texts

    def _candidates(self, texts: list[str]) -> set[int]:
        """Indices of the strings on which a gate fires; short ones are joined for the scan."""
        if self._extra or len(texts) == 1:  # one text: what looks at it asks the gate anyway
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
                    wanted.update(self._firing_texts(texts, group))
                    group, size = [], 0
        wanted.update(self._firing_texts(texts, group))
        return wanted

    def _firing_texts(self, texts: list[str], group: list[int]) -> set[int]:
        joined = "\n".join([texts[i] for i in group])
        raw = encode(joined)
        fired = self._gate(raw)
        wanted: set[int] = set()
        if fired:
            # One more for the line end that joins each to the next.
            ends = list(accumulate(len(texts[i]) + 1 for i in group))
            for rule in fired:
                for hint in gate_of(rule).finditer(raw):
                    first, last = hint.span()
                    wanted.update(group[bisect(ends, first) : bisect(ends, last - 1) + 1])
        if disguised(joined):
            wanted.update(i for i in group if disguised(texts[i]))
        if has_unsafe(joined):
            wanted.update(i for i in group if has_unsafe(texts[i]))
        return wanted

    def _hits(self, texts: list[str], i: int, names: dict[int, str]) -> list[Hit]:
        text = texts[i]
        hits = find(text, self._gate)
        more: list[Hit] = []
        name = names.get(i, "")
        if name and (CHECKS[name](text, None) or CHECKS[name](clean(text), None)):
            kind = "password" if name == "password" else "secret"
            more.append(Hit(0, len(text), len(RULES), kind, text))
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
                more.append(Hit(span.start, span.end, len(RULES), span.kind, secret))
        return disjoint(text, hits + more) if more else hits

    def _add_repeats(self, texts: list[str], found: dict[int, list[Hit]]) -> None:
        """Adds hits for secrets that were found by their surroundings and stand alone here."""
        for i, text in enumerate(texts):
            if len(text) < 16:
                continue
            more = list(self._repeats(text))
            if has_unsafe(text):
                view = cleaned_view(text)
                more += [placed(hit, view, 0) for hit in self._repeats(view.text)]
            if more:
                found[i] = disjoint(text, found.get(i, []) + more)

    def _repeats(self, text: str) -> Iterator[Hit]:
        for run in _TOKEN_RUN.finditer(text):
            if run[0] in self._seen:
                yield self._seen[run[0]]._replace(start=run.start(), end=run.end())

    def _substitute(self, text: str, hits: list[Hit]) -> str:
        parts: list[str] = []
        at = 0
        for hit in hits:
            parts.append(text[at : hit.start])
            parts.append(self._placeholder(hit.kind, hit.secret))
            at = hit.end
        parts.append(text[at:])
        return "".join(parts)

    def _rebuild(self, v: object, texts: Iterator[str], depth: int) -> Any:
        if isinstance(v, str):
            return next(texts)
        if _is_place(v):
            return v
        if depth >= MAX_NESTING and isinstance(v, (dict, list, tuple, Struct)):
            return self._placeholder("nesting", f"nesting {self.last_number}")
        if isinstance(v, dict):
            rebuilt: dict[object, object] = {}
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


_SCALARS: Final = frozenset({int, float, bool, type(None)})


def _is_place(v: object) -> bool:
    """Whether it is a reference into a recording: numbers, and 8 hex digits of a hash. Two of
    five structs of a summary are; one with a longer hash is of a damaged file."""
    return type(v) is Ref and len(v.hash) <= 8


def _collect(v: object, texts: list[str], names: dict[int, str], depth: int) -> bool:
    """Appends all strings of `v` to `texts` in order, keys before values, and to `names` the
    checks for values under a name, by index. True if some are nested too deeply to be read."""
    if isinstance(v, str):
        texts.append(v)
    if _is_place(v) or not isinstance(v, (dict, list, tuple, Struct)):
        return False
    if depth >= MAX_NESTING:
        return True
    deep = False
    if isinstance(v, (list, tuple)):
        before = ""
        for item in v:
            if isinstance(item, str):
                # Arguments of a program: `["--password", "x"]`.
                if before.startswith("-") and (check := _name_check(before)):
                    names[len(texts)] = check
                texts.append(item)
                before = item
            else:
                before = ""
                if type(item) not in _SCALARS:
                    deep |= _collect(item, texts, names, depth + 1)
        return deep
    pairs = (
        v.items() if isinstance(v, dict) else zip(v.__struct_fields__, astuple(v), strict=True)
    )
    keyed = isinstance(v, dict)
    # Environment variables in a list: `{"name": "API_KEY", "value": "x"}`.
    entry = v.get("name") if isinstance(v, dict) and "value" in v else None
    for key, item in pairs:
        if keyed and isinstance(key, str):
            texts.append(key)
        if isinstance(key, str) and isinstance(item, str):
            named = entry if key == "value" and isinstance(entry, str) else key
            if check := _name_check(named):
                names[len(texts)] = check
            texts.append(item)
        elif type(item) not in _SCALARS:
            deep |= _collect(item, texts, names, depth + 1)
    return deep


def redact(value: object, **options: Any) -> tuple[Any, dict[str, int]]:
    """`value` redacted as one document, and how many occurrences of each kind were replaced.

    Options are those of `Redactor`."""
    redactor = Redactor(**options)
    return redactor.value(value), redactor.counts
