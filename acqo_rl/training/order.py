"""Training examples for the order of the first documents: each relevant one against all that are not relevant."""

from collections.abc import Iterator, Sequence

import numpy as np

from acqo_rl.measures import gold_of
from acqo_rl.searching.order import LearnedOrder
from acqo_rl.searching.result import SearchResult
from acqo_rl.training.hop import ScoredOptions
from acqo_rl.types import Qrels


def collect(results: Sequence[SearchResult], qrels: Qrels, reader: LearnedOrder) -> Iterator[ScoredOptions]:
    """Yields one example for each relevant document among those that are ordered.

    Its options are this document, with the reward 1, and the documents that are not relevant.

    Args:
        results: of searches without an order.
        qrels: judgements.
        reader: reads the features.
    """
    features = reader.features(
        [one.reformulation for one in results], [one.rankings for one in results], [one.fused for one in results]
    )
    for found, rows in zip(results, features, strict=True):
        query_id = found.reformulation.query.id
        gold = set(gold_of(qrels, query_id))
        doc_ids = found.fused.doc_ids[: len(rows)]
        for target in filter(gold.__contains__, doc_ids):
            places = [i for i, doc_id in enumerate(doc_ids) if doc_id == target or doc_id not in gold]
            names = tuple(doc_ids[i] for i in places)
            rewards = np.array([name == target for name in names], np.float32)
            yield ScoredOptions(query_id, (), names[1:], rows[places], rewards)
