"""Keeps what a reformulator answered, for a while and up to a number."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from acqo_rl.timed_cache import TimedCache, exact_key
from acqo_rl.types import Query, Reformulation, Reformulator


def reformulation_cache(
    ttl: float = 3600.0, size: int = 10_000, clock: Callable[[], float] = time.monotonic
) -> TimedCache[Reformulation]:
    """A cache that several reformulators can share.

    Args:
        ttl: seconds that an answer is kept; 0 keeps none.
        size: answers that are kept.
        clock: tells seconds.
    """
    return TimedCache(size, ttl, clock) if ttl else TimedCache(0)


class Cached:
    """A reformulator that asks another one only for what it does not know; an answer with a problem is not kept.

    Another wording of a query is another query, since other texts may be searched for it.
    """

    def __init__(self, reformulator: Reformulator, made_with: str, cache: TimedCache[Reformulation]) -> None:
        """Puts a cache before a reformulator.

        Args:
            reformulator: answers what is not in the cache, each distinct query of a batch once.
            made_with: all that its answers depend on but the query: strategies with their settings and prompt
                versions, model.
            cache: where answers are kept.
        """
        self.name = reformulator.name
        self._reformulator = reformulator
        self._made_with = made_with
        self._cache = cache

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position; one from the cache has cost no call and no token."""
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
        return exact_key(query), self._made_with
