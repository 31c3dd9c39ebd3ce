"""Compares the predicted file changes with the true ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from leftoff.evaluation.file_truth import is_excluded


class FileCounts(Struct, frozen=True):
    """Right, wrong and missed (path, action) pairs of one session.

    Attributes:
        paths: number of pairs with the right path and any action.
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
        """F1 over (path, action); None if there is neither a true nor a predicted change."""
        return f1([self])


def f1(counts: Iterable[FileCounts]) -> float | None:
    """Micro F1 over (path, action) of several sessions."""
    right = wrong = missed = 0
    for one in counts:
        right, wrong, missed = right + one.right, wrong + one.wrong, missed + one.missed
    total = 2 * right + wrong + missed
    return 2 * right / total if total else None


def share(counts: Sequence[FileCounts], hit: str, miss: str) -> float | None:
    """Hit / (hit + miss), both given as names of fields: precision or recall."""
    hits = sum(getattr(one, hit) for one in counts)
    total = hits + sum(getattr(one, miss) for one in counts)
    return hits / total if total else None


def root_directory(predicted: Iterable[str], true: Iterable[str], cwd: str) -> str:
    """The directory that the true paths are relative to: the one under which most of them occur
    among the predicted paths; the session's own directory if none of them occurs."""
    tails = sorted(true)
    votes: Counter[str] = Counter()
    for path in predicted:
        for tail in tails:
            if path.endswith("/" + tail):
                votes[path[: -len(tail) - 1]] += 1
    if not votes:
        return cwd
    return min(votes, key=lambda root: (-votes[root], root != cwd, len(root), root))


def relative_paths(predicted: Mapping[str, str], root: str, name: str = "") -> dict[str, str]:
    """The changed files under a directory, relative to it, without excluded files."""
    found: dict[str, str] = {}
    start = root.rstrip("/") + "/" if root else ""
    for path, action in predicted.items():
        if action == "read" or path.endswith("/"):
            continue
        if start and path.startswith(start):
            path = path[len(start) :]
        elif path[:1] in "/~" or path[1:2] == ":":
            continue
        if not is_excluded(path, name) and not path.startswith((".git/", "../")):
            found[path] = action
    return found


def compare(
    name: str,
    session: int,
    predicted: Mapping[str, str],
    true: Mapping[str, str],
    *,
    half: str = "",
    left_out: int = 0,
) -> FileCounts:
    """The counts of one session; both sides are relative to the same directory."""
    pairs, real = set(predicted.items()), set(true.items())
    right = len(pairs & real)
    return FileCounts(
        name=name,
        session=session,
        right=right,
        wrong=len(pairs) - right,
        missed=len(real) - right,
        paths=len(predicted.keys() & true.keys()),
        half=half,
        left_out=left_out,
    )
