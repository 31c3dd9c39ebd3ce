"""Compares the files that we say were changed with those that were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from leftoff.evaluation.file_truth import is_left_out


class Counts(Struct, frozen=True):
    """Right, wrong and missed (path, action) pairs of one session.

    Attributes:
        paths: pairs of which at least the path is right.
    """

    name: str
    session: int
    right: int
    wrong: int
    missed: int
    paths: int
    half: str = ""
    left_out: int = 0

    @property
    def f1(self) -> float | None:
        """F1 over (path, action); None where nothing was to be found and nothing was said."""
        return f1([self])


def f1(counts: Iterable[Counts]) -> float | None:
    """Micro F1 over (path, action) of several sessions."""
    right = wrong = missed = 0
    for one in counts:
        right, wrong, missed = right + one.right, wrong + one.wrong, missed + one.missed
    total = 2 * right + wrong + missed
    return 2 * right / total if total else None


def share(counts: Sequence[Counts], found: str, lost: str) -> float | None:
    """Right / (right + wrong) or right / (right + missed)."""
    hits = sum(getattr(one, found) for one in counts)
    total = hits + sum(getattr(one, lost) for one in counts)
    return hits / total if total else None


def root_of(said: Iterable[str], true: Iterable[str], cwd: str) -> str:
    """The directory that the true paths count from: the one under which most of them are
    among the paths that the session names; the session's own directory if none are."""
    tails = sorted(true)
    votes: Counter[str] = Counter()
    for path in said:
        for tail in tails:
            if path.endswith("/" + tail):
                votes[path[: -len(tail) - 1]] += 1
    if not votes:
        return cwd
    return min(votes, key=lambda root: (-votes[root], root != cwd, len(root), root))


def below(said: Mapping[str, str], root: str, name: str = "") -> dict[str, str]:
    """The changed files below a directory, relative to it, without those not asked for."""
    found: dict[str, str] = {}
    start = root.rstrip("/") + "/" if root else ""
    for path, action in said.items():
        if action == "read" or path.endswith("/"):
            continue
        if start and path.startswith(start):
            path = path[len(start) :]
        elif path[:1] in "/~" or path[1:2] == ":":
            continue
        if not is_left_out(path, name) and not path.startswith((".git/", "../")):
            found[path] = action
    return found


def compare(
    name: str,
    session: int,
    said: Mapping[str, str],
    true: Mapping[str, str],
    *,
    half: str = "",
    left_out: int = 0,
) -> Counts:
    """Counts of one session; both sides relative to the same directory."""
    pairs, real = set(said.items()), set(true.items())
    right = len(pairs & real)
    return Counts(
        name=name,
        session=session,
        right=right,
        wrong=len(pairs) - right,
        missed=len(real) - right,
        paths=len(said.keys() & true.keys()),
        half=half,
        left_out=left_out,
    )
