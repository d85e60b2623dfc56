"""The server: uvicorn, with a time limit for the headers of a request and a limit of connections without a request."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from contextlib import suppress
from socket import socket
from typing import ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from acqo_rl.time_limit import end_running

_HEADER_SECONDS = 10.0
"""Maximum time from the connection, or from the last response, to the end of the next request's headers."""


_MOST_WAITING = 1000


class Impatient(H11Protocol):
    """Closes connections that send no request in time, and the oldest of them if there are too many."""

    most: ClassVar[int] = _MOST_WAITING

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for a request."""
        super().connection_made(transport)
        # One per server, in the order in which they began to wait.
        self._waiting: dict[Impatient, asyncio.TimerHandle] = vars(self.server_state).setdefault("waiting", {})
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the wait."""
        self._end_wait()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Ends the wait if the data has completed the headers of a request."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_wait()

    def on_response_complete(self) -> None:
        """Waits for the next request, unless it has arrived."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._wait()

    def _wait(self) -> None:
        self._end_wait()
        self._waiting[self] = self.loop.call_later(_HEADER_SECONDS, self.transport.abort)
        if len(self._waiting) > self.most:
            next(iter(self._waiting)).transport.abort()

    def _end_wait(self) -> None:
        if timer := self._waiting.pop(self, None):
            timer.cancel()


class _Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Waits for the requests; ends them a second before the time is over, so that streams end with an event."""
        seconds = self.config.timeout_graceful_shutdown or 0
        asyncio.get_running_loop().call_later(max(0, seconds - 1), end_running)
        await super().shutdown(sockets)


def make_server(app: ASGIApp, host: str, port: int, shutdown_timeout: float) -> uvicorn.Server:
    """The server of an application; see :func:`serve`."""
    Impatient.most = _most_waiting()
    return _Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=Impatient,
            ws="none",
            backlog=Impatient.most,  # asyncio accepts so many connections before it handles one
            timeout_graceful_shutdown=round(shutdown_timeout),
            log_config=None,
            access_log=False,
            server_header=False,
        )
    )


def serve(app: ASGIApp, host: str, port: int, shutdown_timeout: float) -> None:
    """Serves until SIGTERM or SIGINT, then waits up to ``shutdown_timeout`` for the requests in progress.

    Logs are configured by :func:`acqo_rl.serving.logs.configure_logs`; uvicorn logs the address.
    """
    with suppress(KeyboardInterrupt):
        make_server(app, host, port, shutdown_timeout).run()


def _most_waiting() -> int:
    """Connections without a request: at most a quarter of the file descriptors that the process may open."""
    if sys.platform == "win32":
        return _MOST_WAITING
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_WAITING if soft == resource.RLIM_INFINITY else min(_MOST_WAITING, max(8, soft // 4))


_M_MMAP_THRESHOLD = -3
_BLOCK = 32 * 1024


def return_freed_blocks() -> None:
    """Makes the C library return freed blocks of 32 KB or more to the operating system at once.

    By default, glibc keeps blocks of up to 32 MB once one of that size was freed. The attention caches of concurrent
    queries, about 100 KB per layer and query, leave gaps of several hundred MB there. Does nothing with other C
    libraries.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(_M_MMAP_THRESHOLD, _BLOCK)
