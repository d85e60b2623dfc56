"""The one path from reformulations to rankings."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins import BrokenRetriever, ScoredRetriever, ScriptedRetriever, ranking, search_reformulations

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Reformulator
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.path import SearchPath, add_feedback, search
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.searching.threshold import fuse_similar
from acqo_rl.types import Document, FeedbackSpec, Passage, Query, Reformulation, Snippet, SubQuery

FOUND = {"a": ("1", "2"), "b": ("2", "3"), "A ?": ("9",)}


def reformulation(*texts, route="decompose"):
    return Reformulation(Query("q", "raw"), route, tuple(SubQuery(t, "part") for t in texts), "test")


def test_one_call_for_the_distinct_texts_of_a_batch_position_for_position():
    retriever = ScriptedRetriever(FOUND)
    lists = search_reformulations([reformulation("a", "b"), reformulation("b"), reformulation("c", "a")], retriever)
    assert retriever.calls == [["a", "b", "c"]]
    assert [[r.doc_ids for r in found] for found in lists] == [
        [("1", "2"), ("2", "3")],
        [("2", "3")],
        [(), ("1", "2")],
    ]
    assert [[r.query for r in found] for found in lists] == [["a", "b"], ["b"], ["c", "a"]]


def test_normalised_duplicates_do_not_vote_twice():
    retriever = ScriptedRetriever(FOUND)
    assert [r.doc_ids for r in search_reformulations([reformulation("a", "A ?", "b")], retriever)[0]] == [
        ("1", "2"),
        ("2", "3"),
    ]


def test_the_raw_query_is_searched_in_place_of_empty_sub_queries():
    retriever = ScriptedRetriever({"raw": ("1",)})
    result = search([reformulation("", " \t", "?")], retriever, RankScoreFusion())[0]
    assert (retriever.calls, result.fused.doc_ids, result.reformulation.route) == ([["raw"]], ("1",), "pass")


def test_a_blank_query_finds_nothing_and_asks_nobody():
    for retriever in (BrokenRetriever(), [BrokenRetriever(), BrokenRetriever()]):
        [result] = search(PassThrough().reformulate([Query("q", " \x00")]), retriever, RankScoreFusion())
        assert (result.rankings, result.fused.doc_ids) == ((), ())


def test_nul_is_searched_as_a_space():
    retriever = ScriptedRetriever({"a b": ("1",)})
    [result] = search(PassThrough().reformulate([Query("q", "a\x00b")]), retriever, RankScoreFusion())
    assert (retriever.calls, result.fused.doc_ids, result.rankings[0].query) == ([["a b"]], ("1",), "a\x00b")


def test_a_query_of_punctuation_is_searched_as_it_stands():
    retriever = ScriptedRetriever({"???": ("1",)})
    result = search(PassThrough().reformulate([Query("q", "???")]), retriever, RankScoreFusion())[0]
    assert result.fused.doc_ids == ("1",)


def test_weights_reach_the_fusion():
    subs = (SubQuery("a", "original", weight=0.1), SubQuery("b", "part", weight=1.0))
    result = search(
        [Reformulation(Query("q", "a"), "decompose", subs, "test")], ScriptedRetriever(FOUND), ReciprocalRankFusion()
    )[0]
    assert [r.weight for r in result.rankings] == [0.1, 1.0]
    assert result.fused.doc_ids == ("2", "3", "1")


class TestLead:
    """A list that counts only where its best document scores higher than those of the others."""

    def made(self, lead):
        subs = (SubQuery("reading", "reading"), SubQuery("raw", "original", min_margin=lead))
        return [Reformulation(Query("q", "raw"), "disambiguate", subs, "test")]

    def lists(self, *retrievers, lead=0.1):
        return [ranking.doc_ids for ranking in search_reformulations(self.made(lead), list(retrievers))[0]]

    @pytest.mark.parametrize(("raw", "counts"), [(0.75, True), (0.6, False), (0.5, False), (0.4, False)])
    def test_it_counts_with_the_lead_and_is_empty_without(self, raw, counts):
        scored = ScoredRetriever("dense", {"reading": 0.5, "raw": raw})
        assert self.lists(scored) == [("reading",), ("raw",) if counts else ()]

    def test_the_first_documents_of_the_lists_are_compared(self):
        class Deep(ScriptedRetriever):
            def search(self, texts, k):
                best = {"reading": 0.8, "raw": 0.5}
                return [ranking(f"{text} 1", f"{text} 2", scores=[best[text], 0.1]) for text in texts]

        assert self.lists(Deep({})) == [("reading 1", "reading 2"), ()]

    def test_no_lead_is_wanted_of_lists_that_are_all_there_is(self):
        assert self.lists(ScoredRetriever("dense", {"raw": 0.2})) == [(), ("raw",)]

    def test_scores_of_another_retriever_are_not_compared(self):
        dense = ScoredRetriever("dense", {"reading": 0.5, "raw": 0.9})
        words = ScoredRetriever("bm25", {"reading": 9.0, "raw": 8.0})
        assert self.lists(dense, words) == [("reading",), ("reading",), ("raw",), ()]

    def test_it_is_not_searched_where_scores_are_no_cosines(self):
        words = ScoredRetriever("bm25", {"reading": 0.5, "raw": 0.9})
        words.cosine = False
        assert self.lists(words) == [("reading",)]
        assert self.lists(words, ScoredRetriever("dense", {"reading": 0.5, "raw": 0.9})) == [("reading",), ("reading",)]
        [found] = search(self.made(0.1), words, RankScoreFusion())
        assert [sub_query.text for sub_query in found.reformulation.sub_queries] == ["reading"]

    def test_an_empty_list_has_no_say_in_the_fusion(self):
        [found] = search(self.made(0.1), ScoredRetriever("dense", {"reading": 0.5, "raw": 0.5}), RankScoreFusion())
        assert (found.fused.doc_ids, found.fused.scores) == (("reading",), (1.0,))


def test_a_single_list_is_fused_like_several():
    """The query goes to the retriever unchanged, in one search."""
    retriever = ScriptedRetriever({"What is  A? ": ("1", "2")})
    result = search(PassThrough().reformulate([Query("q", "What is  A? ")]), retriever, RankScoreFusion())[0]
    assert retriever.calls == [["What is  A? "]]
    assert result.fused.doc_ids == ("1", "2")
    assert result.fused.scores == (1.0, 0.5)
    assert result.fused.retriever == "rsf"


def test_depth_and_k_are_two_things():
    retriever = ScriptedRetriever({"a": tuple("123456")})
    result = search([reformulation("a")], retriever, RankScoreFusion(), k=2, depth=4)[0]
    assert len(result.rankings[0].doc_ids) == 4
    assert len(result.fused.doc_ids) == 2


@given(st.lists(st.lists(st.sampled_from(["a", "b", "A ?", "", "c"]), max_size=4), max_size=4))
@settings(max_examples=50)
def test_batch_equals_one_by_one(batch):
    reformulations = [reformulation(*texts) for texts in batch]
    together = search(reformulations, ScriptedRetriever(FOUND), RankScoreFusion())
    alone = [search([r], ScriptedRetriever(FOUND), RankScoreFusion())[0] for r in reformulations]
    assert [(r.rankings, r.fused.doc_ids) for r in together] == [(r.rankings, r.fused.doc_ids) for r in alone]


@pytest.mark.parametrize("text", ["x" * 100_000, "a\x00b\x1b\u202e", "a\ud800"])
def test_any_text_reaches_the_retriever(text):
    retriever = ScriptedRetriever({text.replace("\x00", " "): ("1",)})
    assert search([reformulation(text)], retriever, RankScoreFusion())[0].fused.doc_ids == ("1",)


def test_a_failing_retriever_raises():
    with pytest.raises(ConnectionError):
        search([reformulation("a")], BrokenRetriever(), RankScoreFusion())
    with pytest.raises(ConnectionError):
        add_feedback([Query("q", "a")], BrokenRetriever(), RankScoreFusion(), {}, FeedbackSpec(1, 1))


def test_a_hypothetical_answer_is_searched_as_a_passage():
    """The retriever gets a ``Passage``; the ranking contains the plain text."""
    retriever = ScriptedRetriever(FOUND)
    subs = (SubQuery("a", "original"), SubQuery("b", "hypothetical"))
    [found] = search_reformulations([Reformulation(Query("q", "a"), "expand", subs, "test")], retriever)
    assert [type(text) for text in retriever.calls[0]] == [str, Passage]
    assert [(r.query, r.doc_ids, type(r.query)) for r in found] == [("a", ("1", "2"), str), ("b", ("2", "3"), str)]


CORPUS = {
    "1": Document("1", "One\ntitle", "first  words of\x00 a long text"),
    "2": Document("2", "Two", "short"),
}
QUERY = Query("q", "a")


def with_feedback(spec, *queries, corpus=CORPUS):
    return add_feedback(queries, ScriptedRetriever(FOUND), RankScoreFusion(), corpus, spec)


class TestFeedback:
    def test_is_cut_to_results_and_words(self):
        first = add_feedback(
            [QUERY, Query("r", "zzz")], ScriptedRetriever(FOUND), RankScoreFusion(), CORPUS, FeedbackSpec(1, 3)
        )
        assert first[0].feedback == (Snippet("One title", "first words of"),)
        assert (first[0].text, first[0].history) == ("a", QUERY.history)
        assert first[1].feedback == ()
        both = add_feedback([QUERY], ScriptedRetriever(FOUND), RankScoreFusion(), CORPUS, FeedbackSpec(5, 100))[
            0
        ].feedback
        assert both[1] == Snippet("Two", "short")

    def test_a_conversation_is_searched_with_its_last_two_turns(self):
        """The raw query of a follow-up says too little: what its turns are about stands in no document it finds."""
        query = Query("q", "a", history=read_history(("U: long ago", "S: before", "U: then")))
        retriever = ScriptedRetriever({"S: before U: then a": ("2",), "a": ("1",)})
        [looked] = add_feedback([query], retriever, RankScoreFusion(), CORPUS, FeedbackSpec(1, 3))
        assert [snippet.title for snippet in looked.feedback] == ["Two"]
        assert retriever.calls == [["S: before U: then a"]]

    def test_a_document_without_spaces_does_not_fill_the_prompt(self):
        endless = {"1": Document("1", "t" * 5000, "x" * 5000)}
        snippet = add_feedback([QUERY], ScriptedRetriever(FOUND), RankScoreFusion(), endless, FeedbackSpec(1, 28))[
            0
        ].feedback[0]
        assert (len(snippet.title), len(snippet.text)) == (200, 28 * 16)

    def test_none_is_no_search(self):
        assert add_feedback([QUERY], BrokenRetriever(), RankScoreFusion(), CORPUS, FeedbackSpec(0, 3)) == [QUERY]

    def test_one_call_a_batch(self):
        retriever = ScriptedRetriever(FOUND)
        add_feedback([QUERY] * 3, retriever, RankScoreFusion(), CORPUS, FeedbackSpec(2, 3))
        assert len(retriever.calls) == 1


class TestSeveralRetrievers:
    def named(self, name, found):
        retriever = ScriptedRetriever(found)
        retriever.name = name
        return retriever

    def test_every_list_is_a_path_with_the_weight_of_its_sub_query(self):
        dense, sparse = self.named("dense", FOUND), self.named("bm25", {"a": ("7",)})
        subs = (SubQuery("a", "original", 0.5), SubQuery("b", "part", 2.0))
        [result] = search(
            [Reformulation(Query("q", "a"), "decompose", subs, "test")], [dense, sparse], ReciprocalRankFusion()
        )
        assert [(r.query, r.retriever, r.weight, r.doc_ids) for r in result.rankings] == [
            ("a", "dense", 0.5, ("1", "2")),
            ("a", "bm25", 0.5, ("7",)),
            ("b", "dense", 2.0, ("2", "3")),
            ("b", "bm25", 2.0, ()),
        ]
        assert dense.calls == sparse.calls == [["a", "b"]]
        assert result.fused.scores == pytest.approx((0.5 / 62 + 2 / 61, 2 / 62, 0.5 / 61, 0.5 / 61))
        assert result.fused.doc_ids == ("2", "3", "1", "7")

    def test_one_that_searches_the_query_alone_is_a_path_behind_the_others(self):
        """Raw, hypothetical answer and variant by meaning, raw by words; with and without the raw query among
        what a reformulator gives."""
        dense = self.named("dense", FOUND)
        sparse = self.named("bm25", {"raw": ("7",), "a": ("8",)})
        subs = (SubQuery("a", "hypothetical", 1.5), SubQuery("b", "variant", 0.8))
        for first, weight in (((SubQuery("raw", "original", 0.5),), 0.5), ((), 1.0)):
            made = Reformulation(Query("q", "raw"), "expand", (*first, *subs), "test")
            [result] = search([made], [dense, RawQueryOnly(sparse)], ReciprocalRankFusion())
            assert [(r.query, r.retriever, r.weight) for r in result.rankings] == [
                *((s.text, "dense", s.weight) for s in first),
                *(("a", "dense", 1.5), ("b", "dense", 0.8), ("raw", "bm25", weight)),
            ]
        assert sparse.calls == [["raw"], ["raw"]]

    def test_a_variant_of_one_query_is_not_searched_for_another_that_is_it(self):
        sparse = self.named("bm25", {"raw": ("7",)})
        made = [reformulation("raw"), Reformulation(Query("r", "other"), "expand", (SubQuery("raw", "variant"),), "")]
        lists = search_reformulations(made, [self.named("dense", FOUND), RawQueryOnly(sparse)])
        assert [[(r.query, r.retriever) for r in found] for found in lists] == [
            [("raw", "dense"), ("raw", "bm25")],
            [("raw", "dense"), ("other", "bm25")],
        ]

    def test_they_search_at_the_same_time(self):
        barrier = threading.Barrier(2, timeout=20)

        class Waiting(ScriptedRetriever):
            def search(self, texts, k):
                barrier.wait()
                return super().search(texts, k)

        assert search_reformulations([reformulation("a")], [Waiting(FOUND), Waiting(FOUND)])[0][1].doc_ids == ("1", "2")

    def test_one_in_a_list_is_one(self):
        assert search_reformulations([reformulation("a")], [ScriptedRetriever(FOUND)]) == search_reformulations(
            [reformulation("a")], ScriptedRetriever(FOUND)
        )

    def test_a_failing_one_raises(self):
        with pytest.raises(ConnectionError):
            search_reformulations([reformulation("a")], [ScriptedRetriever(FOUND), BrokenRetriever()])


class Noting(ScriptedRetriever):
    """Records the requested numbers of documents."""

    def __init__(self, found, name="scripted"):
        super().__init__(found)
        self.name = name
        self.depths = []

    def search(self, texts, k):
        self.depths.append(k)
        return super().search(texts, k)


def test_every_list_is_a_hundred_deep_and_the_fused_one_ten_by_default():
    many = {"raw": [str(i) for i in range(200)]}
    asked, apart = Noting(many), Noting(many, "apart")
    [result] = search(PassThrough().reformulate([Query("q", "raw")]), [asked, RawQueryOnly(apart)], RankScoreFusion())
    assert asked.depths == apart.depths == [100]
    assert [len(ranking.doc_ids) for ranking in result.rankings] == [100, 100]
    assert result.fused.doc_ids == tuple(map(str, range(10)))


def test_as_many_results_of_a_first_search_are_shown_as_are_read():
    corpus = {str(i): Document(str(i), f"title {i}", "some words") for i in range(9)}
    retriever = Noting({"raw": tuple(corpus)})
    [query] = add_feedback([Query("q", "raw")], retriever, RankScoreFusion(), corpus, FeedbackSpec(2, 1))
    assert query.feedback == (Snippet("title 0", "some"), Snippet("title 1", "some"))


def test_a_document_that_the_corpus_lacks_is_named():
    corpus = {"1": Document("1", "", "text")}
    assert fetch(corpus, ["1"]) == corpus
    with pytest.raises(IndexMismatchError, match="'2'"):
        add_feedback([Query("q", "a")], ScriptedRetriever(FOUND), RankScoreFusion(), corpus, FeedbackSpec(2, 5))


@pytest.mark.parametrize(("lead", "counts"), [(0.25, False), (0.2, True)])
def test_a_lead_is_more_than_wanted_over_the_best_list(lead, counts):
    """The best list comes first here, the raw query leads it by .25."""
    subs = (SubQuery("one", "reading"), SubQuery("two", "reading"), SubQuery("raw", "original", min_margin=lead))
    retriever = ScoredRetriever("dense", {"one": 0.5, "two": 0.25, "raw": 0.75})
    [lists] = search_reformulations([Reformulation(Query("q", "raw"), "disambiguate", subs, "test")], retriever)
    assert bool(lists[2].doc_ids) == counts


lists_of_cosines = st.lists(
    st.dictionaries(st.sampled_from("abcdefghij"), st.floats(-1, 1), max_size=10).map(
        lambda scores: ranking(*sorted(scores, key=lambda d: (-scores[d], d)), scores=sorted(scores.values())[::-1])
    ),
    max_size=4,
)


@given(lists_of_cosines, st.integers(1, 12), st.floats(-1, 1))
def test_a_threshold_keeps_the_documents_that_one_list_finds_similar_enough_in_the_order_of_the_fusion(
    lists, k, threshold
):
    best = {}
    for one in lists:
        for doc_id, score in zip(one.doc_ids, one.scores, strict=True):
            best[doc_id] = max(score, best.get(doc_id, score))
    for fusion in (RankScoreFusion(), ReciprocalRankFusion()):
        [everything] = fusion.fuse([lists], 100)
        [kept] = fuse_similar(fusion, [lists], k, threshold)
        assert kept.doc_ids == tuple(d for d in everything.doc_ids if best[d] >= threshold)[:k]
        assert kept.similarities == tuple(best[d] for d in kept.doc_ids)
        assert len(kept.scores) == len(kept.doc_ids)
        assert fuse_similar(fusion, [lists], k, None) == fusion.fuse([lists], k)


def test_a_threshold_of_an_empty_batch_is_no_fault():
    assert search([], ScriptedRetriever(FOUND), RankScoreFusion(), score_threshold=0.5) == []


def test_an_off_topic_query_finds_nothing_above_a_threshold():
    """The first of a list has the fused score 1, however little it has to do with the query."""
    retriever = ScoredRetriever("dense", {"cake": -0.08, "fjord": 0.6})
    for text, found in (("cake", ()), ("fjord", ("fjord",))):
        [result] = search(PassThrough().reformulate([Query("q", text)]), retriever, RankScoreFusion())
        assert result.fused.scores == (1.0,)
        [result] = search(
            PassThrough().reformulate([Query("q", text)]), retriever, RankScoreFusion(), score_threshold=0.3
        )
        assert result.fused.doc_ids == found


@pytest.mark.parametrize("threshold", [1.5, -2, float("nan"), float("inf")])
def test_a_threshold_that_is_no_cosine_is_refused(threshold):
    with pytest.raises(ConfigError):
        search([reformulation("a")], ScriptedRetriever(FOUND), RankScoreFusion(), score_threshold=threshold)


def test_a_threshold_is_refused_where_a_retriever_has_no_cosines():
    words = ScriptedRetriever(FOUND)
    words.cosine = False
    for retrievers in (words, [ScriptedRetriever(FOUND), RawQueryOnly(words)]):
        with pytest.raises(ConfigError):
            search([reformulation("a")], retrievers, RankScoreFusion(), score_threshold=0.0)
    assert words.calls == []


@pytest.mark.parametrize("number", [0, 2])
def test_a_reformulator_must_return_one_reformulation_per_query(number):
    class Wrong(Reformulator):
        name = "wrong"

        def reformulate(self, queries):
            return [reformulation("a")] * number

    with pytest.raises(ValueError, match=rf"wrong returned {number} .* 1 queries"):
        SearchPath(Wrong(), ScriptedRetriever(FOUND), RankScoreFusion()).search([Query("q", "a")])
