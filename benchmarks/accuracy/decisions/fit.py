"""Logistic and softmax regression on sparse 0/1 features: deterministic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import optimize, sparse

Vector: TypeAlias = Any
"""A numpy array of floats, without its type: numpy is not in every environment that checks."""

SHARED = 3
"""Source repositories that must hold a word before it may become a feature."""


class Table:
    """Rows of feature names as sparse columns; names seen in fewer rows than `rare` are left
    out.

    `homes` says where each row comes from. Names seen in fewer than `SHARED` homes are left out
    too: they belong to one project, tell nothing about another, and are not ours to ship.
    """

    def __init__(
        self, rows: Sequence[Iterable[str]], rare: int, homes: Sequence[str] | None = None
    ) -> None:
        counts = Counter(name for row in rows for name in row)
        self.names = sorted(name for name, count in counts.items() if count >= rare)
        if homes is not None:
            where: dict[str, set[str]] = {name: set() for name in self.names}
            for row, home in zip(rows, homes, strict=True):
                for name in row:
                    if name in where:
                        where[name].add(home)
            self.names = [name for name in self.names if len(where[name]) >= SHARED]
        index = {name: k for k, name in enumerate(self.names)}
        columns: list[int] = []
        ends = [0]
        for row in rows:
            columns += [index[name] for name in row if name in index]
            ends.append(len(columns))
        shape = (len(rows), len(self.names))
        self.cells = sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape)
        self.turned = self.cells.T.tocsr()
        self.width = len(self.names)

    def times(self, weights: Vector) -> Vector:
        """Sum of weights for each row."""
        return self.cells @ weights

    def back(self, values: Vector) -> Vector:
        """Sum of row values for each column."""
        return self.turned @ values


def minimise(
    value: Callable[[Vector], tuple[float, Vector]], start: Vector, steps: int = 150
) -> Vector:
    """L-BFGS; stops when the gain is below a millionth of a percent."""
    options = {"maxiter": steps, "ftol": 1e-8}
    return optimize.minimize(value, start, jac=True, method="L-BFGS-B", options=options).x


def logistic(
    table: Table, truth: Vector, penalty: float, mass: Vector = 1.0
) -> tuple[Vector, float]:
    """Weights and bias of a logistic model with an L2 penalty on the weights; `mass` is how
    much each row counts."""

    def value(wb: Vector) -> tuple[float, Vector]:
        w, b = wb[:-1], wb[-1]
        z = table.times(w) + b
        off = mass * (_sigmoid(z) - truth)
        loss = float((mass * (np.logaddexp(0, z) - truth * z)).sum() + penalty / 2 * (w @ w))
        return loss, np.append(table.back(off) + penalty * w, off.sum())

    share = min(max(float(truth.mean()), 1e-3), 1 - 1e-3)
    start = np.zeros(table.width + 1)
    start[-1] = np.log(share / (1 - share))
    wb = minimise(value, start)
    return wb[:-1], float(wb[-1])


def softmax(
    table: Table, truth: Vector, kinds: int, penalty: float, mass: Vector
) -> tuple[Vector, Vector]:
    """Weights (columns by kinds) and biases of a softmax model with an L2 penalty; `mass` is
    how much each row counts."""
    width, wanted = table.width, np.eye(kinds)[truth]

    def value(flat: Vector) -> tuple[float, Vector]:
        w = flat[: width * kinds].reshape(width, kinds)
        z = table.times(w) + flat[width * kinds :]
        z -= z.max(1, keepdims=True)
        logs = z - np.log(np.exp(z).sum(1, keepdims=True))
        off = mass[:, None] * (np.exp(logs) - wanted)
        grad = table.back(off) + penalty * w
        loss = float(-(mass[:, None] * wanted * logs).sum() + penalty / 2 * (w * w).sum())
        return loss, np.append(grad.ravel(), off.sum(0))

    flat = minimise(value, np.zeros(width * kinds + kinds))
    return flat[: width * kinds].reshape(width, kinds), flat[width * kinds :]


def line(x: Vector, truth: Vector) -> Vector:
    """Slopes and, last, the offset that turn columns of scores into log odds (Platt), with
    smoothed targets."""
    good, bad = float(truth.sum()), float((1 - truth).sum())
    target = np.where(truth > 0, (good + 1) / (good + 2), 1 / (bad + 2))

    def value(wb: Vector) -> tuple[float, Vector]:
        z = x @ wb[:-1] + wb[-1]
        off = _sigmoid(z) - target
        loss = float((np.logaddexp(0, z) - target * z).sum())
        return loss, np.append(x.T @ off, off.sum())

    start = np.zeros(x.shape[1] + 1)
    start[0] = 1.0
    return minimise(value, start, 400)


def _sigmoid(z: Vector) -> Vector:
    return 1 / (1 + np.exp(-np.clip(z, -30, 30)))
