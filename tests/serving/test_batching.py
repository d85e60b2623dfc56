"""Concurrent calls are combined into one call, and each caller gets its own result."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving_stand_ins import Echo, Gate, Parts
from stand_ins import ranking

from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.serving.batching import BatchedModel, BatchedReformulator, BatchedRetriever, Batcher
from acqo_rl.types import Query


def together(reformulator, count, **settings):
    """Makes concurrent calls; the first one keeps the model busy until all others wait."""
    gate = Gate()
    first = [True]

    class Held(Reformulator):
        name = "held"

        def reformulate(self, queries):
            if first.pop() if first else False:
                gate.entered.release()
                assert gate.open.wait(20)
            return reformulator.reformulate(queries)

    batched = BatchedReformulator(Held(), partial(Batcher, **settings))
    with ThreadPoolExecutor(count) as pool:
        opening = pool.submit(batched.reformulate, [Query("0", "query 0")])
        assert gate.entered.acquire(timeout=10)
        rest = [pool.submit(batched.reformulate, [Query(str(i), f"query {i}")]) for i in range(1, count)]
        while batched._batcher._queue.qsize() < count - 1:
            time.sleep(0.001)
        gate.open.set()
        return [future.result(20) for future in [opening, *rest]]


def test_waiting_calls_are_combined():
    model = Parts()
    answers = together(model, 9)
    assert [len(batch) for batch in model.batches] == [1, 8]
    assert [answer[0].query.text for answer in answers] == [f"query {i}" for i in range(9)]


def test_batches_do_not_exceed_their_size():
    model = Parts()
    together(model, 9, size=3)
    assert [len(batch) for batch in model.batches] == [1, 3, 3, 2]


def test_the_first_call_waits_for_others():
    model = Echo()
    batched = BatchedModel(model, partial(Batcher, wait=0.5, size=4))
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda i: batched.generate([[{"role": "user", "content": str(i)}]]), range(4)))
    assert [completions[0].text for completions in said] == ["0", "1", "2", "3"]
    assert model.sizes == [4]  # and not half a second later: the batch was full


def test_a_hanging_call_blocks_only_one_thread():
    begun, released = threading.Event(), threading.Event()

    def call(items):
        if "hang" in items:
            begun.set()
            released.wait(20)
        return [item.upper() for item in items]

    batcher = Batcher(call, threads=2, timeout=10)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(batcher.ask, ["hang"])
        assert begun.wait(10)
        assert [batcher.ask([text]) for text in "abc"] == [["A"], ["B"], ["C"]]
        assert not late.done()
        released.set()
        assert late.result(20) == ["HANG"]


def test_a_failing_item_does_not_affect_others():
    class Touchy(Parts):
        def reformulate(self, queries):
            if any(query.text == "query 3" for query in queries):
                raise ValueError("no 3")
            return super().reformulate(queries)

    batched = BatchedReformulator(Touchy(), partial(Batcher, wait=0.3, size=6))
    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(batched.reformulate, [Query(str(i), f"query {i}")]) for i in range(6)]
        errors = [future.exception(20) for future in futures]
    assert [i for i, error in enumerate(errors) if error] == [3]


def test_too_few_results_are_an_error():
    batcher = Batcher(lambda items: items[:-1])
    with pytest.raises(ValueError, match=r"1 answers .* 2 items"):
        batcher.ask([1, 2])


def test_timed_out_callers_are_removed_from_the_queue():
    asked = []
    batcher = Batcher(lambda items: asked.extend(items) or time.sleep(0.3) or items, timeout=0.1, size=1)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(batcher.ask, [number]) for number in range(2)]
        assert all(isinstance(future.exception(10), TimeoutError) for future in waiting)
    time.sleep(0.5)
    assert len(asked) == 1


def test_a_timeout_raised_by_the_call_is_propagated():
    def late(items):
        raise TimeoutError("the server's own")

    with pytest.raises(TimeoutError, match="the server's own"):
        Batcher(late, timeout=5).ask([1])


@given(st.lists(st.lists(st.integers(), max_size=4), min_size=1, max_size=8), st.integers(1, 5))
def test_results_are_in_input_order(calls, size):
    batcher = Batcher(lambda items: [2 * item for item in items], size=size)
    with ThreadPoolExecutor(len(calls)) as pool:
        assert list(pool.map(batcher.ask, calls)) == [[2 * item for item in call] for call in calls]


class Depths(Retriever):
    """A retriever that returns k documents and records its calls."""

    name = "depths"

    def __init__(self):
        self.calls = []

    def search(self, texts, k):
        self.calls.append((list(texts), k))
        return [ranking(*(f"{text}{i}" for i in range(k)), retriever=self.name, query=text) for text in texts]


def test_searches_with_different_depths_are_one_call():
    """The call has the largest depth and each text once; every caller gets its own depth."""
    retriever = Depths()
    batched = BatchedRetriever(retriever, partial(Batcher, wait=0.5, size=3))
    with ThreadPoolExecutor(2) as pool:
        short, long = (pool.submit(batched.search, *call) for call in ((["a"], 2), (["a", "b"], 4)))
        assert short.result(10) == Depths().search(["a"], 2)
        assert long.result(10) == Depths().search(["a", "b"], 4)
    assert [(sorted(texts), k) for texts, k in retriever.calls] == [(["a", "b"], 4)]


def test_a_fused_ranking_is_cut_with_its_similarities():
    whole = replace(ranking("a", "b", "c"), similarities=(0.5, 0.9, 0.1))

    class Fused(Retriever):
        name = "fused"

        def search(self, texts, k):
            return [whole for _ in texts]

    [cut] = BatchedRetriever(Fused(), Batcher).search(["q"], 2)
    assert (cut.doc_ids, cut.similarities) == (("a", "b"), (0.5, 0.9))
