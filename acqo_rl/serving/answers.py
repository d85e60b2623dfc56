"""Answers as server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from functools import partial

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from acqo_rl.errors import AcqoError
from acqo_rl.pipeline.pipeline import PipelineResult
from acqo_rl.searching.trace import Step
from acqo_rl.serving.http import REFUSALS, detail_of, in_thread
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.requests import AnswerRequest
from acqo_rl.serving.responses import AnswerResponse, Problem
from acqo_rl.serving.service import Service

ANSWER = "/v1/answer"

_PING_SECONDS = 15.0
"""Interval of comments on an idle stream, because proxies close idle connections."""

_log = logging.getLogger(__name__)


def add_answers(app: FastAPI, service: Service) -> None:
    """Adds ``/v1/answer`` to an application."""

    @app.post(
        ANSWER,
        tags=["answer"],
        responses={**REFUSALS, 200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}},
        response_class=StreamingResponse,
    )
    async def answer(body: AnswerRequest, request: Request) -> StreamingResponse:
        """Answers from the documents; streams the events `step` and `token`, then `result` or `error`.

        Only model servers produce `token` events.
        """
        begin, metrics = time.perf_counter(), service.metrics
        asked, pipeline = await in_thread(partial(service.pipeline_for, body), service.answer_timeout)

        def ask(on_step: Callable[[Step], None], on_text: Callable[[str], None]) -> PipelineResult:
            return pipeline.ask(asked.query, on_step, on_text, mode=body.mode, context=asked.context)

        def shown(result: PipelineResult) -> AnswerResponse:
            metrics.answered(result, service.max_model_calls)
            for failure in result.failures:
                if failure.reason != failure.public:
                    _log.warning("answer_call_failed", extra={"error": str(failure)})
            ms = 1000 * (time.perf_counter() - begin)
            return AnswerResponse.of(result, asked, body.mode, request.state.request_id, ms)

        events = _events(ask, shown, metrics, service.answer_timeout)
        return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _events(
    ask: Callable[[Callable[[Step], None], Callable[[str], None]], PipelineResult],
    shown: Callable[[PipelineResult], AnswerResponse],
    metrics: Metrics,
    seconds: float | None,
) -> AsyncIterator[str]:
    """Yields ``step`` events, ``token`` events (if the model streams), and finally one ``result`` or ``error`` event.

    If the client disconnects, the work is told to end.

    Args:
        ask: answers the question; gets functions to call with each step and with each piece of the answer.
        shown: converts the result.
        metrics: count failures.
        seconds: time limit.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[str | None] = asyncio.Queue()

    def on_step(step: Step) -> None:
        loop.call_soon_threadsafe(events.put_nowait, _event("step", json.dumps(asdict(step))))

    def on_text(text: str) -> None:
        loop.call_soon_threadsafe(events.put_nowait, _event("token", json.dumps({"text": text})))

    work = asyncio.ensure_future(in_thread(lambda: ask(on_step, on_text), seconds))
    work.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await _next(events)) is not None:
            yield event
        yield _event("result", shown(work.result()).model_dump_json())
    except Exception as error:
        detail = f"The answer failed ({type(error).__name__}); see the log of the service."
        if isinstance(error, AcqoError):
            detail = detail_of(error)
        metrics.failed("answer", f"{type(error).__name__}: {error}")
        _log.warning("answer_failed", exc_info=not isinstance(error, AcqoError), extra={"error": str(error)})
        yield _event("error", Problem(detail=detail).model_dump_json())
    finally:
        work.cancel()


async def _next(events: asyncio.Queue[str | None]) -> str | None:
    try:
        async with asyncio.timeout(_PING_SECONDS):
            return await events.get()
    except TimeoutError:
        return ": still at work\n\n"


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
