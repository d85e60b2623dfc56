"""Trains the scorer of the choice of the first search, on the reward of what it chooses.

Each query has two decisions: among the searches without a model (one option is to ask the model), and, once the model
was asked, among all searches. Without a model, it has the first one only. The reward of every option is known: that of
the ranking after the hops that follow it in serving, which often find what a model would have searched. The value of
asking is the reward of the second decision, made by networks that were trained on other queries: the best of several
options is partly chance.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from acqo_rl.data.draw import after_conversations, draw
from acqo_rl.measures import gold_of
from acqo_rl.networks import hop
from acqo_rl.networks.choice import ARMS
from acqo_rl.searching.choice import Choice, Options
from acqo_rl.searching.description import HOP, network
from acqo_rl.searching.hop import Hops, LearnedHop
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.training.options import ScoredOptions, TrainingSet
from acqo_rl.training.scorer import Training, train
from acqo_rl.types import Query, Turn

_HALVES = 2
_NETWORKS, _STEPS = 4, 2500
"""Networks and steps of the second decision, for the value of asking."""
_ANSWER, _TITLES = 160, 0.4
"""Characters of an answer in a conversation, and the share of answers that are a title."""


def options_of(
    sets: Sequence[TrainingSet],
    hops: int,
    cost: float,
    price: float | None,
    topic_changes: float,
    settings: Training,
) -> list[list[ScoredOptions]]:
    """The options of the decisions of each set: those with the value of asking a model, then those without a model.

    Args:
        sets: their paths ask the policy for each query, or pass it.
        hops: number of hops that follow each option, as in serving.
        cost: subtracted for each search after the first.
        price: subtracted for asking; None if no policy is asked.
        topic_changes: share of the queries without a conversation that are also asked after that of another query of
            the same set. After a talk about another corpus, a change of topic is too easy to see.
        settings: of the training.
    """
    found = []
    for one in sets:
        alone = [query for query in one.queries if not query.history]
        drawn = draw(alone, round(topic_changes * len(alone)), settings.seed)
        queries = [*one.queries, *topic_changes_of(one, drawn, settings.seed)]
        following = Hops(LearnedHop(network(HOP, hop), one.corpus, one.words), hops)
        reader = Choice(None, one.corpus, one.words)
        found.append(
            one.kept("choice", queries, partial(collect, one, reader, following, cost, asks=price is not None))
        )
    if price is None:
        return [[without_asking(options) for options in some] for some in found]
    first, second = ([option for some in found for option in some[start::2]] for start in (0, 1))
    valued = iter(with_asking(first, second, settings, price))
    return [
        [*islice(valued, len(some) // 2), *some[1::2], *(without_asking(options) for options in some[::2])]
        for some in found
    ]


def without_asking(options: ScoredOptions) -> ScoredOptions:
    """The first decision of a query without its last option, to ask the model."""
    return replace(options, names=options.names[:-1], features=options.features[:-1], rewards=options.rewards[:-1])


def topic_changes_of(one: TrainingSet, queries: Sequence[Query], seed: int) -> list[Query]:
    """Each query after a conversation of the same set that is not about its relevant documents."""
    gold = {query.id: set(gold_of(one.qrels, query.id)) for query in one.queries}
    talks = list(zip(talks_of(one, seed), one.queries, strict=True))
    changed = []
    for number, query in enumerate(queries):
        others = [talk for talk, asked in talks if gold[asked.id].isdisjoint(gold[query.id])]
        changed += after_conversations([query], others, seed + number)
    return changed


def talks_of(one: TrainingSet, seed: int) -> list[tuple[Turn, ...]]:
    """One conversation per query: its own, or else the query, answered by the start or title of a relevant document."""
    generator = random.Random(seed)
    talks = []
    for query in one.queries:
        document = one.corpus[generator.choice(gold_of(one.qrels, query.id))]
        start = document.text[:_ANSWER].rsplit(" ", 1)[0]
        answer = document.title if document.title and generator.random() < _TITLES else start
        talks.append(query.history or (Turn("user", query.text), Turn("assistant", answer)))
    return talks


def collect(
    one: TrainingSet, reader: Choice, hops: Hops, cost: float, queries: Sequence[Query], *, asks: bool = True
) -> list[ScoredOptions]:
    """Searches all options of each query of a batch.

    Args:
        one: where they are searched.
        reader: reads the options.
        hops: follow each option, as in serving.
        cost: subtracted for each search after the first.
        queries: the batch.
        asks: whether there is a second decision, with the answers of the model.

    Returns:
        The options of the decisions of each query, alternating. The last option of the first one asks the model; its
        reward is 0.
    """
    answers = [result.reformulation for result in one.path.search(queries)]
    search, fusion = one.searches().rankings, one.path.fusion
    made = list(
        zip(*[arm.reformulate([answer.query for answer in answers]) for arm in reader.reformulators], strict=True)
    )
    read = reader.read(made, search, fusion, may_ask=True)
    if asks:
        with_answers = [(*some, answer) for some, answer in zip(made, answers, strict=True)]
        read += reader.read(with_answers, search, fusion, may_ask=False)
    searched = [some for options in read for some in options.searched]
    choose = hops.hop.choose
    after = hops.added(searched, lambda some: choose(some, fusion.fuse(search(some), DEPTH)))
    values = (
        one.value(made.query, fused) - cost * (len(made.sub_queries) - 1)
        for made, fused in zip(after, fusion.fuse(search(after), DEPTH), strict=True)
    )
    scored = [_options(options, values) for options in read]
    return [options for i in range(len(queries)) for options in scored[i :: len(queries)]]


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
