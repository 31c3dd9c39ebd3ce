"""The trained model for key decisions: words to features, features to scores.

A sentence is scored by logistic regression over its words, pairs of words, pairs with verbs
replaced by their class, its place in the text, and what came before and after it. The weights
are data (`rules/decisions.json`), written by `benchmarks/accuracy/decisions`."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise, repeat
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from leftoff import lazy_re as re
from leftoff.codec import blake2b
from leftoff.extraction.rules import Rule, as_rules, lowered
from leftoff.tables import table
from leftoff.text.markdown import FENCE, HEADING, ITEM, PARAGRAPH, Block

# Weights are stored as integers in units of 1 / SCALE.
SCALE = 1000

# Types that are hard to tell apart and are one of three: design, approach, fix.
KIND_GROUPS = {"architecture": "design", "implementation": "design"}

# Lower bound of `any_log_odds`; the log odds of a message without candidates.
MIN_LOG_ODDS = -20.0

# What begins no word is passed over first: to try all of them on it takes a third of the time.
_TOKEN = re.compile(
    r"(?=[\w.`/:;?!—→✅-])(?:"
    r"[a-z]++(?:(?=[ ,])|'[a-z]+|(?![\w/:-]|\.[\w./-]))"  # most words: no part of a path, name
    r"|`[^`\n]*`|https?://\S+|[\w.-]*+/[\w./-]+|\w[^\W_]*+_\w+|[a-z]+(?:'[a-z]+)?|\d+"
    r"|[:;?!—→✅]|\.\.\.)"
)


class Model(Struct, frozen=True, dict=True):
    """Weights, by feature, in thousandths.

    Attributes:
        gate: weights of single words for the cheap first filter; `gate_least` is the sum from
            which a sentence passes it.
        weights, bias: of the sentence model.
        calibration: slope, offset and weight of the logarithm of a sentence's rank in its
            session; they map its log odds to calibrated ones (a long session has more
            candidates, but hardly more *key* decisions). `message`: the same for the combined
            log odds of a message's sentences and the rank of the message.
        least: probability from which a statement is reported, if its message has at least the
            probability `message_least`.
        kinds, kind_weights, kind_bias: the decision types, and the weights of each feature.
        trained: number of labelled sessions and decisions behind the weights.
        learnt_from: fingerprints of the recordings of those sessions, sorted."""

    gate: dict[str, int] = field(default_factory=dict)
    gate_least: int = -1_000_000
    weights: dict[str, int] = field(default_factory=dict)
    bias: int = 0
    calibration: tuple[int, int, int] = (SCALE, 0, 0)
    message: tuple[int, int, int] = (SCALE, 0, 0)
    least: int = 500
    message_least: int = 0
    kinds: tuple[str, ...] = ("approach",)
    kind_weights: dict[str, tuple[int, ...]] = field(default_factory=dict)
    kind_bias: tuple[int, ...] = (0,)
    trained: dict[str, int] = field(default_factory=dict)
    learnt_from: tuple[str, ...] = ()

    def passes_gate(self, words: Iterable[str]) -> bool:
        """Whether a piece of text passes the first filter.

        Args:
            words: its words in lower case, split at white space."""
        return sum(map(self.gate.get, words, repeat(0))) >= self.gate_least

    def known(self, features: Sequence[str]) -> Sequence[str]:
        """The features that have a weight; of a model without weights, each may get one."""
        weights, kinds = self.weights, self.kind_weights
        return [f for f in features if f in weights or f in kinds] if weights else features

    def weight(self, features: Iterable[str]) -> int:
        """What features add to `score`, in units of 1 / SCALE."""
        return sum(map(self.weights.get, features, repeat(0)))

    def score(self, features: Iterable[str]) -> float:
        """Log odds that a sentence with these features states a decision."""
        return (self.bias + self.weight(features)) / SCALE

    @cached_property
    def rows(self) -> "Rows":
        """What it says of each word."""
        return Rows(self.weights)

    def sentence_score(
        self, found: Sequence[str], others: Iterable[str], more: int = 0
    ) -> float:
        """The `score` of a sentence with these words: their `word_features`, those of their
        subjects, these other ones, and further ones that have the `weight` of `more`."""
        rows, subjects = self.rows, tuple[str, ...]()
        seen: dict[object, int] = {}  # each counts once; a pair is known by what may follow
        pairs, classes = rows["^"][2:4]
        for word in found:
            alone, kind, next_pairs, next_classes, about = rows[word]
            if alone:
                seen[word] = alone
            if word in pairs:
                seen[id(pairs), word] = pairs[word]
            if kind in classes:
                seen[id(classes), kind] = classes[kind]
            if about:
                subjects += about
            pairs, classes = next_pairs, next_classes
        if subjects:
            more += self.weight(_counted(subjects, *SENTENCE))
        more += self.weight(others) + pairs.get("$", 0)
        return (self.bias + more + sum(seen.values())) / SCALE

    def kind(self, features: Iterable[str]) -> str:
        """The likeliest type of a decision with these features: first the likeliest group of
        `KIND_GROUPS`, then the likeliest type in it."""
        rows = filter(None, map(self.kind_weights.get, features))
        sums = [sum(column) / SCALE for column in zip(self.kind_bias, *rows, strict=True)]
        chances = {
            kind: math.exp(z - max(sums)) for kind, z in zip(self.kinds, sums, strict=True)
        }
        groups: dict[str, float] = {}
        for kind, chance in chances.items():
            group = KIND_GROUPS.get(kind, kind)
            groups[group] = groups.get(group, 0.0) + chance
        best = max(groups, key=groups.__getitem__)
        within = [kind for kind in chances if KIND_GROUPS.get(kind, kind) == best]
        return max(within, key=chances.__getitem__)

    def top_features(self, features: Iterable[str]) -> list[str]:
        """The four features with the highest positive weights, highest first."""
        weight = self.weights.get
        positive = {(-w, name) for name in features if (w := weight(name, 0)) > 0}
        return [name for _, name in sorted(positive)[:4]]


# Words of which is held what the model says of them: about 5 MB. Chosen by hand.
MAX_ROWS = 1 << 15

# Of one word: its weight; its class; the weights of the pairs that it opens, by the word and by
# the class after it; and its subjects.
_Row: TypeAlias = tuple[int, str, Mapping[str, int], Mapping[str, int], tuple[str, ...]]


class Rows(dict[str, _Row]):
    """What a model says of each word, looked up when it is read for the first time: a score
    then needs no string for every pair of words."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        super().__init__()
        self._alone: dict[str, int] = {}
        self._pairs: dict[str, dict[str, dict[str, int]]] = {"b": {}, "c": {}}
        for name, weight in weights.items():
            kind, _, rest = name.partition(":")
            first, _, second = rest.partition("_")  # no word has one
            if kind == "w":
                self._alone[rest] = weight
            elif kind in self._pairs:
                self._pairs[kind].setdefault(first, {})[second] = weight

    def __missing__(self, word: str) -> _Row:
        kind, (pairs, classes) = VERBS.get(word, word), self._pairs.values()
        if len(self) >= MAX_ROWS:
            self.clear()
        after = pairs.get(word, {}), classes.get(kind, {})
        self[word] = row = self._alone.get(word, 0), kind, *after, subjects_of(word)
        return row


