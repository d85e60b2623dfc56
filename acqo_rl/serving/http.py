"""Common parts of the applications: errors as JSON, health checks, metrics, threads, and graceful shutdown."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from acqo_rl.errors import AcqoError, ConfigError, ConversationError, IndexMismatchError, NotFoundError, SearchError
from acqo_rl.serving.limits import Guard, Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.observed import Observed
from acqo_rl.serving.responses import Problem
from acqo_rl.serving.unreadable import reason_of
from acqo_rl.serving.web import AnswersHead, Web
from acqo_rl.time_limit import TimeLimit, limited

_log = logging.getLogger(__name__)

T = TypeVar("T")

_PLAIN = ("/healthz", "/readyz", "/metrics")
"""Paths for monitoring; they need no key, have no limits and are not logged."""

_STATUS: tuple[tuple[type[AcqoError], int], ...] = (
    (NotFoundError, 404),
    (SearchError, 503),
    (IndexMismatchError, 503),
    (ConfigError, 409),
)

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The body is incomplete, compressed, not UTF-8 or not JSON."},
    401: {"model": Problem, "description": "The API key is wrong or missing."},
    404: {"model": Problem, "description": "The strategy or collection is unknown."},
    408: {"model": Problem, "description": "The body arrived too slowly."},
    409: {"model": Problem, "description": "A collection does not support the request."},
    413: {"model": Problem, "description": "The body is too large."},
    429: {"model": Problem, "description": "Too many requests; retry after the time in Retry-After."},
    503: {"model": Problem, "description": "No retriever answered."},
}


_GRACE = 1.0
"""Seconds after its time limit at which a call is given up: those that observe the limit have then returned."""


async def in_thread(call: Callable[[], T], seconds: float | None = None) -> T:
    """Runs a blocking call in a thread of its own, under a time limit, in the context of its request.

    If the limit has passed or the task is cancelled, running calls of the thread are ended (see
    :mod:`acqo_rl.time_limit`), and nobody waits for it.

    Raises:
        SearchError: the call has not ended in time.
    """
    limit = TimeLimit(seconds)
    work: Future[T] = Future()
    work.set_running_or_notify_cancel()

    def run() -> None:
        try:
            with limited(limit):
                work.set_result(call())
        except BaseException as error:
            work.set_exception(error)

    # A pool would keep a place for a thread that hangs, and wait for it at the end of the process.
    Thread(target=contextvars.copy_context().run, args=(run,), name="acqo-http", daemon=True).start()
    try:
        async with asyncio.timeout(None if seconds is None else seconds + _GRACE) as end:
            return await asyncio.wrap_future(work)
    except TimeoutError:
        if end.expired():
            late = f"The request was not finished within its time limit of {seconds:g} s."
            raise SearchError(late, public=late) from None
        raise
    finally:
        limit.stop()


def finish_app(
    app: FastAPI,
    metrics: Metrics,
    limits: Limits,
    web: Web,
    is_ready: Callable[[], bool],
    open_paths: Collection[str] = (),
    apart: Sequence[str] = (),
) -> None:
    """Adds health checks, metrics, error handling, limits, logs, path prefix and CORS to an application.

    Args:
        app: the application; its own paths must already exist.
        metrics: served at ``/metrics``.
        limits: API keys, sizes and rates.
        web: path prefix and CORS origins.
        is_ready: the result of ``/readyz``.
        open_paths: paths of the application without key and limits.
        apart: paths that have places of their own.
    """
    checks = asyncio.Semaphore(2)

    @app.get("/healthz", tags=["operation"])
    async def healthz() -> dict[str, str]:
        """Whether the process is alive."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"], responses={503: {"model": Problem}})
    async def readyz() -> JSONResponse:
        """Whether every index answers."""
        async with checks:
            ready = await in_thread(is_ready)
        return JSONResponse({"detail": "ready" if ready else "an index does not answer"}, 200 if ready else 503)

    @app.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
    async def show_metrics() -> PlainTextResponse:
        """The metrics in the text format of Prometheus."""
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    app.add_exception_handler(RequestValidationError, _refuse_schema)
    app.add_exception_handler(HTTPException, _refuse_unreadable)
    app.add_exception_handler(ConversationError, _refuse_history)
    for error, status in _STATUS:
        app.add_exception_handler(error, partial(_refuse, status=status))
    app.add_middleware(AnswersHead)
    unlimited = [*_PLAIN, *_documentation(app), *open_paths]
    app.add_middleware(Guard, limits=limits, metrics=metrics, open_paths=unlimited, apart=apart)
    if web.hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=web.hosts, www_redirect=False)
    app.add_middleware(Observed, metrics=metrics, paths=_paths(app), quiet=_PLAIN)
    web.put_before(app, _paths(app))


def _documentation(app: FastAPI) -> Collection[str]:
    return [path for path in (app.docs_url, app.redoc_url, app.openapi_url) if path]


def _paths(app: FastAPI) -> Collection[str]:
    return [path for route in app.routes if (path := getattr(route, "path", ""))]


_REASONS = {
    "string_pattern_mismatch": "The text is empty; write at least one letter, digit or sign.",
    "extra_forbidden": "There is no such field; /docs lists the fields.",
}
"""Type of a schema error -> message."""


async def _refuse(_: Request, error: Exception, *, status: int) -> JSONResponse:
    if status != 503:
        return JSONResponse({"detail": str(error)}, status)
    _log.warning("search_failed", extra={"error": str(error)})
    return JSONResponse({"detail": detail_of(error)}, status, headers={"Retry-After": "1"})


def detail_of(error: Exception) -> str:
    """The message of an error for clients; it contains no address and no text of another server."""
    return error.public if isinstance(error, SearchError) else str(error)


async def _refuse_unreadable(request: Request, error: Exception) -> Response:
    """Rejects a body that is not JSON; other HTTP errors have FastAPI's response."""
    if isinstance(error, HTTPException) and (error.status_code != 400 or error.__cause__ is None):
        return await http_exception_handler(request, error)
    return JSONResponse({"detail": reason_of(request, await request.body(), error.__cause__)}, 400)


async def _refuse_schema(request: Request, error: Exception) -> Response:
    """Reports each error and its location, without the request body, which may be long or not valid JSON."""
    assert isinstance(error, RequestValidationError)
    if any(problem["type"] == "json_invalid" for problem in error.errors()):
        return await _refuse_unreadable(request, error)
    shown: list[dict[str, Any]] = [
        {"type": one["type"], "loc": [_plain(part) for part in one["loc"]], "msg": _reason(one)}
        for one in error.errors()
    ]
    if shown[0]["loc"] == ["body"] and not isinstance(error.body, dict):
        shown[0]["msg"] = reason_of(request, await request.body(), None, error.body)
    return JSONResponse({"detail": shown}, 422)


def _reason(problem: Mapping[str, Any]) -> str:
    """The message of a schema error; our own sentence where the message of pydantic names no remedy."""
    said: str = problem["msg"]
    return _REASONS.get(problem["type"], said.removeprefix("Value error, "))


async def _refuse_history(_: Request, error: Exception) -> JSONResponse:
    """Rejects an unreadable history in the same form as other schema errors."""
    return JSONResponse({"detail": [{"type": "history", "loc": ["body", "history"], "msg": str(error)}]}, 422)


def _plain(part: str | int) -> str | int:
    return part if isinstance(part, int) else part[:100].encode("utf-8", "replace").decode()
