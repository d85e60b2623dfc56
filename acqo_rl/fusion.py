"""All fusions: several rankings of one query become one.

Shared rules: ranks start at 1; a document counts once a list, at its first rank; absent documents add nothing;
empty lists are left out. Ties end in a fixed order, so the same lists give the same result everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import ConfigError
from acqo_rl.types import Fusion, Ranking

_TOLERANCE = 1e-12
"""Sums of reciprocal ranks closer than this are equal: floating point noise must not order ties."""


@dataclass(frozen=True)
class _Pool:
    """The documents of a batch of queries, one entry for each (query, document) pair.

    Rows are single list entries; pairs are what they add up to.
    """

    names: list[str]  # document ids of the batch in lexicographic order
    query_P: NDArray[np.int64]
    document_P: NDArray[np.int64]
    first_list_P: NDArray[np.int64]
    similarity_P: NDArray[np.float64]
    pair_R: NDArray[np.int64]
    rank_R: NDArray[np.int64]
    score_R: NDArray[np.float64]
    weight_R: NDArray[np.float64]
    list_R: NDArray[np.int64]
    mixed_Q: NDArray[np.bool_]

    def add_up(self, values_R: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self.pair_R, values_R, len(self.query_P)).astype(np.float64)


def _pool(batch: Sequence[Sequence[Ranking]]) -> _Pool:
    rankings = {id(r): r for lists in batch for r in lists}
    names = sorted({doc_id for r in rankings.values() for doc_id in r.doc_ids})
    code = {name: i for i, name in enumerate(names)}
    coded = {}
    for key, ranking in rankings.items():
        first_rank: dict[str, int] = {}
        for rank, doc_id in enumerate(ranking.doc_ids, start=1):
            first_rank.setdefault(doc_id, rank)
        ranks = np.fromiter(first_rank.values(), np.int64, len(first_rank))
        documents = np.array([code[doc_id] for doc_id in first_rank], np.int64)
        coded[key] = (documents, ranks, np.array(ranking.scores, np.float64)[ranks - 1])
    lists = [(q, i, r, *coded[id(r)]) for q, rs in enumerate(batch) for i, r in enumerate(rs) if r.doc_ids]
    sizes = [len(documents) for *_, documents, _, _ in lists]

    query_R = np.repeat(np.array([q for q, *_ in lists], np.int64), sizes)
    list_R = np.repeat(np.array([i for _, i, *_ in lists], np.int64), sizes)
    document_R = np.concatenate([d for *_, d, _, _ in lists]) if lists else np.empty(0, np.int64)
    rank_R = np.concatenate([r for *_, r, _ in lists]) if lists else np.empty(0, np.int64)
    score_R = np.concatenate([s for *_, s in lists]) if lists else np.empty(0)
    pair_keys, pair_R = np.unique(query_R * max(len(names), 1) + document_R, return_inverse=True)
    first_list_P = np.full(len(pair_keys), np.iinfo(np.int64).max)
    np.minimum.at(first_list_P, pair_R, list_R)
    similarity_P = np.full(len(pair_keys), -np.inf)
    np.maximum.at(similarity_P, pair_R, score_R)
    return _Pool(
        names=names,
        query_P=pair_keys // max(len(names), 1),
        document_P=pair_keys % max(len(names), 1),
        first_list_P=first_list_P,
        similarity_P=similarity_P,
        pair_R=pair_R,
        rank_R=rank_R,
        score_R=score_R,
        weight_R=np.repeat(np.array([r.weight for _, _, r, *_ in lists], np.float64), sizes),
        list_R=np.repeat(np.arange(len(lists)), sizes),
        mixed_Q=np.array([len({r.retriever for r in rs if r.doc_ids}) > 1 for rs in batch], bool),
    )


def _ranked(
    pool: _Pool, batch: Sequence[Sequence[Ranking]], fused_P: NDArray[np.float64], k: int, name: str
) -> list[Ranking]:
    """Documents by fused score, then best similarity within one retriever, first list, document id."""
    by_score = np.argsort(-fused_P, kind="stable")
    sorted_scores = fused_P[by_score]
    starts_tier = np.ones(len(fused_P), bool)
    starts_tier[1:] = sorted_scores[:-1] - sorted_scores[1:] > _TOLERANCE
    tier_P = np.empty(len(fused_P), np.int64)
    tier_P[by_score] = np.cumsum(starts_tier) - 1
    fused_P = sorted_scores[starts_tier][tier_P]
    comparable_P = np.where(pool.mixed_Q[pool.query_P], 0.0, pool.similarity_P)
    order = np.lexsort((pool.document_P, pool.first_list_P, -comparable_P, tier_P, pool.query_P))
    ends = np.searchsorted(pool.query_P[order], np.arange(len(batch) + 1))
    fused = []
    for rankings, start, end in zip(batch, ends, ends[1:], strict=False):
        best = order[start : min(end, start + k)]
        fused.append(
            Ranking(
                doc_ids=tuple(pool.names[d] for d in pool.document_P[best]),
                scores=tuple(fused_P[best].tolist()),
                retriever=name,
                query=rankings[0].query if rankings else "",
                similarities=tuple(pool.similarity_P[best].tolist()),
            )
        )
    return fused


class RankScoreFusion:
    """RSF (arXiv 2601.21208, Eq. 1-2): P(p) = 1 / sum_j 1/r_j ascending, then S(p) = max_j s_j descending.

    The fused score is 1/P, so that higher is better; the first tier is reciprocal rank fusion with k = 0. Many
    documents tie in P (all that are first in one list only), so S decides much of the top. S compares scores of
    one retriever only: where the lists come from several, it is skipped. Then the order of the sub-queries
    decides, then the document id.
    """

    name = "rsf"

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents a query; scores are 1/P, similarities are S."""
        pool = _pool(batch)
        return _ranked(pool, batch, pool.add_up(1.0 / pool.rank_R), k, self.name)