def calibrated(logit: float, rank: int, line: tuple[int, int, int]) -> float:
    """The probability for log odds at a rank from 0, calibrated by slope, offset and weight of
    the rank's logarithm in units of 1 / SCALE."""
    slope, offset, weight = line
    x = (slope * logit + offset + weight * math.log1p(rank)) / SCALE
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def any_log_odds(logits: Iterable[float]) -> float:
    """Log odds that at least one of several sentences is a decision, assuming independence
    (noisy-or)."""
    none = 0.0  # log of the probability that none is
    for logit in logits:
        none -= math.log1p(math.exp(min(30.0, logit)))
    if none > -1e-9:
        return MIN_LOG_ODDS
    return max(MIN_LOG_ODDS, math.log(-math.expm1(none)) - none)


# -- words -------------------------------------------------------------------------------------


def raw_words(text: str, most: int | None = None) -> list[str]:
    """The words of a text, or the first ones, in lower case; code and paths unchanged."""
    plain = lowered(text).replace("’", "'")
    if most is not None:
        return [match[0] for match in islice(_TOKEN.finditer(plain), most)]
    found: list[str] = _TOKEN.findall(plain)
    return found


def words(text: str, most: int | None = None) -> list[str]:
    """The words of a text, or the first ones, in lower case; code, names, paths and numbers as
    placeholders."""
    return [
        w if w.isalpha() else _PLACEHOLDERS.get(w[0]) or _placeholder(w)
        for w in raw_words(text, most)
    ]


