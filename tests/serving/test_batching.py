"""Concurrent calls are combined into one call, and each caller gets its own result."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from stand_ins import ranking

from acqo_rl.roles import Retriever
from acqo_rl.serving.batching import BatchedRetriever, Batcher
from acqo_rl.time_limit import TimeLimit, limited


class Held:
    """A call that doubles its items; a batch with the item -1 waits until ``go`` is set."""

    def __init__(self):
        self.batches = []
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, items, how=None):
        self.batches.append(list(items))
        if -1 in items:
            self.begun.set()
            assert self.go.wait(20)
        return [2 * item for item in items]


@pytest.mark.parametrize(("size", "lengths"), [(32, [1, 8]), (3, [1, 3, 3, 2])])
def test_calls_that_wait_are_combined(size, lengths):
    held = Held()
    batcher = Batcher(held, size=size)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(batcher.ask, [-1])
        assert held.begun.wait(10)
        rest = [pool.submit(batcher.ask, [number]) for number in range(8)]
        while batcher._queue.qsize() < 8:
            time.sleep(0.001)
        held.go.set()
        assert [future.result(20) for future in (first, *rest)] == [[-2], *([2 * number] for number in range(8))]
    assert [len(batch) for batch in held.batches] == lengths


def test_a_failing_item_does_not_affect_others():
    def touchy(items, how):
        if 3 in items:
            raise ValueError("no 3")
        return items

    batcher = Batcher(touchy, wait=0.3, size=6)
    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(batcher.ask, [number]) for number in range(6)]
        assert [i for i, future in enumerate(futures) if future.exception(20)] == [3]


def late(items, how):
    raise TimeoutError("the server's own")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [(lambda items, how: items[:-1], ValueError, r"1 answers .* 2 items"), (late, TimeoutError, "the server's own")],
)
def test_the_error_of_a_call_is_raised(call, error, message):
    with pytest.raises(error, match=message):
        Batcher(call).ask([1, 2])


def test_timed_out_callers_are_removed_from_the_queue():
    held = Held()
    batcher = Batcher(held, size=1)
    for number in (-1, 1):
        with pytest.raises(TimeoutError), limited(TimeLimit(0.1)):
            batcher.ask([number])
    held.go.set()
    assert batcher.ask([2]) == [4]
    assert held.batches == [[-1], [2]]


class Depths(Retriever):
    """A retriever that returns k documents per text, and records its calls."""

    name = "depths"

    def __init__(self):
        self.calls = []

    def search(self, texts, k):
        self.calls.append((list(texts), k))
        return [ranking(*(f"{text}{i}" for i in range(k)), query=text) for text in texts]


def test_searches_of_the_same_depth_are_one_call():
    retriever = Depths()
    batched = BatchedRetriever(retriever, partial(Batcher, wait=0.5, size=4))
    with ThreadPoolExecutor(3) as pool:
        found = [pool.submit(batched.search, *call) for call in ((["a"], 2), (["b"], 4), (["b", "c"], 2))]
        assert [future.result(10) for future in found] == [
            Depths().search(*c) for c in ((["a"], 2), (["b"], 4), (["b", "c"], 2))
        ]
    assert sorted((sorted(texts), k) for texts, k in retriever.calls) == [(["a", "b", "c"], 2), (["b"], 4)]
