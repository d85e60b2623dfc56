"""A bounded cache whose entries grow old, and the keys under which two queries are the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from acqo_rl.errors import ConfigError
from acqo_rl.text import normalised, one_line
from acqo_rl.types import Query

Value = TypeVar("Value")


class TimedCache(Generic[Value]):
    """Keeps the latest used ``size`` values for ``seconds`` each; safe between threads."""

    def __init__(self, size: int = 1024, seconds: float = 3600.0, clock: Callable[[], float] = time.monotonic) -> None:
        """An empty cache.

        Args:
            size: values kept; 0 keeps none.
            seconds: how long a value stays.
            clock: tells seconds.

        Raises:
            ConfigError: a bound is out of range.
        """
        from cachetools import TTLCache

        if size < 0 or seconds <= 0:
            raise ConfigError(f"A cache of {size} values for {seconds} s was asked for; give 0 or more, and above 0 s.")
        self._values: TTLCache[Hashable, Value] = TTLCache(size, seconds, clock)
        self._size = size
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value, ``None`` where there is none or where it has grown too old."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Keeps a value, in place of the least recently used one where the cache is full."""
        if self._size:
            with self._lock:
                self._values[key] = value

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._values.clear()


def exact_key(query: Query) -> Hashable:
    """What is searched for a query depends on: its text as it was typed, its conversation and what it was shown."""
    return query.text, query.history, query.feedback


def query_key(query: Query) -> Hashable:
    """What an answer is known by: the query's normalised text, its conversation and what it was shown.

    Case, spacing and closing punctuation do not matter; all other punctuation does ("C++", "C#" and "C" differ).
    """
    return normalised(query.text) or one_line(query.text), query.history, query.feedback
