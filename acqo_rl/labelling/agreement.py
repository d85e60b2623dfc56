"""How far judgements agree with gold: on documents, and on the reward that a policy would be trained with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from acqo_rl.training.warm_start import ScoredQuery
from acqo_rl.types import Qrels


def agreement(judged: Qrels, gold: Qrels) -> dict[str, float]:
    """Compares judged pairs of queries with gold; a document without a gold judgement is not relevant.

    Args:
        judged: query id -> document id -> relevance, 0 if judged not relevant.
        gold: queries without gold judgements are left out.

    Returns:
        The number of ``pairs``, Cohen's ``kappa`` (0 is chance, 1 is full agreement; 0 if all labels are equal),
        ``precision`` and ``recall`` of the pairs judged relevant.
    """
    from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

    pairs = [
        (relevance > 0, gold[query_id].get(doc_id, 0) > 0)
        for query_id, documents in judged.items()
        if query_id in gold
        for doc_id, relevance in documents.items()
    ]
    said, true = np.array(pairs, bool).reshape(-1, 2).T
    precision, recall, *_ = precision_recall_fscore_support(true, said, average="binary", zero_division=0.0)
    kappa = float(cohen_kappa_score(said, true)) if len(set(pairs)) > 1 else 0.0
    return {"pairs": len(pairs), "kappa": kappa, "precision": float(precision), "recall": float(recall)}


def reward_agreement(judged: Sequence[ScoredQuery], gold: Sequence[ScoredQuery]) -> dict[str, float]:
    """Compares the rewards of the same candidates.

    Args:
        judged: candidates with the rewards by judgements.
        gold: the same with the rewards by gold, in the same order.

    Returns:
        The Pearson ``correlation`` of the gains over the raw query, over all candidates; and mean rewards by gold: of
        the ``raw`` query, of the candidates that the judgements choose (``by_judge``) and that gold chooses
        (``by_gold``).
    """
    said = [np.array([option.reward for option in one.options]) for one in judged]
    true = [np.array([option.reward for option in one.options]) for one in gold]
    gains = np.concatenate([np.stack([s[1:] - s[0], t[1:] - t[0]]) for s, t in zip(said, true, strict=True)], axis=1)
    varies = gains.shape[1] > 1 and bool((gains.std(axis=1) > 0).all())
    return {
        "correlation": float(np.corrcoef(gains)[0, 1]) if varies else 0.0,
        "raw": float(np.mean([t[0] for t in true])),
        "by_judge": float(np.mean([t[s.argmax()] for s, t in zip(said, true, strict=True)])),
        "by_gold": float(np.mean([t.max() for t in true])),
    }


def agreement_lines(documents: dict[str, float], rewards: dict[str, float]) -> list[str]:
    """The paragraphs of a report."""
    return [
        "## Agreement with gold",
        f"Of {documents['pairs']:,} pairs: Cohen's kappa {documents['kappa']:.2f}, precision "
        f"{documents['precision']:.2f}, recall {documents['recall']:.2f}.",
        f"Rewards of the warm start's candidates: correlation {rewards['correlation']:.2f}. Mean reward by gold: "
        f"raw query {rewards['raw']:.3f}, the candidate that the judgements choose {rewards['by_judge']:.3f}, the "
        f"candidate that gold chooses {rewards['by_gold']:.3f}.",
    ]
