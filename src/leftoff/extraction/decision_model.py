"""The trained model behind key decisions: words to features, features to scores.

A sentence is scored by a logistic model over its words, pairs of words, pairs in which verbs
that stand for one another are one word, where it stands, and what came before and after it.
The weights are data (`rules/decisions.json`), written by `benchmarks/accuracy/decisions`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from leftoff.extraction.rules import Rule, lowered

SCALE = 1000
"""Weights are stored as whole numbers, this many to one."""

NEVER = -20.0
"""The logit of what is never a decision."""

_TOKEN = re.compile(
    r"`[^`\n]*`|https?://\S+|[\w.-]*/[\w./-]+|\w+(?:_\w+)+|[a-z]+(?:'[a-z]+)?|\d+"
    r"|[:;?!—→✅]|\.\.\."
)


class Model(Struct, frozen=True):
    """Weights, by feature, in thousandths.

    Attributes:
        gate: what a word says for a look at its sentence; `gate_least` is the sum from which a
            sentence is kept.
        weights, bias: of the sentence model.
        calibration: slope, offset and weight of the logarithm of the message's rank in its
            session, from the joined log odds of a message's sentences to the log odds that the
            message holds a decision (a long session has more candidates, but hardly more
            *key* decisions); `alone`: slope and offset for one sentence.
        least: probability from which a decision is reported, and that of a further sentence
            of the same message.
        kinds, kind_weights, kind_bias: the decision types, and the weights of each feature.
        trained: how many labelled sessions and decisions the weights come from.
        learnt_from: fingerprints of the recordings of those sessions, sorted.
    """

    gate: dict[str, int] = field(default_factory=dict)
    gate_least: int = -1_000_000
    weights: dict[str, int] = field(default_factory=dict)
    bias: int = 0
    calibration: tuple[int, int, int] = (SCALE, 0, 0)
    alone: tuple[int, int] = (SCALE, 0)
    least: int = 500
    least_alone: int = 500
    kinds: tuple[str, ...] = ("approach",)
    kind_weights: dict[str, tuple[int, ...]] = field(default_factory=dict)
    kind_bias: tuple[int, ...] = (0,)
    trained: dict[str, int] = field(default_factory=dict)
    learnt_from: tuple[str, ...] = ()

    def worth(self, words: Iterable[str]) -> bool:
        """Whether a piece of these words, lower case and split at white space, is worth a
        closer look."""
        return sum(map(self.gate.get, words, repeat(0))) >= self.gate_least

    def score(self, features: Iterable[str]) -> float:
        """Log odds that a sentence with these features states a decision."""
        return (self.bias + sum(map(self.weights.get, features, repeat(0)))) / SCALE

    def whole(self, log_odds: float, rank: int) -> float:
        """Probability that a message holds a decision.

        Args:
            log_odds: that at least one of its sentences is one (see `joined`).
            rank: how many messages of the session have higher ones.
        """
        slope, offset, weight = self.calibration
        return probability(log_odds, (slope, round(offset + weight * math.log1p(rank))))

    def kind(self, features: Iterable[str]) -> str:
        """The likeliest type of a decision with these features."""
        get = self.kind_weights.get
        rows = [row for row in map(get, features) if row is not None]
        sums = [sum(column) for column in zip(self.kind_bias, *rows, strict=True)]
        return self.kinds[max(range(len(sums)), key=lambda k: (sums[k], -k))]

    def reasons(self, features: Iterable[str], most: int = 4) -> list[str]:
        """The features that spoke loudest for it, loudest first."""
        weight = self.weights.get
        spoke = sorted({(-w, name) for name in features if (w := weight(name, 0)) > 0})
        return [name for _, name in spoke[:most]]


class Scorer:
    """A model laid out for speed: the same scores as `Model.score`, but without a string for
    every pair of words."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.words: dict[str, int] = {}
        self.pairs: dict[tuple[str, str], int] = {}
        self.classes: dict[tuple[str, str], int] = {}
        self.rest: dict[str, int] = {}
        for name, weight in model.weights.items():
            kind, said = name[:2], name[2:]
            if kind == "w:":
                self.words[said] = weight
            elif kind in {"b:", "c:"}:
                table = self.pairs if kind == "b:" else self.classes
                first, _, second = said.partition("_")
                table[first, second] = weight
            else:
                self.rest[name] = weight

    def score(self, found: Sequence[str], others: Iterable[str]) -> float:
        """Log odds of a sentence of these words with these other features."""
        kinds = ["^", *map(VERBS.get, found, found)]
        total = (
            self.model.bias
            + sum(map(self.words.get, set(found), repeat(0)))
            + sum(map(self.pairs.get, {*pairwise(["^", *found, "$"])}, repeat(0)))
            + sum(map(self.classes.get, {*pairwise(kinds)}, repeat(0)))
            + sum(map(self.rest.get, others, repeat(0)))
        )
        return total / SCALE


