"""Draws some of the queries of a data set."""

from __future__ import annotations

import random
from collections.abc import Sequence

from acqo_rl.types import Query


def draw(queries: Sequence[Query], most: int, seed: int) -> list[Query]:
    """At most ``most`` queries, drawn at random, in their order."""
    if most >= len(queries):
        return list(queries)
    return [queries[place] for place in sorted(random.Random(seed).sample(range(len(queries)), most))]
