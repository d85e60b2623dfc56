"""Calls at the same time, each with a limit: what came back comes back, what did not is an exception in its place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


class Workers:
    """Threads that all queries share: none is started for a query, and a call that hangs holds one of its room."""

    def __init__(self, threads: int) -> None:
        """No thread is started yet.

        Args:
            threads: calls of one room at the same time.
        """
        self._threads = threads
        self._rooms: dict[str, ThreadPoolExecutor] = {}
        self._lock = threading.Lock()

    def run(self, calls: Sequence[tuple[str, Callable[[], T]]], timeout: float | None = None) -> list[T | Exception]:
        """The result or the exception of every call, position for position.

        Args:
            calls: run at the same time, each in a room, which is the name of whom it asks: where one hangs, the
                others still have their threads.
            timeout: seconds for all of them, the wait for a free thread included; ``None`` waits for ever, and the
                last call is then made in the caller's thread.
        """
        if timeout is None:
            others = [self._submit(*call) for call in calls[:-1]]
            last = [_outcome(call) for _, call in calls[-1:]]
            return [*(future.result() for future in others), *last]
        timeout = max(timeout, 0.0)
        futures = [self._submit(*call) for call in calls]
        _, late = wait(futures, timeout)
        for future in late:
            future.cancel()
        in_vain = TimeoutError(f"no answer within {timeout:.3g} s")
        return [in_vain if future in late else future.result() for future in futures]

    def _submit(self, room: str, call: Callable[[], T]) -> Future[T | Exception]:
        """In the caller's context, so that log lines bear the id of its request."""
        with self._lock:
            if room not in self._rooms:
                self._rooms[room] = ThreadPoolExecutor(self._threads, thread_name_prefix=f"acqo-{room}")
            pool = self._rooms[room]
        return pool.submit(copy_context().run, _outcome, call)

    def close(self) -> None:
        """Lets the threads end; calls that still wait for one are dropped."""
        with self._lock:
            for pool in self._rooms.values():
                pool.shutdown(wait=False, cancel_futures=True)


def _outcome(call: Callable[[], T]) -> T | Exception:
    try:
        return call()
    except Exception as error:
        return error
