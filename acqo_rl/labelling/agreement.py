"""How far judgements agree with gold: on documents, and on the reward that a policy would be trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acqo_rl.training.warm_start import ScoredQuery
from acqo_rl.types import Qrels


@dataclass(frozen=True)
class Agreement:
    """Judgements against gold.

    Attributes:
        pairs: number of judged pairs of queries with gold judgements.
        kappa: Cohen's kappa of relevant against not relevant; 0 is chance, 1 is full agreement.
        precision: share of the pairs judged relevant that are gold.
        recall: share of the gold pairs in the pool that are judged relevant.
    """

    pairs: int
    kappa: float
    precision: float
    recall: float


@dataclass(frozen=True)
class RewardAgreement:
    """Rewards of the same candidates by judgements and by gold; all means are of the reward by gold.

    Attributes:
        queries: number of queries.
        correlation: Pearson correlation of the gains over the raw query, over all candidates.
        raw: of the raw query.
        by_judge: of the candidates that the judgements choose.
        by_gold: of the candidates that gold chooses.
    """

    queries: int
    correlation: float
    raw: float
    by_judge: float
    by_gold: float


def agreement(judged: Qrels, gold: Qrels) -> Agreement:
    """Compares judged pairs with gold; a document without a gold judgement is not relevant.

    Args:
        judged: query id -> document id -> relevance, 0 if judged not relevant.
        gold: queries without gold judgements are left out.
    """
    pairs = [
        (relevance > 0, gold[query_id].get(doc_id, 0) > 0)
        for query_id, documents in judged.items()
        if query_id in gold
        for doc_id, relevance in documents.items()
    ]
    said, true = np.array(pairs, bool).reshape(-1, 2).T
    both = float((said & true).sum())
    return Agreement(
        pairs=len(pairs),
        kappa=cohen_kappa(said, true),
        precision=both / said.sum() if said.any() else 0.0,
        recall=both / true.sum() if true.any() else 0.0,
    )


def cohen_kappa(one: np.ndarray, other: np.ndarray) -> float:
    """Agreement of two sets of labels beyond chance (Cohen 1960), bool[n] each; 0 if either has one label only."""
    if not len(one):
        return 0.0
    observed = float((one == other).mean())
    p, q = float(one.mean()), float(other.mean())
    chance = p * q + (1 - p) * (1 - q)
    return (observed - chance) / (1 - chance) if chance < 1 else 0.0


def reward_agreement(judged: Sequence[ScoredQuery], gold: Sequence[ScoredQuery]) -> RewardAgreement:
    """Compares the rewards of the same candidates.

    Args:
        judged: candidates with the rewards by judgements.
        gold: the same with the rewards by gold, in the same order.
    """
    gains: list[tuple[float, float]] = []
    chosen = []
    for one, true in zip(judged, gold, strict=True):
        said = [option.reward for option in one.options]
        real = [option.reward for option in true.options]
        gains += [(s - said[0], r - real[0]) for s, r in zip(said[1:], real[1:], strict=True)]
        chosen.append((real[0], real[int(np.argmax(said))], max(real)))
    raw, by_judge, by_gold = np.array(chosen, float).mean(axis=0).tolist()
    table = np.array(gains, float).reshape(-1, 2)
    varies = len(table) > 1 and bool((table.std(axis=0) > 0).all())
    correlation = float(np.corrcoef(table.T)[0, 1]) if varies else 0.0
    return RewardAgreement(len(chosen), correlation, raw, by_judge, by_gold)
