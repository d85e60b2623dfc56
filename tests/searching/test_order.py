"""The order of the first documents: what the network reads, and what becomes of the ranking."""

from dataclasses import replace

import numpy as np
import pytest
from stand_ins import linear_scorer, read_in_short

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.networks.order import FEATURES
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.searching.assemble import open_path
from acqo_rl.searching.order import ORDERED, LearnedOrder
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.searching.settings import StepSettings
from acqo_rl.types import Document, Query, Ranking, Reformulation, SubQuery

CORPUS = {
    d.id: d
    for d in (
        Document("oslo", "Oslo", "Oslo is the capital of Norway, which lies west of Sweden."),
        Document("norway", "Norway", "A kingdom in the north of Europe."),
        Document("rain", "", "Rain falls in Bergen, seldom in Oslo."),
        *(Document(f"n{i}", f"Note {i}", f"A note on capital number {i} of the kingdom.") for i in range(30)),
    )
}
WORDS = CorpusWords.of(CORPUS)
MADE = Reformulation(
    Query("q", "capital of Norway"),
    "decompose",
    (SubQuery("capital of Norway", "original"), SubQuery("Norway", "hop")),
    "raw",
)
LISTS = (
    Ranking(("oslo", "rain", "norway"), (0.8, 0.6, 0.2), "dense", "capital of Norway"),
    Ranking(("norway", "oslo"), (0.9, 0.3), "dense", "Norway"),
)


def read(lists=LISTS, corpus=CORPUS):
    fused = RankScoreFusion().fuse([lists], 100)
    return LearnedOrder(None, corpus, WORDS).features([MADE], [lists], fused)[0], fused[0]


def reversing():
    """Prefers documents by their place in the fused ranking, the last one first."""
    return linear_scorer(FEATURES, log_rank_in_fused_ranking=99.0)


def retriever():
    return Bm25Retriever.build([f"{d.title} {d.text}" for d in CORPUS.values()], list(CORPUS))


def test_the_first_documents_are_ordered_and_the_others_stay_behind_them():
    plain = SearchPath(PassThrough(), retriever(), RankScoreFusion(), CORPUS)
    query = Query("q", "capital of the kingdom of Norway")
    [before] = plain.search([query], 25)
    k = ORDERED
    [after] = replace(plain, order=LearnedOrder(reversing(), CORPUS, WORDS)).search([query], 25)
    assert after.fused.doc_ids == (*before.fused.doc_ids[:k][::-1], *before.fused.doc_ids[k:])
    assert list(after.fused.scores) == sorted(after.fused.scores, reverse=True)
    similarity = dict(zip(before.fused.doc_ids, before.fused.similarities, strict=True))
    assert dict(zip(after.fused.doc_ids, after.fused.similarities, strict=True)) == similarity
    assert after.notes[-1] == "The first result was at place 20 before the results were ordered."
    assert not any("ordered" in note for note in before.notes)
    [few] = replace(plain, order=LearnedOrder(reversing(), CORPUS, WORDS)).search([query], 3)
    assert few.fused.doc_ids == after.fused.doc_ids[:3]
    [nothing] = replace(plain, order=LearnedOrder(reversing(), CORPUS, WORDS)).search([Query("q", "zebra")])
    assert nothing.fused.doc_ids == ()


@pytest.mark.parametrize(
    ("scores", "order"),
    [([0.2 * place for place in range(20)], range(20)), ([4.0, 2.0, 0.9, 2.5, 2.0], [0, 1, 3, 4, 2])],
)
def test_a_document_passes_those_whose_score_it_exceeds_by_the_margin(scores, order):
    """Scores that rise from place to place by less than the margin move nothing, however many places there are."""
    features = np.zeros((len(scores), len(FEATURES.names)), np.float32)
    features[:, FEATURES.names.index("log_rank_in_fused_ranking")] = scores
    plain = SearchPath(PassThrough(), retriever(), RankScoreFusion(), CORPUS)
    [before] = plain.search([Query("q", "capital of the kingdom of Norway")], 25)
    scorer = replace(linear_scorer(FEATURES, log_rank_in_fused_ranking=1.0), margin=1.0)

    class Given(LearnedOrder):
        def features(self, *arguments):
            return [features]

    [after] = Given(scorer, CORPUS, WORDS)([before.reformulation], [before.rankings], [before.fused])
    assert after.doc_ids[: len(scores)] == tuple(before.fused.doc_ids[place] for place in order)
    assert list(after.scores) == sorted(after.scores, reverse=True)


def test_features_do_not_depend_on_the_scale_of_scores():
    """So that one network orders the results of BM25 and of cosines."""
    features, fused = read()
    assert fused.doc_ids == ("oslo", "norway", "rain")
    scaled = tuple(replace(one, scores=tuple(30 * score for score in one.scores)) for one in LISTS)
    np.testing.assert_allclose(read(scaled)[0], features, atol=1e-6)


def test_a_search_of_the_raw_query_alone_counts_as_that_of_the_query():
    """As BM25 beside a dense index, which is searched only with the raw query."""
    lists = (replace(LISTS[0], query="another text"), LISTS[1])
    made = replace(MADE, sub_queries=MADE.sub_queries[1:])
    [features] = LearnedOrder(None, CORPUS, WORDS).features([made], [lists], RankScoreFusion().fuse([lists], 100))
    assert features[0, FEATURES.names.index("reciprocal_rank_in_original_searches")] == 1.0


def test_documents_that_are_gone_have_no_words():
    """As in a search engine from which a document was deleted after the search."""

    class Engine(dict):
        lists = True

        def fetch(self, doc_ids):
            return {doc_id: CORPUS[doc_id] for doc_id in doc_ids if doc_id != "oslo"}

    features, _ = read(corpus=Engine())
    assert np.isfinite(features).all()
    assert len(features) == 3


def test_the_shipped_network_reads_what_it_was_trained_with():
    assert read_in_short("order", FEATURES, read()[0]) == pytest.approx([3.7748, -3.9144, 6.0209], abs=1e-3)


def test_an_order_that_fails_leaves_the_fused_ranking():
    class Failing(LearnedOrder):
        def features(self, *arguments):
            raise RuntimeError("damaged")

    searcher = AdaptiveSearcher(
        PassThrough(), retriever(), RankScoreFusion(), corpus=CORPUS, order=Failing(reversing(), CORPUS, WORDS)
    )
    found = searcher.search("capital of Norway")
    assert {failure.step for failure in found.failures} == {"order"}
    plain = searcher.without_reformulation().search("capital of Norway")
    assert (found.fused.doc_ids, plain.failures) == (plain.fused.doc_ids, ())


@pytest.mark.parametrize(
    ("name", "given", "most", "has_order"),
    [
        ("auto", {}, 2, True),
        ("auto", {"order": "none", "hops": 0}, 0, False),
        ("raw", {}, 0, False),
        ("raw", {"order": "trained:order", "hops": 3}, 3, True),
    ],
)
def test_auto_makes_two_hops_and_orders_its_results_by_default(name, given, most, has_order):
    [spec] = StepSettings(**given).paths([name]).values()
    path = open_path(spec, CORPUS, retriever())
    assert ((path.hops.most if path.hops else 0), path.order is not None) == (most, has_order)
