"""Dynamic batching: requests that arrive while a model is busy are combined into its next call."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from acqo_rl import time_limit
from acqo_rl.roles import LanguageModel, Retriever
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import UNRESTRICTED, Completion, Conversation, Ranking, Schema, Scope

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Waiting(Generic[Item, Answer]):
    """The items of a caller, who cancels the answers when it leaves, and how they are asked."""

    items: Sequence[Item]
    how: Hashable
    answers: Future[list[Answer]] = field(default_factory=Future)


class _WhileWanted(TimeLimit):
    """Ends when every caller of a batch has left."""

    def __init__(self, batch: Sequence[_Waiting[Any, Any]]) -> None:
        super().__init__()
        self._batch = batch

    @property
    def seconds(self) -> float:
        return 0.0 if all(waiting.answers.cancelled() for waiting in self._batch) else super().seconds


class Batcher(Generic[Item, Answer]):
    """Combines requests from many threads into batched calls and returns each caller its own answers."""

    def __init__(
        self, call: Callable[[Sequence[Item], Any], list[Answer]], *, size: int = 32, threads: int = 1
    ) -> None:
        """Starts the worker threads.

        A caller leaves when its time limit ends (:mod:`acqo_rl.time_limit`). If it leaves before its batch starts, its
        items are not asked. The time limit of a batch ends when all its callers have left.

        Args:
            call: gets items and how they are asked; returns one answer per item, in input order.
            size: target number of items per batch. A batch may exceed it by the last caller's items.
            threads: number of concurrent batches; with 1, calls of ``call`` never overlap.
        """
        self._call = call
        self._size = size
        self._queue: SimpleQueue[_Waiting[Item, Answer]] = SimpleQueue()
        self._collecting = Lock()
        for _ in range(threads):
            Thread(target=self._run, name="acqo-batches", daemon=True).start()

    def ask(self, items: Sequence[Item], how: Hashable = None) -> list[Answer]:
        """Returns the answers to the items, in input order.

        Args:
            items: what to ask.
            how: only items that are asked in the same way share a call.

        Raises:
            TimeoutError: no answer arrived within the time limit of the request.
            Exception: the exception that the call raised.
        """
        if not items:
            return []
        waiting: _Waiting[Item, Answer] = _Waiting(items, how)
        self._queue.put(waiting)
        limit = time_limit.current()
        try:
            with limit.ending(waiting.answers.cancel):
                return waiting.answers.result(None if limit.seconds == math.inf else limit.seconds)
        except (TimeoutError, CancelledError):
            if waiting.answers.done() and not waiting.answers.cancelled():
                raise
            waiting.answers.cancel()
            raise TimeoutError("no answer within the time limit") from None

    def _run(self) -> None:
        while True:
            with self._collecting:
                batch = self._collect()
            for how in dict.fromkeys(waiting.how for waiting in batch):
                same = [waiting for waiting in batch if waiting.how == how and not waiting.answers.cancelled()]
                if same:
                    self._answer(same)

    def _collect(self) -> list[_Waiting[Item, Answer]]:
        batch = [self._queue.get()]
        with suppress(Empty):
            while sum(len(waiting.items) for waiting in batch) < self._size:
                batch.append(self._queue.get_nowait())
        return batch

    def _answer(self, batch: list[_Waiting[Item, Answer]]) -> None:
        """Answers a batch; if its call fails, retries each caller's items in a separate call."""
        items = [item for waiting in batch for item in waiting.items]
        try:
            with limited(_WhileWanted(batch)):
                answers = self._call(items, batch[0].how)
            if len(answers) != len(items):
                raise ValueError(
                    f"{len(answers)} answers were returned for {len(items)} items; return one answer per item"
                )
        except Exception as error:
            if len(batch) == 1:
                with suppress(InvalidStateError):  # it has left
                    batch[0].answers.set_exception(error)
                return
            for waiting in batch:
                self._answer([waiting])
            return
        begin = 0
        for waiting in batch:
            with suppress(InvalidStateError):
                waiting.answers.set_result(answers[begin : begin + len(waiting.items)])
            begin += len(waiting.items)


class BatchedModel(LanguageModel):
    """A language model that combines concurrent calls with the same schema into batches."""

    def __init__(self, model: LanguageModel, batcher: Callable[..., Batcher[Conversation, Completion]]) -> None:
        self._model = model
        self._make_batcher = batcher
        self._batcher = batcher(lambda asked, schema: model.generate(asked, json.loads(schema)))

    def with_sampling(self, temperature: float | None, max_new_tokens: int | None) -> BatchedModel:
        """See the role; another temperature or token limit has batches of its own."""
        if temperature is None and max_new_tokens is None:
            return self
        return BatchedModel(self._model.with_sampling(temperature, max_new_tokens), self._make_batcher)

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; the batch may include other callers' requests."""
        return self._batcher.ask(conversations, json.dumps(schema))


class BatchedRetriever(Retriever):
    """A retriever that combines concurrent searches of the same part of the documents into batches."""

    def __init__(self, retriever: Retriever, batcher: Callable[..., Batcher[str, Ranking]]) -> None:
        self.name = retriever.name
        self.cosine = retriever.cosine
        self._retriever = retriever
        self._scope = UNRESTRICTED
        self._batcher = batcher(lambda texts, how: retriever.restrict(how[0]).search(texts, how[1]))

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The retriever's fingerprint of its documents; empty if it has none."""
        return self._retriever.fingerprint

    def restrict(self, scope: Scope) -> BatchedRetriever:
        """The retriever of a part of the documents; its searches are in separate batches."""
        narrowed = copy(self)
        narrowed._retriever = self._retriever.restrict(scope)
        narrowed._scope = scope
        return narrowed

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text, in input order; the batch may include other callers' texts."""
        return self._batcher.ask(texts, (self._scope, k))
