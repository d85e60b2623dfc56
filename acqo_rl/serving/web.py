"""Support for browsers, proxies and monitors: HEAD requests, a path prefix and CORS."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acqo_rl.errors import ConfigError

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s?#@*]+", re.I)
_HOST = re.compile(r"\*|(\*\.)?[\w.-]+|\[[\da-f:.]+\]", re.I)
_PREFIX = re.compile(r"(/[\w.~-]+)+")


@dataclass(frozen=True)
class Web:
    """The path prefix and the CORS origins of a server.

    Attributes:
        root_path: path prefix that a reverse proxy uses for the server, such as ``/search``; empty: none. The proxy may
            strip the prefix or forward it.
        cors_origins: origins whose web pages may call the server, such as ``https://app.example.org``; ``*`` for all.
        hosts: accepted names in the header Host; empty: all.
    """

    root_path: str = ""
    cors_origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        trimmed = self.root_path.strip("/")
        object.__setattr__(self, "root_path", f"/{trimmed}" if trimmed else "")
        object.__setattr__(self, "cors_origins", tuple(origin.rstrip("/") for origin in self.cors_origins))
        if self.root_path and not _PREFIX.fullmatch(self.root_path):
            raise ConfigError(f"root_path is {self.root_path!r}; it must be a path prefix such as /search.")
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ConfigError(f"{origin!r} is not an origin; give scheme and host: https://app.example.org.")
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                raise ConfigError(f"{host!r} is not a host; give a name without scheme and port: search.example.org.")

    def put_before(self, app: FastAPI, paths: Collection[str]) -> None:
        """Adds the middleware for prefix and CORS to an application; it must be added last.

        Args:
            app: the application.
            paths: paths of the application.

        Raises:
            ConfigError: a path of the application begins with the prefix.
        """
        if self.root_path:
            if taken := [path for path in paths if f"{path}/".startswith(f"{self.root_path}/")]:
                raise ConfigError(
                    f"root_path {self.root_path!r} is also the beginning of a path of this server ({taken[0]}); choose"
                    " another prefix."
                )
            app.root_path = self.root_path
            app.add_middleware(_Prefixed, prefix=self.root_path)
        if self.cors_origins:
            app.add_middleware(
                CORSMiddleware,
                allow_origins=self.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=["Retry-After", "X-Request-ID"],
            )


def accepted_hosts(address: str, names: Sequence[str]) -> tuple[str, ...]:
    """The accepted names in the header Host.

    A web page can let its own name point to a loopback address (DNS rebinding), so a server that listens on one accepts
    only the names of this machine and the given ones. Other servers accept all names, unless some are given.
    """
    try:
        is_local = ip_address(address).is_loopback
    except ValueError:
        is_local = address == "localhost"
    listening = f"[{address}]" if ":" in address else address
    return (listening, "localhost", "127.0.0.1", "[::1]", *names) if is_local or names else ()


AT_ROOT = Web()
"""No prefix, no other origins, and all hosts."""


def path_of(scope: Scope) -> str:
    """The path of a request without the prefix of the server."""
    path: str = scope["path"]
    prefix = scope.get("root_path", "")
    return path[len(prefix) :] if prefix and path.startswith(f"{prefix}/") else path


class AnswersHead:
    """ASGI middleware that answers HEAD like GET, without the body (RFC 9110, section 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forwards a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, without_body)


class _Prefixed:
    """ASGI middleware that adds the prefix to paths without it, because ASGI requires it and proxies may strip it."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forwards a request; redirects the bare prefix to the path with a slash, because links are relative to it."""
        if scope["type"] == "http":
            if scope["path"] == self._prefix:
                await RedirectResponse(f"{self._prefix}/")(scope, receive, send)
                return
            if not scope["path"].startswith(f"{self._prefix}/"):
                raw = self._prefix.encode() + scope.get("raw_path", scope["path"].encode())
                scope = {**scope, "path": self._prefix + scope["path"], "raw_path": raw}
        await self._app(scope, receive, send)
