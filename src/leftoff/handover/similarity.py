"""Similarity of two texts: 1 - Levenshtein distance / length of the longer one, in code points.

It is exact for texts up to 226,000 code points, and for longer ones that differ little enough
for `MAX_STEPS`. Of others the result is two bounds: what cannot be less by that search and by
the lengths, and the sum over the changed lines. A threshold between the bounds is not decided,
and the result says that it is estimated.

Work is limited by a count of steps, not by time, so that the result is deterministic."""

from collections.abc import Hashable, Iterable, Sequence
from io import StringIO

from msgspec import Struct

# Steps of the distance's inner loop (64 cells each) that one comparison may take: about 0.7 s.
# Chosen by hand; `benchmarks/compatibility` measures the resulting times.
MAX_STEPS = 800_000_000

# Share of these for the lines that differ, whose steps take longer. Chosen by hand.
LINE_SHARE = 0.125

# Steps spent on one block of changed lines; of a larger one the longer side counts whole.
MAX_BLOCK_STEPS = 1_000_000


class Similarity(Struct, frozen=True):
    """The similarity of two texts.

    Attributes:
        low, high: bounds of the similarity, 0 to 1; equal if it is exact.
        estimated: whether a threshold lies between the bounds because deciding it would take
            too long; `low` is used then.
        changed, lines: number of lines changed, added or removed, of how many."""

    low: float
    high: float
    estimated: bool = False
    changed: int = 0
    lines: int = 0

    @property
    def exact(self) -> bool:
        """Whether the similarity is known exactly."""
        return self.low == self.high

    @property
    def value(self) -> float:
        """The similarity for decisions: on the correct side of every threshold unless
        `estimated`."""
        return self.low


def text_similarity(a: str, b: str, thresholds: Iterable[float] = ()) -> Similarity:
    """The similarity of `a` and `b`.

    Args:
        thresholds: similarities that decisions depend on; both bounds of the result lie on the
            same side of each, unless it is `estimated`."""
    old, new = StringIO(a).readlines(), StringIO(b).readlines()
    lines, longest = max(len(old), len(new)), max(len(a), len(b))
    if a == b:
        return Similarity(1.0, 1.0, lines=lines)
    lines_changed = _distance(old, new, 1, LINE_SHARE)
    changed = lines if lines_changed is None else lines_changed
    distance = _distance(a, b, changed * longest // lines)
    if distance is not None:
        exact = 1 - distance / longest
        return Similarity(exact, exact, False, changed, lines)
    least = max(_affordable(longest) + 1, abs(len(a) - len(b)))
    most = longest if lines_changed is None else _by_lines(old, new, changed)
    low, high = 1 - most / longest, 1 - least / longest
    return Similarity(low, high, any(low < t <= high for t in thresholds), changed, lines)


def _affordable(length: int, share: float = 1.0) -> int:
    """The largest distance that a share of `MAX_STEPS` finds between sequences of this length:
    the search runs in a band about the diagonal, twice as wide as the distance."""
    cells = int(64 * share * MAX_STEPS)
    return length if length * length <= cells else cells // 2 // length


def _distance(
    a: Sequence[Hashable], b: Sequence[Hashable], hint: int, share: float = 1.0
) -> int | None:
    """The distance, None if finding it would take too long; `hint`: what it may be."""
    from rapidfuzz.distance import Levenshtein  # 80 ms to import: only where texts differ

    most = _affordable(max(len(a), len(b)), share)
    found = Levenshtein.distance(a, b, score_cutoff=most, score_hint=hint)
    return found if found <= most else None


def _by_lines(old: Sequence[str], new: Sequence[str], changed: int) -> int:
    """An upper bound of the distance: the sum over the blocks of changed lines."""
    from rapidfuzz.distance import Levenshtein

    total = 0
    for block in Levenshtein.opcodes(old, new, score_hint=changed):
        if block.tag != "equal":
            lost = "".join(old[block.src_start : block.src_end])
            added = "".join(new[block.dest_start : block.dest_end])
            small = lost and added and len(lost) * len(added) <= 64 * MAX_BLOCK_STEPS
            total += Levenshtein.distance(lost, added) if small else max(len(lost), len(added))
    return min(total, max(sum(map(len, old)), sum(map(len, new))))
