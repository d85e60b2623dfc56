"""Separate advantages for the route and for the sub-queries of a completion.

Completions are sampled, but the policy is served greedily. With one advantage for all tokens, the route is judged by
sampled sub-queries, which are worse than greedy ones, and the policy learns to pass. Here the route is judged by the
reward of its greedy completion, and the sub-queries are compared only with completions of the same route. Decoupling
the control token from the rest follows Thinkless (arXiv 2505.13379, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from acqo_rl.language_models.decoding import Forbidden

Written = Sequence[int]
"""Token ids of a completion or of its beginning."""


def first_line(completion: Written, starts_a_line: torch.Tensor) -> tuple[int, ...]:
    """The tokens of the first line, with the one that ends it; the whole completion if it has one line.

    Args:
        completion: token ids.
        starts_a_line: which tokens contain a line break, bool[vocabulary].
    """
    for position, token in enumerate(completion):
        if starts_a_line[token]:
            return tuple(completion[: position + 1])
    return tuple(completion)


def after_beginnings(constraint: Forbidden, beginnings: dict[tuple[int, ...], int]) -> Forbidden:
    """A constraint for prompts that end with the beginning of their completion.

    Args:
        constraint: the constraint on whole completions.
        beginnings: prompt with the beginning -> number of tokens of the beginning.
    """

    def forbidden(prompt: Sequence[int], written: Sequence[int]) -> object:
        size = beginnings[tuple(prompt)]
        end = len(prompt) - size
        return constraint(prompt[:end], [*prompt[end:], *written])

    return forbidden  # type: ignore[return-value]


def route_advantages(
    rewards: torch.Tensor,
    completions: Sequence[Written],
    routes: Sequence[tuple[int, ...]],
    group_size: int,
    value_of: Callable[[int, tuple[int, ...]], float],
    width: int,
) -> torch.Tensor:
    """One advantage per token.

    The tokens of the route get the value of their route minus the mean value of the routes of the group. The other
    tokens get the reward of their completion minus the mean reward of the completions of the group with this route.

    Args:
        rewards: float[completions]; the completions of a group are adjacent.
        completions: token ids of each completion, without padding.
        routes: the first line of each completion.
        group_size: completions per group.
        value_of: (first completion of a group, route) -> reward of the greedy completion with this route.
        width: number of tokens of the padded completions.

    Returns:
        float[completions, width].
    """
    advantages = rewards.new_zeros(len(completions), width)
    for start in range(0, len(completions), group_size):
        rows = range(start, start + group_size)
        values = rewards.new_tensor([value_of(start, routes[row]) for row in rows])
        for row, value in zip(rows, values, strict=True):
            same = [other for other in rows if routes[other] == routes[row]]
            size = len(routes[row])
            advantages[row, :size] = value - values.mean()
            advantages[row, size:] = rewards[row] - rewards[same].mean()
    return advantages
