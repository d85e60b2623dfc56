"""Fusion that leaves out documents below a least cosine similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.types import Fusion, Ranking, Retriever, has_cosines


def fuse_similar(
    fusion: Fusion, batch: Sequence[Sequence[Ranking]], k: int, score_threshold: float | None
) -> list[Ranking]:
    """One ranking per query of at most ``k`` documents that are similar enough to a sub-query.

    Args:
        fusion: merges the rankings of each query.
        batch: the rankings of each query.
        k: documents in each merged ranking.
        score_threshold: least cosine of a document, the best one over the sub-queries; where no document reaches it,
            nothing is found. ``None``: every document is similar enough.
    """
    if score_threshold is None:
        return fusion.fuse(batch, k)
    every = [sum(len(ranking.doc_ids) for ranking in rankings) for rankings in batch]
    return [_at_least(fused, score_threshold).first(k) for fused in fusion.fuse(batch, max(every, default=0))]


def _at_least(fused: Ranking, similarity: float) -> Ranking:
    kept = [i for i, its in enumerate(fused.similarities) if its >= similarity]
    return replace(
        fused,
        doc_ids=tuple(fused.doc_ids[i] for i in kept),
        scores=tuple(fused.scores[i] for i in kept),
        similarities=tuple(fused.similarities[i] for i in kept),
    )


def check_score_threshold(score_threshold: float | None, retrievers: Sequence[Retriever]) -> None:
    """Refuses a threshold that cannot be one of cosines.

    Raises:
        ConfigError: it is not between -1 and 1, or the scores of a retriever are no cosines, or not of one encoder.
    """
    if score_threshold is None:
        return
    if not -1 <= score_threshold <= 1:
        raise ConfigError(f"score_threshold is {score_threshold}; it is a cosine, between -1 and 1.")
    if without := [retriever.name for retriever in retrievers if not has_cosines(retriever)]:
        raise ConfigError(
            f"score_threshold compares cosines, and {without[0]!r} gives none; search dense indexes of one encoder"
            " alone, or leave score_threshold out."
        )
