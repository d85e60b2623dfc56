"""A bounded cache whose entries expire, and the cache keys of queries."""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from acqo_rl.errors import ConfigError
from acqo_rl.text import normalised, one_line
from acqo_rl.types import Query

Value = TypeVar("Value")


class TimedCache(Generic[Value]):
    """Thread-safe LRU cache of at most ``size`` values; each value expires after ``seconds``."""

    def __init__(self, size: int = 1024, seconds: float = 3600.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Creates an empty cache.

        Args:
            size: maximum number of values; 0 disables the cache.
            seconds: lifetime of a value; 0 disables the cache.
            clock: returns the current time in seconds.

        Raises:
            ConfigError: one of them is negative.
        """
        from cachetools import TTLCache

        if size < 0 or seconds < 0:
            raise ConfigError(f"The cache size is {size} and its lifetime is {seconds} s; both must be at least 0.")
        self._values: TTLCache[Hashable, Value] = TTLCache(size, seconds, clock)
        self._size = size
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """Returns the value; ``None`` if it is missing or has expired."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Stores a value; a full cache drops its least recently used value."""
        if self._size:
            with self._lock:
                self._values[key] = value


def query_key(query: Query) -> Hashable:
    """Cache key from the normalised text, the history and the feedback.

    It ignores case, spacing and closing punctuation, but no other punctuation ("C++", "C#" and "C" differ).
    """
    return normalised(query.text) or one_line(query.text), query.history, query.feedback
