"""Calls components that may support only synchronous or only asynchronous calls."""

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
"""Errors that components raise if they do not support this kind of call; server errors have other types."""

_callers_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("callers_loop", default=None)


@contextmanager
def called_from(loop: asyncio.AbstractEventLoop | None) -> Iterator[None]:
    """Sets the caller's event loop for calls inside the context, including other threads; ``None`` if there is none."""
    token = _callers_loop.set(loop)
    try:
        yield
    finally:
        _callers_loop.reset(token)


def call_either(call: Callable[[], T], acall: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Makes one of two equivalent calls; falls back to the other kind if the component does not support the first.

    If the caller awaits the result, the asynchronous call comes first and runs in the caller's event loop, because the
    component's connections may belong to that loop. Otherwise the synchronous call comes first, and an asynchronous
    call runs in a separate event loop, because the caller's thread may already run one.

    Args:
        call: the synchronous call.
        acall: the asynchronous call.

    Raises:
        Exception: the error of the first call, if both fail.
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
