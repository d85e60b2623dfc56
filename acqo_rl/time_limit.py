"""The time limit of a request: calls under it end when its time is over, or when nobody waits for them any more."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from acqo_rl.errors import SearchError

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


def concurrently(call: Callable[[Item], Answer], items: Sequence[Item], threads: int) -> Iterator[Answer]:
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


_GRACE = 1.0
"""Seconds after its time limit at which a call is given up: those that observe the limit have then returned."""


_running: set[tuple[asyncio.AbstractEventLoop, asyncio.Timeout]] = set()
"""The time limits of the calls of :func:`in_thread`, each with its event loop."""


def end_running() -> None:
    """Ends the calls of all requests of the running event loop now, as their time limits do."""
    here = asyncio.get_running_loop()
    for limit in [limit for loop, limit in _running if loop is here]:
        limit.reschedule(here.time())


async def in_thread(call: Callable[[], Answer], seconds: float | None = None) -> Answer:
    """Runs a blocking call in a thread of its own, under a time limit, in the context of its request.

    If the limit has passed or the task is cancelled, running calls of the thread are ended, and
    nobody waits for it.

    Raises:
        SearchError: the call has not ended in time.
    """
    limit = TimeLimit(seconds)
    work: Future[Answer] = Future()
    work.set_running_or_notify_cancel()

    def run() -> None:
        try:
            with limited(limit):
                work.set_result(call())
        except BaseException as error:
            work.set_exception(error)

    # A pool would keep a place for a thread that hangs, and wait for it at the end of the process.
    threading.Thread(target=copy_context().run, args=(run,), name="acqo-request", daemon=True).start()
    try:
        async with asyncio.timeout(None if seconds is None else seconds + _GRACE) as end:
            _running.add(running := (asyncio.get_running_loop(), end))
            try:
                return await asyncio.wrap_future(work)
            finally:
                _running.discard(running)
    except TimeoutError:
        if end.expired():
            late = "The request was not finished within its time limit, or before the service ended."
            raise SearchError(late, public=late) from None
        raise
    finally:
        limit.stop()
