"""Fusion methods: merge several rankings of one query into one.

Rules shared by all methods: ranks start at 1. A document counts once per list, at its first rank; a missing document
adds nothing. Empty lists and lists of weight 0 are skipped. A list of weight w equals w copies of it. Ties are broken
in a fixed order, so the result is deterministic.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from acqo_rl.errors import ConfigError
from acqo_rl.roles import Fusion
from acqo_rl.types import Ranking

_TOLERANCE = 1e-12
"""Sums of reciprocal ranks that differ by less are equal, so that rounding errors do not order ties."""


class _List(NamedTuple):
    """A ranking without duplicates: each document at its first rank."""

    doc_ids: Sequence[str]
    ranks: Sequence[int]
    scores: Sequence[float]
    weight: float


def _read(ranking: Ranking) -> _List:
    if len(set(ranking.doc_ids)) == len(ranking.doc_ids):
        return _List(ranking.doc_ids, range(1, len(ranking.doc_ids) + 1), ranking.scores, ranking.weight)
    first: dict[str, tuple[int, float]] = {}
    for rank, (doc_id, score) in enumerate(zip(ranking.doc_ids, ranking.scores, strict=True), start=1):
        first.setdefault(doc_id, (rank, score))
    ranks, scores = zip(*first.values(), strict=True)
    return _List(tuple(first), ranks, scores, ranking.weight)


def _fuse(rankings: Sequence[Ranking], k: int, name: str, contributions: Callable[[_List], list[float]]) -> Ranking:
    """Sorts documents by the sum of their contributions.

    Ties are broken by best similarity (only if all lists come from one retriever), then by first list, then by id.
    """
    if unusable := [ranking for ranking in rankings if not 0 <= ranking.weight < math.inf]:
        raise ConfigError(
            f"The ranking of {unusable[0].query!r} has the weight {unusable[0].weight}; weights must be finite and not"
            " negative."
        )
    given = [ranking for ranking in rankings if ranking.doc_ids and ranking.weight]
    lists = [_read(ranking) for ranking in given]
    total: dict[str, float] = {}
    similarity: dict[str, float] = {}
    first_list: dict[str, int] = {}
    for number, one in enumerate(lists):
        for doc_id, score, value in zip(one.doc_ids, one.scores, contributions(one), strict=True):
            if doc_id not in total:
                total[doc_id], similarity[doc_id], first_list[doc_id] = value, score, number
            else:
                total[doc_id] += value
                if score > similarity[doc_id]:
                    similarity[doc_id] = score
    fused = _with_ties(total)
    if len({ranking.retriever for ranking in given}) == 1:
        ordered = sorted(fused, key=lambda d: (-fused[d], -similarity[d], first_list[d], d))
    else:
        ordered = sorted(fused, key=lambda d: (-fused[d], first_list[d], d))
    best = ordered[:k]
    return Ranking(
        doc_ids=tuple(best),
        scores=tuple(float(fused[doc_id]) for doc_id in best),
        retriever=name,
        query=rankings[0].query if rankings else "",
        similarities=tuple(float(similarity[doc_id]) for doc_id in best),
    )


def _with_ties(total: dict[str, float]) -> dict[str, float]:
    """The totals, with totals that differ only by rounding errors set equal."""
    fused: dict[str, float] = {}
    before = value = float("inf")
    for doc_id in sorted(total, key=total.__getitem__, reverse=True):
        if before - total[doc_id] > _TOLERANCE:
            value = total[doc_id]
        before = total[doc_id]
        fused[doc_id] = value
    return fused


class ReciprocalRankFusion(Fusion):
    """RRF (Cormack et al. 2009) with weights: sum_j w_j / (k + r_j)."""

    name = "rrf"

    def __init__(self, rank_constant: float = 60.0) -> None:
        if rank_constant < 0:
            raise ConfigError(f"rank_constant is {rank_constant}; it must not be negative (60 is usual).")
        self.rank_constant = rank_constant

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents per query; scores are the weighted sums of reciprocal ranks."""
        return [_fuse(rankings, k, self.name, self._contributions) for rankings in batch]

    def _contributions(self, one: _List) -> list[float]:
        return [one.weight / (self.rank_constant + rank) for rank in one.ranks]


class RankScoreFusion(ReciprocalRankFusion):
    """RSF (arXiv 2601.21208, Eq. 1-2): P(p) = 1 / sum_j w_j / r_j ascending, then S(p) = max_j s_j descending.

    The paper has no weights w_j; it corresponds to w_j = 1. The fused score is 1/P, so that higher is better; sorting
    by P alone is reciprocal rank fusion with k = 0. Many documents tie in P (all that are first in exactly one list),
    so S decides much of the top. S is skipped if the lists come from several retrievers, whose scores are not
    comparable. Remaining ties are broken by the order of the sub-queries, then by document id.
    """

    name = "rsf"

    def __init__(self) -> None:
        super().__init__(0.0)


class ScoreFusion(Fusion):
    """Weighted sum of scores, after min-max scaling of each list to [0, 1] (CombSUM).

    Each list is scaled separately, so the lists may come from different retrievers.
    """

    name = "combsum"

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents per query; scores are the weighted sums of scaled scores."""
        return [_fuse(rankings, k, self.name, _scaled_scores) for rankings in batch]


def _scaled_scores(one: _List) -> list[float]:
    low, high = min(one.scores), max(one.scores)
    return [one.weight * ((score - low) / (high - low) if high > low else 1.0) for score in one.scores]


def fusion_named(name: str, rank_constant: float = 60.0) -> Fusion:
    """Creates the fusion with the given name; ``rank_constant`` is the k of ``rrf``.

    Raises:
        ConfigError: the name is not ``rsf``, ``rrf`` or ``combsum``, or the constant is negative.
    """
    known: tuple[Fusion, ...] = (RankScoreFusion(), ReciprocalRankFusion(rank_constant), ScoreFusion())
    for fusion in known:
        if fusion.name == name:
            return fusion
    raise ConfigError(f"Unknown fusion {name!r}; choose one of {', '.join(f.name for f in known)}.")


def best_scores(found: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The best score of each document, in the order in which the documents first occur."""
    best: dict[str, float] = {}
    for doc_id, score in found:
        best[doc_id] = max(score, best.get(doc_id, score))
    return best


def best_first(found: Iterable[tuple[str, float]], k: int | None = None) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The first ``k`` documents by descending best score, and these scores; equal ones in their first order."""
    best = best_scores(found)
    doc_ids = tuple(sorted(best, key=lambda doc_id: -best[doc_id])[:k])
    return doc_ids, tuple(best[doc_id] for doc_id in doc_ids)
