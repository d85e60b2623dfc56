"""The orchestrator: exact numbers of model calls, what is skipped, what is kept."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipeline_stand_ins import CLAIM, ROLES, BrokenModel, ModelByRole, gap, gaps, split
from stand_ins import BrokenRetriever, ScriptedRetriever, ranking

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.language_models.structured import example
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Retriever
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query

SIMPLE = "What is BERT?"
TEMPORAL = "What is the latest model of Google?"
CHAIN = "Which company acquired the firm that developed BERT?"
COMPARISON = "Compare BERT and Transformer"
ALL = (
    "Compare the latest models of the firm that developed BERT with those of every rival that it has had since, by "
    "size, price and use"
)
EVERY_DOCUMENT = ("bert", "alphabet", "transformer", "attention", "undated")


class Everything(ScriptedRetriever):
    """Scripted: finds the same documents for any text."""

    def __init__(self):
        super().__init__({})

    def search(self, texts, k):
        self.found = dict.fromkeys(texts, EVERY_DOCUMENT)
        return super().search(texts, k)


class Scored(Retriever):
    """Returns the same documents with the given scores for any text."""

    def __init__(self, name, **scores):
        self.name, self.scores, self.cosine = name, scores, name != "bm25"

    def search(self, texts, k):
        return [ranking(*self.scores, scores=self.scores.values(), retriever=self.name, query=text) for text in texts]


def model(**changed):
    replies = {
        "analyzer": example(challenges=["temporal", "multi_hop", "decomposition"]),
        "gap": [gap("gap 1"), gap("gap 2")],
        "decompose": split("part 1", "part 2", "part 3"),
        "sub_answer": "Google",
        "synthesis": "Google made BERT.",
        "grounding": CLAIM,
    }
    return ModelByRole(**{**replies, **changed})


def pipeline(corpus, the_model, retriever=None, **settings):
    return Pipeline(retriever or Everything(), corpus, the_model, today=lambda: date(2025, 6, 1), **settings)


@pytest.mark.parametrize(
    ("question", "challenges", "calls"),
    [
        (SIMPLE, ("simple",), 2),
        (TEMPORAL, ("temporal",), 2),
        (CHAIN, ("multi_hop",), 4),
        (COMPARISON, ("decomposition",), 6),
        (ALL, ("temporal", "multi_hop", "decomposition"), 9),
    ],
)
def test_model_calls(corpus, question, challenges, calls):
    """SIMPLE 2, TEMPORAL 2, MULTI_HOP(2) 4, DECOMPOSITION(3) 6, all 9."""
    the_model = model()
    result = pipeline(corpus, the_model).ask(question)
    assert result.challenges == challenges
    assert result.model_calls == len(the_model.asked) == calls
    assert (result.answer, result.confidence.label) == ("Google made BERT.", "High")
    assert result.strategies == tuple(c for c in challenges if c != "simple")
    assert not result.skipped and not result.failures


def test_at_eight_calls_answer_and_grounding_are_kept(corpus):
    """The steps that are not essential go first, and are named."""
    the_model = model()
    result = pipeline(corpus, the_model, max_model_calls=8).ask(ALL)
    assert result.model_calls == 8
    assert [role for role, _ in the_model.asked[-2:]] == ["synthesis", "grounding"]
    assert result.skipped == ("sub_answer: the budget of 8 model calls is used up",)


@pytest.mark.parametrize("limit", range(2, 10))
def test_the_limit_is_hard(corpus, limit):
    the_model = model()
    result = pipeline(corpus, the_model, max_model_calls=limit).ask(ALL)
    assert len(the_model.asked) == result.model_calls == limit
    assert result.answer and result.confidence.grounding == 1.0


REPLIES = st.one_of(
    st.text(max_size=40),
    st.sampled_from([split("a", "b", "c", "d", "e"), gap("z"), gap(), gaps("a"), CLAIM]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from([SIMPLE, TEMPORAL, CHAIN, COMPARISON, ALL]),
    st.integers(2, 12),
    st.fixed_dictionaries({role: st.lists(REPLIES, min_size=1, max_size=3) for role in ROLES}),
)
def test_whatever_the_model_says_the_budget_holds(corpus, question, limit, replies):
    """Never more calls than granted, each counted once, and the reserved ones left for their use."""
    the_model = ModelByRole(**replies)
    result = pipeline(corpus, the_model, max_model_calls=limit).ask(question)
    assert len(the_model.asked) == result.model_calls <= limit
    assert the_model.count("synthesis") == 1
    assert the_model.count("grounding") == bool(result.answer)


def test_too_small_a_limit_is_refused(corpus):
    with pytest.raises(ConfigError, match=r"max_model_calls is 1;.* 2"):
        pipeline(corpus, None, max_model_calls=1)


def test_without_a_model_it_finds_and_says_what_was_skipped(corpus):
    result = pipeline(corpus, None).ask(ALL)
    assert result.chunks[0].document.id == "bert"
    assert (result.answer, result.model_calls, result.failures) == ("", 0, ())
    assert set(result.skipped) == {
        "analyzer: no language model",
        "multi_hop: no language model",
        "decomposition: no language model",
        "synthesis: no language model",
    }
    assert result.confidence.grounding is None


def test_a_model_that_is_down_leaves_the_passages(corpus):
    result = pipeline(corpus, BrokenModel()).ask(CHAIN)
    assert len(result.chunks) == 5
    assert result.failures == (
        "multi_hop: ConnectionError: the model server is down",
        "synthesis: ConnectionError: the model server is down",
    )


def test_a_retriever_that_is_down_is_an_error(corpus):
    with pytest.raises(SearchError, match="the search server does not answer"):
        pipeline(corpus, model(), BrokenRetriever()).ask(SIMPLE)


def test_dates_change_the_order_and_not_the_similarity(corpus):
    """The newest first, by boosts that confidence never sees."""
    dates = {"undated": date(2025, 1, 1)} | dict.fromkeys(EVERY_DOCUMENT[:4], date(2001, 1, 1))
    result = pipeline(corpus, model(), dates=dates).ask(TEMPORAL)
    assert result.chunks[0].document.id == "undated"
    assert max(chunk.similarity for chunk in result.chunks) == 1.0
    assert result.confidence.score <= 1.0


def test_time_is_up(corpus):
    class Slow(Everything):
        def search(self, texts, k):
            time.sleep(0.05)
            return super().search(texts, k)

    result = pipeline(corpus, model(), Slow(), seconds=0.04).ask(CHAIN)
    assert result.skipped[0] == "multi_hop: the time limit is reached"
    assert result.chunks


def test_an_answer_that_time_cut_short_is_not_kept(corpus):
    class Slow(Everything):
        def search(self, texts, k):
            time.sleep(0.05 * (not self.calls))
            return super().search(texts, k)

    front = pipeline(corpus, model(), Slow(), seconds=0.04)
    assert front.ask(SIMPLE).skipped == ("synthesis: the time limit is reached",)
    again = front.ask(SIMPLE)
    assert (again.cached, again.answer) == (False, "Google made BERT.")


class TestScoresThatAreNoCosines:
    """Those of BM25 go to 40, and those of several retrievers do not compare."""

    def mixed(self, *more):
        vectors = Scored("dense", alphabet=0.9, bert=0.8, transformer=0.7)
        words = Scored("bm25", bert=30, undated=20)
        return AdaptiveSearcher(PassThrough(), [vectors, words, *more], RankScoreFusion())

    def test_the_fused_order_is_kept(self, corpus):
        searcher = self.mixed()
        result = pipeline(corpus, model(), searcher).ask(SIMPLE)
        assert tuple(c.document.id for c in result.chunks) == searcher.search(SIMPLE).fused.doc_ids
        assert [c.similarity for c in result.chunks] == pytest.approx([1, 0.92, 0.876, 0.847], abs=1e-3)
        assert [c.document.id for c in result.chunks[:2]] == ["bert", "alphabet"]

    def test_they_have_no_say_in_the_confidence(self, corpus):
        for retriever in (self.mixed(), Scored("bm25", bert=30, undated=20, transformer=10)):
            confidence = pipeline(corpus, model(), retriever).ask(SIMPLE).confidence
            assert (confidence.retrieval, confidence.score) == (None, pytest.approx(1.0))

    def test_dates_move_the_first_place_too(self, corpus):
        dates = {"bert": date(1990, 1, 1), "undated": date(2025, 1, 1)}
        retriever = Scored("bm25", bert=30, undated=20)
        result = pipeline(corpus, model(), retriever, dates=dates).ask(TEMPORAL)
        assert [chunk.document.id for chunk in result.chunks] == ["undated", "bert"]

    def test_a_date_does_not_lift_a_passage_over_nine_better_ones(self):
        corpus = {f"d{i}": Document(f"d{i}", "", "Notes on language models.") for i in range(10)}
        retriever = Scored("bm25", **{f"d{i}": 20 - i for i in range(10)})
        result = pipeline(corpus, model(), retriever, dates={"d9": date(2022, 1, 1)}).ask(TEMPORAL)
        order = [chunk.document.id for chunk in result.chunks]
        assert order[0] == "d0"
        assert order.index("d9") < 9

    def test_a_retriever_that_fails_is_named_and_left_out(self, corpus):
        front = pipeline(corpus, model(), self.mixed(BrokenRetriever()))
        result = front.ask(SIMPLE)
        assert result.failures == ("retrieval: broken ConnectionError: the search server does not answer",)
        assert result.answer == "Google made BERT."
        assert not front.ask(SIMPLE).cached


def test_a_boost_helps_below_zero_too(corpus):
    """A factor above 1 would put a negative similarity back."""
    dates = {"bert": date(2025, 1, 1), "undated": date(2001, 1, 1)}
    result = pipeline(corpus, model(), Scored("dense", bert=-0.2, undated=-0.3), dates=dates).ask(TEMPORAL)
    assert [chunk.document.id for chunk in result.chunks] == ["bert", "undated"]


class TestCache:
    def test_a_hit_asks_nobody(self, corpus):
        the_model, retriever = model(), Everything()
        front = pipeline(corpus, the_model, retriever)
        first = front.ask("What is FAISS?")
        for wording in ("what is faiss?", "What is FAISS!", " What is FAISS ?"):
            again = front.ask(wording)
            assert (again.cached, again.model_calls, again.answer) == (True, 0, first.answer)
        assert len(retriever.calls) == 1
        assert not front.ask(
            "What is FAISS",
        ).failures

    def test_what_differs(self, corpus):
        front = pipeline(corpus, model())
        for text in ("C++", "C", "C#", "10.5", "105", "-5", "5"):
            assert not front.ask(text).cached
        assert not front.ask(Query("q", "C", history=read_history(("before",)))).cached

    def test_failures_are_not_kept(self, corpus):
        front = pipeline(corpus, BrokenModel())
        front.ask(SIMPLE)
        assert not front.ask(SIMPLE).cached

    def test_a_reply_that_cannot_be_read_is_kept(self, corpus):
        """The same model would write it again."""
        front = pipeline(corpus, model(grounding="hm"))
        assert front.ask(SIMPLE).failures != ()
        assert front.ask(SIMPLE).cached


def test_nothing_found_is_no_failed_search(corpus):
    """Also where a reply could not be read before."""
    long = "Tell me in your own words whatever there may be to say of the thing that nobody here has ever heard of"
    result = pipeline(corpus, model(analyzer="hm"), ScriptedRetriever({})).ask(long)
    assert (result.chunks, result.confidence.label) == ((), "Very Low")
    assert [failure.partition(":")[0] for failure in result.failures] == ["analyzer"]


def test_another_engine(corpus):
    """The steps can be exchanged."""

    class Mark:
        def run(self, state):
            state.trace.add("mark", "was here")

    the_model = model()
    result = pipeline(corpus, the_model, engines={"multi_hop": Mark()}).ask(CHAIN)
    assert result.model_calls == 2
    assert "mark" in [step.name for step in result.trace]


def test_the_trace_tells_every_step(corpus):
    names = [step.name for step in pipeline(corpus, model()).ask(CHAIN).trace]
    assert names.index("analyzer") < names.index("initial") < names.index("multi_hop") < names.index("synthesis")
    assert names[-1] == "confidence"


def test_empty_questions_are_refused(corpus):
    with pytest.raises(ConfigError):
        pipeline(corpus, None).ask(" ")
