"""A component that hangs blocks only its own threads."""

import threading
import time

import pytest
from stand_ins import ScriptedRetriever

from acqo_rl import time_limit
from acqo_rl.errors import SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Retriever
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.searching.workers import Workers

THREADS = 2


@pytest.fixture
def release():
    """Ends what hangs after the test."""
    event = threading.Event()
    yield event
    event.set()


class Hanging(PassThrough, Retriever):
    """A reformulator and a retriever that wait."""

    name = "hanging"

    def __init__(self, release):
        self.release = release
        self.entered = 0

    def search(self, texts, k):
        self.entered += 1
        self.release.wait(60)

    def reformulate(self, queries):
        self.release.wait(60)


def searcher(workers, retrievers, reformulator=None, **timeouts):
    limits = Timeouts(**{"total": 20, "reformulation": 5, "sub_query": 0.3, **timeouts})
    return AdaptiveSearcher(
        reformulator or PassThrough(), retrievers, RankScoreFusion(), timeouts=limits, cache_size=0, workers=workers
    )


def test_what_hangs_leaves_other_components_their_threads(release):
    workers = Workers(THREADS)
    hanging = Hanging(release)
    found = ScriptedRetriever({"q": ("1",)})
    down = searcher(workers, hanging)
    late = searcher(workers, found, hanging, reformulation=0.1)
    for _ in range(THREADS + 1):
        with pytest.raises(SearchError):
            down.search("q")
        assert late.reformulate("q").problem.startswith("TimeoutError")
    assert hanging.entered == THREADS
    assert down.reformulate("q").problem is None
    assert searcher(workers, found).search("q").failures == ()
    both = searcher(workers, [hanging, found]).search("q")
    assert (both.fused.doc_ids, [failure.retriever for failure in both.failures]) == (("1",), ["hanging"])


def test_results_come_position_for_position_and_closing_waits_for_no_running_call(release):
    def fail():
        raise ValueError("no")

    calls = [("a", lambda: 1), ("b", fail), ("a", lambda: release.wait(60)), ("b", lambda: 4)]
    workers = Workers(THREADS)
    one, failed, late, four = workers.run(calls, 0.2)
    assert (one, type(failed), type(late), four) == (1, ValueError, TimeoutError, 4)
    limits = []
    [late] = workers.run([("c", lambda: (limits.append(time_limit.current()), release.wait(60)))], 0.2)
    assert (type(late), limits[0].seconds) == (TimeoutError, 0.0)
    with time_limit.limited(time_limit.TimeLimit(0)):
        [late] = workers.run(calls[2:3])
    assert isinstance(late, TimeoutError)
    begin = time.monotonic()
    workers.close()
    assert time.monotonic() - begin < 10


def test_a_search_ends_with_the_time_limit_of_its_request(release):
    with time_limit.limited(time_limit.TimeLimit(5)), time_limit.limited(time_limit.TimeLimit(60)) as inner:
        assert inner.seconds <= 5
    begin = time.monotonic()
    with time_limit.limited(time_limit.TimeLimit(0.2)), pytest.raises(SearchError):
        searcher(Workers(THREADS), Hanging(release), sub_query=None).search("q")
    assert time.monotonic() - begin < 10


def test_a_reformulation_alone_ends_with_the_time_of_a_whole_search(release):
    late = searcher(Workers(THREADS), ScriptedRetriever({}), Hanging(release), reformulation=None, total=0.2)
    assert late.reformulate("q").problem.startswith("TimeoutError")
