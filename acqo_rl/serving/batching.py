"""Dynamic batching: requests that arrive while a model is busy are combined into its next call."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from acqo_rl import time_limit
from acqo_rl.roles import LanguageModel, Reformulator, Restrictable, Retriever, SamplingModel, restrict
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import (
    UNRESTRICTED,
    Completion,
    Conversation,
    Query,
    Ranking,
    Reformulation,
    Schema,
    Scope,
    search_key,
)

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Waiting(Generic[Item, Answer]):
    """The items of a caller, who cancels the answers when it leaves."""

    items: Sequence[Item]
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
        self,
        call: Callable[[Sequence[Item]], list[Answer]],
        *,
        size: int = 32,
        wait: float = 0.0,
        threads: int = 1,
    ) -> None:
        """Starts the worker threads.

        A caller leaves when its time limit ends (:mod:`acqo_rl.time_limit`). If it leaves before its batch starts, its
        items are not asked. The time limit of a batch ends when all its callers have left.

        Args:
            call: returns one answer per item, in input order.
            size: target number of items per batch. A batch may exceed it by the last caller's items.
            wait: seconds that the first request of a batch waits for others.
            threads: number of concurrent batches; with 1, calls of ``call`` never overlap.
        """
        self._call = call
        self._size = size
        self._wait = wait
        self._queue: SimpleQueue[_Waiting[Item, Answer]] = SimpleQueue()
        self._collecting = Lock()
        for _ in range(threads):
            Thread(target=self._run, name="acqo-batches", daemon=True).start()

    def ask(self, items: Sequence[Item]) -> list[Answer]:
        """Returns the answers to the items, in input order.

        Raises:
            TimeoutError: no answer arrived within the time limit of the request.
            Exception: the exception that the call raised.
        """
        if not items:
            return []
        waiting: _Waiting[Item, Answer] = _Waiting(items)
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
            if wanted := [waiting for waiting in batch if not waiting.answers.cancelled()]:
                self._answer(wanted)

    def _collect(self) -> list[_Waiting[Item, Answer]]:
        batch = [self._queue.get()]
        end = time.monotonic() + self._wait
        while sum(len(waiting.items) for waiting in batch) < self._size:
            try:
                batch.append(self._queue.get(timeout=max(0.0, end - time.monotonic())))
            except Empty:
                break
        return batch

    def _answer(self, batch: list[_Waiting[Item, Answer]]) -> None:
        """Answers a batch; if its call fails, retries each caller's items in a separate call."""
        items = [item for waiting in batch for item in waiting.items]
        try:
            with limited(_WhileWanted(batch)):
                answers = self._call(items)
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


class BatchedReformulator(Reformulator):
    """A reformulator that combines concurrent calls into batches."""

    def __init__(self, reformulator: Reformulator, batcher: Callable[..., Batcher[Query, Reformulation]]) -> None:
        self.name = reformulator.name
        self.feedback = reformulator.feedback
        self._batcher = batcher(reformulator.reformulate)

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; the batch may include other callers' queries."""
        return self._batcher.ask(queries)


Prompt = tuple[Conversation, Schema | None]
"""A conversation, and the schema of the reply."""


class BatchedModel(SamplingModel):
    """A language model that combines concurrent calls into batches, one for each schema."""

    def __init__(self, model: LanguageModel, batcher: Callable[..., Batcher[Prompt, Completion]]) -> None:
        self._model = model
        self._make_batcher = batcher
        self._batcher = batcher(self._generate)

    def at_temperature(self, temperature: float) -> BatchedModel:
        """Returns the same model at another temperature, if it supports one, with separate batches."""
        model = self._model
        other = model.at_temperature(temperature) if isinstance(model, SamplingModel) else model
        return BatchedModel(other, self._make_batcher)

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; the batch may include other callers' requests."""
        return self._batcher.ask([(conversation, schema) for conversation in conversations])

    def _generate(self, prompts: Sequence[Prompt]) -> list[Completion]:
        def ask(same: Sequence[Prompt]) -> list[Completion]:
            return self._model.generate([conversation for conversation, _ in same], same[0][1])

        return _in_groups(prompts, lambda prompt: json.dumps(prompt[1]), ask)


Search = tuple[str, int, Scope]
"""A text, the number of documents, and the part of the documents to search."""


class BatchedRetriever(Retriever, Restrictable):
    """A retriever that combines concurrent searches into batches.

    Each distinct text of a part of the documents is searched once per batch, with the largest ``k`` of the batch.
    """

    def __init__(self, retriever: Retriever, batcher: Callable[..., Batcher[Search, Ranking]]) -> None:
        self.name = retriever.name
        self.cosine = retriever.cosine
        self._retriever = retriever
        self._scope = UNRESTRICTED
        self._batcher = batcher(partial(_search_batch, retriever))

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The retriever's fingerprint of its documents; empty if it has none."""
        return self._retriever.fingerprint

    def restrict(self, scope: Scope) -> BatchedRetriever:
        """The retriever of a part of the documents; batches are shared."""
        narrowed = copy(self)
        narrowed._retriever, narrowed._scope = restrict(self._retriever, scope), scope
        return narrowed

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text, in input order; the batch may include other callers' texts."""
        return self._batcher.ask([(text, k, self._scope) for text in texts])


def _search_batch(retriever: Retriever, asked: Sequence[Search]) -> list[Ranking]:
    def search(same: Sequence[Search]) -> list[Ranking]:
        texts = {search_key(text): text for text, *_ in same}
        most = max(k for _, k, _ in same)
        rankings = restrict(retriever, same[0][2]).search(list(texts.values()), most)
        found = dict(zip(texts, rankings, strict=True))
        return [found[search_key(text)].first(k) for text, k, _ in same]

    return _in_groups(asked, lambda one: one[2], search)


def _in_groups(
    items: Sequence[Item], group_of: Callable[[Item], Hashable], call: Callable[[Sequence[Item]], list[Answer]]
) -> list[Answer]:
    """Answers to the items in input order, from one call for each group."""
    groups: dict[Hashable, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(group_of(item), []).append(place)
    answers: dict[int, Answer] = {}
    for places in groups.values():
        answers |= zip(places, call([items[place] for place in places]), strict=True)
    return [answers[place] for place in range(len(items))]
