"""The time limit of a request: calls under it end when its time is over, or when nobody waits for them any more."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class TimeLimit:
    """The time left for the calls of one request. Thread-safe."""

    def __init__(self, seconds: float | None = None) -> None:
        """Begins now.

        Args:
            seconds: ``None`` means no limit, until :meth:`stop` is called.
        """
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._running: dict[object, Callable[[], object]] = {}
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Seconds that are left, at least 0; infinite without a limit."""
        return max(0.0, self._end - time.monotonic())

    def stop(self) -> None:
        """Ends the running calls; others that begin later end at once."""
        with self._lock:
            self._end = 0.0
            running = list(self._running.values())
        for end in running:
            end()

    @contextmanager
    def ending(self, end: Callable[[], object]) -> Iterator[None]:
        """While the block runs, :meth:`stop` calls ``end``, which must be safe in any thread."""
        key = object()
        with self._lock:
            self._running[key] = end
            stopped = self._end == 0.0
        if stopped:
            end()
        try:
            yield
        finally:
            with self._lock:
                del self._running[key]


_UNLIMITED = TimeLimit()
_current: ContextVar[TimeLimit] = ContextVar("time_limit", default=_UNLIMITED)


def current() -> TimeLimit:
    """The limit of the calls of this context."""
    return _current.get()


@contextmanager
def limited(limit: TimeLimit) -> Iterator[TimeLimit]:
    """Calls in the block also end with this limit."""
    outer = current()
    with limit._lock:
        limit._end = min(limit._end, outer._end)
    token = _current.set(limit)
    try:
        with outer.ending(limit.stop):
            yield limit
    finally:
        _current.reset(token)


def in_threads(call: Callable[[Item], Answer], items: Sequence[Item], threads: int) -> Iterator[Answer]:
    """The answers for the items, in input order, from concurrent calls under the limit of this context."""
    if len(items) == 1:
        yield call(items[0])
        return
    with ThreadPoolExecutor(threads) as pool:
        calls = [pool.submit(copy_context().run, call, item) for item in items]
        try:
            for running in calls:
                yield running.result()
        finally:  # the first failure ends the others that have not begun
            for waiting in calls:
                waiting.cancel()
