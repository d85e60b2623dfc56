"""Tests whether the difference between two systems is more than chance, by paired bootstrap over queries.

Sakai, "Evaluating evaluation metrics based on the bootstrap" (SIGIR 2006); Efron and Tibshirani (1993), chapter 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

RESAMPLES = 10_000
CONFIDENCE = 0.95
FEWEST = 6
"""Minimum number of queries that can show a difference: if all of five gain, a sign test has p = 0.06."""
_CHUNK = 1 << 22
"""Maximum number of random numbers drawn at once. It limits memory and does not change the result."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean paired difference, system minus baseline.

    Attributes:
        mean: over the queries.
        low: lower end of the 95 % percentile interval.
        high: upper end of it.
        p: two-sided: twice the smaller share of resampled means on one side of zero. It is at most 1, and at least the
            smallest p-value of a sign test with as many queries.
        queries: number of pairs.
    """

    mean: float
    low: float
    high: float
    p: float
    queries: int

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero and p is below 0.05."""
        return (self.low > 0 or self.high < 0) and self.p < 1 - CONFIDENCE


def paired_bootstrap(differences: ArrayLike) -> Difference:
    """Confidence interval and p-value of a mean difference.

    Args:
        differences: system minus baseline of each query, float[queries]; at least one.
    """
    from scipy.stats import bootstrap

    values = np.asarray(differences, dtype=np.float64)
    means = values
    if values.size > 1:
        means = bootstrap(
            (values,), np.mean, n_resamples=RESAMPLES, batch=max(1, _CHUNK // values.size), method="percentile",
            rng=np.random.default_rng(0),
        ).bootstrap_distribution  # fmt: skip
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail]).tolist()
    one_sided = min(np.count_nonzero(means <= 0), np.count_nonzero(means >= 0))
    p = min(1.0, max(2 * (one_sided + 1) / (RESAMPLES + 1), 2.0 ** (1 - values.size)))
    return Difference(float(values.mean()), low, high, float(p), values.size)


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrects p-values for the number of comparisons (Holm, Scandinavian Journal of Statistics, 1979).

    The smallest of m is multiplied by m, the next by m - 1 and so on, and each is at least the one before.
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[position]))
        corrected[position] = highest
    return corrected
