"""Trains the scorer of the choice of the first search, on the reward of what it chooses.

Each query has two decisions: among the searches without a model (one option is to ask the model), and, once the model
was asked, among all searches. The reward of every option is known: that of the ranking after the hops that follow it in
serving, which often find what a model would have searched. The value of asking is the reward of the second
decision, made by networks that were trained on other queries: the best of several options is partly chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from acqo_rl.measures import gold_of
from acqo_rl.networks.choice import ARMS
from acqo_rl.roles import Fusion
from acqo_rl.searching.choice import Choice, Options, Search
from acqo_rl.searching.hop import Hops
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training.hop import ScoredOptions, Training, train
from acqo_rl.training.rewards import Reward, gold_ranks
from acqo_rl.types import Qrels, Reformulation

_HALVES = 2
_NETWORKS, _STEPS = 4, 2500
"""Networks and steps of the second decision, for the value of asking."""


def collect(
    answers: Sequence[Reformulation],
    qrels: Qrels,
    reader: Choice,
    search: Search,
    fusion: Fusion,
    reward: Reward,
    cost: float,
    hops: Hops,
) -> Iterator[tuple[ScoredOptions, ScoredOptions]]:
    """Searches all options of each query.

    Args:
        answers: the reformulation of the model for each query, of one batch.
        qrels: judgements.
        reader: reads the options.
        search: returns the rankings of reformulations.
        fusion: as in evaluation and serving.
        reward: its ``score`` is used.
        cost: subtracted for each search after the first.
        hops: follow each option, as in serving.

    Yields:
        The options of both decisions of each query. The last option of the first one asks the model; its reward is 0.
    """
    queries = [answer.query for answer in answers]
    arms = [one.reformulate(queries) for one in reader.reformulators]
    made = list(zip(*arms, strict=True))
    first = reader.read(made, search, fusion, may_ask=True)
    second = reader.read(
        [(*one, answer) for one, answer in zip(made, answers, strict=True)], search, fusion, may_ask=False
    )
    searched = [some for one in (*first, *second) for some in one.searched]
    choose = hops.hop.choose
    after = hops.added(searched, lambda some: choose(some, fusion.fuse(search(some), DEPTH)))
    found = zip(after, fusion.fuse(search(after), DEPTH), strict=True)
    gold = {query.id: gold_of(qrels, query.id) for query in queries}
    values = (
        reward.score(gold_ranks(fused, gold[made.query.id])) - cost * (len(made.sub_queries) - 1)
        for made, fused in found
    )
    scored = [_options(one, values) for one in (*first, *second)]
    yield from zip(scored[: len(queries)], scored[len(queries) :], strict=True)


def _options(read: Options, values: Iterator[float]) -> ScoredOptions:
    names = [" and ".join(ARMS[arm] for arm in arms) or "ask" for arms in read.arms]
    own = [*islice(values, len(read.searched)), *[0.0] * (len(names) - len(read.searched))]
    return ScoredOptions(read.searched[0].query.id, (), tuple(names[1:]), read.features, np.array(own, np.float32))


def with_asking(
    first: Sequence[ScoredOptions], second: Sequence[ScoredOptions], settings: Training, price: float
) -> list[ScoredOptions]:
    """Returns the first decisions with the value of asking: the reward of the second decision, minus a price.

    Args:
        first: options of the first decision of each query.
        second: options of the second decision of the same queries.
        settings: of the training.
        price: of a model call.
    """
    valued = list(first)
    for half in range(_HALVES):
        others = [one for i, one in enumerate(second) if i % _HALVES != half]
        scorer, _ = train(others, replace(settings, seeds=_NETWORKS, steps=min(_STEPS, settings.steps)))
        for i in range(half, len(first), _HALVES):
            [best] = scorer.best([second[i].features])
            rewards = first[i].rewards.copy()
            rewards[-1] = second[i].rewards[best] - price
            valued[i] = replace(first[i], rewards=rewards)
    return valued
