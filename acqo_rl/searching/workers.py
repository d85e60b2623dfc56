"""Runs calls concurrently with a time limit; a call that fails or times out yields an exception as its result."""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from acqo_rl.time_limit import TimeLimit, current, limited

T = TypeVar("T")


class Workers:
    """Named thread pools shared by all queries.

    Calls to different components use different pools, so a component that hangs blocks only its own pool.
    """

    def __init__(self, threads: int = 32) -> None:
        """Starts no threads yet.

        Args:
            threads: maximum number of concurrent calls per pool.
        """
        self._threads = threads
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._lock = threading.Lock()

    def run(self, calls: Sequence[tuple[str, Callable[[], T]]], timeout: float | None = None) -> list[T | Exception]:
        """Returns the result or the exception of each call, in input order.

        Args:
            calls: pairs of pool name and call; the pool is named after the component that is called.
            timeout: seconds for all calls together, including the wait for a free thread; the time limit of the request
                (:mod:`acqo_rl.time_limit`) counts too. Calls of models on servers are then ended. Without a limit of
                either kind, the last call runs in the caller's thread.
        """
        seconds = min(math.inf if timeout is None else timeout, current().seconds)
        if seconds == math.inf:
            others = [self._submit(*call) for call in calls[:-1]]
            last = [_outcome(call) for _, call in calls[-1:]]
            return [*(future.result() for future in others), *last]
        limit = TimeLimit()
        with limited(limit):
            futures = [self._submit(*call) for call in calls]
            _, late = wait(futures, seconds)
        for future in late:
            future.cancel()
        limit.stop()
        timed_out = TimeoutError(f"no answer within {seconds:.3g} s")
        return [timed_out if future in late else future.result() for future in futures]

    def _submit(self, name: str, call: Callable[[], T]) -> Future[T | Exception]:
        """Runs the call in the caller's context, so that log lines contain the request id."""
        with self._lock:
            if name not in self._pools:
                self._pools[name] = ThreadPoolExecutor(self._threads, thread_name_prefix=f"acqo-{name}")
            pool = self._pools[name]
        return pool.submit(copy_context().run, _outcome, call)

    def close(self) -> None:
        """Shuts down the threads and cancels waiting calls; running calls are not interrupted."""
        with self._lock:
            for pool in self._pools.values():
                pool.shutdown(wait=False, cancel_futures=True)


def _outcome(call: Callable[[], T]) -> T | Exception:
    try:
        return call()
    except Exception as error:
        return error
