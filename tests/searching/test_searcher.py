"""The searcher for serving: one path, in parallel, with limits, caches, a trace and a log."""

import asyncio
import logging
import threading
import time
from dataclasses import replace

import pytest
from stand_ins import BrokenRetriever, ScriptedReformulator, ScriptedRetriever, ranking

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Retriever
from acqo_rl.searching.searcher import (
    FELL_BACK,
    REWRITTEN,
    AdaptiveSearcher,
    Timeouts,
    cluster_by_sub_query,
)
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.types import Document, FeedbackSpec, Query

CORPUS = {str(i): Document(str(i), f"title {i}", f"text of {i}") for i in range(10)}
FOUND = {"q": ("1", "2"), "a": ("3",), "b": ("4",), "c": ("5",)}


class Waits(PassThrough):
    def reformulate(self, queries):
        time.sleep(0.5)
        return super().reformulate(queries)


class Echo(Retriever):
    """Finds one document named after itself and the text; fails or waits for some texts."""

    def __init__(self, name="echo", fails=(), waits=()):
        self.name = name
        self.fails = set(fails)
        self.waits = set(waits)
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        if self.waits & set(texts):
            time.sleep(1.5)
        if self.fails & set(texts):
            raise ValueError("no")
        return [ranking(f"{self.name}-{text}", retriever=self.name, query=text) for text in texts]


class Meeting(Echo):
    """Answers a call only when so many are under way at the same time."""

    def __init__(self, barrier, name):
        super().__init__(name)
        self.barrier = barrier

    def search(self, texts, k):
        self.barrier.wait(60)
        return super().search(texts, k)


def searcher(reformulator, *retrievers, **settings):
    return AdaptiveSearcher(reformulator, retrievers, RankScoreFusion(), **settings)


def test_all_lists_are_in_flight_at_once():
    """With a limit, each of five sub-queries at two retrievers is a call."""
    barrier = threading.Barrier(10)
    retrievers = Meeting(barrier, "dense"), Meeting(barrier, "sparse")
    found = searcher(ScriptedReformulator(*"abcde"), *retrievers, timeouts=Timeouts(sub_query=60)).search("q")
    assert len(found.rankings) == 10


@pytest.mark.parametrize(
    ("retriever", "limit", "reason"),
    [
        (Echo(fails="b"), None, "ValueError: no"),
        (Echo(fails="b"), 1, "ValueError: no"),
        (Echo(waits="b"), 1, "TimeoutError: no answer"),
    ],
)
def test_the_fusion_goes_on_without_a_sub_query_that_fails_or_is_late(retriever, limit, reason):
    found = searcher(ScriptedReformulator("a", "b", "c"), retriever, timeouts=Timeouts(sub_query=limit)).search("q")
    assert set(found.fused.doc_ids) == {"echo-a", "echo-c"}
    [failure] = found.failures
    assert (failure.step, failure.retriever, failure.sub_query) == ("retrieval", "echo", "b")
    assert failure.reason.startswith(reason)


@pytest.mark.parametrize(
    ("retriever", "limits"), [(BrokenRetriever(), Timeouts()), (Echo("broken", waits="a"), Timeouts(total=1))]
)
def test_a_retriever_that_fails_leaves_the_other_and_nothing_back_is_an_error(retriever, limits):
    found = searcher(ScriptedReformulator("a"), retriever, ScriptedRetriever(FOUND), timeouts=limits).search("q")
    assert (found.fused.doc_ids, [f.retriever for f in found.failures]) == (("3",), ["broken"])
    with pytest.raises(SearchError, match="broken"):
        searcher(ScriptedReformulator("a"), retriever, timeouts=limits).search("q")


def test_a_retriever_owes_one_ranking_a_text():
    class Short(Retriever):
        name = "short"

        def search(self, texts, k):
            return []

    with pytest.raises(SearchError, match=r"0 .* 1 "):
        searcher(PassThrough(), Short()).search("q")


@pytest.mark.parametrize(
    ("reformulator", "error"),
    [
        (ScriptedReformulator(error=ConnectionError("secret address")), "ConnectionError"),
        (Waits(), "TimeoutError"),
    ],
)
def test_if_the_reformulation_fails_the_raw_query_is_searched_and_the_result_is_not_kept(reformulator, error, caplog):
    front = searcher(reformulator, ScriptedRetriever(FOUND), timeouts=Timeouts(total=30, reformulation=0.1))
    for _ in range(2):
        found = front.search("q")
        assert (found.fused.doc_ids, found.reformulation.route) == (("1", "2"), "pass")
        assert [failure.step for failure in found.failures] == ["reformulation"]
        assert found.reformulation.problem.startswith(error)
    events = [(e.message, e.levelno, e.error) for e in caplog.records if e.name.startswith("acqo_rl")]
    assert events == [(FELL_BACK, logging.WARNING, error)] * 2
    assert "secret" not in str([vars(record) for record in caplog.records])


@pytest.mark.parametrize(
    ("texts", "route"), [(("secret A", "secret b"), "decompose"), (("secret",), "pass"), (("", " "), "decompose")]
)
def test_each_reformulation_is_logged_without_a_text(texts, route, caplog):
    front = searcher(ScriptedReformulator(*texts, route=route), ScriptedRetriever({}))
    with caplog.at_level(logging.INFO, logger="acqo_rl"):
        front.search_many(["secret", "secret", "q"])
    events = [e for e in caplog.records if e.message == REWRITTEN]
    assert [(e.num_variants, e.original_query_length, e.failed) for e in events] == [
        (len(texts), 6, False),
        (len(texts), 1, False),
    ]
    assert all(e.asked == e.strategy and e.rewriting_duration_ms >= 0 and e.model_calls == 1 for e in events)
    assert "secret" not in str([vars(e) for e in caplog.records]).lower()