def probability(logit: float, line: tuple[int, int] = (SCALE, 0)) -> float:
    """The probability that log odds stand for after calibration."""
    x = (line[0] * logit + line[1]) / SCALE
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def joined(logits: Iterable[float]) -> float:
    """Log odds that at least one of several sentences is a decision, taken as independent."""
    none = 0.0  # log of the probability that none is
    for logit in logits:
        none -= math.log1p(math.exp(min(30.0, logit)))
    if none > -1e-9:
        return NEVER
    return max(NEVER, math.log(-math.expm1(none)) - none)


# -- words -------------------------------------------------------------------------------------


def raw_words(text: str) -> list[str]:
    """The words of a text in lower case, code and paths as they stand."""
    found: list[str] = _TOKEN.findall(lowered(text).replace("’", "'"))
    return found


def words(text: str) -> list[str]:
    """The words of a text in lower case; code, names, paths and numbers by what they are."""
    return [w if w.isalpha() else _WHAT.get(w[0]) or _shape(w) for w in raw_words(text)]


_WHAT = {"`": "<code>", **dict.fromkeys("0123456789", "<num>")}


def _shape(word: str) -> str:
    if "/" in word:
        return "<url>" if word.startswith("http") else "<path>"
    if "_" in word:
        return "<id>"
    return word if "'" in word or not word[0].isalnum() else "<id>"


def _forms(verb: str) -> dict[str, str]:
    last = verb[-1]
    found = {verb: "", verb + "s": "", verb + "es": ""}
    found |= dict.fromkeys((verb + "ed", verb + "d", verb + last + "ed"), "ED")
    found |= dict.fromkeys((verb + "ing", verb + last + "ing"), "ING")
    if last == "e":
        found[verb[:-1] + "ing"] = "ING"
    if last == "y":
        found |= {verb[:-1] + "ies": "", verb[:-1] + "ied": "ED"}
    return found


def _classes(table: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    home: dict[str, str] = {}
    for name, verbs in table["verbs"].items():
        for verb in verbs.split():
            home[verb] = name
            for form, ending in _forms(verb).items():
                found.setdefault(form, name + ending)
    for form, verb in table["irregular"].items():
        found[form] = home[verb] + "ED"
    return found


def _endings(listed: str) -> re.Pattern[str]:
    return re.compile("|".join(sorted(listed.split())).replace("*", r"\w*"))


def _rules(table: Mapping[str, Any], name: str) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for row in table[name]:
        fields: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in row.items()
        }
        found.append(Rule(topic=name, **fields))
    return tuple(found)


_HERE = Path(__file__).with_name("rules")
_TABLE = tomllib.loads(_HERE.joinpath("decisions.toml").read_text("utf-8"))
VERBS = _classes(_TABLE)
"""Form of a verb to its class."""

ENGLISH = frozenset(_TABLE["english"].split())
"""Words by which English is told from other languages."""


@cache
def subjects() -> dict[str, re.Pattern[str]]:
    """What a statement may be about, by the words that tell it. Made when a decision is judged:
    reading alone does without."""
    return {name: _endings(listed) for name, listed in _TABLE["subjects"].items()}


PATTERNS: dict[str, tuple[Rule, ...]] = {
    name: _rules(_TABLE, name)
    for name in ("rationale", "alternative", "reversal", "stated", "choice")
}
"""The patterns that stand beside the model, by what they find."""

