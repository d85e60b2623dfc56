"""The step after the fusion."""

import time

import pytest
from rerank_server import shared_words
from stand_ins import ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Reranker
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.reranking import Reranking
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.text import passage_text
from acqo_rl.types import Document, Query, Ranking, Reformulation, SubQuery

CORPUS = {
    "wood": Document("wood", "Bridges", "a bridge of wood"),
    "stone": Document("stone", "Bridges", "a bridge of stone"),
    "river": Document("river", "", "a river"),
    "far": Document("far", "", "stone bridge"),
}
FOUND = {"stone bridge": ("river", "wood", "stone", "far"), "and the river?": ("far", "wood")}


class SharedWords(Reranker):
    """Counts shared words; a call may fail or take time."""

    name = "words"

    def __init__(self, error=None, seconds=0.0):
        self.error = error
        self.seconds = seconds
        self.calls = []

    def score(self, pairs):
        self.calls.append(list(pairs))
        time.sleep(self.seconds)
        if self.error:
            raise self.error
        return [shared_words(*pair) for pair in pairs]


def path(reranker, **settings):
    reranking = Reranking(reranker, CORPUS, settings.pop("depth", 3))
    return SearchPath(PassThrough(), ScriptedRetriever(FOUND), RankScoreFusion(), reranking=reranking, **settings)


def test_the_first_documents_are_reordered_and_the_others_stay_behind_them():
    [result] = path(SharedWords()).search([Query("q", "stone bridge")], 4)

    assert result.fused.doc_ids == ("stone", "wood", "river", "far")
    assert list(result.fused.scores) == sorted(result.fused.scores, reverse=True)
    similar = dict(zip(result.fused.doc_ids, result.fused.similarities, strict=True))
    assert similar == pytest.approx({"river": 1.0, "wood": 0.999, "stone": 0.998, "far": 0.997})  # of the retriever
    assert result.rankings[0].doc_ids == FOUND["stone bridge"]
    assert [step.name for step in result.trace][-1] == "reranking"
    [first] = path(SharedWords(), depth=4).search([Query("q", "stone bridge")], 1)
    assert (first.fused.doc_ids, len(first.fused.scores)) == (("far",), 1)
    [nothing] = path(SharedWords()).search([Query("q", "unknown")], 2)
    assert (nothing.fused.doc_ids, nothing.fused.scores) == ((), ())


def test_the_pairs_of_a_batch_are_one_call_and_the_last_turns_are_read():
    reranker = SharedWords()
    history = ("U: is there a bridge", "S: yes", "U: a stone one", "S: it is")
    path(reranker).search([Query("1", "stone bridge"), Query("2", "and the river?", read_history(history))], 2)

    [pairs] = reranker.calls
    assert {query for query, _ in pairs[:3]} == {"stone bridge"}
    assert [text for _, text in pairs[:3]] == ["a river", "Bridges. a bridge of wood", "Bridges. a bridge of stone"]
    assert {query for query, _ in pairs[3:]} == {"U: a stone one S: it is and the river?"}


@pytest.mark.parametrize("kind", ["part", "hop"])
def test_the_best_score_over_what_is_asked_counts(kind):
    parts = (SubQuery("stone", kind), SubQuery("a wood", "reading"), SubQuery("bridges of old", "variant"))
    made = Reformulation(Query("q", "a river"), "decompose", parts, "test")
    reranker = SharedWords()

    [ranking] = Reranking(reranker, CORPUS)([made], [Ranking(("river", "stone", "wood"), (3.0, 2.0, 1.0))])

    [pairs] = reranker.calls
    assert [query for query, _ in pairs] == ["a river"] * 3 + ["stone"] * 3 + ["a wood"] * 3
    for doc_id, score in ranking.pairs:
        texts = ("a river", "stone", "a wood")
        assert score == max(shared_words(text, passage_text(CORPUS[doc_id])) for text in texts)


def test_a_reranker_must_score_every_document_and_read_at_least_one():
    class Short(SharedWords):
        def score(self, pairs):
            return super().score(pairs)[1:]

    with pytest.raises(SearchError):
        path(Short()).search([Query("q", "stone bridge")], 2)
    with pytest.raises(ConfigError):
        Reranking(SharedWords(), CORPUS, 0)


@pytest.mark.parametrize(
    ("reranker", "timeouts"),
    [
        (SharedWords(ConnectionError("down")), {}),
        (SharedWords(seconds=0.5), {"reranking": 0.05}),
        (SharedWords(seconds=0.5), {"total": 0.1}),
    ],
)
def test_a_reranker_that_fails_leaves_the_fused_order_and_is_reported(reranker, timeouts, caplog):
    retriever = ScriptedRetriever(FOUND)
    reranking = Reranking(reranker, CORPUS, 3)
    search = AdaptiveSearcher(
        PassThrough(), retriever, RankScoreFusion(), reranking=reranking, timeouts=Timeouts(**timeouts)
    )
    found = search.search("stone bridge", 4)
    [event] = [record for record in caplog.records if record.name == "acqo_rl.searching.searcher"]
    error = "ConnectionError" if reranker.error else "TimeoutError"
    assert (event.message, event.component, event.error) == ("reranking_failed", reranker.name, error)
    assert (found.fused.doc_ids, [failure.step for failure in found.failures]) == (FOUND["stone bridge"], ["reranking"])
    reranker.error = None
    reranker.seconds = 0.0
    again = search.search("stone bridge", 4)
    assert (again.fused.doc_ids, again.failures) == (("stone", "wood", "river", "far"), ())
