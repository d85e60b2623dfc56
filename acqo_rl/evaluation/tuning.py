"""Chooses the settings of a strategy on dev queries, and estimates the gain on unseen queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from acqo_rl.evaluation.significance import Difference, paired_bootstrap
from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, Reformulation

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings to try.

    Attributes:
        num_variants: number of other wordings that ``multi_query`` writes.
        original_weight: weight of the raw query; ``None`` for the weight of the strategy, 0 to leave it out.
        reformulate_below: see :class:`~acqo_rl.searching.path.SearchPath`.
    """

    num_variants: int | None = None
    original_weight: float | None = None
    reformulate_below: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The best candidate.

    Attributes:
        candidate: the one with the highest mean; the first of equal ones.
        gain: its difference to the first candidate on the queries that chose it, which overestimates the gain.
        unseen: the same by cross-validation: each fold is measured with the choice of the other folds.
    """

    candidate: Candidate
    gain: Difference
    unseen: Difference


def choose(scores: Mapping[Candidate, NDArray[np.float64]], seed: int = 0) -> Choice:
    """Returns the candidate with the best mean.

    Args:
        scores: float[queries] of each candidate, the same queries in the same order; the first one is the baseline.
        seed: of the folds and of the bootstrap.

    Raises:
        DataError: the scores are not aligned, or empty.
    """
    candidates = list(scores)
    table = np.array([scores[candidate] for candidate in candidates])
    best = int(table.mean(axis=1).argmax())
    queries = table.shape[1]
    fold = np.random.default_rng(seed).permutation(np.arange(queries) % FOLDS)
    unseen = table[0].copy()
    for number in range(min(FOLDS, queries)):
        others = fold != number
        chosen = int(table[:, others].mean(axis=1).argmax()) if others.any() else 0
        unseen[~others] = table[chosen, ~others]
    return Choice(
        candidates[best],
        paired_bootstrap(table[0], table[best], seed=seed),
        paired_bootstrap(table[0], unseen, seed=seed),
    )


class Reweighted(Reformulator):
    """Changes the weight of the raw query in the output of a reformulator, without another model call."""

    def __init__(self, reformulator: Reformulator, weight: float) -> None:
        self.name = reformulator.name
        self.feedback = reformulator.feedback
        self._reformulator = reformulator
        self._weight = weight

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """The same reformulations with the weight; a raw query that is searched alone keeps its own."""
        return [self._reweighted(made) for made in self._reformulator.reformulate(queries)]

    def _reweighted(self, made: Reformulation) -> Reformulation:
        if all(s.kind == "original" for s in made.sub_queries):
            return made
        subs = (replace(s, weight=self._weight) if s.kind == "original" else s for s in made.sub_queries)
        return replace(made, sub_queries=tuple(s for s in subs if s.weight > 0))