_PLACEHOLDERS = {"`": "<code>", **dict.fromkeys("0123456789", "<num>")}


def _placeholder(word: str) -> str:
    if "/" in word:
        return "<url>" if word.startswith("http") else "<path>"
    if "_" in word:
        return "<id>"
    return word if "'" in word or not word[0].isalnum() else "<id>"


def _inflections(verb: str) -> dict[str, str]:
    last = verb[-1]
    found = {verb: "", verb + "s": "", verb + "es": ""}
    found |= dict.fromkeys((verb + "ed", verb + "d", verb + last + "ed"), "ED")
    found |= dict.fromkeys((verb + "ing", verb + last + "ing"), "ING")
    if last == "e":
        found[verb[:-1] + "ing"] = "ING"
    if last == "y":
        found |= {verb[:-1] + "ies": "", verb[:-1] + "ied": "ED"}
    return found


def _verb_classes(table: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    home: dict[str, str] = {}
    for name, verbs in table["verbs"].items():
        for verb in verbs.split():
            home[verb] = name
            for form, ending in _inflections(verb).items():
                found.setdefault(form, name + ending)
    for form, verb in table["irregular"].items():
        found[form] = home[verb] + "ED"
    return found


_FOLDER = Path(__file__).with_name("rules")
_TABLE = table(__file__, "rules", "decisions.toml")
# Form of a verb to its class.
VERBS = _verb_classes(_TABLE)

# Frequent words that show that a text is English.
ENGLISH = frozenset(_TABLE["english"].split())


# Words that pass the first filter, whatever else a sentence says.
ALWAYS = tuple(_TABLE["always"].split())


# The words of each subject of a statement, and the beginnings of others (`fix*`).
SUBJECTS: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    name: (
        frozenset(listed.split()),
        tuple(word[:-1] for word in listed.split() if word.endswith("*")),
    )
    for name, listed in _TABLE["subjects"].items()
}

# The first letters of all of them: few other words have the same.
_BEGINNINGS = frozenset(
    start[:3] for words, starts in SUBJECTS.values() for start in (*words, *starts)
)


def _rules(name: str) -> tuple[Rule, ...]:
    opening = _TABLE["opening"]
    rows: list[dict[str, str]] = _TABLE[name]
    filled = (row | {"pattern": row["pattern"].replace("<opening>", opening)} for row in rows)
    return as_rules(filled, topic=name)


# The hand-written patterns beside the model, by what they find.
PATTERNS = {name: _rules(name) for name, rows in _TABLE.items() if isinstance(rows, list)}

_WEIGHTS = _FOLDER.joinpath("decisions.json").read_bytes()
# The shipped weights.
MODEL = msgspec.json.decode(_WEIGHTS, type=Model)

_PERSON_WEIGHTS = _FOLDER.joinpath("person.json").read_bytes()
# The weights for the sentences of a person, see `analysis.decisions.person`.
PERSON = msgspec.json.decode(_PERSON_WEIGHTS, type=Model)


# 16 hex digits that change whenever weights, verbs or patterns change.
DIGEST = blake2b(
    _WEIGHTS
    + _PERSON_WEIGHTS
    + b"".join(
        _FOLDER.joinpath(f"{name}.toml").read_bytes() for name in ("decisions", "person")
    ),
    digest_size=8,
).hexdigest()


