"""Steps of the pipeline in a study: an interrupted run continues, and queries run at the same time."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from stand_ins import BrokenRetriever, ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.evaluation.cache import Cache
from acqo_rl.evaluation.pipeline import CachedStep, Components
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Document, Query

QUERIES = [Query(str(i), f"query {i}") for i in range(6)]
CORPUS = {"a": Document("a", "A", "text")}
FOUND = {query.text: ("a",) for query in QUERIES}


@pytest.fixture
def open_step(tmp_path):
    """Opens a step over the same file again and again, as several processes do one after the other."""
    caches = []

    def open_step(name="plain", retriever=None, model=None, *, cache_key="", concurrency=2):
        caches.append(Cache(tmp_path / "cache.sqlite"))
        components = Components(
            retriever or ScriptedRetriever(FOUND), CORPUS, model or ScriptedLanguageModel("x"), RankScoreFusion()
        )
        return CachedStep(name, lambda: components, cache_key, caches[-1], concurrency)

    yield open_step
    for cache in caches:
        cache.close()


class Unreliable(ScriptedRetriever):
    """Is interrupted at the fifth search."""

    def search(self, texts, k):
        if len(self.calls) == 4:
            raise KeyboardInterrupt
        return super().search(texts, k)


def test_an_interrupted_run_continues_and_equals_one_that_was_not(open_step):
    with pytest.raises(KeyboardInterrupt):
        open_step(retriever=Unreliable(FOUND), concurrency=1).run(QUERIES)
    retriever = ScriptedRetriever(FOUND)
    second = open_step(retriever=retriever)
    second.run(QUERIES)
    assert len(retriever.calls) == len(QUERIES) - 4
    once = open_step(cache_key="once")
    once.run(QUERIES)
    for query in QUERIES:
        both = [replace(step.outcome(query), ms=0.0) for step in (second, once)]
        assert both[0] == both[1]


def test_outcomes_come_back_from_an_earlier_process(open_step):
    first = open_step("plain_answer", model=ScriptedLanguageModel("caf\u00e9\u2028\n"))
    found = first.search(QUERIES, 100)
    again = open_step("plain_answer", model=None)
    assert again.missing(QUERIES) == []
    assert again.search(QUERIES, 100) == found
    assert [again.outcome(q) for q in QUERIES] == [first.outcome(q) for q in QUERIES]


def test_equal_queries_are_run_once_whatever_their_ids(open_step):
    retriever = ScriptedRetriever(FOUND)
    step = open_step(retriever=retriever)
    found = step.search([QUERIES[0], replace(QUERIES[0], id="typo")], 100)
    assert len(retriever.calls) == 1
    assert [result.reformulation.query.id for result in found] == ["0", "typo"]


def test_other_settings_are_run_anew(open_step):
    for budget in ("5 calls", "20 calls", "5 calls"):
        retriever = ScriptedRetriever(FOUND)
        open_step(retriever=retriever, cache_key=budget).run(QUERIES)
    assert retriever.calls == []


def test_a_failed_model_call_is_repeated_by_the_next_process(open_step):
    class Refuses(LanguageModel):
        def generate(self, conversations):
            return [Completion("", 0, problem="time-out") for _ in conversations]

    step = open_step("multi_hop", model=Refuses())
    [result] = step.search(QUERIES[:1], 100)
    assert step.outcome(QUERIES[0]).errors == ("time-out",)
    assert result.reformulation.failed_calls == 1
    assert open_step("multi_hop").missing(QUERIES[:1]) == QUERIES[:1]


def test_queries_run_at_the_same_time(open_step):
    """Each query waits in its model call until all queries are there."""
    meeting = threading.Barrier(len(QUERIES), timeout=20)

    class Meets(LanguageModel):
        def generate(self, conversations):
            meeting.wait()
            return [Completion('{"answerable": true}', 1) for _ in conversations]

    step = open_step("multi_hop", model=Meets(), concurrency=len(QUERIES))
    step.run(QUERIES)
    assert all(step.outcome(query).calls == 1 for query in QUERIES)


def test_a_failing_retriever_ends_the_run(open_step):
    with pytest.raises(ConnectionError, match="does not answer"):
        open_step(retriever=BrokenRetriever()).run(QUERIES)


def test_a_result_has_what_was_searched_and_found(open_step):
    [found] = open_step().search([replace(QUERIES[0], history=("U: x",))], 100)
    assert found.fused.doc_ids == ("a",)
    assert (found.reformulation.route, found.reformulation.made_by) == ("pass", "plain")
    assert [s.text for s in found.reformulation.sub_queries] == ["query 0"]
