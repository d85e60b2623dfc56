"""Limits of a server: API keys, body sizes, request rates and concurrency."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from limits import RateLimitItem
from limits import parse as parse_rate
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acqo_rl.errors import ConfigError
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.web import path_of


def keys_of_environment() -> tuple[str, ...]:
    """The API keys in the environment variable ``ACQO_API_KEYS``, separated by commas."""
    return tuple(filter(None, map(str.strip, os.environ.get("ACQO_API_KEYS", "").split(","))))


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    Attributes:
        keys: accepted API keys; if empty, no key is required.
        body_bytes: maximum size of a request body.
        body_timeout: maximum time to receive a body.
        rate: maximum request rate per client, such as ``20/second``; empty: no limit. Clients are identified by
            their key, or by their address if there are no keys. Requests with a wrong key count for their address.
        concurrency: maximum number of requests processed at the same time.
        max_queued: maximum number of waiting requests.
        queue_timeout: maximum waiting time.
    """

    keys: tuple[str, ...] = ()
    body_bytes: int = 262_144
    body_timeout: float = 10.0
    rate: str = ""
    concurrency: int = 32
    max_queued: int = 64
    queue_timeout: float = 5.0

    def __post_init__(self) -> None:
        if min(self.body_bytes, self.concurrency) < 1 or self.max_queued < 0:
            raise ConfigError(
                f"body_bytes is {self.body_bytes}, concurrency is {self.concurrency} and max_queued is"
                f" {self.max_queued}; they must be at least 1, 1 and 0."
            )
        self.parsed_rate()

    def parsed_rate(self) -> RateLimitItem | None:
        """The parsed rate; ``None`` if there is no limit.

        Raises:
            ConfigError: the rate cannot be parsed.
        """
        try:
            return parse_rate(self.rate) if self.rate else None
        except ValueError as error:
            raise ConfigError(f"The rate {self.rate!r} cannot be parsed; use a form such as 20/second.") from error


class Refusal(Exception):
    """Raised if a request is rejected."""

    def __init__(self, status: int, reason: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.reason, self.detail, self.headers = status, reason, detail, dict(headers or {})


class Guard:
    """ASGI middleware that checks key, rate and body size, and then waits for a free place."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, open_paths: Sequence[str]) -> None:
        """Creates the middleware.

        Args:
            app: the protected application.
            limits: see :class:`Limits`.
            metrics: counts rejected, waiting and current requests.
            open_paths: paths without limits.
        """
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._open = frozenset(open_paths)
        self._keys = [_digest(key) for key in limits.keys]
        self._rate = limits.parsed_rate()
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._places = asyncio.Semaphore(limits.concurrency)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forwards a request, or rejects it with a reason."""
        if scope["type"] != "http" or path_of(scope) in self._open:
            await self._app(scope, receive, send)
            return
        try:
            self._check_rate(self._client(scope))
            body = await self._body(scope, receive)
            await self._take_place()
        except Refusal as refusal:
            self._metrics.refused.labels(refusal.reason).inc()
            await _refuse(refusal, send)
            return
        try:
            with self._metrics.in_flight.track_inprogress():
                await self._app(scope, _replay(body, receive), send)
        finally:
            self._places.release()

    def _client(self, scope: Scope) -> str:
        """Identifies the client by its key (compared in constant time), or by its address if there are no keys."""
        address: str = scope["client"][0] if scope.get("client") else ""
        if not self._keys:
            return address
        headers = Headers(scope=scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = _digest(token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", ""))
        known = [hmac.compare_digest(given, key) for key in self._keys]
        if not any(known):
            self._check_rate(address)
            raise Refusal(
                401,
                "key",
                "A valid API key is required; send Authorization: Bearer KEY, or X-API-Key: KEY.",
                {"WWW-Authenticate": "Bearer"},
            )
        return given.hex()

    def _check_rate(self, client: str) -> None:
        if self._rate and not self._limiter.hit(self._rate, client):
            reset = self._limiter.get_window_stats(self._rate, client).reset_time
            raise _too_many("rate", f"The request rate exceeds {self._limits.rate}.", reset - time.time())

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Reads the full body; a body that is too large is read and discarded, so that the client gets the response."""
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self._limits.body_timeout):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "disconnected", "The connection was closed.")
                    size += len(message.get("body", b""))
                    more = message.get("more_body", False)
                    if size <= self._limits.body_bytes:
                        parts.append(message.get("body", b""))
        except TimeoutError:
            raise Refusal(
                408, "slow", f"The body did not arrive in {self._limits.body_timeout:g} s.", {"Connection": "close"}
            ) from None
        if size > self._limits.body_bytes:
            raise Refusal(
                413, "size", f"The body has {size} bytes; the maximum is {self._limits.body_bytes}; send less text."
            )
        return b"".join(parts)

    async def _take_place(self) -> None:
        if self._places.locked() and self._waiting >= self._limits.max_queued:
            raise _too_many("concurrency", "The service is busy.", 1)
        self._waiting += 1
        try:
            with self._metrics.waiting.track_inprogress():
                async with asyncio.timeout(self._limits.queue_timeout):
                    await self._places.acquire()
        except TimeoutError:
            raise _too_many("concurrency", "The service is busy.", self._limits.queue_timeout) from None
        finally:
            self._waiting -= 1


def _digest(key: str) -> bytes:
    """The digest of a key; all digests have the same length, so comparisons do not reveal the key's length."""
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


def _too_many(reason: str, detail: str, seconds: float) -> Refusal:
    wait = max(1, math.ceil(seconds))
    return Refusal(429, reason, f"{detail} Try again in {wait} s.", {"Retry-After": str(wait)})


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = json.dumps({"detail": refusal.detail}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **refusal.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive function that returns the body first, and then the messages of the connection."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
