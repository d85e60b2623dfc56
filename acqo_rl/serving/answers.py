"""An answer as it comes about: server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator

import anyio

from acqo_rl.errors import AcqoError
from acqo_rl.pipeline.pipeline import Ask
from acqo_rl.searching.trace import Step
from acqo_rl.serving.answer_schemas import AnswerResponse
from acqo_rl.serving.http import Threads
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.schemas import Problem, Traced
from acqo_rl.types import Query

logger = logging.getLogger(__name__)

_PING_SECONDS = 15.0
"""Proxies close a connection on which nothing comes."""


async def stream_answer(
    ask: Ask,
    query: Query,
    notes: list[str],
    mode: str,
    threads: Threads,
    metrics: Metrics,
    strategy: str,
    max_model_calls: int,
    request_id: str,
) -> AsyncIterator[str]:
    """``step`` events, ``token`` events where the model can be watched, then one ``result`` or ``error``.

    A client that leaves does not stop a model: its place is kept until the work has ended.

    Args:
        ask: answers.
        query: the question.
        notes: on what was shortened or replaced in it.
        mode: of the request.
        threads: one is taken.
        metrics: are told of the result.
        strategy: name of who reformulates the question.
        max_model_calls: of an answer, at most.
        request_id: of the request.
    """
    begin = time.perf_counter()
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[str | None] = asyncio.Queue()

    def tell_step(step: Step) -> None:
        loop.call_soon_threadsafe(events.put_nowait, _event("step", Traced.of(step).model_dump_json()))

    def tell_text(text: str) -> None:
        loop.call_soon_threadsafe(events.put_nowait, _event("token", json.dumps({"text": text})))

    work = asyncio.ensure_future(threads.run(ask, query, tell_step, tell_text))
    work.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await _next(events)) is not None:
            yield event
        result = work.result()
        metrics.answered(strategy, result, max_model_calls)
        ms = 1000 * (time.perf_counter() - begin)
        yield _event("result", AnswerResponse.of(result, mode, strategy, notes, request_id, ms).model_dump_json())
    except AcqoError as error:
        metrics.failed("answer", str(error))
        yield _event("error", Problem(detail=str(error)).model_dump_json())
    except Exception as error:
        metrics.failed("answer", type(error).__name__)
        logger.exception("answer_failed", extra={"request_id": request_id})
        detail = f"The answer failed ({type(error).__name__}); the log of the service says more."
        yield _event("error", Problem(detail=detail).model_dump_json())
    finally:
        with anyio.CancelScope(shield=True):
            await asyncio.wait([work])


async def _next(events: asyncio.Queue[str | None]) -> str | None:
    try:
        async with asyncio.timeout(_PING_SECONDS):
            return await events.get()
    except TimeoutError:
        return ": still at work\n\n"


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
