"""What the applications share: errors as JSON, health and metrics, calls in threads, and a server that ends well."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp

from acqo_rl.errors import AcqoError, ConfigError, ConversationError, IndexMismatchError, NotFoundError, SearchError
from acqo_rl.serving.limits import Guard, Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.observed import Observed
from acqo_rl.serving.schemas import Problem
from acqo_rl.serving.web import AnswersHead, Web

T = TypeVar("T")

_PLAIN = ("/healthz", "/readyz", "/metrics")
"""Paths for machines that watch: no key, no limit, no log line."""

_STATUS: tuple[tuple[type[AcqoError], int], ...] = (
    (NotFoundError, 404),
    (SearchError, 503),
    (IndexMismatchError, 503),
    (ConfigError, 409),
)

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The body is no JSON, or did not arrive whole."},
    401: {"model": Problem, "description": "The key is wrong or missing."},
    404: {"model": Problem, "description": "There is no such strategy or collection."},
    408: {"model": Problem, "description": "The body arrived too slowly."},
    409: {"model": Problem, "description": "What is asked does not go with a collection."},
    413: {"model": Problem, "description": "The body is too large."},
    429: {"model": Problem, "description": "Too many requests; Retry-After says when to come back."},
    503: {"model": Problem, "description": "No retriever answered."},
}


class Threads:
    """Blocking calls off the event loop, each in the context of its request, so that its log lines bear the id."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="acqo-http")

    async def run(self, call: Callable[..., T], *args: Any) -> T:
        """The call's result."""
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(context.run, call, *args))

    def close(self) -> None:
        """Lets the threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def finish_app(
    app: FastAPI,
    metrics: Metrics,
    limits: Limits,
    web: Web,
    is_ready: Callable[[], bool],
    open_paths: Collection[str] = (),
) -> None:
    """Adds health, metrics, errors, limits, logs, prefix and CORS to an application whose own paths are there.

    Args:
        app: gets them.
        metrics: shown at ``/metrics``.
        limits: keys, sizes, rates.
        web: prefix and origins.
        is_ready: what ``/readyz`` tells.
        open_paths: paths of the application that need no key and have no limit.
    """
    watch = Threads(2)  # of its own: a busy service is still healthy

    @app.get("/healthz", tags=["operation"])
    async def healthz() -> dict[str, str]:
        """The process is alive."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"], responses={503: {"model": Problem}})
    async def readyz() -> JSONResponse:
        """Every index answers."""
        ready = await watch.run(is_ready)
        return JSONResponse({"detail": "ready" if ready else "an index does not answer"}, 200 if ready else 503)

    @app.get("/metrics", tags=["operation"], response_class=PlainTextResponse)
    async def show_metrics() -> PlainTextResponse:
        """Counters in Prometheus' text format."""
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    app.add_exception_handler(RequestValidationError, _refuse_schema)
    app.add_exception_handler(ConversationError, _refuse_history)
    for error, status in _STATUS:
        app.add_exception_handler(error, partial(_refuse, status=status))
    app.add_middleware(AnswersHead)
    app.add_middleware(Guard, limits=limits, metrics=metrics, open_paths=[*_PLAIN, *_documentation(app), *open_paths])
    app.add_middleware(Observed, metrics=metrics, paths=_paths(app), quiet=_PLAIN)
    web.put_before(app, _paths(app))


def _documentation(app: FastAPI) -> Collection[str]:
    return [path for path in (app.docs_url, app.redoc_url, app.openapi_url) if path]


def _paths(app: FastAPI) -> Collection[str]:
    return [path for route in app.routes if (path := getattr(route, "path", ""))]


async def _refuse(_: Request, error: Exception, *, status: int) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status, headers={"Retry-After": "1"} if status == 503 else None)


async def _refuse_schema(_: Request, error: Exception) -> JSONResponse:
    """What is wrong and where, without what was sent: that may be no JSON, and too long."""
    assert isinstance(error, RequestValidationError)
    shown = [{"type": e["type"], "loc": [_plain(part) for part in e["loc"]], "msg": e["msg"]} for e in error.errors()]
    if isinstance(error.body, bytes):  # the header does not say that it is JSON, which is why it was not read
        shown[0]["msg"] = "Send JSON with the header Content-Type: application/json."
    return JSONResponse({"detail": shown}, 422)


async def _refuse_history(_: Request, error: Exception) -> JSONResponse:
    """As what is not in the schema is refused."""
    return JSONResponse({"detail": [{"type": "history", "loc": ["body", "history"], "msg": str(error)}]}, 422)


def _plain(part: str | int) -> str | int:
    return part if isinstance(part, int) else part[:100].encode("utf-8", "replace").decode()


def serve(app: ASGIApp, host: str, port: int, graceful_seconds: float) -> None:
    """Answers requests until SIGTERM or SIGINT, then finishes those in flight within so many seconds.

    Logs are those of :func:`acqo_rl.serving.logs.configure_logs`; uvicorn's line tells the address.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(graceful_seconds),
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run()
