"""Raw queries that find a similar document are not reformulated."""

import pytest
from stand_ins import ScriptedReformulator, ScriptedRetriever, ranking

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.composite import HybridRetriever
from acqo_rl.roles import Retriever
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.types import Document, FeedbackSpec, Query

COSINES = {"sure": 0.8, "at the limit": 0.5, "unsure": 0.2, "equal": 0.2, "part": 0.9}
QUERIES = [Query(text, text) for text in ("sure", "unsure", "at the limit")]


class Dense(Retriever):
    """Finds one document per text, named after it, with the cosine of the text; may fail for a text."""

    name = "dense"
    cosine = True

    def __init__(self, fails=""):
        self.fails = fails
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        if self.fails in texts:
            raise ConnectionError("down")
        return [ranking(text, scores=[COSINES.get(text, 0.0)], retriever=self.name, query=text) for text in texts]


def asked(results=0, writes="part"):
    """Rewrites the queries that it is asked."""
    reformulator = ScriptedReformulator(writes)
    reformulator.feedback = FeedbackSpec(results)
    return reformulator


def words(cosine=False):
    retriever = ScriptedRetriever({query.text: ("w",) for query in QUERIES})
    retriever.name = "words"
    retriever.cosine = cosine
    return retriever


def both_ways(reformulator, retrievers, **settings):
    """Results from the path and from the searcher around it."""
    path = SearchPath(reformulator, retrievers, RankScoreFusion(), retry_below=0.5, **settings)
    yield path.search(QUERIES)
    reformulator.asked.clear()
    yield AdaptiveSearcher.along(path).search_many(QUERIES)


@pytest.mark.parametrize(("writes", "kept"), [("part", "part"), ("worse", "unsure"), ("equal", "unsure")])
def test_a_reformulator_that_retries_reads_the_first_results_and_keeps_the_better_search(writes, kept):
    corpus = {text: Document(text, f"title of {text}", "") for text in COSINES}
    reformulator = asked(results=1, writes=writes)
    dense = Dense()
    for sure, unsure, _ in both_ways(reformulator, dense, corpus=corpus):
        assert dense.calls == [["sure", "unsure", "at the limit"], [writes]]  # the first search is not repeated
        dense.calls.clear()
        assert [(q.text, q.feedback[0].title) for q in reformulator.asked] == [("unsure", "title of unsure")]
        assert (sure.fused.doc_ids, sure.reformulation.reasoning) == (("sure",), "")
        assert unsure.fused.doc_ids == (kept,)
        assert unsure.reformulation.route == ("decompose" if kept == "part" else "pass")
        assert (unsure.reformulation.calls, "0.200" in unsure.reformulation.reasoning) == (1, True)


@pytest.mark.parametrize(
    "retrievers",
    [
        [Dense(), RawQueryOnly(words(cosine=True))],
        [Dense(), words()],
        HybridRetriever([words(), Dense()], RankScoreFusion()),
    ],
)
def test_only_cosines_of_what_searches_sub_queries_are_compared(retrievers):
    reformulator = asked()
    for _ in both_ways(reformulator, retrievers):
        assert [query.text for query in reformulator.asked] == ["unsure"]


def test_a_raw_search_that_fails_does_not_prevent_a_reformulation():
    found = AdaptiveSearcher(asked(), Dense(fails="sure"), RankScoreFusion(), retry_below=0.5).search("sure")
    assert (found.fused.doc_ids, [failure.sub_query for failure in found.failures]) == (("part",), ["sure"])
