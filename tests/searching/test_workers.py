"""Threads in rooms: who hangs keeps nobody else waiting."""

from __future__ import annotations

import threading
import time

import pytest
from stand_ins import ScriptedRetriever

from acqo_rl.errors import SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Retriever
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.searching.workers import Workers

THREADS = 2


@pytest.fixture
def release():
    """Lets in the end go whatever hangs."""
    event = threading.Event()
    yield event
    event.set()


class Hanging(Retriever):
    name = "hanging"

    def __init__(self, release):
        self.release = release
        self.entered = 0

    def search(self, texts, k):
        self.entered += 1
        self.release.wait(60)
        return []


class HangingReformulator(PassThrough):
    name = "hanging"

    def __init__(self, release):
        self.release = release

    def reformulate(self, queries):
        self.release.wait(60)
        return super().reformulate(queries)


def searcher(workers, retrievers, reformulator=None):
    limits = Timeouts(total=20, reformulation=5, sub_query=0.3)
    return AdaptiveSearcher(
        reformulator or PassThrough(), retrievers, RankScoreFusion(), timeouts=limits, cache_size=0, workers=workers
    )


def test_a_retriever_that_hangs_leaves_reformulations_and_other_retrievers_their_threads(release):
    """All of its threads are taken; within one search and in those of others everything else goes on."""
    workers, hanging, found = Workers(THREADS), Hanging(release), ScriptedRetriever({"q": ("1",)})
    down = searcher(workers, hanging)
    for _ in range(THREADS + 1):
        with pytest.raises(SearchError):
            down.search("q")
    assert hanging.entered == THREADS
    assert down.reformulate("q").problem is None
    other = searcher(workers, found).search("q")
    assert (other.fused.doc_ids, other.failures) == (("1",), ())
    both = searcher(workers, [hanging, found]).search("q")
    assert (both.fused.doc_ids, [failure.retriever for failure in both.failures]) == (("1",), ["hanging"])


def test_a_reformulator_that_hangs_leaves_another_one_its_threads(release):
    workers, found = Workers(THREADS), ScriptedRetriever({"q": ("1",)})
    hanging = AdaptiveSearcher(
        HangingReformulator(release), found, RankScoreFusion(), timeouts=Timeouts(reformulation=0.1), workers=workers
    )
    for number in range(THREADS + 1):
        assert hanging.reformulate(f"q {number}").problem.startswith("TimeoutError")
    assert searcher(workers, found).search("q").failures == ()


def test_closing_waits_for_no_running_call(release):
    workers = Workers(THREADS)
    [late] = workers.run([("a", lambda: release.wait(20))], 0.05)
    assert isinstance(late, TimeoutError)
    begin = time.monotonic()
    workers.close()
    assert time.monotonic() - begin < 10


def test_results_come_position_for_position(release):
    def fail():
        raise ValueError("no")

    calls = [("a", lambda: 1), ("b", fail), ("a", lambda: release.wait(60)), ("b", lambda: 4)]
    workers = Workers(THREADS)
    one, failed, late, four = workers.run(calls, 0.2)
    assert (one, four) == (1, 4)
    assert isinstance(failed, ValueError) and isinstance(late, TimeoutError)
    release.set()
    workers.close()
