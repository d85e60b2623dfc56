"""The HTTP application of the service, and its web page."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import FileResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from acqo_rl import __version__
from acqo_rl.errors import AcqoError, SearchError
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.searching.trace import Step
from acqo_rl.serving.http import REFUSALS, Web, detail_of, finish_app, refuse_repeated_keys
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.logs import log_failures
from acqo_rl.serving.requests import AnswerRequest, Asked, ReformulateRequest, SearchRequest
from acqo_rl.serving.responses import (
    AnswerResponse,
    CollectionInfo,
    ReformulateResponse,
    SearchResponse,
    StrategiesResponse,
)
from acqo_rl.serving.service import Service
from acqo_rl.time_limit import in_thread

ANSWER = "/v1/answer"

_PAGE = {file.name: file for file in (Path(__file__).parent / "page").iterdir()}

_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Trusted types are required but none is defined, so a script that inserts text as HTML fails."""

_log = logging.getLogger(__name__)


def make_app(service: Service, limits: Limits, web: Web = Web()) -> FastAPI:
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
        dependencies=[Depends(refuse_repeated_keys)],
    )
    listing: dict[int | str, dict[str, Any]] = {code: REFUSALS[code] for code in (401, 429)}

    @app.get("/", include_in_schema=False)
    @app.get("/page/{name}", include_in_schema=False)
    async def page(name: str = "index.html") -> FileResponse:
        if name not in _PAGE:
            raise HTTPException(404)
        return FileResponse(_PAGE[name], headers=_PAGE_HEADERS)

    @app.get("/v1/strategies", tags=["search"], responses=listing)
    async def strategies() -> StrategiesResponse:
        """The reformulation strategies."""
        return StrategiesResponse(strategies=list(service.strategies.names), default=service.strategies.default)

    @app.get("/v1/collections", tags=["search"], responses=listing)
    async def collections() -> dict[Literal["collections"], list[CollectionInfo]]:
        """The collections."""
        return {
            "collections": [
                CollectionInfo(name=c.name, documents=len(c.documents), retrievers=[r.name for r in c.all_retrievers])
                for c in service.collections
            ]
        }

    @app.post("/v1/reformulate", tags=["search"], responses=REFUSALS)
    async def reformulate(body: ReformulateRequest) -> ReformulateResponse:
        """Returns the sub-queries that a search would use; if this fails, the raw query and the problem."""
        return await in_thread(partial(service.reformulate, body), service.timeouts.total)

    @app.post("/v1/search", name="search", tags=["search"], responses=REFUSALS)
    async def post_search(body: SearchRequest) -> SearchResponse:
        """Reformulates a query, searches all sub-queries in all collections, and merges the results.

        If some searches fail, the results are partial.
        """
        try:
            return await in_thread(partial(service.find, body), service.timeouts.total)
        except SearchError as error:
            service.metrics.failed("search", str(error))
            raise

    async def prepared(body: AnswerRequest) -> AsyncIterator[AsyncIterator[ServerSentEvent]]:
        """The events; closed when the response has ended, also if it is cancelled while it sends one of them."""

        def prepare() -> tuple[Asked, Pipeline]:
            asked = service.asked(body)
            return asked, service.pipeline(asked.strategy, asked.num_variants, asked.collections)

        async with aclosing(_events(service, body, *await in_thread(prepare, service.answer_timeout))) as events:
            yield events

    @app.post(ANSWER, tags=["answer"], responses=REFUSALS, response_class=EventSourceResponse)
    async def answer(events: Annotated[Any, Depends(prepared)]) -> AsyncIterator[ServerSentEvent]:
        """Answers from the documents; streams an event `step` per step, then `result` or `error`."""
        # errors of `prepared` are responses; those of the stream are events
        async for event in events:
            yield event

    finish_app(app, service.metrics, limits, web, service.is_ready, limited=("/v1/",), apart=(ANSWER,))
    return app


async def _events(
    service: Service, body: AnswerRequest, asked: Asked, pipeline: Pipeline
) -> AsyncGenerator[ServerSentEvent, None]:
    """The events of an answer; if the client leaves, the work is told to end."""
    begin = time.perf_counter()
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[ServerSentEvent | None] = asyncio.Queue()

    def send(step: Step) -> None:
        loop.call_soon_threadsafe(events.put_nowait, ServerSentEvent(event="step", data=asdict(step)))

    ask = partial(pipeline.ask, asked.query, send, mode=body.mode, context=asked.context)
    work = asyncio.ensure_future(in_thread(ask, service.answer_timeout))
    work.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        result = work.result()
        service.metrics.answered(result, asked.strategy)
        log_failures(failure for failure in result.failures if failure.reason != failure.public)
        response = AnswerResponse.of(result, body, asked, 1000 * (time.perf_counter() - begin))
        yield ServerSentEvent(event="result", data=response.model_dump(mode="json"))
    except Exception as error:
        service.metrics.failed("answer", f"{type(error).__name__}: {error}")
        _log.warning("answer_failed", exc_info=not isinstance(error, AcqoError), extra={"error": str(error)})
        yield ServerSentEvent(event="error", data={"detail": detail_of(error)})
    finally:
        work.cancel()
