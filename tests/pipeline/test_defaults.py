"""The default limits of every step: numbers of searches, and the text that a model reads."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import CLAIM, AnyDocument, Endless, ModelByRole, gap, gaps, split

from acqo_rl.language_models.structured import example
from acqo_rl.pipeline.decomposition import Decomposer
from acqo_rl.pipeline.multi_hop import MultiHop, SelfQuery
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.pipeline.references import ReferenceFollower
from acqo_rl.pipeline.roles import BudgetedModel, PassageSearch
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.pipeline.synthesis import calibrate
from acqo_rl.types import Query

LONG = "word " * 1000
GAPS = [gap(f"hop {i}", "part") for i in range(9)]


@pytest.fixture
def state():
    return RetrievalState(Query("q", "q"))


@pytest.fixture
def retriever():
    return Endless()


def read(model, role):
    """What the model got to read for a role, the first time."""
    return next(content for asked, content in model.asked if asked == role)


def test_references(state, retriever):
    """Depths 0 to 2, five passages a search, ten documents in all."""
    corpus = AnyDocument("See also: Alpha, Bravo, Charlie; Delta, Foxtrot, Golf.")
    ReferenceFollower(PassageSearch(retriever, corpus)).run(state)
    assert retriever.calls == [(["q"], 5), (["Alpha", "Bravo", "Charlie", "Delta", "Foxtrot"], 5)]
    assert len(state.chunks) == 10
    *steps, joined, _ = state.path
    assert sum(len(step.doc_ids) for step in steps) == len(joined.doc_ids) == 10


def test_references_of_several_passages_are_five_a_depth(state, retriever):
    """Those of the first passages, in their order."""
    corpus = AnyDocument("See also: Left {rank}, Right {rank}.")
    ReferenceFollower(PassageSearch(retriever, corpus), documents=100, depth=2).run(state)
    assert retriever.calls[1][0] == ["Left 0", "Right 0", "Left 1", "Right 1", "Left 2"]


def test_depth_is_the_number_of_searches_after_each_other(state, retriever):
    """Each passage points to one that was not there."""
    corpus = AnyDocument("See also: After {query}.")
    ReferenceFollower(PassageSearch(retriever, corpus), documents=100).run(state)
    assert [texts for texts, _ in retriever.calls] == [["q"], ["After q"], ["After After q"]]


def test_multi_hop(state, retriever):
    """Three searches of three passages; the model reads eight passages of 300 characters."""
    model = ModelByRole(gap=GAPS)
    MultiHop(PassageSearch(retriever, AnyDocument(LONG)), BudgetedModel(model)).run(state)
    assert retriever.calls == [(["q"], 3), (["hop 0"], 3), (["hop 1"], 3)]
    assert model.count("gap") == state.budget.used == 2
    state = RetrievalState(Query("q", "q"))
    search = PassageSearch(retriever, AnyDocument(LONG))
    search.search(state, "initial", ["q"], 10)
    MultiHop(search, BudgetedModel(model)).run(state)
    content = model.asked[2][1]
    assert "(8) q/7: word" in content and "(9)" not in content
    assert 8 * 280 < len(content) < 8 * 330


def test_self_query(state, retriever):
    """Three searches of three passages, the most important gap first; nothing is asked after the last."""
    model = ModelByRole(completeness=[gaps("a, b", "c"), gaps("d", "c")])
    SelfQuery(PassageSearch(retriever, AnyDocument(LONG)), BudgetedModel(model)).run(state)
    assert retriever.calls == [(["q"], 3), (["a, b"], 3), (["d"], 3)]
    assert model.count("completeness") == 2


def test_decomposition(state, retriever):
    """At most four parts, three passages each in one pool, answered from 2000 characters."""
    model = ModelByRole(decompose=split(*(f"part {i}" for i in range(1, 7))), sub_answer="said")
    Decomposer(PassageSearch(retriever, AnyDocument(LONG)), BudgetedModel(model)).run(state)
    assert retriever.calls == [([f"part {i}" for i in range(1, 5)], 3)]
    assert (len(state.chunks), model.count("sub_answer"), state.budget.used) == (12, 4, 5)
    assert 1900 < len(read(model, "sub_answer")) < 2100


def test_an_answer_is_written_from_4000_characters(retriever):
    """Of the five passages of a simple question."""
    model = ModelByRole(synthesis="said", grounding=CLAIM)
    result = Pipeline(retriever, AnyDocument(LONG), model).ask("q", mode="simple")
    assert retriever.calls == [(["q"], 5)]
    assert 3900 < len(read(model, "synthesis")) < 4100
    assert 3900 < len(result.context) <= 4000


def test_the_recursive_mode_reports_its_steps(retriever):
    corpus = AnyDocument("See also: Alpha.")
    model = ModelByRole(decompose=split("one", "two"), sub_answer="said", synthesis="said", grounding=CLAIM)
    result = Pipeline(retriever, corpus, model).ask("q", mode="recursive")
    assert (len(result.sub_questions), len(result.chunks)) == (2, 6 + 5)
    assert [(step.action, step.depth) for step in result.path] == [
        ("follow_reference", 1), ("aggregate", 2), ("stop", 2)
    ]  # fmt: skip


def test_the_order_of_the_steps(retriever):
    """Whatever order the challenges are found in."""
    model = ModelByRole(
        analyzer=example(challenges=["decomposition", "multi_hop", "temporal"]),
        gap=gap(),
        decompose=split("one", "two"),
        sub_answer="said",
        synthesis="said",
        grounding=CLAIM,
    )
    result = Pipeline(retriever, AnyDocument("text"), model).ask("tell me " + "a word or two of it " * 4)
    order = ["analyzer", "initial", "temporal", "multi_hop", "decomposition", "sub_answer", "synthesis", "grounding"]
    names = [step.name for step in result.trace]
    assert sorted(order, key=names.index) == order
    assert result.strategies == ("temporal", "multi_hop", "decomposition")


def test_twenty_model_calls(retriever):
    """In the state and in the pipeline alike."""
    assert RetrievalState(Query("q", "q")).budget.limit == 20
    asked = ModelByRole(gap=GAPS, synthesis="said", grounding=CLAIM)
    engines = {"multi_hop": MultiHop(PassageSearch(retriever, AnyDocument("")), BudgetedModel(asked), hops=50)}
    asked.replies["gap"] = [gap(f"hop {i}") for i in range(60)]
    result = Pipeline(retriever, AnyDocument(""), asked, engines=engines).ask("Who is the wife of the CEO of Apple?")
    assert (result.model_calls, asked.count("gap"), result.answer) == (20, 18, "said")


@pytest.mark.parametrize(
    ("score", "label"),
    [
        (0.80, "High"),
        (0.799, "Medium"),
        (0.60, "Medium"),
        (0.599, "Low"),
        (0.35, "Low"),
        (0.349, "Very Low"),
    ],
)
def test_labels_begin_at_their_thresholds(score, label):
    """Two passages of similarity 0.55 are worth 0.30 * 0.5 + 0.15 * 2/3, grounding 0.55."""
    confidence = calibrate([0.55, 0.55], (score - 0.25) / 0.55)
    assert (confidence.label, confidence.score) == (label, pytest.approx(score))
