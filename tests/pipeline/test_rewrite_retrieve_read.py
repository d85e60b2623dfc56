"""Rewrite-retrieve-read with scripted parts."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedLanguageModel, ranking

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import ReciprocalRankFusion
from acqo_rl.pipeline.rewrite_retrieve_read import RewriteRetrieveRead, best_similarity, rewrite_retrieve_read
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import StepBack
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.roles import Retriever
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query

CORPUS = {d: Document(d, f"title {d}", f"text of {d} goes on") for d in "abc"}
SIMILARITIES = {"good": ("a", 0.9), "weak": ("b", 0.5), "better": ("c", 0.6), "worse": ("c", 0.4)}


class Scored(Retriever):
    """Answers each known text with one document of a known similarity."""

    name = "dense"
    cosine = True

    def __init__(self):
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        return [
            ranking(SIMILARITIES[t][0], scores=[SIMILARITIES[t][1]]) if t in SIMILARITIES else ranking() for t in texts
        ]


def searcher(*replies, **settings):
    model, retriever = ScriptedLanguageModel(*replies), Scored()
    second = Prompted(model, [StepBack(original_weight=0)])
    made = RewriteRetrieveRead(PassThrough(), second, retriever, ReciprocalRankFusion(), CORPUS, **settings)
    return made, model, retriever


def test_only_a_weak_search_is_rewritten_and_the_better_one_is_kept():
    made, model, retriever = searcher("better", "worse", results=1, words=3)
    found = made.search([Query("1", "good"), Query("2", "weak"), Query("3", "weak")])
    assert [f.fused.doc_ids for f in found] == [("a",), ("c",), ("b",)]
    assert retriever.calls == [["good", "weak"], ["better", "worse"]]
    assert [len(call) for call in model.calls] == [2]
    assert "- title b: text of b\nQuestion: weak" in model.calls[0][0][-1]["content"]
    assert [f.reformulation.calls for f in found] == [0, 1, 1]
    assert found[1].reformulation.reasoning == (
        "Best similarity 0.500 is below 0.7, 0.600 after a rewrite: kept the second search"
    )
    assert found[2].reformulation.reasoning.endswith("0.400 after a rewrite: kept the first search")
    assert found[0].reformulation.reasoning == ""
    assert [len(f.reformulation.query.feedback) for f in found] == [0, 1, 1]


def test_nothing_found_is_weak_and_nothing_found_again_keeps_the_first():
    made, _, _ = searcher("unknown")
    [found] = made.search([Query("1", "nothing")])
    assert best_similarity(found) == float("-inf")
    assert found.reformulation.sub_queries[0].text == "nothing"


def test_a_failing_model_keeps_the_first_search_and_says_so():
    made, _, _ = searcher("")
    [found] = made.search([Query("1", "weak")])
    assert found.fused.doc_ids == ("b",)
    assert found.reformulation.problem.startswith("step_back: ")


@pytest.mark.parametrize(("threshold", "calls"), [(0.5, 0), (0.51, 1)])
def test_a_similarity_at_the_threshold_is_good_enough(threshold, calls):
    made, model, _ = searcher("better", threshold=threshold)
    made.search([Query("1", "weak")])
    assert len(model.calls) == calls


class Words(Scored):
    """The same without cosines, as the other part of a hybrid."""

    name, cosine = "bm25", False


class TestAsAReformulator:
    def test_it_gives_what_was_kept(self):
        made, model, _ = searcher("better", "worse")
        good, improved, kept = made.reformulate([Query("1", "good"), Query("2", "weak"), Query("3", "weak")])
        assert (good.route, good.calls, good.reasoning) == ("pass", 0, "")
        assert [s.text for s in improved.sub_queries] == ["better"]
        assert [s.text for s in kept.sub_queries] == ["weak"]
        assert {r.made_by for r in (good, improved, kept)} == {"rewrite_retrieve_read"}
        assert "kept the first search" in kept.reasoning
        assert sum(map(len, model.calls)) == 2

    def test_the_adaptive_searcher_searches_it(self):
        made, _, retriever = searcher("better")
        found = AdaptiveSearcher(made, retriever, ReciprocalRankFusion()).search("weak")
        assert found.fused.doc_ids == ("c",)
        assert found.reformulation.query.feedback == ()
        assert found.reformulation.calls == 1


class TestLookFirst:
    def rewriter(self, *replies):
        return Prompted(ScriptedLanguageModel(*replies), [StepBack(original_weight=0)])

    def test_of_a_hybrid_the_dense_part_is_looked_at(self):
        dense, words = Scored(), Words()
        hybrid = HybridRetriever([words, dense], ReciprocalRankFusion())
        made = rewrite_retrieve_read(self.rewriter("better"), hybrid, ReciprocalRankFusion(), CORPUS, 0.7)
        assert [s.text for s in made.reformulate([Query("1", "weak")])[0].sub_queries] == ["better"]
        assert (dense.calls, words.calls) == ([["weak"], ["better"]], [])

    def test_the_threshold_decides(self):
        for threshold, calls in ((0.4, 0), (0.5, 0), (0.51, 1)):
            made = rewrite_retrieve_read(self.rewriter("better"), Scored(), ReciprocalRankFusion(), CORPUS, threshold)
            assert made.reformulate([Query("1", "weak")])[0].calls == calls

    def test_without_cosines_it_is_refused(self):
        with pytest.raises(ConfigError, match="cosines"):
            rewrite_retrieve_read(self.rewriter("better"), Words(), ReciprocalRankFusion(), CORPUS, 0.7)
