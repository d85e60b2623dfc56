"""Training examples for the order of the first documents: each relevant one against all that are not relevant."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from acqo_rl.measures import gold_of
from acqo_rl.searching.order import LearnedOrder
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training.options import ScoredOptions, TrainingSet
from acqo_rl.types import Query


def options_of(sets: Sequence[TrainingSet]) -> list[list[ScoredOptions]]:
    """The examples of each set."""
    readers = [LearnedOrder(None, one.corpus, one.words) for one in sets]
    return [
        one.kept("order", one.queries, partial(collect, one, reader)) for one, reader in zip(sets, readers, strict=True)
    ]


def collect(one: TrainingSet, reader: LearnedOrder, queries: Sequence[Query]) -> list[ScoredOptions]:
    """Returns one example for each relevant document among those that are ordered.

    Its options are this document, with the reward 1, and the documents that are not relevant.

    Args:
        one: where the queries are searched.
        reader: reads the features.
        queries: a batch.
    """
    results = one.path.search(queries, DEPTH)
    features = reader.features(
        [found.reformulation for found in results],
        [found.rankings for found in results],
        [found.fused for found in results],
    )
    examples = []
    for query, found, rows in zip(queries, results, features, strict=True):
        gold = set(gold_of(one.qrels, query.id))
        doc_ids = found.fused.doc_ids[: len(rows)]
        for target in filter(gold.__contains__, doc_ids):
            places = [i for i, doc_id in enumerate(doc_ids) if doc_id == target or doc_id not in gold]
            names = tuple(doc_ids[i] for i in places)
            rewards = np.array([name == target for name in names], np.float32)
            examples.append(ScoredOptions(query.id, (), names[1:], rows[places], rewards))
    return examples
