"""Keeps what a reformulator answered, for a while and up to a number."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from cachetools import TTLCache

from acqo_rl.text import normalised
from acqo_rl.types import Query, Reformulation, Reformulator


class ReformulationCache:
    """Reformulations by key, bounded in time and number; safe to share among threads and reformulators."""

    def __init__(self, ttl: float = 3600.0, size: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        """An empty cache.

        Args:
            ttl: seconds that an answer is kept.
            size: answers that are kept; the one that was not asked for longest goes first.
            clock: seconds.
        """
        self._kept: TTLCache[Hashable, Reformulation] = TTLCache(size, ttl, clock)
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Reformulation | None:
        """What is kept under a key."""
        with self._lock:
            kept: Reformulation | None = self._kept.get(key)
            return kept

    def keep(self, key: Hashable, answer: Reformulation) -> None:
        """Keeps an answer."""
        with self._lock:
            self._kept[key] = answer


class Cached:
    """A reformulator that asks another one only for what it does not know; an answer with a problem is not kept."""

    def __init__(self, reformulator: Reformulator, made_with: str, cache: ReformulationCache) -> None:
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
                self._cache.keep(key, answer)
        return [
            known[key] if asked.get(key) == i else _again(known[key], query)
            for i, (key, query) in enumerate(zip(keys, queries, strict=True))
        ]

    def _key(self, query: Query) -> Hashable:
        return normalised(query.text) or query.text, query.history, query.feedback, self._made_with


def _again(kept: Reformulation, query: Query) -> Reformulation:
    """A kept answer as one to this query, whose own wording is searched where the raw query is."""
    sub_queries = tuple(replace(s, text=query.text) if s.kind == "original" else s for s in kept.sub_queries)
    return replace(kept, query=query, sub_queries=sub_queries, tokens=0, calls=0)