_STORED = _HERE.joinpath("decisions.json").read_bytes()
MODEL = msgspec.json.decode(_STORED, type=Model)
"""The shipped weights."""


@cache
def shipped_scorer() -> Scorer:
    """The shipped weights, laid out for speed."""
    return Scorer(MODEL)


DIGEST = blake2b(
    _STORED + _HERE.joinpath("decisions.toml").read_bytes(), digest_size=8
).hexdigest()
"""16 hex digits that change whenever weights, verbs or patterns change."""


_FOREIGN = re.compile(r"[^\W\d_a-zA-Z]")


def is_english(found: Sequence[str], text: str) -> bool:
    """Whether the words of a message look like English; short ones get the benefit of doubt.

    Args:
        found: the words of `text`.
    """
    if not text.isascii() and 6 * len(_FOREIGN.findall(text)) > len(text):
        return False
    plain = [w for w in found if w[0].isalpha()]
    return len(plain) < 8 or 20 * sum(w in ENGLISH for w in plain) >= len(plain)


# -- features ----------------------------------------------------------------------------------

_LENGTHS = (20, 40, 70, 110, 160, 240)
_TEXTS = (60, 120, 200, 350, 700, 1500, 4000)


def bucket(number: int, edges: Sequence[int]) -> int:
    """Index of the first edge that a number does not exceed."""
    for index, edge in enumerate(edges):
        if number <= edge:
            return index
    return len(edges)


def word_features(found: Sequence[str]) -> list[str]:
    """Features of the words of one sentence: alone, in pairs, and as classes of verbs."""
    out = ["w:" + w for w in found]
    out += ["b:" + a + "_" + b for a, b in pairwise(["^", *found, "$"])]
    kinds: list[str] = ["^", *map(VERBS.get, found, found)]
    out += ["c:" + a + "_" + b for a, b in pairwise(kinds)]
    return list(dict.fromkeys(out))


@lru_cache(maxsize=1 << 14)
def subjects_of(word: str) -> tuple[str, ...]:
    """What a word tells a statement to be about; () for most words."""
    return tuple(name for name, told in subjects().items() if told.fullmatch(word))


def subject_features(found: Iterable[str], kind: str, steps: Sequence[int]) -> list[str]:
    """Features of what these words are about: for each subject how many of the steps their
    number reaches, and the subject that most of them tell.

    Args:
        kind: what the names of the features begin with.
    """
    told = Counter(chain.from_iterable(map(subjects_of, found)))
    if not told:
        return []
    out = [f"{kind}:{name}{s}" for name in subjects() for s in steps if told[name] >= s]
    out.append(f"{kind}:most-{max(subjects(), key=told.__getitem__)}")
    return out


def about(found: Iterable[str]) -> list[str]:
    """Features of what one sentence of these words is about."""
    return subject_features(found, "x", (1, 2, 3))


def message_features(found: Sequence[str]) -> list[str]:
    """The words of a whole message, and what they are about, as features of the type of what is
    decided in it."""
    return sorted({f"mw:{w}" for w in found}) + subject_features(found, "y", (1, 2, 4, 8))


def place_features(
    text: str, codes: int, block: str, first: bool, start: int, size: int
) -> list[str]:
    """Features of where a sentence stands.

    Args:
        text: the sentence.
        codes: pieces of inline code in it.
        block: paragraph | item | heading.
        first: it opens its block.
        start: where it starts in the message's text, and `size`, how long that text is.
    """
    last = text[-1:]
    at = "only" if size <= len(text) + 2 else "first" if start <= 2 else "last" if (
        start + len(text) + 2 >= size
    ) else "mid"  # fmt: skip
    return [
        f"l:{block}",
        f"l:end{last if last in '.:?!)*' else 'x'}",
        f"l:len{bucket(len(text), _LENGTHS)}",
        f"l:size{bucket(size, _TEXTS)}",
        f"l:{at}",
        f"l:code{bucket(codes, (0, 1, 2, 4))}",
        *(["l:opens"] if first else []),
    ]
