"""Shapley values: the contribution of each search to the reward of a completion."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial


def shapley(values: Sequence[float]) -> list[float]:
    """The Shapley value of each of n players: its mean marginal contribution over all orders of the players.

    The values sum to the value of the full set minus the value of the empty set (Shapley 1953).

    Args:
        values: the value of each subset, float[2^n]; player i is in the subset at position p if bit i of p is set.

    Returns:
        float[n].
    """
    players = (len(values) - 1).bit_length()
    weight = [factorial(size) * factorial(players - size - 1) / factorial(players) for size in range(players)]
    return [
        sum(
            weight[others.bit_count()] * (values[others | 1 << player] - values[others])
            for others in range(len(values))
            if not others >> player & 1
        )
        for player in range(players)
    ]
