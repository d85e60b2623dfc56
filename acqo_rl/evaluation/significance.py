"""Tests whether the difference between two systems is more than chance, by paired bootstrap over queries.

Sakai, "Evaluating evaluation metrics based on the bootstrap" (SIGIR 2006); Efron and Tibshirani (1993), chapter 13.
"""

from dataclasses import dataclass

import numpy as np
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
        queries: number of pairs.
    """

    mean: float
    low: float
    high: float
    queries: int

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero, and there are queries enough to show a difference."""
        return (self.low > 0 or self.high < 0) and self.queries >= FEWEST


def paired_bootstrap(differences: ArrayLike) -> Difference:
    """Confidence interval of a mean difference.

    Args:
        differences: system minus baseline of each query, float[queries]; at least one.
    """
    from scipy.stats import bootstrap

    values = np.asarray(differences, dtype=np.float64)
    low = high = values.mean()
    if values.size > 1:
        low, high = bootstrap(
            (values,), np.mean, n_resamples=RESAMPLES, batch=max(1, _CHUNK // values.size), method="percentile",
            confidence_level=CONFIDENCE, rng=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
    return Difference(float(values.mean()), float(low), float(high), values.size)
