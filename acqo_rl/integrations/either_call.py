"""Sources that can only be called synchronously, or only asynchronously, answer both kinds of call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_WRONG_CALL = (NotImplementedError, AssertionError, AttributeError, TypeError, ValueError, RuntimeError)
"""What sources raise that cannot be called this way; errors of a server are others."""

_callers_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("callers_loop", default=None)


@contextmanager
def called_from(loop: asyncio.AbstractEventLoop | None) -> Iterator[None]:
    """Says which event loop awaits what is called inside, in other threads too; ``None`` for a synchronous call."""
    token = _callers_loop.set(loop)
    try:
        yield
    finally:
        _callers_loop.reset(token)


def call_either(call: Callable[[], T], acall: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of one of two calls of a source: the second kind is tried where the source lacks the first.

    An asynchronous call is tried first where the caller awaits it, and runs in the caller's event loop, to which its
    connections may belong. Otherwise it runs in one loop of this process, so that a loop that runs in the caller's
    thread does no harm.

    Args:
        call: the synchronous call.
        acall: the asynchronous one.

    Raises:
        Exception: what the first call raised, where neither succeeds.
    """
    loop = _callers_loop.get()

    def wait() -> T:
        return asyncio.run_coroutine_threadsafe(acall(), loop or _own_loop()).result()

    first, second = (wait, call) if loop else (call, wait)
    try:
        return first()
    except _WRONG_CALL as error:
        try:
            return second()
        except Exception:
            raise error from None


@cache
def _own_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="acqo-event-loop", daemon=True).start()
    return loop
