"""Chains and gaps: what is searched next, and when it ends."""

import pytest
from pipeline_stand_ins import AnyDocument, Endless, ModelByRole, gaps

from acqo_rl.pipeline.calls import BudgetedModel
from acqo_rl.pipeline.gaps import GapSearch
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.types import Query

QUESTION = "Which company acquired the firm that developed BERT?"
FOUND = {QUESTION: ("bert",), "Google parent company": ("alphabet",), "transformer": ("transformer", "bert")}
KINDS = pytest.mark.parametrize("name", ["multi_hop", "self_query"])


@pytest.fixture
def state():
    return RetrievalState(Query("q", QUESTION))


@KINDS
def test_the_worked_example(state, search_over, budgeted, name):
    """Two searches; what a search finds is found once."""
    search, _ = search_over(FOUND)
    model = budgeted(gap=[gaps("Google parent company"), gaps()])
    GapSearch(name, search, model).run(state)
    first, second = state.hops
    assert (first.number, first.query, first.doc_ids, first.complete) == (1, QUESTION, ("bert",), False)
    assert first.missing == ("Google parent company",)
    assert (second.query, second.doc_ids, second.complete) == ("Google parent company", ("alphabet",), True)
    assert list(state.found) == ["bert", "alphabet"]
    assert "(1) BERT: BERT is a language model" in model.model.asked[0][1]


@KINDS
def test_the_defaults(state, searching, name):
    """Three searches of three passages and two calls, which read eight passages of 300 characters."""
    retriever, model = Endless(), ModelByRole(gap=[gaps("a"), gaps("b"), "unused"])
    search = searching(retriever, AnyDocument("word " * 1000))
    search.search(state, "initial", [QUESTION], 10)
    GapSearch(name, search, BudgetedModel(model)).run(state)
    assert [texts for texts, _ in retriever.calls] == [[QUESTION], ["a"], ["b"]]
    assert model.count("gap") == state.budget.used == 2
    content = model.asked[0][1]
    assert "(8) " in content and "(9)" not in content
    assert 8 * 280 < len(content) < 8 * 370


@pytest.mark.parametrize(("name", "last"), [("self_query", [["transformer"]]), ("multi_hop", [])])
def test_self_query_returns_to_a_gap_that_was_named_before(state, search_over, budgeted, name, last):
    search, retriever = search_over(FOUND)
    GapSearch(name, search, budgeted(gap=gaps("Google parent company", "transformer"))).run(state)
    assert retriever.calls == [[QUESTION], ["Google parent company"], *last]


@pytest.mark.parametrize(
    ("reply", "failures"),
    [
        (gaps(), 0),
        ('{"complete": false, "missing": []}', 0),
        (gaps(f"{QUESTION.upper()} "), 0),
        ("I cannot tell.", 1),
        ("", 1),
    ],
)
@KINDS
def test_without_a_new_gap_it_ends_and_a_reply_of_another_form_is_told(
    state, search_over, budgeted, name, reply, failures
):
    search, retriever = search_over(FOUND)
    GapSearch(name, search, budgeted(gap=reply)).run(state)
    assert retriever.calls == [[QUESTION]]
    assert len(state.failures) == failures
    assert failures or state.trace.steps[-1].detail.startswith("stopped: ")
