"""Functions shared by all models on servers: concurrent calls, failures and client settings."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeVar

from acqo_rl import time_limit
from acqo_rl.addresses import masked
from acqo_rl.api_keys import key_in
from acqo_rl.errors import ConfigError
from acqo_rl.language_models.loopback import checked_environment, checked_url, is_loopback, proxy_note
from acqo_rl.text import one_line
from acqo_rl.types import Completion, Conversation

T = TypeVar("T")

ODD_ANSWERS = (ValueError, TypeError, AttributeError, LookupError, RecursionError, TimeoutError)
"""Exceptions after an invalid response, because the clients check neither JSON nor the shape of the data, and of
:func:`wait_for`."""


def complete_each(
    ask: Callable[[Conversation], Completion],
    conversations: Sequence[Conversation],
    errors: tuple[type[Exception], ...],
    concurrency: int,
) -> list[Completion]:
    """Returns one completion per conversation, in input order.

    Args:
        ask: makes one call.
        conversations: one call each.
        errors: exceptions of a failed call; they are reported in the ``problem`` of its completion.
        concurrency: maximum number of concurrent calls.
    """
    from tqdm import tqdm

    def outcome(conversation: Conversation) -> Completion:
        try:
            return ask(conversation)
        except errors as error:
            return failed_call(error)

    with ThreadPoolExecutor(max(1, min(concurrency, len(conversations)))) as pool:
        waiting = [pool.submit(copy_context().run, outcome, conversation) for conversation in conversations]
        bar = tqdm(waiting, desc="generate", unit="completion", leave=False, delay=2)
        return [future.result() for future in bar]


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


def wait_for(answer: Awaitable[T], seconds: float = math.inf) -> T:
    """Waits for a call of an asynchronous client; its connection is closed if its time is over.

    Args:
        answer: the call.
        seconds: time limit of the call; the time limit of the request (:mod:`acqo_rl.time_limit`) also ends it.

    Raises:
        TimeoutError: a time limit has ended.
    """
    limit = time_limit.current()

    async def in_time() -> T:
        async with asyncio.timeout(min(limit.seconds, seconds)):
            return await answer

    call = asyncio.run_coroutine_threadsafe(in_time(), _loop())
    try:
        with limit.ending(call.cancel):
            return call.result()
    except (TimeoutError, CancelledError):
        raise TimeoutError("the time limit ended this call") from None


def close(client: Any) -> None:
    """Closes the connections of an asynchronous client, without waiting for it."""
    asyncio.run_coroutine_threadsafe(client.close(), _loop())


def each_of(pieces: AsyncIterator[T], close: Callable[[], Awaitable[object]], seconds: float) -> Iterator[T]:
    """The pieces of a stream, each with :func:`wait_for`; ``close`` is called at the end.

    Args:
        pieces: the stream.
        close: closes it.
        seconds: time limit of all pieces together.
    """
    end = time.monotonic() + seconds

    async def next_piece() -> list[T]:
        return [piece] if (piece := await anext(pieces, None)) is not None else []

    try:
        while piece := wait_for(next_piece(), end - time.monotonic()):
            yield from piece
    finally:
        wait_for(close())


def failed(why: str) -> Completion:
    """The completion of a call that returned no text; passwords and keys in the message are masked."""
    return Completion("", 0, finished=False, problem=one_line(masked(why))[:300])


def failed_call(error: Exception) -> Completion:
    """The completion of a call that raised an exception, with the server's error message if there is one."""
    return failed(f"{type(error).__name__}: {complaint_of(error) or _with_cause(error)}{proxy_note(error)}")


def _with_cause(error: Exception) -> str:
    """The message of an error; with the URL and the cause if there was no response."""
    said = str(error)
    request, cause = getattr(error, "request", None), error.__cause__
    return f"{said.rstrip('.')}: {request.url} ({cause or type(cause).__name__})" if request and cause else said


def complaint_of(error: Exception) -> str:
    """The error message in a server's response, in any JSON shape or as text; empty if there was no response."""
    response = getattr(error, "response", None)
    if response is None:
        return ""
    try:
        said = " ".join(dict.fromkeys(_strings(response.json())))
    except ODD_ANSWERS:
        said = one_line(response.text)
    return f"status {response.status_code}: {said}" if said else ""


def seen_in(reply: Any) -> str:
    """The beginning of a server's reply, in JSON."""
    to_json = getattr(reply, "to_json", None)
    return str(to_json(indent=None, warnings=False) if callable(to_json) else reply)[:150]


def _strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value; fields such as ``message`` and ``error`` come first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value, key=lambda key: key not in ("message", "msg", "error", "detail", "errors")):
            yield from _strings(value[key])
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def counted(tokens: Any) -> int:
    """The number of tokens reported by a server; 0 if the value is not a positive integer."""
    return tokens if type(tokens) is int and tokens > 0 else 0


def connect(
    package: Literal["openai", "anthropic"], base_url: str | None, timeout: float, max_retries: int
) -> tuple[Any, tuple[type[Exception], ...]]:
    """An asynchronous client of a server, which does not connect yet, and the exceptions of its failed calls.

    It uses no proxy for a server on this machine.

    Args:
        package: the provider's package. Its name in capitals begins the variables ``_API_KEY`` and ``_BASE_URL``.
        base_url: URL of the server; by default that of the variable, else the provider's own.
        timeout: time limit in seconds for connecting, and for a pause between bytes.
        max_retries: retries of a failed call.

    Raises:
        ConfigError: the package is not installed, there is no key for a server that needs one, or the URL is invalid.
    """
    import httpx2

    try:
        sdk = import_module(package)
    except ImportError as error:
        raise ConfigError(
            f"A model of {package} needs the package {package}; run: pip install 'acqo-rl[{package}]'"
        ) from error
    base_url = base_url or os.environ.get(f"{package.upper()}_BASE_URL")
    key = key_in(f"{package.upper()}_API_KEY") or ("none" if base_url and package == "openai" else None)
    if key is None:
        raise ConfigError(
            f"{package.upper()}_API_KEY is not set; set it, or give the URL of your own server: openai:NAME@URL."
        )
    if base_url:
        checked_url(base_url, httpx2.URL)
    direct = {"transport": httpx2.AsyncHTTPTransport()} if is_loopback(base_url or "") else {}
    with checked_environment():
        http_client = sdk.DefaultAsyncHttpxClient(**direct)
    provider = {"openai": "OpenAI", "anthropic": "Anthropic"}[package]
    client = getattr(sdk, f"Async{provider}")(
        api_key=key, base_url=base_url, timeout=timeout, max_retries=max_retries, http_client=http_client
    )
    return client, (getattr(sdk, f"{provider}Error"), *ODD_ANSWERS)
