"""Raw queries that find a similar document are not reformulated."""

from __future__ import annotations

import pytest
from stand_ins import BrokenRetriever, ScriptedRetriever, ranking

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.types import Document, FeedbackSpec, Query, Reformulation, SubQuery

COSINES = {"sure": 0.8, "at the limit": 0.5, "unsure": 0.2, "part": 0.9}
QUERIES = [Query(text, text) for text in ("sure", "unsure", "at the limit")]


class Dense(Retriever):
    """Finds one document per text, named after it, with the cosine of the text."""

    name, cosine = "dense", True

    def __init__(self):
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        return [ranking(text, scores=[COSINES.get(text, 0.0)], retriever=self.name, query=text) for text in texts]


class Asked(Reformulator):
    """Writes the sub-query "part" for every query, and records the queries."""

    name = "asked"

    def __init__(self, results=0, retry_below=None, writes="part"):
        self.feedback, self.retry_below, self.queries = FeedbackSpec(results), retry_below, []
        self.sub_queries = (SubQuery(writes, "part"),)

    def reformulate(self, queries):
        self.queries += queries
        return [Reformulation(query, "decompose", self.sub_queries, self.name, calls=1) for query in queries]


def both_ways(reformulator, retrievers, **settings):
    """Results from the path and from the searcher around it."""
    yield SearchPath(reformulator, retrievers, RankScoreFusion(), **settings).search(QUERIES)
    reformulator.queries.clear()
    yield AdaptiveSearcher(reformulator, retrievers, RankScoreFusion(), **settings).search_many(QUERIES)


def test_only_queries_without_a_similar_document_are_reformulated_in_one_batch():
    reformulator = Asked()
    for found in both_ways(reformulator, Dense(), reformulate_below=0.5):
        assert [query.text for query in reformulator.queries] == ["unsure"]
        assert [result.fused.doc_ids for result in found] == [("sure",), ("part",), ("at the limit",)]
        assert [result.reformulation.route for result in found] == ["pass", "decompose", "pass"]
        assert [result.reformulation.calls for result in found] == [0, 1, 0]


def test_every_query_is_reformulated_by_default():
    reformulator = Asked()
    for _ in both_ways(reformulator, Dense()):
        assert [query.text for query in reformulator.queries] == ["sure", "unsure", "at the limit"]


def test_no_query_is_reformulated_if_every_raw_query_is_similar_enough():
    reformulator = Asked()
    for found in both_ways(reformulator, Dense(), reformulate_below=0.1):
        assert (reformulator.queries, [result.fused.doc_ids for result in found]) == (
            [],
            [(query.text,) for query in QUERIES],
        )


def test_feedback_is_read_only_for_queries_that_are_reformulated():
    corpus = {text: Document(text, f"title of {text}", "") for text in COSINES}
    reformulator = Asked(results=1)
    for _ in both_ways(reformulator, Dense(), corpus=corpus, reformulate_below=0.5):
        [query] = reformulator.queries
        assert (query.text, [snippet.title for snippet in query.feedback]) == ("unsure", ["title of unsure"])


@pytest.mark.parametrize(("writes", "kept"), [("part", "part"), ("worse", "unsure")])
def test_a_reformulator_that_retries_reads_the_first_results_and_keeps_the_better_search(writes, kept):
    corpus = {text: Document(text, f"title of {text}", "") for text in COSINES}
    reformulator, dense = Asked(results=1, retry_below=0.5, writes=writes), Dense()
    for sure, unsure, _ in both_ways(reformulator, dense, corpus=corpus):
        assert dense.calls == [["sure", "unsure", "at the limit"], [writes]]  # the first search is not repeated
        dense.calls.clear()
        assert [(q.text, q.feedback[0].title) for q in reformulator.queries] == [("unsure", "title of unsure")]
        assert (sure.fused.doc_ids, sure.reformulation.reasoning) == (("sure",), "")
        assert unsure.fused.doc_ids == (kept,)
        assert unsure.reformulation.route == ("decompose" if kept == "part" else "pass")
        assert (unsure.reformulation.calls, "0.200" in unsure.reformulation.reasoning) == (1, True)


def test_scores_of_an_index_for_raw_queries_only_are_not_compared():
    words = ScriptedRetriever({query.text: ("w",) for query in QUERIES})
    words.name, words.cosine = "words", False
    reformulator = Asked()
    for _ in both_ways(reformulator, [Dense(), RawQueryOnly(words)], reformulate_below=0.5):
        assert [query.text for query in reformulator.queries] == ["unsure"]


def test_a_raw_search_that_fails_does_not_prevent_a_reformulation():
    class Failing(Dense):
        def search(self, texts, k):
            if "sure" in texts:
                raise ConnectionError("down")
            return super().search(texts, k)

    reformulator = Asked()
    searcher = AdaptiveSearcher(reformulator, Failing(), RankScoreFusion(), reformulate_below=0.5)
    assert searcher.search("sure").fused.doc_ids == ("part",)


def test_only_the_cosines_of_a_hybrid_are_compared():
    words = ScriptedRetriever({query.text: ("w",) for query in QUERIES})
    words.name, words.cosine = "words", False
    reformulator = Asked()
    hybrid = HybridRetriever([words, Dense()], RankScoreFusion())
    for _ in both_ways(reformulator, hybrid, reformulate_below=0.5):
        assert [query.text for query in reformulator.queries] == ["unsure"]


@pytest.mark.parametrize("value", [1.5, float("nan")])
def test_what_is_no_cosine_is_refused(value):
    with pytest.raises(ConfigError):
        SearchPath(Asked(), Dense(), RankScoreFusion(), reformulate_below=value)


def test_an_index_without_cosines_is_refused():
    broken = BrokenRetriever()
    broken.cosine = False
    for reformulator, below in ((Asked(), 0.5), (Asked(retry_below=0.5), None)):
        with pytest.raises(ConfigError):
            AdaptiveSearcher(reformulator, broken, RankScoreFusion(), reformulate_below=below)
