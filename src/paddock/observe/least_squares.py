"""Least squares for a handful of regressors and a few hundred rows, and quantiles of Student's t.

By hand because the daemon's environment has no numpy, and 90 rows need none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

Row = Sequence[float]
RIDGE = 1e-9  # of the mean diagonal: weekdays that were never seen must not divide by zero


@dataclass(frozen=True, slots=True)
class Fit:
    weights: tuple[float, ...]
    residuals: tuple[float, ...]
    spread: tuple[tuple[float, ...], ...]  # (X'X)^-1
    rss: float

    def at(self, row: Row) -> float:
        return sum(w * x for w, x in zip(self.weights, row, strict=True))

    def leverage(self, row: Row) -> float:
        """How much the weights' own uncertainty adds at this point, in variances of the noise."""
        products = (sum(s * x for s, x in zip(line, row, strict=True)) for line in self.spread)
        return max(0.0, sum(x * p for x, p in zip(row, products, strict=True)))


def fit(rows: Sequence[Row], values: Sequence[float]) -> Fit:
    size = len(rows[0])
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(size)] for i in range(size)]
    pairs = list(zip(rows, values, strict=True))
    moments = [sum(row[i] * value for row, value in pairs) for i in range(size)]
    ridge = RIDGE * sum(gram[i][i] for i in range(size)) / size
    for i in range(size):
        gram[i][i] += ridge
    spread = inverse(gram)
    weights = [sum(s * m for s, m in zip(line, moments, strict=True)) for line in spread]
    residuals = [v - sum(w * x for w, x in zip(weights, row, strict=True)) for row, v in pairs]
    rss = sum(r * r for r in residuals)
    return Fit(tuple(weights), tuple(residuals), tuple(map(tuple, spread)), rss)


def inverse(matrix: Sequence[Row]) -> list[list[float]]:
    """Of a positive definite matrix, by Gauss and Jordan with the largest pivot."""
    size = len(matrix)
    wide = [[*line, *(float(i == j) for j in range(size))] for i, line in enumerate(matrix)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda line: abs(wide[line][column]))
        wide[column], wide[pivot] = wide[pivot], wide[column]
        scale = wide[column][column]
        wide[column] = [value / scale for value in wide[column]]
        for line in range(size):
            factor = wide[line][column]
            if line != column and factor:
                top = wide[column]
                wide[line] = [a - factor * b for a, b in zip(wide[line], top, strict=True)]
    return [line[size:] for line in wide]


def student_quantile(share: float, freedom: float) -> float:
    """By the expansion of Cornish and Fisher: within 1 % from five degrees of freedom on."""
    z = NormalDist().inv_cdf(share)
    one = (z**3 + z) / 4
    two = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    three = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + one / freedom + two / freedom**2 + three / freedom**3
