"""Draws queries, at random or by a hash of their ids, and conversations for them."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from acqo_rl.types import Query, Turn

T = TypeVar("T")


def draw(queries: Sequence[T], most: int, seed: int | str) -> list[T]:
    """At most ``most`` queries, drawn at random, in their order."""
    if most >= len(queries):
        return list(queries)
    return [queries[place] for place in sorted(random.Random(seed).sample(range(len(queries)), most))]


def after_conversations(queries: Sequence[Query], talks: Sequence[tuple[Turn, ...]], seed: int) -> list[Query]:
    """Each query after a conversation that begins otherwise than its own, drawn at random; without one, left out."""
    generator = random.Random(seed)
    changed = []
    for query in queries:
        if others := [talk for talk in talks if talk[:1] != query.history[:1]]:
            changed.append(replace(query, history=generator.choice(others)))
    return changed


def split_by_hash(key: str) -> str:
    """``train``, ``dev`` or ``test`` (8 : 1 : 1), by a hash of the key."""
    drawn = int.from_bytes(hashlib.sha256(f"held out\0{key}".encode()).digest()[:7]) / 2**56
    return {0: "dev", 1: "test"}.get(int(10 * drawn), "train")
