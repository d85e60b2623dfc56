"""Every request has an id, a log line and a count; what nobody expected becomes a plain 500."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acqo_rl.serving.logs import begin_request
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.web import path_of

_log = logging.getLogger(__name__)


class Observed:
    """The outermost ASGI middleware. The request's id is ``request.state.request_id`` and ``X-Request-ID``."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str], quiet: Collection[str] = ()) -> None:
        """Watches an application.

        Args:
            app: what is watched.
            metrics: counts.
            paths: are counted by name; all others as one.
            quiet: paths that are not logged.
        """
        self._app = app
        self._metrics = metrics
        self._paths = frozenset(paths)
        self._quiet = frozenset(quiet)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, and tells how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = begin_request(Headers(scope=scope).get("x-request-id"))
        scope.setdefault("state", {})["request_id"] = request_id
        asked = path_of(scope)  # a mounted application changes the scope
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
            # not its message, which may hold the query
            _log.error("request_failed", extra={"error": type(error).__name__, "frames": frames})
            if not status:
                await _send_error(with_id)
            status = 500
        finally:
            seconds = time.perf_counter() - begin
            path = asked if asked in self._paths else "other"
            self._metrics.request(scope["method"], path, status, seconds)
            if path not in self._quiet:
                told = {"method": scope["method"], "path": path, "status": status, "ms": round(1000 * seconds, 3)}
                _log.info("request_completed", extra=told)


async def _send_error(send: Send) -> None:
    body = json.dumps({"detail": "Something went wrong; the log tells more under the id of this request."}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})
