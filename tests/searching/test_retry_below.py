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
    reformulator = Asked(retry_below=0.5)
    for _ in both_ways(reformulator, [Dense(), RawQueryOnly(words)]):
        assert [query.text for query in reformulator.queries] == ["unsure"]


def test_a_raw_search_that_fails_does_not_prevent_a_reformulation():
    class Failing(Dense):
        def search(self, texts, k):
            if "sure" in texts:
                raise ConnectionError("down")
            return super().search(texts, k)

    reformulator = Asked(retry_below=0.5)
    searcher = AdaptiveSearcher(reformulator, Failing(), RankScoreFusion())
    assert searcher.search("sure").fused.doc_ids == ("part",)


def test_only_the_cosines_of_a_hybrid_are_compared():
    words = ScriptedRetriever({query.text: ("w",) for query in QUERIES})
    words.name, words.cosine = "words", False
    reformulator = Asked(retry_below=0.5)
    hybrid = HybridRetriever([words, Dense()], RankScoreFusion())
    for _ in both_ways(reformulator, hybrid):
        assert [query.text for query in reformulator.queries] == ["unsure"]


@pytest.mark.parametrize("value", [1.5, float("nan")])
def test_what_is_no_cosine_is_refused(value):
    with pytest.raises(ConfigError):
        SearchPath(Asked(retry_below=value), Dense(), RankScoreFusion())


def test_an_index_without_cosines_is_refused():
    broken = BrokenRetriever()
    broken.cosine = False
    with pytest.raises(ConfigError):
        AdaptiveSearcher(Asked(retry_below=0.5), broken, RankScoreFusion())
