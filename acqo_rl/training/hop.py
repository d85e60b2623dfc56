"""Options for the network of hops: to stop, or to search one of the names in the results.

With several hops, the value of an option is the expected return of the options after it; it is known for the options
that the network prefers, because their results are read in turn.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from acqo_rl.networks.scorer import Scorer
from acqo_rl.searching.hop import LearnedHop, with_name
from acqo_rl.training.options import ScoredOptions, TrainingSet
from acqo_rl.training.scorer import Training, train
from acqo_rl.types import Reformulation

EXPANDED = 3
"""Number of options per query whose results are read by the next hop."""


def options_of(sets: Sequence[TrainingSet], hops: int, settings: Training) -> list[list[ScoredOptions]]:
    """The options of all hops of each set, with their returns."""
    readers = [LearnedHop(None, one.corpus, one.words) for one in sets]
    states = [[result.reformulation for result in one.path.search(one.queries)] for one in sets]
    by_hop: list[list[list[ScoredOptions]]] = []
    for number in range(1, hops + 1):
        options = [
            one.kept(f"hop {number}", some, partial(collect, one, reader))
            for one, some, reader in zip(sets, states, readers, strict=True)
        ]
        by_hop.append(options)
        scorer, _ = train([option for hop in by_hop for of_set in hop for option in of_set], settings)
        if number < hops:
            states = [expand(some, of_set, scorer) for some, of_set in zip(states, options, strict=True)]
    for place in reversed(range(hops - 1)):
        pairs = zip(by_hop[place], by_hop[place + 1], strict=True)
        by_hop[place] = [with_returns(before, after, scorer, settings.cost) for before, after in pairs]
    return [[option for of_hop in hops_of_set for option in of_hop] for hops_of_set in zip(*by_hop, strict=True)]


def collect(one: TrainingSet, reader: LearnedHop, states: Sequence[Reformulation]) -> list[ScoredOptions]:
    """Searches all options of each state of a batch.

    Args:
        one: where they are searched.
        reader: finds the candidates.
        states: the searches so far of each query.
    """
    fused = one.fused(states)
    candidates = reader.read(states, fused)
    arms = [with_name(made, name) for made, some in zip(states, candidates, strict=True) for name in some.names]
    rankings = iter(one.fused(arms))
    options = []
    for state, some, first in zip(states, candidates, fused, strict=True):
        found = [first, *(next(rankings) for _ in some.names)]
        rewards = np.array([one.value(state.query, ranking) for ranking in found], np.float32)
        texts = tuple(s.text for s in state.sub_queries)
        options.append(ScoredOptions(state.query.id, texts, some.names, some.features, rewards))
    return options


def expand(states: Sequence[Reformulation], options: Sequence[ScoredOptions], scorer: Scorer) -> list[Reformulation]:
    """The states after the options that the scorer prefers, at most ``EXPANDED`` per query; never those that stop."""
    grown = []
    for state, one in zip(states, options, strict=True):
        order = np.argsort(-scorer.score(one.features)[1:], kind="stable")[:EXPANDED]
        grown += [with_name(state, one.names[i]) for i in order]
    return grown


def with_returns(
    options: Sequence[ScoredOptions], after: Sequence[ScoredOptions], scorer: Scorer, cost: float
) -> list[ScoredOptions]:
    """Replaces the reward of each option that was expanded by the return of the next hop.

    Args:
        options: options of one hop.
        after: options of the next hop.
        scorer: the return is the expected reward under the softmax of its scores.
        cost: of one hop; subtracted for the next hop, because :func:`train` subtracts that of this hop.
    """
    values: dict[tuple[str, tuple[str, ...]], float] = {}
    for one in after:
        scores = scorer.score(one.features)
        chances = np.exp(scores - scores.max())
        value = one.rewards[0] + chances @ one.gains(cost) / chances.sum()
        for searched in (one.searched, one.searched[:-1]):  # the name was searched last, or before question and name
            values[one.query_id, searched] = float(value)
    returns = []
    for one in options:
        keys = [(one.query_id, (*one.searched, name)) for name in one.names]
        known = [values.get(key, reward) for key, reward in zip(keys, one.rewards[1:].tolist(), strict=True)]
        returns.append(replace(one, rewards=np.array([one.rewards[0], *known], np.float32)))
    return returns
