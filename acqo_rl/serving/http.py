"""Common parts of the applications: errors as JSON, health checks, metrics, threads, path prefix, CORS and names."""

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import generate_latest
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acqo_rl.errors import AcqoError, ConfigError, ConversationError, IndexMismatchError, NotFoundError, SearchError
from acqo_rl.files import object_of
from acqo_rl.serving.limits import Guard, Limits, path_of
from acqo_rl.serving.logs import begin_request
from acqo_rl.serving.metrics import Metrics
from acqo_rl.time_limit import in_thread

_log = logging.getLogger(__name__)

_PLAIN = ("/healthz", "/readyz", "/metrics")
"""Paths for monitoring; they are not logged."""

_STATUS: tuple[tuple[type[AcqoError], int], ...] = (
    (NotFoundError, 404),
    (SearchError, 503),
    (IndexMismatchError, 503),
    (ConfigError, 409),
)

_PROBLEM = {"application/json": {"schema": {"type": "object", "properties": {"detail": {"type": "string"}}}}}

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"content": _PROBLEM, "description": cause}
    for status, cause in (
        (400, "The body is incomplete, cannot be read or has a key twice in an object, or the header Host is unknown."),
        (401, "The API key is wrong or missing."),
        (404, "The strategy or collection is unknown."),
        (408, "The body arrived too slowly."),
        (409, "A collection does not support the request."),
        (413, "The body is too large."),
        (429, "Too many requests; retry after the time in Retry-After."),
        (503, "No retriever answered."),
    )
}


@dataclass(frozen=True)
class Web:
    """How browsers and proxies reach a server.

    Attributes:
        root_path: path prefix that a reverse proxy adds, such as ``/search``; empty: none. The proxy may strip it.
        cors_origins: origins whose web pages may call the server, such as ``https://app.example.org``; ``*`` for all.
        hosts: accepted names in the header Host; empty: all.
    """

    root_path: str = ""
    cors_origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


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


_METHODS = ("GET", "HEAD", "OPTIONS", "POST")
_AMBIGUOUS = JSONResponse(
    {"detail": "The request has both Content-Length and Transfer-Encoding; send one of them."},
    400,
    {"Connection": "close"},
)
"""A proxy may read another end of such a request, and take the rest for a request of somebody else."""


@dataclass(frozen=True, eq=False)
class Observed:
    """The outermost ASGI middleware: ids, metrics and log lines of requests, and responses to unexpected errors.

    Attributes:
        app: the application.
        metrics: count the requests.
        paths: paths with separate metrics; all other paths are counted together.
    """

    app: ASGIApp
    metrics: Metrics
    paths: Collection[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forwards a request, and logs and counts it when it has ended."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = begin_request(headers.get("x-request-id"))
        is_ambiguous = "content-length" in headers and "transfer-encoding" in headers
        requested = path_of(scope)  # read now, because a mounted application changes the scope
        begin = time.perf_counter()
        status = 0

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            # The server sends no body in response to HEAD.
            inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
            await (_AMBIGUOUS if is_ambiguous else self.app)(inner, receive, with_id)
        except Exception as error:
            frames = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
            # The message of the error is not logged, because it may contain the query.
            _log.error("request_failed", extra={"error": type(error).__name__, "frames": frames})
            if not status:
                detail = "Internal error; search the log of the service for the id of this request."
                await JSONResponse({"detail": detail}, 500)(scope, receive, with_id)
            status = 500
        finally:
            seconds = time.perf_counter() - begin
            path = requested if requested in self.paths else "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.request(method, path, status, seconds)
            if path not in _PLAIN:
                fields = {"method": method, "path": path, "status": status, "ms": round(1000 * seconds, 3)}
                _log.info("request_completed", extra=fields)


def finish_app(
    app: FastAPI,
    metrics: Metrics,
    limits: Limits,
    web: Web,
    is_ready: Callable[[], bool],
    limited: tuple[str, ...],
    apart: Sequence[str] = (),
) -> None:
    """Adds health checks, metrics, error handling, limits, logs, path prefix and CORS to an application.

    Args:
        app: the application; its own paths must already exist.
        metrics: served at ``/metrics``.
        limits: see :class:`~acqo_rl.serving.limits.Limits`.
        web: see :class:`Web`.
        is_ready: the result of ``/readyz``.
        limited: beginnings of the paths that need a key and have limits.
        apart: paths that have places of their own.
    """
    checks = asyncio.Semaphore(2)

    @app.get("/healthz", tags=["operation"])
    async def healthz() -> dict[str, str]:
        """Whether the process is alive."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"], responses={503: REFUSALS[503]})
    async def readyz() -> JSONResponse:
        """Whether every index answers."""
        async with checks:
            ready = await in_thread(is_ready)
        return JSONResponse({"detail": "ready" if ready else "an index does not answer"}, 200 if ready else 503)

    @app.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
    async def show_metrics() -> PlainTextResponse:
        """The metrics in the text format of Prometheus."""
        return PlainTextResponse(
            generate_latest(metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    app.add_exception_handler(RequestValidationError, _refuse_schema)
    app.add_exception_handler(ConversationError, _refuse_history)
    for error, status in _STATUS:
        app.add_exception_handler(error, partial(_refuse, status=status))
    app.add_middleware(Guard, limits=limits, metrics=metrics, limited=limited, apart=apart)
    if web.hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=web.hosts, www_redirect=False)
    paths = {path for route in app.routes if (path := getattr(route, "path", ""))}
    app.add_middleware(Observed, metrics=metrics, paths=paths)
    app.root_path = web.root_path
    if web.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=web.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )


async def refuse_repeated_keys(request: Request) -> None:
    """Refuses a body of JSON with a key twice in an object, because a proxy may have checked the other one."""
    try:
        json.loads(await request.body(), object_pairs_hook=object_of)
    except json.JSONDecodeError:
        return  # there is no body, or it is refused by its schema
    except ValueError as error:
        raise HTTPException(400, f"The body cannot be read: {error}.") from error


def _refusal(detail: object, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """A response whose text may quote broken characters, which UTF-8 does not have."""
    return Response(json.dumps({"detail": detail}), status, headers, media_type="application/json")


async def _refuse(_: Request, error: Exception, *, status: int) -> Response:
    if status != 503:
        return _refusal(str(error), status)
    _log.warning("search_failed", extra={"error": str(error)})
    return _refusal(detail_of(error), status, {"Retry-After": "1"})


def detail_of(error: Exception) -> str:
    """The message of an error for clients; it contains no address and no text of another server."""
    if isinstance(error, SearchError):
        return error.public
    return str(error) if isinstance(error, AcqoError) else f"Internal error ({type(error).__name__}); see the log."


async def _refuse_schema(_: Request, error: Exception) -> Response:
    """Reports each error and its location, without the body of the request."""
    assert isinstance(error, RequestValidationError)
    shown = [(one["type"], [str(part)[:100] for part in one["loc"]], one["msg"]) for one in error.errors()]
    fields = [{"type": kind, "loc": loc, "msg": msg.removeprefix("Value error, ")} for kind, loc, msg in shown]
    return _refusal(fields, 422)


async def _refuse_history(_: Request, error: Exception) -> Response:
    return _refusal([{"type": "history", "loc": ["body", "history"], "msg": str(error)}], 422)
