"""Fusion with a minimum cosine similarity."""

from collections.abc import Sequence

from acqo_rl.errors import ConfigError
from acqo_rl.roles import Fusion, Retriever
from acqo_rl.types import Ranking


def fuse_similar(
    fusion: Fusion, batch: Sequence[Sequence[Ranking]], k: int, score_threshold: float | None
) -> list[Ranking]:
    """Fuses the rankings of each query and drops documents below the threshold.

    Args:
        fusion: merges the rankings of each query.
        batch: the rankings of each query.
        k: maximum number of documents per fused ranking.
        score_threshold: minimum cosine of a document, taken over its best sub-query. If no document reaches it, the
            ranking is empty. ``None`` keeps every document.

    Returns:
        One ranking per query, in input order.
    """
    if score_threshold is None:
        return fusion.fuse(batch, k)
    every = [sum(len(ranking.doc_ids) for ranking in rankings) for rankings in batch]
    return [
        fused.at([i for i, its in enumerate(fused.similarities) if its >= score_threshold]).first(k)
        for fused in fusion.fuse(batch, max(every, default=0))
    ]


def check_cosine(setting: str, value: float | None, retrievers: Sequence[Retriever]) -> None:
    """Checks that a threshold is a cosine and that all retrievers return cosines.

    Args:
        setting: name of the threshold.
        value: its value; ``None`` is always valid.
        retrievers: what is searched.

    Raises:
        ConfigError: the threshold is not between -1 and 1, or a retriever's scores are not cosines of one encoder.
    """
    if value is None:
        return
    if not -1 <= value <= 1:
        raise ConfigError(f"{setting} is {value}; it must be a cosine between -1 and 1.")
    if without := [retriever.name for retriever in retrievers if not retriever.cosine]:
        raise ConfigError(
            f"{setting} needs cosine scores, but the scores of {without[0]!r} are not cosines. Search only dense"
            f" indexes of one encoder, or omit {setting}."
        )
