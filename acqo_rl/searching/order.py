"""Learning to rank: a small trained network orders the first documents of the fused ranking.

A fusion knows only ranks. The network also reads which kinds of searches found a document, how much of the query and of
the searches its title and text contain, and which of the first documents name each other; see
:mod:`acqo_rl.networks.order`.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from acqo_rl.networks.order import features_of, page_of
from acqo_rl.networks.scorer import NetworkStep
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.reranking import reordered
from acqo_rl.types import Document, Ranking, Reformulation

ORDER = "order"
"""Name of the scores of any order."""
ORDERED = 20
"""Number of documents that are ordered; the others keep their places behind them."""


class LearnedOrder(NetworkStep):
    """Orders the first documents of a fused ranking by a trained scorer."""

    name = "learned"

    def __call__(
        self, made: Sequence[Reformulation], lists: Sequence[Sequence[Ranking]], fused: Sequence[Ranking]
    ) -> list[Ranking]:
        """Returns the ordered rankings, in input order; arguments as in :meth:`features`."""
        return [
            self._ordered(ranking, features) if len(features) else ranking
            for ranking, features in zip(fused, self.features(made, lists, fused), strict=True)
        ]

    def _ordered(self, ranking: Ranking, features: NDArray[np.float32]) -> Ranking:
        """The first documents, from those of the fused ranking in its order.

        Each passes those before it, one by one, as long as its score exceeds theirs by more than the margin. So unsure
        scores leave the order as it is, however many documents there are.
        """
        scores = replace(self._scorer, margin=0.0).score(features)
        order: list[int] = []
        for place, score in enumerate(scores):
            new = len(order)
            while new and score - scores[order[new - 1]] > self._scorer.margin:
                new -= 1
            order.insert(new, place)
        return reordered(ranking, order, np.minimum.accumulate(scores[order]).tolist(), ORDER)

    def features(
        self, made: Sequence[Reformulation], lists: Sequence[Sequence[Ranking]], fused: Sequence[Ranking]
    ) -> list[NDArray[np.float32]]:
        """The features of the first documents of each query, float32[documents, features].

        Args:
            made: what was searched.
            lists: the rankings of these searches.
            fused: their fused ranking.
        """
        documents = fetch(self._corpus, [doc_id for ranking in fused for doc_id in ranking.doc_ids[:ORDERED]])
        empty = Document("", "", "")
        pages = [[page_of(documents.get(doc_id, empty)) for doc_id in r.doc_ids[:ORDERED]] for r in fused]
        return [features_of(*query, self._words) for query in zip(made, lists, fused, pages, strict=True)]
