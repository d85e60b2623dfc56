"""Caches the results of a reformulator."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from acqo_rl.roles import Reformulator
from acqo_rl.timed_cache import TimedCache, exact_key
from acqo_rl.types import Query, Reformulation


def reformulation_cache(
    ttl: float = 3600.0, size: int = 10_000, clock: Callable[[], float] = time.monotonic
) -> TimedCache[Reformulation]:
    """Creates a cache that several reformulators can share.

    Args:
        ttl: lifetime of a reformulation in seconds; 0 disables the cache.
        size: maximum number of reformulations.
        clock: returns the current time in seconds.
    """
    return TimedCache(size, ttl, clock) if ttl else TimedCache(0)


class Cached(Reformulator):
    """A reformulator that calls another one only for queries that are not cached.

    Reformulations with a problem are not cached. The cache key has the exact text, because another wording may give
    different sub-queries.
    """

    def __init__(self, reformulator: Reformulator, cache_key: str, cache: TimedCache[Reformulation]) -> None:
        """Adds a cache to a reformulator.

        Args:
            reformulator: called once for each distinct query of a batch that is not cached.
            cache_key: cache key of everything except the query that affects the results: model, and strategies with
                their settings and prompt versions.
            cache: stores the reformulations.
        """
        self.name = reformulator.name
        self.feedback = reformulator.feedback
        self._reformulator = reformulator
        self._cache_key = cache_key
        self._cache = cache

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; cached ones have 0 calls and 0 tokens."""
        keys = [self._key(query) for query in queries]
        known = {key: answer for key in dict.fromkeys(keys) if (answer := self._cache.get(key)) is not None}
        asked = {key: i for i, key in reversed(list(enumerate(keys))) if key not in known}
        made = self._reformulator.reformulate([queries[i] for i in asked.values()]) if asked else []
        for key, answer in zip(asked, made, strict=True):
            known[key] = answer
            if answer.problem is None:
                self._cache.put(key, answer)
        return [
            known[key] if asked.get(key) == i else replace(known[key], query=query, tokens=0, calls=0)
            for i, (key, query) in enumerate(zip(keys, queries, strict=True))
        ]

    def _key(self, query: Query) -> Hashable:
        return exact_key(query), self._cache_key