_FOREIGN = re.compile(r"[^\W\d_a-zA-Z]")


def is_english(found: Sequence[str], text: str) -> bool:
    """Whether a message looks like English; one of fewer than eight words always does.

    At most a sixth of the characters may be letters beyond ASCII, and a twentieth of the words
    must be in `ENGLISH`. Both chosen by hand; not measured.

    Args:
        found: the words of `text`."""
    if not text.isascii() and 6 * len(_FOREIGN.findall(text)) > len(text):
        return False
    english = 20 * sum(map(ENGLISH.__contains__, found))
    if english >= len(found):
        return True
    plain = sum(w[0].isalpha() for w in found)
    return plain < 8 or english >= plain


# Frequent words of other languages in Latin letters.
FOREIGN = frozenset(_TABLE["foreign"].split())

# Code points of a text by which its language is told. This and the shares below were chosen by
# hand; not measured.
_READ = 400


def is_foreign(text: str) -> bool:
    """Whether a text is surely not English: a sixth of its characters are letters beyond ASCII,
    or of at least twelve words a sixth are frequent in another language, and three times as
    many as are English ones. Unlike `is_english`, in doubt it is not."""
    start = text[:_READ]
    if not start.isascii() and 6 * len(_FOREIGN.findall(start)) > max(len(start), 24):
        return True
    found = start.lower().split()
    if FOREIGN.isdisjoint(found):
        return False
    other = sum(map(FOREIGN.__contains__, found))
    if len(found) < 12 or 6 * other < len(found):
        return False
    return other > 3 * sum(map(ENGLISH.__contains__, found))


# -- features ----------------------------------------------------------------------------------


class Steps:
    """Features of a number: their names are `name` and the index of the first edge that the
    number does not exceed."""

    def __init__(self, name: str, *edges: float) -> None:
        self._names = tuple(f"{name}{n}" for n in range(len(edges) + 1))
        self._edges = edges

    def __call__(self, number: float) -> str:
        return self._names[bisect_left(self._edges, number)]


# Chosen by hand; the weights were fitted to these edges, as in `analysis.decisions.select`.
_LENGTH = Steps("l:len", 20, 40, 70, 110, 160, 240)
_SIZE = Steps("l:size", 60, 120, 200, 350, 700, 1500, 4000)
_CODES = Steps("l:code", 0, 1, 2, 4)
_ENDS = dict(zip(".:?!)*", map("l:end{}".format, ".:?!)*"), strict=True))


def word_features(found: Sequence[str]) -> list[str]:
    """Features of the words of one sentence: alone, in pairs, and as classes of verbs."""
    out = ["w:" + w for w in found]
    out += ["b:" + a + "_" + b for a, b in pairwise(["^", *found, "$"])]
    kinds: list[str] = ["^", *map(VERBS.get, found, found)]
    out += ["c:" + a + "_" + b for a, b in pairwise(kinds)]
    return list(dict.fromkeys(out))


@lru_cache(maxsize=1 << 14)
def subjects_of(word: str) -> tuple[str, ...]:
    """The subjects that a word points to; () for most words."""
    if word[:3] not in _BEGINNINGS:
        return ()
    return tuple(
        name
        for name, (words, starts) in SUBJECTS.items()
        if word in words or word.startswith(starts) and word.isalnum()
    )


def subject_features(found: Iterable[str], kind: str, steps: tuple[int, ...]) -> list[str]:
    """Features of the subjects of these words: for each subject the steps that its number of
    words reaches, and the most frequent subject.

    Args:
        kind: prefix of the names of the features.
        steps: numbers of words."""
    named = tuple(chain.from_iterable(map(subjects_of, found)))
    return list(_counted(named, kind, steps)) if named else []


@lru_cache(maxsize=1 << 12)
def _counted(named: tuple[str, ...], kind: str, steps: tuple[int, ...]) -> tuple[str, ...]:
    counts = {name: named.count(name) for name in SUBJECTS}
    out = [f"{kind}:{name}{s}" for name in counts for s in steps if counts[name] >= s]
    return (*out, f"{kind}:most-{max(counts, key=counts.__getitem__)}")


