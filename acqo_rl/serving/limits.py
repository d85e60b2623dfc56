"""Limits of a server: API keys, body sizes and concurrency."""

import asyncio
import hmac
import logging
import math
import os
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from anyio import CapacityLimiter
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acqo_rl.serving.load import LimitSettings
from acqo_rl.serving.metrics import Metrics

_log = logging.getLogger(__name__)


def keys_of_environment() -> tuple[str, ...]:
    """The API keys in the environment variable ``ACQO_API_KEYS``, separated by commas."""
    return tuple(filter(None, map(str.strip, os.environ.get("ACQO_API_KEYS", "").split(","))))


@dataclass
class Limits(LimitSettings):
    """Limits of a server.

    Attributes:
        keys: accepted API keys; if empty, no key is required.
        body_timeout: maximum time to receive a body.
    """

    keys: tuple[str, ...] = ()
    body_timeout: float = 10.0


def path_of(scope: Scope) -> str:
    """The path of a request without the prefix of the server."""
    path: str = scope["path"]
    prefix = scope.get("root_path", "")
    return path[len(prefix) :] if prefix and path.startswith(f"{prefix}/") else path


_REASONS = {400: "disconnected", 401: "key", 408: "slow", 413: "size", 429: "concurrency"}


class Guard:
    """ASGI middleware that checks key and body size, and then waits for a free place.

    If the client leaves, its request is cancelled and its place is free.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, metrics: Metrics, limited: tuple[str, ...], apart: Sequence[str] = ()
    ) -> None:
        """Protects the paths that begin with one of ``limited``; those in ``apart`` have places of their own."""
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._limited = limited
        self._places = CapacityLimiter(limits.concurrency)
        self._apart = {path: CapacityLimiter(limits.concurrency) for path in apart}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forwards a request, or rejects it with a reason."""
        if scope["type"] != "http" or not (path := path_of(scope)).startswith(self._limited):
            await self._app(scope, receive, send)
            return
        places = self._apart.get(path, self._places)
        try:
            self._check_key(Headers(scope=scope))
            body = await self._body(scope, receive)
            await self._take_place(places)
        except HTTPException as refusal:
            self._metrics.refused.labels(_REASONS[refusal.status_code]).inc()
            answer = JSONResponse({"detail": refusal.detail}, refusal.status_code, refusal.headers)
            await answer(scope, receive, send)
            return
        try:
            with self._metrics.in_flight.track_inprogress():
                await _while_connected(self._app(scope, _replay(body, receive), send), receive)
        finally:
            places.release()

    def _check_key(self, headers: Headers) -> None:
        """Compares the key of a request with the accepted ones, in constant time."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        known = [hmac.compare_digest(given.encode(), key.encode()) for key in self._limits.keys]
        if known and not any(known):
            hint = "A valid API key is required; send Authorization: Bearer KEY, or X-API-Key: KEY."
            raise HTTPException(401, hint, {"WWW-Authenticate": "Bearer"})

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Reads the full body; a body that is too large is read and discarded, so that the client gets the response."""
        size = 0
        most = self._limits.body_bytes
        parts = []
        try:
            async with asyncio.timeout(self._limits.body_timeout):
                async for part in Request(scope, receive).stream():
                    size += len(part)
                    if size <= most:
                        parts.append(part)
        except ClientDisconnect:
            raise HTTPException(400, "The connection was closed.") from None
        except TimeoutError:
            late = f"The body did not arrive in {self._limits.body_timeout:g} s."
            raise HTTPException(408, late, {"Connection": "close"}) from None
        if size > most:
            raise HTTPException(413, f"The body has {size} bytes; the maximum is {most}; send less text.")
        return b"".join(parts)

    async def _take_place(self, places: CapacityLimiter) -> None:
        if not places.available_tokens and places.statistics().tasks_waiting >= self._limits.max_queued:
            raise _busy(1)
        try:
            with self._metrics.waiting.track_inprogress():
                async with asyncio.timeout(self._limits.queue_timeout):
                    await places.acquire()
        except TimeoutError:
            raise _busy(self._limits.queue_timeout) from None


def _busy(seconds: float) -> HTTPException:
    wait = max(1, math.ceil(seconds))
    return HTTPException(429, f"The service is busy. Try again in {wait} s.", {"Retry-After": str(wait)})


async def _while_connected(work: Awaitable[None], receive: Receive) -> None:
    """Runs the work and cancels it if the client closes the connection."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_end_of(receive))
    leaving.add_done_callback(lambda _: task.cancel())
    try:
        await task
    except asyncio.CancelledError:
        if leaving.done():
            _log.info("client_left")
        else:
            raise
    finally:
        leaving.cancel()


async def _end_of(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive function that returns the body first, and then the messages of the connection."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
