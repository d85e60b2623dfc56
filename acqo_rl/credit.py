"""How much each search of a completion adds to what all of them find."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial


def shapley(values: Sequence[float]) -> list[float]:
    """The Shapley value of each of n players: its mean addition over all orders in which they may come (Shapley 1953).

    The values sum to the whole minus the empty set's. Players that add the same to every set have the same value, and
    one that adds nothing to any has 0.

    Args:
        values: of each of the 2^n sets; bit i of a set's position says whether player i is in it.

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
