"""The one path from reformulations to rankings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import BrokenRetriever, ScoredRetriever, ScriptedRetriever, ranking, search_given, search_reformulations

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Reformulator
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.searching.threshold import fuse_similar
from acqo_rl.types import Document, FeedbackSpec, Passage, Query, Reformulation, Snippet, SubQuery

FOUND = {"a": ("1", "2"), "b": ("2", "3"), "A ?": ("9",)}
WORDS = ScriptedRetriever(FOUND)
WORDS.name, WORDS.cosine = "words", False


def made(*sub_queries, route="decompose", text="raw"):
    """A reformulation; a sub-query given as a text is a part."""
    subs = tuple(SubQuery(s, "part") if isinstance(s, str) else s for s in sub_queries)
    return Reformulation(Query("q", text), route, subs, "test")


def raw(text):
    return PassThrough().reformulate([Query("q", text)])


def named(name, found):
    retriever = ScriptedRetriever(found)
    retriever.name = name
    return retriever


def test_one_call_for_the_distinct_texts_of_a_batch_position_for_position():
    retriever = ScriptedRetriever(FOUND)
    lists = search_reformulations([made("a", "b"), made("b"), made("c", "a")], retriever)
    assert retriever.calls == [["a", "b", "c"]]
    assert [[(r.query, r.doc_ids) for r in found] for found in lists] == [
        [("a", ("1", "2")), ("b", ("2", "3"))],
        [("b", ("2", "3"))],
        [("c", ()), ("a", ("1", "2"))],
    ]


@pytest.mark.parametrize(
    ("texts", "searched", "route"),
    [
        (("a", "A ?", " ", "b"), ["a", "b"], "decompose"),
        (("", " \t", "?"), ["raw"], "pass"),
        (("RAW ?",), ["raw"], "pass"),
        (("x" * 900,), ["x" * 900], "decompose"),
        ((SubQuery("for the raw", "reading"), SubQuery("Raw?", "variant")), ["raw"], "pass"),
        ((SubQuery("raw", "original"), SubQuery("what is raw", "reading"), "b"), ["raw", "b"], "decompose"),
    ],
)
def test_empty_and_repeated_sub_queries_are_not_searched(texts, searched, route):
    retriever = ScriptedRetriever(FOUND)
    [found] = search_given([made(*texts)], retriever, RankScoreFusion())
    assert (retriever.calls, found.reformulation.route) == ([searched], route)


@pytest.mark.parametrize("text", ["What is  A? ", "???", "a\x00b\x1b\u202e"])
def test_any_query_reaches_the_retriever_unchanged_and_a_single_list_is_fused_like_several(text):
    [reformulation] = raw(text)
    retriever = ScriptedRetriever({reformulation.query.text.replace("\x00", " "): ("1", "2")})
    [found] = search_given([reformulation], retriever, RankScoreFusion())
    assert (found.fused.doc_ids, found.fused.scores, found.fused.retriever) == (("1", "2"), (1.0, 0.5), "rsf")
    assert found.rankings[0].query == reformulation.query.text


def test_a_blank_query_finds_nothing_and_asks_nobody():
    for retriever in (BrokenRetriever(), [BrokenRetriever(), RawQueryOnly(BrokenRetriever())]):
        [found] = search_given(raw(" \x00"), retriever, RankScoreFusion())
        assert (found.rankings, found.fused.doc_ids) == ((), ())


def test_failures_are_raised():
    for retriever in (BrokenRetriever(), [ScriptedRetriever(FOUND), BrokenRetriever()]):
        with pytest.raises(ConnectionError):
            search_given([made("a")], retriever, RankScoreFusion())
        with pytest.raises(ConnectionError):
            SearchPath(PassThrough(), retriever, RankScoreFusion(), {}, FeedbackSpec(1)).with_feedback(
                [Query("q", "a")]
            )


@pytest.mark.parametrize("number", [0, 2])
def test_a_reformulator_must_return_one_reformulation_per_query(number):
    class Wrong(Reformulator):
        name = "wrong"

        def reformulate(self, queries):
            return [made("a")] * number

    with pytest.raises(ValueError, match=rf"wrong returned {number} .* 1 queries"):
        SearchPath(Wrong(), ScriptedRetriever(FOUND), RankScoreFusion()).search([Query("q", "a")])


def test_a_hypothetical_answer_is_searched_as_a_passage():
    retriever = ScriptedRetriever(FOUND)
    [found] = search_reformulations([made("a", SubQuery("b", "hypothetical"))], retriever)
    assert [type(text) for text in retriever.calls[0]] == [str, Passage]
    assert [(r.query, r.doc_ids, type(r.query)) for r in found] == [("a", ("1", "2"), str), ("b", ("2", "3"), str)]


DENSE = {"reading": 0.5, "other": 0.25}


@pytest.mark.parametrize(
    ("scores", "counts"),
    [
        ([{**DENSE, "raw": 0.75}], [True]),
        ([{**DENSE, "raw": 0.625}], [False]),  # the lead must be exceeded
        ([{**DENSE, "raw": 0.4}], [False]),
        ([{"raw": 0.2}], [True]),  # all that is found
        ([{**DENSE, "raw": 0.9}, {"reading": 9.0, "raw": 8.0}], [True, False]),  # each retriever for itself
    ],
)
def test_a_list_that_must_lead_counts_only_with_its_margin(scores, counts):
    subs = (SubQuery("reading", "reading"), SubQuery("other", "reading"), SubQuery("raw", "original", min_margin=0.125))
    found = [{text: {text: score} for text, score in some.items()} for some in scores]
    retrievers = [ScoredRetriever(some, str(number)) for number, some in enumerate(found)]
    reformulation = made(*subs, route="disambiguate")
    [lists] = search_reformulations([reformulation], retrievers)
    assert [bool(r.doc_ids) for r in lists if r.query == "raw"] == counts
    retrievers[0].cosine = False
    [found] = search_given([reformulation], retrievers, RankScoreFusion())
    assert [s.text for s in found.reformulation.sub_queries] == ["reading", "other"]


CORPUS = {
    "1": Document("1", "One\ntitle", "first  words of\x00 a long text"),
    "2": Document("2", "Two", "short"),
    "9": Document("9", "t" * 5000, "x" * 5000),
}


class TestFeedback:
    def of(self, *queries, results=1, words=3, found=FOUND, corpus=CORPUS):
        self.retriever = ScriptedRetriever(found)
        spec = FeedbackSpec(results, words)
        path = SearchPath(PassThrough(), self.retriever, RankScoreFusion(), corpus, spec)
        return [query.feedback for query in path.with_feedback(queries)]

    def test_is_cut_to_results_words_and_characters(self):
        queries = [Query(text, text) for text in ("a", "A ?", "unknown")]
        assert self.of(*queries) == [
            (Snippet("One title", "first words of"),),
            (Snippet("t" * 200, "x" * 3 * 16),),
            (),
        ]
        assert self.retriever.calls == [["a", "A ?", "unknown"]]
        assert self.of(queries[0], results=5, words=100)[0][1:] == (Snippet("Two", "short"),)

    def test_a_conversation_is_searched_with_its_last_two_turns(self):
        query = Query("q", "a", history=read_history(("U: long ago", "S: before", "U: then")))
        [[snippet]] = self.of(query, found={"S: before U: then a": ("2",), "a": ("1",)})
        assert snippet.title == "Two"

    def test_a_document_that_the_corpus_lacks_is_named(self):
        with pytest.raises(IndexMismatchError, match="'2'"):
            self.of(Query("q", "a"), results=2, corpus={"1": CORPUS["1"]})


def test_every_list_is_a_path_with_the_weight_of_its_sub_query():
    dense = named("dense", FOUND)
    sparse = named("bm25", {"a": ("7",)})
    subs = (SubQuery("a", "original", 0.5), SubQuery("b", "part", 2.0))
    [found] = search_given([made(*subs)], [dense, sparse], ReciprocalRankFusion())
    assert [(r.query, r.retriever, r.weight, r.doc_ids) for r in found.rankings] == [
        ("a", "dense", 0.5, ("1", "2")),
        ("a", "bm25", 0.5, ("7",)),
        ("b", "dense", 2.0, ("2", "3")),
        ("b", "bm25", 2.0, ()),
    ]
    assert dense.calls == sparse.calls == [["a", "b"]]
    assert found.fused.scores == pytest.approx((0.5 / 62 + 2 / 61, 2 / 62, 0.5 / 61, 0.5 / 61))
    assert found.fused.doc_ids == ("2", "3", "1", "7")


def test_one_that_searches_the_raw_query_alone_is_a_path_behind_the_others():
    dense = named("dense", FOUND)
    sparse = named("bm25", {"raw": ("7",), "a": ("8",)})
    subs = (SubQuery("a", "hypothetical", 1.5), SubQuery("b", "variant", 0.8))
    of_the_query = [("a", "dense", 1.5), ("b", "dense", 0.8), ("raw", "bm25", 1.0)]
    batch = [made(*subs), made(SubQuery("raw", "original", 0.5), *subs), made("raw", text="other")]
    one, two, three = search_reformulations(batch, [dense, RawQueryOnly(sparse)])
    assert [(r.query, r.retriever, r.weight) for r in one] == of_the_query
    assert [(r.query, r.weight) for r in two] == [("raw", 0.5), ("a", 1.5), ("b", 0.8), ("raw", 0.5)]
    assert [(r.query, r.retriever) for r in three] == [("raw", "dense"), ("other", "bm25")]
    assert sparse.calls == [["raw", "other"]]


@pytest.mark.parametrize("arguments", [{}, {"k": 2, "depth": 4}])
def test_lists_are_as_deep_as_depth_and_the_fused_one_as_k(arguments):
    many = {"raw": [str(i) for i in range(200)]}
    [found] = search_given(
        raw("raw"), [named("a", many), RawQueryOnly(named("b", many))], RankScoreFusion(), **arguments
    )
    assert [len(one.doc_ids) for one in found.rankings] == [arguments.get("depth", 100)] * 2
    assert found.fused.doc_ids == tuple(map(str, range(arguments.get("k", 10))))


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
        for doc_id, score in one.pairs:
            best[doc_id] = max(score, best.get(doc_id, score))
    for fusion in (RankScoreFusion(), ReciprocalRankFusion()):
        [everything] = fusion.fuse([lists], 100)
        [kept] = fuse_similar(fusion, [lists], k, threshold)
        assert kept.doc_ids == tuple(d for d in everything.doc_ids if best[d] >= threshold)[:k]
        assert kept.similarities == tuple(best[d] for d in kept.doc_ids)
        assert len(kept.scores) == len(kept.doc_ids)
        assert fuse_similar(fusion, [lists], k, None) == fusion.fuse([lists], k)
        assert fuse_similar(fusion, [], k, threshold) == []


@pytest.mark.parametrize(
    ("retrievers", "threshold"),
    [
        *((ScriptedRetriever(FOUND), threshold) for threshold in (1.5, -2, float("nan"))),
        (WORDS, 0.0),
        ([ScriptedRetriever(FOUND), RawQueryOnly(WORDS)], 0.0),
    ],
)
@pytest.mark.parametrize(
    "find",
    [
        lambda *parts, score_threshold: SearchPath(PassThrough(), *parts, score_threshold=score_threshold),
        lambda *parts, score_threshold: AdaptiveSearcher(PassThrough(), *parts).search(
            "a", score_threshold=score_threshold
        ),
    ],
)
def test_a_threshold_must_be_a_cosine_and_scores_too(find, retrievers, threshold):
    with pytest.raises(ConfigError):
        find(retrievers, RankScoreFusion(), score_threshold=threshold)
    assert WORDS.calls == []
