"""Selects training queries by their difficulty.

In arXiv 2601.21208, section 3.4, Stage II keeps queries whose mean Stage I reward over K = 8 rollouts is at most 5/3.
According to its text, the paper also drops queries that are too hard, but its equation has no lower bound. This
implementation has one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.grammar import TAGS
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.roles import Reformulator
from acqo_rl.training.rewards import Reward
from acqo_rl.types import Qrels, Query, Reformulation

_BATCH = 32


@dataclass(frozen=True)
class Difficulty:
    """The rewards of a policy's rollouts for one query.

    Attributes:
        query_id: id of the query.
        mean: mean reward.
        spread: standard deviation of the rewards before costs; GRPO learns little from a query with spread 0.
        best: highest reward.
        raw: reward of the raw query.
    """

    query_id: str
    mean: float
    spread: float
    best: float
    raw: float


def score_difficulty(
    queries: Sequence[Query], qrels: Qrels, policy: Reformulator, reward: Reward, rollouts: int
) -> Iterator[list[Difficulty]]:
    """Samples the policy ``rollouts`` times for each query and summarises the rewards.

    Args:
        queries: queries with gold documents.
        qrels: judgements of the queries.
        policy: must sample, not decode greedily; its completions are scored as in training.
        reward: reward of the stage in which the policy was trained.
        rollouts: K.

    Yields:
        One batch of difficulties at a time, in input order.
    """
    steps = range(0, len(queries), _BATCH)
    for start in tqdm(steps, desc="score difficulty", unit="batch", disable=len(steps) < 4):
        asked = queries[start : start + _BATCH]
        written = policy.reformulate([query for query in asked for _ in range(rollouts)])
        rewards = rewards_of([*written, *(pass_through(query, "raw") for query in asked)], qrels, reward)
        sampled = np.reshape(rewards[: len(written)], (-1, rollouts))
        qualities = np.reshape(np.nan_to_num(reward.qualities[: len(written)]), (-1, rollouts))
        yield [
            Difficulty(query.id, float(values.mean()), float(found.std()), float(values.max()), raw)
            for query, values, found, raw in zip(asked, sampled, qualities, rewards[len(written) :], strict=True)
        ]


def rewards_of(answers: Sequence[Reformulation], qrels: Qrels, reward: Reward) -> list[float]:
    """The reward of each reformulation of a policy; a query that is passed without a completion counts as passed."""
    completions = [answer.completion if answer.calls else TAGS["pass"] for answer in answers]
    return reward.of([answer.query for answer in answers], completions, qrels)


def select_band(difficulties: Sequence[Difficulty], low: float, high: float) -> list[Difficulty]:
    """Keeps queries with ``low`` <= mean reward <= ``high`` whose rollouts did not all find the same.

    Raises:
        ConfigError: no query is kept.
    """
    kept = [one for one in difficulties if low <= one.mean <= high and one.spread > 0]
    if not kept:
        too_hard = sum(d.mean < low for d in difficulties)
        too_easy = sum(d.mean > high for d in difficulties)
        raise ConfigError(
            f"No query is kept: of {len(difficulties)} queries, {too_hard} have a mean reward below {low}, {too_easy} "
            f"above {high}, and the others got the same reward in every rollout. Widen the band, or use more queries."
        )
    return kept


def by_gap(difficulties: Sequence[Difficulty]) -> list[Difficulty]:
    """Orders queries by how much their best rollout gains over the raw query, the largest gain first."""
    return sorted(difficulties, key=lambda one: one.raw - one.best)


def hardest_of(difficulties: Sequence[Difficulty], share: float) -> tuple[Difficulty, ...]:
    """The share of queries with the lowest mean reward, in input order; the number is rounded up.

    Of several queries with equal means, the earlier ones are selected.
    """
    lowest = sorted(range(len(difficulties)), key=lambda i: difficulties[i].mean)[
        : math.ceil(share * len(difficulties))
    ]
    return tuple(difficulties[i] for i in sorted(lowest))
