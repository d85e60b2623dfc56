"""Calls of servers from any thread, which end when their time is over."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache
from typing import TypeVar

from acqo_rl import time_limit
from acqo_rl.addresses import masked
from acqo_rl.text import one_line
from acqo_rl.types import Completion

T = TypeVar("T")

_starting = threading.Lock()


@cache
def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="acqo-calls", daemon=True).start()
    return loop


def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of all calls: a call on it can be ended from another thread."""
    with _starting:  # the first calls of a process are concurrent, and a connection belongs to one loop
        return _started_loop()


def _forget_loop() -> None:
    _started_loop.cache_clear()
    _starting.release()


# The thread does not run in the child of a fork.
os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_forget_loop)


def wait_for(answer: Awaitable[T], seconds: float) -> T:
    """Waits for a call of an asynchronous client, which ends when its time is over or the request is given up.

    Args:
        answer: the call.
        seconds: time limit of the call.

    Raises:
        TimeoutError: the call was ended.
    """

    async def in_time() -> T:
        async with asyncio.timeout(seconds):
            return await answer

    call = asyncio.run_coroutine_threadsafe(in_time(), _loop())
    try:
        with time_limit.current().ending(call.cancel):
            return call.result()
    except (TimeoutError, CancelledError):
        raise TimeoutError("the time limit ended this call") from None


def each_of(pieces: AsyncGenerator[T, None], seconds: float) -> Iterator[T]:
    """The pieces of a stream, which is closed at the end.

    Args:
        pieces: the stream.
        seconds: time limit of all pieces together; that of the request also ends it.

    Raises:
        TimeoutError: a time limit has ended.
    """
    end = time.monotonic() + min(seconds, time_limit.current().seconds)

    async def next_piece() -> list[T]:
        return [piece] if (piece := await anext(pieces, None)) is not None else []

    async def close() -> None:
        with suppress(RuntimeError):  # it is running, and closes itself because its call was ended
            await pieces.aclose()

    try:
        while piece := wait_for(next_piece(), end - time.monotonic()):
            yield from piece
    finally:
        asyncio.run_coroutine_threadsafe(close(), _loop()).result()


def failed(why: str) -> Completion:
    """The completion of a call that returned no text; passwords and keys in the message are masked."""
    return Completion("", 0, finished=False, problem=one_line(masked(why))[:300])
