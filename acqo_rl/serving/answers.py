"""Streams an answer as server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from functools import partial

from acqo_rl.errors import AcqoError
from acqo_rl.pipeline.pipeline import PipelineResult
from acqo_rl.searching.trace import Step
from acqo_rl.serving.http import detail_of, in_thread
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.schemas import AnswerResponse, Problem
from acqo_rl.types import Query

logger = logging.getLogger(__name__)

_PING_SECONDS = 15.0
"""Interval of comments on an idle stream, because proxies close idle connections."""


async def stream_answer(
    ask: Callable[[Query, Callable[[Step], None], Callable[[str], None]], PipelineResult],
    query: Query,
    notes: list[str],
    mode: str,
    seconds: float | None,
    metrics: Metrics,
    strategy: str,
    max_model_calls: int,
    request_id: str,
) -> AsyncIterator[str]:
    """Yields ``step`` events, ``token`` events (if the model streams), and finally one ``result`` or ``error`` event.

    If the client disconnects, the work is told to end.

    Args:
        ask: answers the question.
        query: the question.
        notes: notes on the request.
        mode: mode of the request.
        seconds: time limit.
        metrics: count the result.
        strategy: name of the reformulation strategy.
        max_model_calls: maximum number of model calls per answer.
        request_id: id of the request.
    """
    begin = time.perf_counter()
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[str | None] = asyncio.Queue()

    def on_step(step: Step) -> None:
        loop.call_soon_threadsafe(events.put_nowait, _event("step", json.dumps(asdict(step))))

    def on_text(text: str) -> None:
        loop.call_soon_threadsafe(events.put_nowait, _event("token", json.dumps({"text": text})))

    work = asyncio.ensure_future(in_thread(partial(ask, query, on_step, on_text), seconds))
    work.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await _next(events)) is not None:
            yield event
        result = work.result()
        metrics.answered(strategy, result, max_model_calls)
        for failure, public in zip(result.failures, result.public_failures, strict=True):
            if failure != public:
                logger.warning("answer_call_failed", extra={"error": failure})
        ms = 1000 * (time.perf_counter() - begin)
        yield _event("result", AnswerResponse.of(result, mode, strategy, notes, request_id, ms).model_dump_json())
    except AcqoError as error:
        metrics.failed("answer", str(error))
        logger.warning("answer_failed", extra={"error": str(error)})
        yield _event("error", Problem(detail=detail_of(error)).model_dump_json())
    except Exception as error:
        metrics.failed("answer", type(error).__name__)
        logger.exception("answer_failed", extra={"request_id": request_id})
        detail = f"The answer failed ({type(error).__name__}); see the log of the service."
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
