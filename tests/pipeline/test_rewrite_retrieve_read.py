"""Rewrite-retrieve-read with scripted parts."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedLanguageModel, ranking, strategy

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import ReciprocalRankFusion
from acqo_rl.pipeline.rewrite_retrieve_read import RewriteRetrieveRead
from acqo_rl.reformulation.prompted import Prompted
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


def made(*replies, threshold=0.7):
    """The reformulator, the model of its rewriter, and its retriever."""
    model, retriever = ScriptedLanguageModel(*replies), Scored()
    rewriter = Prompted(model, [strategy("step_back", original_weight=0)])
    return RewriteRetrieveRead(rewriter, retriever, ReciprocalRankFusion(), CORPUS, threshold), model, retriever


def test_only_a_weak_search_is_rewritten_and_the_better_one_is_kept():
    reformulator, model, retriever = made("better", "worse")
    good, improved, kept = reformulator.reformulate([Query("1", "good"), Query("2", "weak"), Query("3", "weak")])
    assert retriever.calls == [["good", "weak"], ["better", "worse"]]
    assert [len(call) for call in model.calls] == [2]
    assert "- title b: text of b goes on\nQuestion: weak" in model.calls[0][0][-1]["content"]
    assert [[s.text for s in r.sub_queries] for r in (good, improved, kept)] == [["good"], ["better"], ["weak"]]
    assert [r.calls for r in (good, improved, kept)] == [0, 1, 1]
    assert {r.made_by for r in (good, improved, kept)} == {"rewrite_retrieve_read"}
    assert "0.500 is below 0.7, 0.600 after" in improved.reasoning and "second" in improved.reasoning
    assert "0.400 after" in kept.reasoning and "first" in kept.reasoning
    assert good.reasoning == ""


def test_nothing_found_twice_keeps_the_raw_query():
    [answer] = made("unknown")[0].reformulate([Query("1", "nothing")])
    assert [s.text for s in answer.sub_queries] == ["nothing"]


def test_a_failing_model_keeps_the_raw_query_and_says_so():
    [answer] = made("")[0].reformulate([Query("1", "weak")])
    assert [s.text for s in answer.sub_queries] == ["weak"]
    assert answer.problem.startswith("step_back: ")


@pytest.mark.parametrize(("threshold", "calls"), [(0.5, 0), (0.51, 1)])
def test_a_similarity_at_the_threshold_is_good_enough(threshold, calls):
    reformulator, model, _ = made("better", threshold=threshold)
    reformulator.reformulate([Query("1", "weak")])
    assert len(model.calls) == calls


def test_the_adaptive_searcher_searches_what_was_kept():
    reformulator, _, retriever = made("better")
    found = AdaptiveSearcher(reformulator, retriever, ReciprocalRankFusion()).search("weak")
    assert (found.fused.doc_ids, found.reformulation.calls) == (("c",), 1)


class Words(Scored):
    """The same without cosines, as the other part of a hybrid."""

    name, cosine = "bm25", False


def test_of_a_hybrid_the_dense_part_is_searched_and_without_cosines_it_is_refused():
    dense, words = Scored(), Words()
    rewriter = Prompted(ScriptedLanguageModel("better"), [strategy("step_back", original_weight=0)])
    hybrid = HybridRetriever([words, dense], ReciprocalRankFusion())
    [answer] = RewriteRetrieveRead(rewriter, hybrid, ReciprocalRankFusion(), CORPUS).reformulate([Query("1", "weak")])
    assert [s.text for s in answer.sub_queries] == ["better"]
    assert (dense.calls, words.calls) == ([["weak"], ["better"]], [])
    with pytest.raises(ConfigError, match="cosines"):
        RewriteRetrieveRead(rewriter, words, ReciprocalRankFusion(), CORPUS)