def test_empty_queries_and_bad_settings_are_refused():
    front = searcher(PassThrough(), ScriptedRetriever({}))
    for arguments in ((" \x00",), ("q", 0)):
        with pytest.raises(ConfigError):
            front.search(*arguments)
    for retrievers, settings in (
        ((ScriptedRetriever({}), ScriptedRetriever({})), {}),
        ((), {}),
        ((ScriptedRetriever({}),), {"feedback": FeedbackSpec(1)}),
    ):
        with pytest.raises(ConfigError):
            searcher(PassThrough(), *retrievers, **settings)


def test_readings_and_what_is_known_of_the_user():
    """20 a reading, 10 fused, the context at each reading; each reading keeps its order."""
    found = {f"python {r} for my zoo": tuple(f"{r}{i}" for i in range(30)) for r in ("programming language", "snake")}
    result = searcher(Heuristic(), ScriptedRetriever(found), depth=20).search("python", context="for my zoo")
    assert [len(r.doc_ids) for r in result.rankings] == [20, 20]
    clusters = cluster_by_sub_query(result)
    assert clusters["python snake for my zoo"] == tuple(f"snake{i}" for i in range(5))
    assert sum(map(len, clusters.values())) == 10
    [part] = (
        searcher(ScriptedReformulator("part"), ScriptedRetriever({}))
        .search("q", context="zoo")
        .reformulation.sub_queries
    )
    assert part.text == "part"


def test_the_first_list_is_not_searched_again_and_a_reformulation_alone_is_that_of_a_search():
    retriever = ScriptedRetriever(FOUND)
    reformulator = PassThrough()
    front = searcher(reformulator, retriever, corpus=CORPUS, feedback=FeedbackSpec(2))
    found = front.search("q")
    assert retriever.calls == [["q"]]
    assert [step.name for step in found.trace] == ["feedback", "reformulation", "retrieval", "fusion"]
    assert front.reformulate("q") == replace(found.reformulation, cached=True)
    assert len(found.reformulation.query.feedback) == 2


def test_a_first_list_that_failed_is_named_and_not_kept():
    retriever = Echo(fails="q")
    front = searcher(ScriptedReformulator("a"), retriever, feedback=FeedbackSpec(1), corpus={"echo-q": CORPUS["1"]})
    found = front.search("q")
    assert (found.fused.doc_ids, [f.sub_query for f in found.failures]) == (("echo-a",), ["q"])
    retriever.fails = set()
    again = front.search("q")
    assert (again.failures, len(again.reformulation.query.feedback)) == ((), 1)


@pytest.mark.parametrize("texts", [("C++", "C", "C#"), ("10.5", "105"), ("???", "!!!"), ("US?", "us?", "US ?")])
def test_only_the_same_text_with_the_same_conversation_is_not_reformulated_again(texts):
    front = searcher(ScriptedReformulator("a"), ScriptedRetriever({}))
    queries = [Query("q", texts[0], history=read_history(("before",))), *texts]
    for calls in (1, 0):
        assert [front.search(query).reformulation.calls for query in queries] == [calls] * len(queries)


@pytest.mark.parametrize(("failed", "kept"), [(1, False), (0, True)])
def test_what_a_model_server_owes_is_named_and_not_kept(failed, kept):
    """A combination of which one call failed; a reply that cannot be used is kept."""
    half = ScriptedReformulator("a", problem="hyde: InternalServerError: 500", failed_calls=failed)
    front = searcher(half, ScriptedRetriever(FOUND))
    assert [f.reason for f in front.search("q").failures] == ["hyde: InternalServerError: 500"] * failed
    assert front.search("q").reformulation.calls == 1 - kept


@pytest.mark.parametrize(
    "settings", [{"cache_size": 0}, {"cache_size": 1}, {"cache_seconds": 0}, {"cache_seconds": 0.01}]
)
def test_its_size_and_lifetime_are_settings(settings):
    front = searcher(ScriptedReformulator("c"), ScriptedRetriever(FOUND), **settings)
    for text in ("a", "b"):
        front.search(text)
    time.sleep(0.02)
    assert front.search("a").reformulation.calls == 1


def test_asearch_leaves_the_loop_free():
    front = searcher(PassThrough(), Meeting(threading.Barrier(4), "echo"), cache_size=0)

    async def ask():
        return await asyncio.gather(*(front.asearch(f"q{i}") for i in range(4)))

    assert [r.fused.doc_ids for r in asyncio.run(ask())] == [(f"echo-q{i}",) for i in range(4)]


def test_what_only_the_raw_query_finds_is_clustered_under_the_raw_query():
    dense = ScriptedRetriever({"part": ("a",)})
    words = ScriptedRetriever({"q": ("b",)})
    words.name = "words"
    found = searcher(ScriptedReformulator("part"), dense, RawQueryOnly(words)).search("q")
    assert cluster_by_sub_query(found) == {"part": ("a",), "q": ("b",)}
