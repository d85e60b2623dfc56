"""The HTTP application of the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request

from acqo_rl import __version__
from acqo_rl.errors import SearchError
from acqo_rl.serving.answers import ANSWER, add_answers
from acqo_rl.serving.http import AT_ROOT, REFUSALS, Web, finish_app, in_thread
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.page import add_page
from acqo_rl.serving.requests import ReformulateRequest, SearchRequest
from acqo_rl.serving.responses import (
    CollectionInfo,
    CollectionsResponse,
    ReformulateResponse,
    SearchResponse,
    StrategiesResponse,
)
from acqo_rl.serving.service import Service


def make_app(service: Service, limits: Limits, web: Web = AT_ROOT) -> FastAPI:
    """Creates the application.

    Args:
        service: runs the requests; closed with the application. Its metrics are served at ``/metrics``.
        limits: API keys, sizes and rates.
        web: path prefix, CORS origins and names.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="acqo_rl",
        version=__version__,
        description="Rewrites search queries where that helps, searches, and fuses the rankings.",
        lifespan=lifespan,
    )
    listing: dict[int | str, dict[str, Any]] = {code: REFUSALS[code] for code in (401, 429)}

    @app.get("/v1/strategies", tags=["search"], responses=listing)
    async def strategies() -> StrategiesResponse:
        """The reformulation strategies."""
        return StrategiesResponse(strategies=list(service.strategies.names), default=service.strategies.default)

    @app.get("/v1/collections", tags=["search"], responses=listing)
    async def collections() -> CollectionsResponse:
        """The collections."""
        return CollectionsResponse(collections=[CollectionInfo.of(collection) for collection in service.collections])

    @app.post("/v1/reformulate", tags=["search"], responses=REFUSALS)
    async def reformulate(body: ReformulateRequest, request: Request) -> ReformulateResponse:
        """Returns the sub-queries that a search would use; if this fails, the raw query and the problem."""
        return await in_thread(partial(service.reformulate, body, request.state.request_id), service.timeouts.total)

    @app.post("/v1/search", tags=["search"], responses=REFUSALS)
    async def search(body: SearchRequest, request: Request) -> SearchResponse:
        """Reformulates a query, searches all sub-queries in all collections, and merges the results.

        If some searches fail, the results are partial.
        """
        try:
            return await in_thread(partial(service.search, body, request.state.request_id), service.timeouts.total)
        except SearchError as error:
            service.metrics.failed("search", str(error))
            raise

    add_answers(app, service)
    finish_app(app, service.metrics, limits, web, service.is_ready, open_paths=add_page(app), apart=[ANSWER])
    return app
