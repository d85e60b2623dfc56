"""Several collections as one: an irrelevant one must not push its documents in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins import BrokenRetriever, ScoredRetriever

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion
from acqo_rl.reformulation.pass_through import Given, PassThrough
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.composite import FederatedFusion, FederatedRetriever, HybridRetriever, InCollection
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.serving.collections import Collection, searched_apart, searched_as_one
from acqo_rl.types import Query, Reformulation, SubQuery

FUSIONS = (RankScoreFusion(), ReciprocalRankFusion())


def fused(texts, pools, fusion, k):
    query = Query("q", texts[0])
    given = Given([Reformulation(query, "decompose", tuple(SubQuery(t, "part") for t in texts), "test")])
    return SearchPath(given, FederatedRetriever(pools), FederatedFusion(fusion)).search([query], k)[0].fused


def bm25(name, passages):
    return InCollection(Bm25Retriever.build(list(passages.values()), list(passages)), name, f"{name}/bm25")


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("texts", [["written Hamlet", "written Faust"], ["Hamlet", "Faust", "Emma"]])
def test_unrelated_cosines_collect_no_votes_against_documents_that_one_sub_query_finds(fusion, texts):
    plays = {"hamlet": "Hamlet was written by Shakespeare", "faust": "Faust by Goethe", "emma": "Emma by Jane Austen"}
    below_zero = {f"d{i}": -0.02 - i / 100 for i in range(10)}
    unrelated = InCollection(ScoredRetriever(dict.fromkeys(texts, below_zero)), "wiki", "minilm")
    pool = FederatedRetriever([bm25("plays", plays), unrelated])
    [merged] = FederatedFusion(fusion).fuse([pool.search(texts, 10)], 10)
    assert {doc_id.split("/")[1] for doc_id in merged.doc_ids[: len(texts)]} == {t.split()[-1].lower() for t in texts}


def test_cosines_are_unchanged_and_bm25_scores_become_comparable_to_them():
    text = "capital of Norway"
    [cosines] = InCollection(ScoredRetriever({text: {"oslo": 0.81, "lima": 0.25}}), "wiki", "minilm").search([text], 2)
    assert (cosines.scores, cosines.ceiling) == ((0.81, 0.25), 1.0)
    part = bm25(
        "wiki", {"oslo": "Oslo is the capital of Norway.", "lima": "Lima is the capital of Peru.", "tea": "Tea"}
    )
    [raw] = part.retriever.search([text], 2)
    [shown] = part.search([text], 2)
    assert shown.scores == pytest.approx([(score / raw.ceiling) ** 0.5 for score in raw.scores])
    assert shown.ceiling == 1.0


scores = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(50, 99).map(lambda n: n / 100), min_size=3)


@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda fusion: fusion.name)
@given(lists=st.lists(scores, min_size=1, max_size=3), low=st.dictionaries(st.sampled_from("xyz"), st.just(0.1)))
def test_a_collection_less_similar_than_the_k_th_changes_no_top_k(fusion, lists, low):
    texts = [f"text {i}" for i in range(len(lists))]
    relevant = InCollection(ScoredRetriever(dict(zip(texts, lists, strict=True))), "relevant", "cosine")
    irrelevant = InCollection(ScoredRetriever(dict.fromkeys(texts, low)), "irrelevant", "cosine")
    for pools in ([relevant, irrelevant], [irrelevant, relevant]):
        alone, both = (fused(texts, some, fusion, 3) for some in ([relevant], pools))
        assert (both.doc_ids, both.similarities) == (alone.doc_ids, alone.similarities)


@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda fusion: fusion.name)
@settings(max_examples=30)
@given(lists=st.lists(st.tuples(scores, scores, scores), min_size=1, max_size=3))
def test_the_first_documents_are_the_same_however_many_are_asked_for(fusion, lists):
    texts = [f"text {i}" for i in range(len(lists))]
    pools = [
        InCollection(ScoredRetriever(dict(zip(texts, found, strict=True))), f"pool {i}", "cosine")
        for i, found in enumerate(zip(*lists, strict=True))
    ]
    every = fused(texts, pools, fusion, 30)
    assert list(every.scores) == sorted(every.scores, reverse=True)
    for k in range(1, len(every.doc_ids)):
        some = fused(texts, pools, fusion, k)
        assert some.doc_ids == every.doc_ids[:k]


def test_scores_without_a_known_maximum_are_refused():
    parts = [
        InCollection(ScoredRetriever({"q": {"a": 3.0}}, "counted", cosine=False), "one", "1"),
        InCollection(ScoredRetriever({"q": {"b": 0.5}}), "two", "2"),
    ]
    with pytest.raises(ConfigError, match="'one'"):
        FederatedRetriever(parts).search(["q"], 3)


def test_cosines_of_one_encoder_stay_cosines():
    one, two = (InCollection(ScoredRetriever({"q": {name: 0.5}}), name, "dense 1") for name in ("one", "two"))
    merged = FederatedRetriever([one, two])
    [found] = merged.search(["q"], 3)
    assert merged.cosine
    assert (found.doc_ids, found.scores, found.retriever) == (("one/one", "two/two"), (0.5, 0.5), "dense 1")
    assert not FederatedRetriever([one, InCollection(ScoredRetriever({}), "three", "dense 2")]).cosine
    with pytest.raises(ConfigError):
        FederatedRetriever([one, one])


def test_an_index_that_only_some_collections_have_gives_no_second_vote():
    """An irrelevant hybrid collection would otherwise be first in the list of its second index."""
    right = Collection("right", {}, (InCollection(ScoredRetriever({"q": {"c": 0.64}}), "right", "dense 1"),))
    dense = InCollection(ScoredRetriever({"q": {"a": 0.25}}), "wrong", "dense 1")
    for retrievers, originals in ([(dense, bm25("wrong", {"a": "q"})), ()], [(dense,), (bm25("wrong", {"a": "q"}),)]):
        wrong = Collection("wrong", {}, retrievers, originals=originals)
        merged = searched_as_one([wrong, right])
        assert merged.cosine and merged.search(["q"], 5)[0].doc_ids == ("right/c", "wrong/a")
        assert searched_apart([wrong, right]) == []


@pytest.mark.parametrize("kind", [FederatedRetriever, lambda parts: HybridRetriever(parts, RankScoreFusion())])
def test_a_part_that_fails_costs_its_own_list_only(kind):
    working = InCollection(ScoredRetriever({"q": {"a": 0.9}}), "one", "dense 1")
    retriever = kind([InCollection(BrokenRetriever(), "two", "dense 1"), working])
    found = AdaptiveSearcher(PassThrough(), retriever, RankScoreFusion()).search("q")
    assert found.fused.doc_ids == ("one/a",)
    assert [failure.retriever for failure in found.failures] == ["two/broken"]
