"""Concurrent calls are combined into one call, and each caller gets its own result."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from stand_ins import ranking

from acqo_rl.roles import Retriever
from acqo_rl.serving.batching import BatchedRetriever, Batcher
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import UNRESTRICTED


class Held:
    """A call that doubles its items; a batch with the item -1 waits until ``go`` is set."""

    def __init__(self):
        self.batches = []
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, items, how=None):
        self.batches.append(list(items))
        if -1 in items:
            self.begun.set()
            assert self.go.wait(20)
        return [2 * item for item in items]


def together(held, batcher, calls):
    """The ended futures of calls that waited for the same call to end."""
    with ThreadPoolExecutor(1 + len(calls)) as pool:
        pool.submit(batcher.ask, [-1])
        assert held.begun.wait(10)
        futures = [pool.submit(batcher.ask, *call) for call in calls]
        while batcher._queue.qsize() < len(calls):
            time.sleep(0.001)
        held.go.set()
    return futures


@pytest.mark.parametrize(("size", "lengths"), [(32, [1, 8]), (3, [1, 3, 3, 2])])
def test_calls_that_wait_are_combined(size, lengths):
    held = Held()
    futures = together(held, Batcher(held, size=size), [([number],) for number in range(8)])
    assert [future.result() for future in futures] == [[2 * number] for number in range(8)]
    assert [len(batch) for batch in held.batches] == lengths


def test_a_failing_item_does_not_affect_others():
    held = Held()

    def touchy(items, how):
        if 3 in items:
            raise ValueError("no 3")
        return held(items)

    futures = together(held, Batcher(touchy), [([number],) for number in range(6)])
    assert [i for i, future in enumerate(futures) if future.exception()] == [3]


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
    held = Held()
    retriever = Depths()
    batched = BatchedRetriever(retriever, Batcher)
    search = batched._batcher._call
    batched._batcher._call = lambda items, how: search(items, how) if how else held(items)
    calls = [(["a"], 2), (["b"], 4), (["b", "c"], 2)]
    futures = together(held, batched._batcher, [(texts, (UNRESTRICTED, k)) for texts, k in calls])
    assert [future.result() for future in futures] == [Depths().search(*call) for call in calls]
    assert sorted((sorted(texts), k) for texts, k in retriever.calls) == [(["a", "b", "c"], 2), (["b"], 4)]
