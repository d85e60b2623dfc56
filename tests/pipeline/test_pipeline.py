"""The orchestrator: exact numbers of model calls, what is skipped, what is kept."""

import logging
import time
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipeline_stand_ins import CLAIM, ROLES, BrokenModel, ModelByRole, gaps, split
from stand_ins import BrokenRetriever, ScoredRetriever, ScriptedHop, ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.language_models.structured import example
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.searching.hop import Hops
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Query

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


def model(**changed):
    replies = {
        "analyzer": example(challenges=["temporal", "multi_hop", "decomposition"]),
        "gap": [gaps("gap 1"), gaps("gap 2")],
        "decompose": split("part 1", "part 2", "part 3"),
        "sub_answer": example(answer="Google"),
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
    assert (result.journal.trace.steps[0].name, result.journal.trace.steps[-1].name) == ("analyzer", "confidence")
    assert result.model_calls == len(the_model.asked) == calls
    about = {"analyzer", "gap", "decompose", "synthesis"}
    assert all(question in content for role, content in the_model.asked if role in about)
    assert (result.answer, result.confidence.label) == ("Google made BERT.", "High")
    assert result.strategies == tuple(c for c in challenges if c != "simple")
    assert not result.skipped and not result.failures


@pytest.mark.parametrize("limit", range(2, 10))
def test_the_limit_is_hard(corpus, limit):
    the_model = model()
    result = pipeline(corpus, the_model, max_model_calls=limit).ask(ALL)
    assert len(the_model.asked) == result.model_calls == limit
    assert [role for role, _ in the_model.asked[-2:]] == ["synthesis", "grounding"]
    assert result.answer and result.confidence.grounding == 1.0
    assert all("the budget of" in skipped for skipped in result.skipped)


@pytest.mark.parametrize(
    ("question", "asked"),
    [("stone " * 12, 0), ("stone " * 13, 1), (f"latest {'stone ' * 19}", 0), (f"latest {'stone ' * 20}", 1)],
)
def test_a_model_determines_the_challenges_of_long_questions(corpus, question, asked):
    the_model = model(analyzer=example(challenges=["simple"]))
    pipeline(corpus, the_model).ask(question)
    assert the_model.count("analyzer") == asked


REPLIES = st.one_of(
    st.text(max_size=40),
    st.sampled_from([split("a", "b", "c", "d", "e"), gaps("z"), gaps(), CLAIM]),
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


def test_wrong_arguments_are_refused(corpus):
    assert pipeline(corpus, None).max_model_calls == 20
    with pytest.raises(ConfigError):
        pipeline(corpus, None, max_model_calls=1)
    for text, mode in ((" ", "pipeline"), ("q", "best")):
        with pytest.raises(ConfigError):
            pipeline(corpus, None).ask(text, mode=mode)


def test_without_a_model_it_finds_and_says_what_was_skipped(corpus):
    result = pipeline(corpus, None).ask(ALL)
    assert result.chunks[0].document.id == "bert"
    assert (result.answer, result.model_calls, result.failures) == ("", 0, [])
    assert set(result.skipped) == {
        "analyzer: no language model",
        "decomposition: no language model",
        "synthesis: no language model",
    }
    assert result.confidence.grounding is None


def test_a_model_that_is_down_leaves_the_passages(corpus):
    front = pipeline(corpus, BrokenModel())
    result = front.ask(CHAIN)
    assert len(result.chunks) == 5
    assert not front.ask(CHAIN).journal.cached
    assert [failure.step for failure in result.failures] == ["multi_hop", "synthesis"]
    with pytest.raises(SearchError, match="the search server does not answer"):
        pipeline(corpus, model(), BrokenRetriever()).ask(SIMPLE)


def test_what_time_cut_short_is_reported_and_not_kept(corpus):
    class Slow(ModelByRole):
        def generate(self, conversations, schema=None):
            time.sleep(0.4)
            return super().generate(conversations, schema)

    front = pipeline(corpus, Slow(gap=gaps("gap 1")), seconds=0.2)
    for _ in range(2):
        result = front.ask(CHAIN)
        assert (result.journal.cached, len(result.chunks), result.model_calls) == (False, 5, 1)
        assert "synthesis: the time limit is reached" in result.skipped
    retriever = Everything()
    late = pipeline(corpus, model(), retriever, seconds=0).ask(SIMPLE)
    assert (late.chunks, retriever.calls, late.model_calls) == ((), [], 0)


def test_a_step_that_falls_back_is_logged_without_the_reply(corpus, caplog):
    with caplog.at_level(logging.INFO, logger="acqo_rl"):
        front = pipeline(corpus, model(grounding="secret words that are no JSON"))
        result = front.ask(SIMPLE)
        assert front.ask(SIMPLE).journal.cached
    assert "secret words" in result.failures[0].reason
    steps = [(r.message, r.step) for r in caplog.records if r.name.startswith("acqo_rl.pipeline")]
    assert steps == [("answer_step_fell_back", "grounding")]
    assert "secret" not in str([vars(record) for record in caplog.records])


def test_without_cosines_the_fused_order_is_kept_and_scores_have_no_say_in_the_confidence(corpus):
    """Those of BM25 go to 40, and those of several retrievers do not compare."""
    words = ScoredRetriever({SIMPLE: {"bert": 30, "undated": 20, "transformer": 10}}, "bm25", cosine=False)
    vectors = ScoredRetriever({SIMPLE: {"alphabet": 0.9, "bert": 0.8, "transformer": 0.7}})
    mixed = AdaptiveSearcher(PassThrough(), [vectors, words], RankScoreFusion())
    for retriever in (words, mixed):
        result = pipeline(corpus, model(), retriever).ask(SIMPLE)
        assert (result.confidence.retrieval, result.confidence.score) == (None, pytest.approx(1.0))
    assert tuple(c.document.id for c in result.chunks) == mixed.search(SIMPLE).fused.doc_ids
    broken = AdaptiveSearcher(PassThrough(), [words, BrokenRetriever()], RankScoreFusion())
    assert [f.retriever for f in pipeline(corpus, model(), broken).ask(SIMPLE).failures] == ["broken"]
    assert [c.similarity for c in result.chunks] == pytest.approx([1, 0.92, 0.876, 0.847], abs=1e-3)


def test_a_cached_answer_asks_nobody(corpus):
    the_model = model()
    retriever = Everything()
    front = pipeline(corpus, the_model, retriever)
    first = front.ask("What is FAISS?")
    again = front.ask(" what is FAISS ?")
    assert (again.journal.cached, again.model_calls, again.answer, len(retriever.calls)) == (True, 0, first.answer, 1)
    turned = Query("q", "C", history=read_history(("before",)))
    for fingerprint in ("one", "another"):
        retriever.fingerprint = fingerprint
        for asked, mode in (("C++", "pipeline"), ("C", "pipeline"), (turned, "pipeline"), ("C", "simple")):
            assert [front.ask(asked, mode=mode).journal.cached for _ in range(2)] == [False, True]


def test_another_step(corpus):
    """The steps can be exchanged."""

    class Mark:
        def run(self, state):
            state.journal.trace.add("mark", "was here")
            return state

    result = pipeline(corpus, model(), steps={"multi_hop": Mark()}).ask(CHAIN)
    assert result.model_calls == 2
    assert "mark" in [step.name for step in result.journal.trace.steps]


FOUND = {"q": ("bert", "undated"), "Transformer": ("transformer",), "next BERT": ("alphabet",)}


@pytest.mark.parametrize(
    ("mode", "replies", "searched", "calls", "written"),
    [
        ("simple", {}, lambda result: [], 2, "[BERT]\nBERT is"),
        ("multi_hop", {"gap": [gaps("next BERT"), gaps()]}, lambda result: result.hops, 4, "[Hop 2]\n[Alphabet]"),
        ("self_query", {"gap": [gaps("next BERT"), gaps()]}, lambda result: result.hops, 4, "\n\n---\n\n"),
        (
            "recursive",
            {"decompose": split("q", "next BERT"), "sub_answer": example(answer="Google")},
            lambda result: result.sub_questions,
            5,
            "[Sub-query 2: next BERT]\n[Alphabet]",
        ),
    ],
)
def test_modes(corpus, mode, replies, searched, calls, written):
    result = Pipeline(ScriptedRetriever(FOUND), corpus, model(**replies)).ask("q", mode=mode)
    texts = [getattr(one, "query", None) or one.text for one in searched(result)]
    assert texts == ([] if mode == "simple" else ["q", "next BERT"])
    assert (result.answer, result.strategies, result.model_calls) == ("Google made BERT.", (mode,), calls)
    assert written in result.context
    if mode == "recursive":  # what the passages of the parts refer to
        assert [step.query for step in result.path if step.action == "follow_reference"][:1] == ["Transformer"]
        assert "[Transformer]" in result.context
    alone = Pipeline(ScriptedRetriever(FOUND), corpus).ask("q", mode=mode)
    assert "bert" in {chunk.document.id for chunk in alone.chunks}
    assert (alone.answer, alone.skipped[-1]) == ("", "synthesis: no language model")


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("Who is the spouse of the CEO of Microsoft?", "multi_hop"),
        ("Compare BERT and Transformer", "recursive"),
        ("What is the relationship between sleep and memory?", "multi_hop"),
        ("How does Sleep affect Memory?", "multi_hop"),
        (" ".join(["word"] * 21), "recursive"),
        ("Who wrote Dune? Who filmed it?", "self_query"),
        ("What is FAISS?", "simple"),
    ],
)
def test_the_mode_that_rules_choose(corpus, question, mode):
    assert Pipeline(ScriptedRetriever(FOUND), corpus).ask(question, mode="auto").strategies == (mode,)


@pytest.mark.parametrize("mode", ["pipeline", "multi_hop", "self_query"])
@pytest.mark.parametrize(("names", "asked"), [((), 2), (("Google",), 1), (("Google", "Transformer"), 0)])
def test_the_hops_of_the_search_come_before_a_model_is_asked_what_is_missing(corpus, mode, names, asked):
    found = {CHAIN: ("bert",), "Google": ("alphabet",), "Transformer": ("transformer",), "gap 1": ("attention",)}
    hops = Hops(ScriptedHop(*names), 2)
    the_model = model(gap=[gaps("gap 1"), gaps("gap 2")])
    searcher = AdaptiveSearcher(PassThrough(), ScriptedRetriever(found), RankScoreFusion(), hops=hops)
    result = pipeline(corpus, the_model, searcher).ask(CHAIN, mode=mode)
    assert the_model.count("gap") == asked
    assert result.model_calls == asked + 2
    assert [one.query for one in result.hops] == [CHAIN, *names, *("gap 1", "gap 2")[:asked]]
    assert result.sub_questions == ()
