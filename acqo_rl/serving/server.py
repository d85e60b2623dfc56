"""The server: uvicorn, whose running requests end before it does."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from contextlib import suppress
from socket import socket

import uvicorn
from starlette.types import ASGIApp

from acqo_rl.serving.http import end_running


class _Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Waits for the requests; ends them a second before the time is over, so that streams end with an event."""
        seconds = self.config.timeout_graceful_shutdown or 0
        asyncio.get_running_loop().call_later(max(0, seconds - 1), end_running)
        await super().shutdown(sockets)


def make_server(app: ASGIApp, host: str, port: int, shutdown_timeout: float) -> uvicorn.Server:
    """The server of an application; see :func:`serve`."""
    return _Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            ws="none",
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=round(shutdown_timeout),
        )
    )


def serve(app: ASGIApp, host: str, port: int, shutdown_timeout: float) -> None:
    """Serves until SIGTERM or SIGINT, then waits up to ``shutdown_timeout`` for the requests in progress.

    Logs are configured by :func:`acqo_rl.serving.logs.configure_logs`; uvicorn logs the address.
    """
    with suppress(KeyboardInterrupt):
        make_server(app, host, port, shutdown_timeout).run()


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
