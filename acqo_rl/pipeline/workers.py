"""Calls at the same time, each with a limit: what came back comes back, what did not is an exception in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


class Workers:
    """Threads that all queries share: none is started for a query, and a call that hangs holds one of them."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="acqo")

    def run(self, calls: Sequence[Callable[[], T]], timeout: float | None = None) -> list[T | Exception]:
        """The result or the exception of every call, position for position.

        Args:
            calls: run at the same time.
            timeout: seconds for all of them, the wait for a free thread included; ``None`` waits for ever, and a
                single call is then made in the caller's thread.
        """
        if timeout is None:
            others = [self._submit(call) for call in calls[:-1]]
            last = [_outcome(call) for call in calls[-1:]]
            return [*(future.result() for future in others), *last]
        timeout = max(timeout, 0.0)
        futures = [self._submit(call) for call in calls]
        _, late = wait(futures, timeout)
        for future in late:
            future.cancel()
        in_vain = TimeoutError(f"no answer within {timeout:.3g} s")
        return [in_vain if future in late else future.result() for future in futures]

    def _submit(self, call: Callable[[], T]) -> Future[T | Exception]:
        """In the caller's context, so that log lines bear the id of its request."""
        return self._pool.submit(copy_context().run, _outcome, call)

    def close(self) -> None:
        """Lets the threads end; calls that still wait for one are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _outcome(call: Callable[[], T]) -> T | Exception:
    try:
        return call()
    except Exception as error:
        return error
