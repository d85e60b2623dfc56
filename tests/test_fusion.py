"""Fusion, compared with values computed by hand and with exact fractions."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ranking

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion, ScoreFusion, fusion_named

FUSIONS = (RankScoreFusion(), ReciprocalRankFusion(), ScoreFusion())


def fuse(fusion, *lists, k=10):
    return fusion.fuse([lists], k)[0]


@st.composite
def result_lists(draw):
    """Up to four lists of one retriever, without duplicates; scores decrease and often tie."""
    lists = draw(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), max_size=4))
    steps = [sorted(draw(st.lists(st.integers(-3, 3), min_size=len(d), max_size=len(d))), reverse=True) for d in lists]
    return [ranking(*d, scores=s) for d, s in zip(lists, steps, strict=True)]


def exact_order(lists, constant):
    """The ranking and scores according to the definition, in exact arithmetic."""
    fused = {}
    similarity = {}
    first_list = {}
    for i, found in enumerate(lists):
        for rank, (doc_id, score) in enumerate(found.pairs, start=1):
            fused[doc_id] = fused.get(doc_id, 0) + Fraction(1, constant + rank)
            similarity[doc_id] = max(similarity.get(doc_id, score), score)
            first_list.setdefault(doc_id, i)
    return sorted(fused, key=lambda d: (-fused[d], -similarity[d], first_list[d], d)), fused


def test_worked_example():
    """Ranks 2 and 5 give P = 10/7, and rank 1 in one list gives P = 1; the smaller P comes first."""
    fused = fuse(RankScoreFusion(), ranking("b", "a", "x", "y", "z"), ranking("p", "q", "r", "s", "a"))
    harmonic_rank = {d: 1 / score for d, score in fused.pairs}
    assert harmonic_rank["a"] == pytest.approx(10 / 7)
    assert harmonic_rank["b"] == harmonic_rank["p"] == 1.0
    assert fused.doc_ids[:3] == ("b", "p", "a")


def test_scores_of_two_retrievers_are_not_compared():
    """A BM25 score is not comparable with a cosine, so the order of the sub-queries decides."""
    dense = ranking("a", scores=(0.9,))
    sparse = ranking("b", scores=(30.0,), retriever="bm25")
    assert fuse(RankScoreFusion(), dense, sparse).doc_ids == ("a", "b")
    assert fuse(RankScoreFusion(), sparse, dense).doc_ids == ("b", "a")


def test_a_document_counts_once_per_list():
    """It counts at its first rank, with its first score."""
    fused = fuse(RankScoreFusion(), ranking("a", "b", "b", scores=(0.9, 0.5, 0.7)), ranking("c", "b"))
    assert fused.scores[fused.doc_ids.index("b")] == 1.0


def test_the_passage_of_a_document_is_that_of_the_search_that_ranks_it_best():
    """Of equal ranks, the first counts. A search that ranks it best and names no passage leaves the choice to words."""
    one = ranking("a", "b", "c", spans={"a": (0, 9), "b": (10, 19), "c": (20, 29)})
    other = ranking("b", "c", "a", spans={"b": (30, 39), "c": (40, 49), "a": (50, 59)})
    assert fuse(RankScoreFusion(), one, other).spans == {"a": (0, 9), "b": (30, 39), "c": (40, 49)}
    assert fuse(RankScoreFusion(), ranking("b", "a", retriever="bm25"), one).spans == {"a": (0, 9), "c": (20, 29)}


def test_rounding_errors_do_not_order_ties():
    """1/2 + 1/3 + 1/6 is not exactly 1.0 in every order of summation, but must tie with rank 1 in one list."""
    fillers = iter(range(100))

    def at(rank, doc_id):
        return [*(f"x{next(fillers)}" for _ in range(rank - 1)), doc_id]

    ascending = [ranking(*at(r, "sum"), scores=range(r, 0, -1)) for r in (2, 3, 6)]
    descending = [ranking(*at(r, "mus"), scores=range(r, 0, -1)) for r in (6, 3, 2)]
    fused = fuse(RankScoreFusion(), *ascending, *descending, ranking("one", scores=(0.5,)), k=100)
    scores = dict(fused.pairs)
    assert scores["sum"] == scores["mus"] == scores["one"]


@given(result_lists())
def test_equals_the_definition_in_exact_arithmetic(lists):
    """P ascending is reciprocal rank fusion with k = 0 descending, then S, list, id."""
    for constant, fusion in ((0, RankScoreFusion()), (60, ReciprocalRankFusion())):
        order, exact = exact_order(lists, constant)
        fused = fuse(fusion, *lists, k=100)
        assert list(fused.doc_ids) == order
        assert fused.scores == pytest.approx([float(exact[d]) for d in order])
    assert fuse(RankScoreFusion(), *lists).doc_ids == fuse(ReciprocalRankFusion(rank_constant=0), *lists).doc_ids


def test_combsum_is_that_of_ranx():
    """Golden values of ranx 0.3.21: min-max scores with the weights 1 and 0.5 over the same two lists."""
    bm25 = ranking("a", "b", "c", scores=(30.0, 20.0, 5.0), retriever="bm25")
    fused = fuse(ScoreFusion(), bm25, ranking("b", "d", "a", scores=(0.9, 0.5, 0.1), weight=0.5))
    assert fused.doc_ids == ("b", "a", "d", "c")
    assert fused.scores == pytest.approx((1.1, 1.0, 0.25, 0.0))


@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda fusion: fusion.name)
class TestEveryFusion:
    @given(batch=st.lists(result_lists(), max_size=5), k=st.integers(1, 9))
    def test_one_batch_equals_one_by_one(self, fusion, batch, k):
        together = fusion.fuse(batch, k)
        alone = [fusion.fuse([lists], k)[0] for lists in batch]
        assert [(r.doc_ids, r.similarities) for r in together] == [(r.doc_ids, r.similarities) for r in alone]
        assert [r.scores for r in together] == [pytest.approx(r.scores) for r in alone]

    @given(lists=result_lists(), weights=st.lists(st.integers(0, 3), min_size=4, max_size=4))
    def test_a_list_of_weight_w_counts_as_w_copies_of_it(self, fusion, lists, weights):
        weighted = [replace(found, weight=w) for found, w in zip(lists, weights, strict=False)]
        copies = [found for found, w in zip(lists, weights, strict=False) for _ in range(w)]
        by_weight = fuse(fusion, *weighted, k=100)
        by_copies = fuse(fusion, *copies, k=100)
        assert (by_weight.doc_ids, by_weight.similarities) == (by_copies.doc_ids, by_copies.similarities)
        assert by_weight.scores == pytest.approx(by_copies.scores)

    @pytest.mark.parametrize("weight", [-0.5, float("nan"), float("inf")])
    def test_an_invalid_weight_is_rejected(self, fusion, weight):
        with pytest.raises(ConfigError, match=str(weight)):
            fuse(fusion, ranking("a", weight=weight))

    @given(lists=result_lists())
    def test_returns_a_valid_ranking(self, fusion, lists):
        fused = fuse(fusion, *lists, k=100)
        assert sorted(fused.doc_ids) == sorted({d for found in lists for d in found.doc_ids})
        assert list(fused.scores) == sorted(fused.scores, reverse=True)
        assert (fused, fused.retriever) == (fuse(fusion, *lists, k=100), fusion.name)


def test_fusions_by_name():
    assert [fusion_named(name).name for name in ("rsf", "rrf", "combsum")] == [one.name for one in FUSIONS]
    with pytest.raises(ConfigError, match="'borda'"):
        fusion_named("borda")
    assert fuse(fusion_named("rrf"), ranking("a")).scores == (1 / 61,)
    with pytest.raises(ConfigError, match="rank_constant is -2"):
        fusion_named("rrf", -2)


def test_sums_that_differ_little_are_ordered():
    doc_ids = tuple(f"d{n}" for n in range(150))
    assert ReciprocalRankFusion().fuse([[ranking(*doc_ids, scores=range(150))]], 150)[0].doc_ids == doc_ids
