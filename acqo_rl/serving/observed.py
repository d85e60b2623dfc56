"""Gives each request an id, a log line and metrics; unexpected errors become a response with status 500."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acqo_rl.serving.logs import begin_request
from acqo_rl.serving.metrics import Metrics

_log = logging.getLogger(__name__)

_METHODS = ("GET", "HEAD", "OPTIONS", "POST")


def path_of(scope: Scope) -> str:
    """The path of a request without the prefix of the server."""
    path: str = scope["path"]
    prefix = scope.get("root_path", "")
    return path[len(prefix) :] if prefix and path.startswith(f"{prefix}/") else path


class Observed:
    """The outermost ASGI middleware; sets ``request.state.request_id`` and the header ``X-Request-ID``."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str], quiet: Collection[str] = ()) -> None:
        """Creates the middleware.

        Args:
            app: the application.
            metrics: count the requests.
            paths: paths with separate metrics; all other paths are counted together.
            quiet: paths that are not logged.
        """
        self._app = app
        self._metrics = metrics
        self._paths = frozenset(paths)
        self._quiet = frozenset(quiet)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forwards a request, and logs and counts it when it has ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = begin_request(Headers(scope=scope).get("x-request-id"))
        scope.setdefault("state", {})["request_id"] = request_id
        requested = path_of(scope)  # read now, because a mounted application changes the scope
        begin, status = time.perf_counter(), 0

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, with_id)
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
            path = requested if requested in self._paths else "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.request(method, path, status, seconds)
            if path not in self._quiet:
                fields = {"method": method, "path": path, "status": status, "ms": round(1000 * seconds, 3)}
                _log.info("request_completed", extra=fields)