class ReciprocalRankFusion:
    """RRF (Cormack et al. 2009) with weights: sum_j w_j / (k + r_j)."""

    name = "rrf"

    def __init__(self, rank_constant: float = 60.0) -> None:
        if rank_constant < 0:
            raise ConfigError(f"rank_constant is {rank_constant}; it must not be negative (60 is usual).")
        self.rank_constant = rank_constant

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents a query; scores are the weighted sums of reciprocal ranks."""
        pool = _pool(batch)
        return _ranked(pool, batch, pool.add_up(pool.weight_R / (self.rank_constant + pool.rank_R)), k, self.name)


class ScoreFusion:
    """Weighted sum of scores, each list first scaled to [0, 1] by its own minimum and maximum (CombSUM).

    With ``multiply_by_hits`` the sum is multiplied by the number of lists that hold the document (CombMNZ;
    Fox and Shaw 1994). Lists scaled one by one can come from different retrievers.
    """

    def __init__(self, multiply_by_hits: bool = False) -> None:
        self.multiply_by_hits = multiply_by_hits
        self.name = "combmnz" if multiply_by_hits else "combsum"

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents a query; scores are the weighted sums of scaled scores."""
        pool = _pool(batch)
        lists = int(pool.list_R[-1]) + 1 if len(pool.list_R) else 0
        low_L, high_L = np.full(lists, np.inf), np.full(lists, -np.inf)
        np.minimum.at(low_L, pool.list_R, pool.score_R)
        np.maximum.at(high_L, pool.list_R, pool.score_R)
        span_R = (high_L - low_L)[pool.list_R]
        scaled_R = np.divide(
            pool.score_R - low_L[pool.list_R], span_R, out=np.ones_like(pool.score_R), where=span_R > 0
        )
        fused_P = pool.add_up(pool.weight_R * scaled_R)
        if self.multiply_by_hits:
            fused_P = fused_P * pool.add_up(np.ones_like(scaled_R))
        return _ranked(pool, batch, fused_P, k, self.name)


def fusion_named(name: str, rank_constant: float = 60.0) -> Fusion:
    """The fusion that a setting names; ``rank_constant`` is the k of ``rrf``.

    Raises:
        ConfigError: it is none of ``rsf``, ``rrf``, ``combsum`` and ``combmnz``, or the constant is negative.
    """
    rrf = ReciprocalRankFusion(rank_constant)
    known: tuple[Fusion, ...] = (RankScoreFusion(), rrf, ScoreFusion(), ScoreFusion(True))
    for fusion in known:
        if fusion.name == name:
            return fusion
    raise ConfigError(f"There is no fusion {name!r}; choose {', '.join(f.name for f in known)}.")
