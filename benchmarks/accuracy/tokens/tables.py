"""The tables of the upper bound: what words, punctuation and characters cost at most."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict

from benchmarks.accuracy.tokens.messages import Sample
from benchmarks.accuracy.tokens.vocabularies import Counter, word_candidates

_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\t\n0"
_RUN = re.compile(r"[!-/:-@\[-`{-~]+")


def _worst(counters: dict[str, Counter], texts: list[str]) -> list[int]:
    return [
        max(counts)
        for counts in zip(*(count(texts) for count in counters.values()), strict=True)
    ]


def words(counters: dict[str, Counter]) -> tuple[dict[str, int], list[str]]:
    """Gives the words that cost one token after a space, and what they cost at most without.

    Given too are the letters that cost one token by themselves.
    """
    candidates = word_candidates()
    spaced = _worst(counters, [" " + word for word in candidates])
    alone = _worst(counters, candidates)
    known = [word for word, cost in zip(candidates, spaced, strict=True) if cost == 1]
    costs = dict(zip(candidates, alone, strict=True))
    most = {word: costs[word] for word in known}
    # In many tokenizers one sign before a word belongs to its piece and may change its
    # division.
    for sign in _SIGNS:
        for word, cost in zip(
            known, _worst(counters, [sign + word for word in known]), strict=True
        ):
            most[word] = max(most[word], cost - 1)
    joints = [word for word in candidates if costs[word] == 1 and len(word) <= 8]
    return most, joints


def runs(counters: dict[str, Counter], samples: list[Sample]) -> dict[str, tuple[int, int]]:
    """Gives runs of punctuation with what they cost at most without and with a space before.

    Only runs that at least three sources use, and that cost less than one token a sign.
    """
    sources: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        for run in set(_RUN.findall(sample.text)):
            if len(run) <= 8:
                sources[run].add(sample.repository)
    candidates = sorted(run for run, found in sources.items() if len(found) >= 3)
    bare, spaced = [0] * len(candidates), [0] * len(candidates)
    around = [("a", "b", 2), ("a", " b", 2), ("a", "\nb", 3), ("1", "2", 2), ("a", "é", 2)]
    for before, after, cost in [*around, ("a", "B", 2), ("", "", 0)]:
        counted = _worst(counters, [before + run + after for run in candidates])
        bare = [max(one, two - cost) for one, two in zip(bare, counted, strict=True)]
        counted = _worst(counters, [before + " " + run + after for run in candidates])
        spaced = [max(one, two - cost) for one, two in zip(spaced, counted, strict=True)]
    return {
        run: (one, two)
        for run, one, two in zip(candidates, bare, spaced, strict=True)
        if (one, two) != (len(run), len(run) + 1)
    }


def characters(counters: dict[str, Counter]) -> dict[str, int]:
    """Gives characters of living scripts and signs that cost fewer tokens than bytes."""
    spans = [(0x80, 0x1200), (0x1E00, 0x3400), (0x4E00, 0xA000), (0xAC00, 0xD800)]
    spans += [(0xF900, 0x10000), (0x1F000, 0x1FB00)]
    candidates = [
        chr(code)
        for first, after in spans
        for code in range(first, after)
        if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")
    ]
    most = [0] * len(candidates)
    among = max(count(["中中"])[0] for count in counters.values())
    for before, after, cost in (
        ("", "", 0),
        ("a ", "", 1),
        ("a", " b", 2),
        ("中", "中", among),
    ):
        counted = _worst(counters, [before + one + after for one in candidates])
        most = [max(one, two - cost) for one, two in zip(most, counted, strict=True)]
    return {
        one: cost
        for one, cost in zip(candidates, most, strict=True)
        if cost < max(len(one.encode()), len(unicodedata.normalize("NFKC", one).encode()))
    }
