"""Training examples for the order of the first documents, and its harm.

In an example, one relevant document stands against all that are not relevant.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from acqo_rl.measures import gold_of
from acqo_rl.networks.scorer import Scorer
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.searching.order import LearnedOrder
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training.options import ScoredOptions, TrainingSet
from acqo_rl.training.scorer import LOSS, with_harm
from acqo_rl.types import Query

_MARGINS = [step / 8 for step in range(32, -1, -1)]


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


def calibrated(scorer: Scorer, sets: Sequence[TrainingSet]) -> Scorer:
    """The scorer with the share of queries that become worse than the raw query, for several margins.

    This is the harm of the whole search: a query also counts if it was worse before the order.

    Args:
        scorer: trained on other sets.
        sets: searched for the queries.
    """
    worse = dict.fromkeys(_MARGINS, 0)
    for one in sets:
        results = one.path.search(one.queries, DEPTH)
        raw = one.fused(PassThrough().reformulate(one.queries))
        limits = [one.value(query, ranking) - LOSS for query, ranking in zip(one.queries, raw, strict=True)]
        for margin in _MARGINS:
            order = LearnedOrder(replace(scorer, margin=margin), one.corpus, one.words)
            ordered = order(
                [found.reformulation for found in results],
                [found.rankings for found in results],
                [found.fused for found in results],
            )
            values = map(one.value, one.queries, ordered)
            worse[margin] += sum(value < limit for value, limit in zip(values, limits, strict=True))
    return with_harm(scorer, worse, sum(len(one.queries) for one in sets))
