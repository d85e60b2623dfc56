"""Fusion methods: merge several rankings of one query into one.

Rules shared by all methods: ranks start at 1. A document counts once per list, at its first rank; a missing document
adds nothing. Empty lists and lists of weight 0 are skipped. A list of weight w equals w copies of it. Ties are broken
in a fixed order, so the result is deterministic.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import zip_longest

from acqo_rl.errors import ConfigError
from acqo_rl.roles import Fusion
from acqo_rl.types import Ranking, Span

_TOLERANCE = 1e-12
"""Sums of reciprocal ranks that differ by less are equal, so that rounding errors do not order ties."""


_Found = Collection[tuple[int, float]]
"""Rank and score of each document of a list."""


def _fuse(
    rankings: Sequence[Ranking], k: int, name: str, contributions: Callable[[_Found, float], list[float]]
) -> Ranking:
    """Sorts documents by the sum of their contributions.

    Ties are broken by best similarity (only if all lists come from one retriever), then by first list, then by id.
    """
    if unusable := [ranking for ranking in rankings if not 0 <= ranking.weight < math.inf]:
        raise ConfigError(
            f"The ranking of {unusable[0].query!r} has the weight {unusable[0].weight}; weights must be finite and not"
            " negative."
        )
    given = [ranking for ranking in rankings if ranking.doc_ids and ranking.weight]
    total: dict[str, float] = {}
    similarity: dict[str, float] = {}
    first_list: dict[str, int] = {}
    for number, one in enumerate(given):
        rows = zip(range(len(one.doc_ids), 0, -1), reversed(one.scores), strict=True)
        found = dict(zip(reversed(one.doc_ids), rows, strict=True))  # the first rank of a document
        for (doc_id, (_, score)), value in zip(found.items(), contributions(found.values(), one.weight), strict=True):
            total[doc_id] = total.get(doc_id, 0.0) + value
            similarity[doc_id] = max(score, similarity.get(doc_id, score))
            first_list.setdefault(doc_id, number)
    fused = _with_ties(total)
    is_one = len({ranking.retriever for ranking in given}) == 1
    best = sorted(fused, key=lambda d: (-fused[d], -similarity[d] if is_one else 0.0, first_list[d], d))[:k]
    return Ranking(
        doc_ids=tuple(best),
        scores=tuple(float(fused[doc_id]) for doc_id in best),
        retriever=name,
        query=rankings[0].query if rankings else "",
        similarities=tuple(float(similarity[doc_id]) for doc_id in best),
        spans=spans_of(given, best),
    )


def spans_of(rankings: Sequence[Ranking], doc_ids: Sequence[str]) -> dict[str, Span]:
    """The spans of documents, each from the first of the rankings that have the document at its best rank."""
    first: dict[str, Span | None] = {}
    lists = rankings if any(one.spans for one in rankings) else ()
    for row in zip_longest(*([(d, one.spans.get(d)) for d in one.doc_ids] for one in lists)):
        for doc_id, span in filter(None, row):
            first.setdefault(doc_id, span)
    return {doc_id: span for doc_id in doc_ids if (span := first.get(doc_id))}


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

    def _contributions(self, found: _Found, weight: float) -> list[float]:
        return [weight / (self.rank_constant + rank) for rank, _ in found]


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


def _scaled_scores(found: _Found, weight: float) -> list[float]:
    low = min(score for _, score in found)
    high = max(score for _, score in found)
    return [weight * ((score - low) / (high - low) if high > low else 1.0) for _, score in found]


def fusion_named(name: str, rank_constant: float = 60.0) -> Fusion:
    """Creates the fusion with the given name; ``rank_constant`` is the k of ``rrf``.

    Raises:
        ConfigError: the name is not ``rsf``, ``rrf`` or ``combsum``, or the constant is negative.
    """
    known = {one.name: one for one in (RankScoreFusion(), ReciprocalRankFusion(rank_constant), ScoreFusion())}
    if name not in known:
        raise ConfigError(f"Unknown fusion {name!r}; choose one of {', '.join(known)}.")
    return known[name]


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
