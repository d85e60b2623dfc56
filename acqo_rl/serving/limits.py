"""Who may ask, how much and how often, and what happens when it is too much: a refusal, and never a collapse."""

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
    """The API keys that ``ACQO_API_KEYS`` holds, separated by commas."""
    return tuple(filter(None, map(str.strip, os.environ.get("ACQO_API_KEYS", "").split(","))))


@dataclass(frozen=True)
class Limits:
    """What a service takes on.

    Attributes:
        keys: API keys that are let in; everybody where there is none.
        body_bytes: greatest body of a request.
        body_seconds: time for a body to arrive.
        rate: requests of one client, such as ``20/second``; empty for no limit. A client is its key, else its address:
            guesses at a key count too.
        concurrency: requests worked on at the same time.
        waiting: requests that wait for their turn.
        waiting_seconds: how long they wait.
    """

    keys: tuple[str, ...] = ()
    body_bytes: int = 262_144
    body_seconds: float = 10.0
    rate: str = ""
    concurrency: int = 32
    waiting: int = 64
    waiting_seconds: float = 5.0

    def __post_init__(self) -> None:
        if min(self.body_bytes, self.concurrency) < 1 or self.waiting < 0:
            raise ConfigError(
                f"A body of {self.body_bytes} bytes, {self.concurrency} requests at once and {self.waiting} waiting"
                " were asked for; give at least 1, 1 and 0."
            )
        self.parsed_rate()

    def parsed_rate(self) -> RateLimitItem | None:
        """The rate, ``None`` where there is no limit.

        Raises:
            ConfigError: it cannot be read.
        """
        try:
            return parse_rate(self.rate) if self.rate else None
        except ValueError as error:
            raise ConfigError(f"The rate {self.rate!r} cannot be read; write for example 20/second.") from error


class Refusal(Exception):
    """A request that is not worked on."""

    def __init__(self, status: int, reason: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.reason, self.detail, self.headers = status, reason, detail, dict(headers or {})


class Guard:
    """ASGI middleware before all paths but health and metrics: key, rate, size, then a place among those at work."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, open_paths: Sequence[str]) -> None:
        """Puts the limits before an application.

        Args:
            app: what is guarded.
            limits: see :class:`Limits`.
            metrics: counts what is refused and what is in flight.
            open_paths: are not guarded.
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
        """Lets a request through, or answers it with the reason why not."""
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
        """The client's key, compared with all keys in constant time; without keys, its address."""
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
                "Give a valid key: Authorization: Bearer KEY, or X-API-Key: KEY.",
                {"WWW-Authenticate": "Bearer"},
            )
        return given.hex()

    def _check_rate(self, client: str) -> None:
        if self._rate and not self._limiter.hit(self._rate, client):
            reset = self._limiter.get_window_stats(self._rate, client).reset_time
            raise _too_many("rate", f"More than {self._limits.rate} were asked for.", reset - time.time())

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body; one that is too large is read to its end and thrown away, so that the answer is heard."""
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self._limits.body_seconds):
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
                408, "slow", f"The body did not arrive in {self._limits.body_seconds:g} s.", {"Connection": "close"}
            ) from None
        if size > self._limits.body_bytes:
            raise Refusal(413, "size", f"The body has {size} bytes; at most {self._limits.body_bytes} are taken.")
        return b"".join(parts)

    async def _take_place(self) -> None:
        if self._places.locked() and self._waiting >= self._limits.waiting:
            raise _too_many("concurrency", "The service is busy.", 1)
        self._waiting += 1
        try:
            with self._metrics.waiting.track_inprogress():
                async with asyncio.timeout(self._limits.waiting_seconds):
                    await self._places.acquire()
        except TimeoutError:
            raise _too_many("concurrency", "The service is busy.", self._limits.waiting_seconds) from None
        finally:
            self._waiting -= 1


def _digest(key: str) -> bytes:
    """Digests have one length, so that a comparison does not tell that of the key."""
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
    """The body that was read, then whatever the connection says."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