# Prefix and steps of the features of the subjects of one sentence.
SENTENCE = "x", (1, 2, 3)


def sentence_subjects(found: Iterable[str]) -> list[str]:
    """Features of the subjects of one sentence."""
    return subject_features(found, *SENTENCE)


def place_features(text: str, start: int, where: str) -> list[str]:
    """Features of where a sentence stands.

    Args:
        text: the sentence.
        start: where it starts in the message's text.
        where: its place, see `decisions.Decisions`."""
    block, first, whole, *around = where.split(" ")
    length, size = len(text), int(whole)
    at = "l:mid"
    if size <= length + 2:
        at = "l:only"
    elif start <= 2:
        at = "l:first"
    elif start + length + 2 >= size:
        at = "l:last"
    end = _ENDS.get(text[-1:], "l:endx")
    found = ["l:" + block, end, _LENGTH(length), _SIZE(size), at, _CODES(text.count("`") // 2)]
    return [*found, *(["l:opens"] if first == "1" else []), *around]


# Blocks on each side in which the list and the heading of a sentence are looked for.
_FAR = 12

_ABOVE, _BELOW = (Steps(name, 0, 1, 2, 4, 8, 16) for name in ("l:k", "l:r"))
_PLACE, _ITEMS = Steps("l:ord", 0, 1, 3, 6), Steps("l:items", 0, 1, 3, 7)


def block_features(
    text: str, blocks: Sequence[Block], number: int
) -> tuple[list[str], list[str], list[str]]:
    """Features of what stands around the sentences of a block: its place in the text and in its
    list, the words that lead into the list and those of the heading; then what only its first,
    and only its last sentence has.

    Args:
        text: the whole text, and `blocks`, its blocks.
        number: the block."""
    below = len(blocks) - 1 - number
    found = [_ABOVE(number), _BELOW(below)]
    if blocks[number][2] == ITEM:
        found += _list_features(text, blocks, number)
    for above in range(number - 1, max(-1, number - 1 - _FAR), -1):
        if blocks[above][2] == HEADING:
            begin, stop, _ = blocks[above]
            found += _prefixed("hd:", text[begin : min(stop, begin + 80)], 8)
            found.append("l:headed")
            break
    opens = [f"l:prev{blocks[number - 1][2]}"] if number else []
    return found, opens, [f"l:next{blocks[number + 1][2]}"] if below else []


def sentence_features(text: str, start: int, end: int) -> list[str]:
    """Features of the marks of a sentence, and of the words after it."""
    bold = text.startswith("**", start) or (start >= 2 and text.startswith("**", start - 2))
    following = words(text[end : end + 60], 3) if end < len(text) else ()
    found = ["nx:" + VERBS.get(w, w) for w in following]
    return ["l:bold", *found] if bold else found


@lru_cache(maxsize=256)
def _prefixed(kind: str, text: str, most: int) -> tuple[str, ...]:
    """Features of the first words of a text, or of its last ones if `most` is negative. Cached:
    all sentences below a heading and all items of a list have the same."""
    found = words(text)
    return tuple(kind + w for w in (found[:most] if most > 0 else found[most:]))


def _list_features(text: str, blocks: Sequence[Block], number: int) -> list[str]:
    """Features of a list around its item `number`."""
    top = bottom = number
    while top > 0 and number - top < _FAR and blocks[top - 1][2] in {ITEM, FENCE}:
        top -= 1
    end = min(len(blocks), number + _FAR + 1)
    while bottom + 1 < end and blocks[bottom + 1][2] in {ITEM, FENCE}:
        bottom += 1
    found = [_PLACE(number - top), _ITEMS(bottom - top)]
    if top and blocks[top - 1][2] == PARAGRAPH:
        begin, stop, _ = blocks[top - 1]
        lead = text[max(begin, stop - 80) : stop]
        last = lead.rstrip("*_ ")[-1:]
        found += _prefixed("ld:", lead, -8)
        found.append(f"ld:end{last if last and last in '.:?!)' else 'x'}")
    return found
