"""Further searches: chains, gaps and parts that wait for each other."""

from graphlib import CycleError

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_stand_ins import AnyDocument, Endless, ModelByRole, gaps, split

from acqo_rl.language_models.structured import example
from acqo_rl.pipeline.calls import BudgetedModel
from acqo_rl.pipeline.further import Decomposer, GapSearch, levels_of, sub_questions_of
from acqo_rl.pipeline.state import RetrievalState, SubQuestion
from acqo_rl.types import Query

QUESTION = "Which company acquired the firm that developed BERT?"
FOUND = {QUESTION: ("bert",), "Google parent company": ("alphabet",), "transformer of BERT": ("transformer", "bert")}
KINDS = pytest.mark.parametrize("name", ["multi_hop", "self_query"])


@pytest.fixture
def state():
    return RetrievalState(Query("q", QUESTION))


@KINDS
def test_the_worked_example(state, search_over, budgeted, name):
    """Two searches; what a search finds is found once."""
    search, _ = search_over(FOUND)
    model = budgeted(gap=[gaps("Google parent company"), gaps()])
    state = GapSearch(name, search, model).run(state)
    first, second = state.hops
    assert (first.number, first.query, first.doc_ids, first.complete) == (1, QUESTION, ("bert",), False)
    assert first.missing == ("Google parent company",)
    assert (second.query, second.doc_ids, second.complete) == ("Google parent company", ("alphabet",), True)
    assert list(state.passages.found) == ["bert", "alphabet"]
    assert "(1) BERT: BERT is a language model" in model.model.asked[0][1]
    assert all(QUESTION in content for _, content in model.model.asked)


@KINDS
def test_the_defaults(state, searching, name):
    """Three searches of three passages and two calls, which read eight passages of 300 characters."""
    retriever = Endless()
    model = ModelByRole(gap=[gaps("word a"), gaps("word b"), "unused"])
    search = searching(retriever, AnyDocument("word " * 1000))
    search.passages(state, "initial", [QUESTION], 10)
    state = GapSearch(name, search, BudgetedModel(model)).run(state)
    assert [texts for texts, _ in retriever.calls] == [[QUESTION], ["word a"], ["word b"]]
    assert model.count("gap") == state.journal.budget.used == 2
    content = model.asked[0][1]
    assert "(8) " in content and "(9)" not in content
    assert 8 * 280 < len(content) < 8 * 370


@pytest.mark.parametrize(("name", "last"), [("self_query", [["transformer of BERT"]]), ("multi_hop", [])])
def test_self_query_returns_to_a_gap_that_was_named_before(state, search_over, budgeted, name, last):
    search, retriever = search_over(FOUND)
    state = GapSearch(name, search, budgeted(gap=gaps("Google parent company", "transformer of BERT"))).run(state)
    assert retriever.calls == [[QUESTION], ["Google parent company"], *last]


@pytest.mark.parametrize(
    ("reply", "failures"),
    [
        (gaps(), 0),
        ('{"complete": false, "missing": []}', 0),
        (gaps(f"{QUESTION.upper()} "), 0),
        ("I cannot tell.", 1),
        ("", 1),
        *((gaps(said), 1) for said in ("none", "N/A", "nothing", "No further details needed.", "Here they are:")),
    ],
)
@KINDS
def test_without_a_new_gap_it_ends_and_a_reply_of_another_form_is_told(
    state, search_over, budgeted, name, reply, failures
):
    search, retriever = search_over(FOUND)
    state = GapSearch(name, search, budgeted(gap=reply)).run(state)
    assert retriever.calls == [[QUESTION]]
    assert len(state.failures) == failures
    assert failures or state.journal.trace.steps[-1].detail.startswith("stopped: ")


QUERY = Query("q", "Who owns the developer of BERT?")


def row(number, question, *depends_on):
    return {"id": number, "question": question, "depends_on": list(depends_on)}


def test_parts_and_dependencies():
    """A repeated part is left out, and the first stands for it."""
    rows = [row(1, "Who made BERT?"), row(3, "who made BERT"), row(2, "Who owns it?", 1, 3)]
    first, second = sub_questions_of(rows, QUERY)
    assert (first.text, first.depends_on) == ("Who made BERT?", ())
    assert (second.text, second.depends_on, second.kind) == ("Who owns it?", (1,), "decomposed")


@given(st.lists(st.lists(st.integers(1, 4), max_size=3), min_size=1, max_size=4))
def test_levels_respect_the_graph_or_refuse_it(depends):
    parts = [SubQuestion(i, str(i), tuple(d for d in on if d <= len(depends))) for i, on in enumerate(depends, start=1)]
    try:
        levels = list(levels_of(parts))
    except CycleError:
        return
    seen = set()
    for level in levels:
        assert all(set(part.depends_on) <= seen for part in level)
        seen |= {part.id for part in level}
    assert seen == {part.id for part in parts}


def test_answers_go_where_they_are_waited_for(search_over, budgeted):
    """Independent parts in one search and one batch, the dependent one after them with their answers."""
    found = {"part 1": ("bert",), "part 2": ("alphabet",), "part 3 (Context: Google)": ("alphabet", "bert")}
    search, retriever = search_over(found)
    parts = split("part 1", "part 2", "part 3", depends_on=([], [], [1]))
    answers = ["Google", "Alphabet", "Alphabet owns it"]
    model = budgeted(decompose=parts, sub_answer=[example(answer=one) for one in answers])
    state = RetrievalState(QUERY)
    state = Decomposer(search, model).run(state)
    assert retriever.calls == [["part 1", "part 2"], ["part 3 (Context: Google)"]]
    assert [part.answer for part in state.sub_questions] == answers
    assert state.sub_questions[2].doc_ids == ("alphabet", "bert")
    assert state.journal.budget.used == 4


def test_no_answer_is_none_and_no_passage_is_not_asked_about(search_over, budgeted):
    search, retriever = search_over({"part 1": ("bert",)})
    model = budgeted(
        decompose=split("part 1", "part 2", "part 3", depends_on=([], [], [1])), sub_answer=example(answer=None)
    )
    state = RetrievalState(QUERY)
    state = Decomposer(search, model).run(state)
    assert [part.answer for part in state.sub_questions] == ["", "", ""]
    assert model.model.count("sub_answer") == 1
    assert retriever.calls[1] == ["part 3"]


@pytest.mark.parametrize(
    ("reply", "reported"),
    [
        ("The answer is Google.", True),
        ("", True),
        (split(QUERY.text), False),
        (example(questions=[row(1, "a"), row(1, "b")]), True),
        (split("a", "b", depends_on=([2], [1])), True),
        (split("Who made it?", "Where was he born?", depends_on=([], [7])), True),
        (split("Who made it?", "Where was he born?", depends_on=([], ["SUB1"])), True),
        (split("1. Who made it?", "2. Where was he born?", depends_on=([], [1])), True),
    ],
)
def test_what_cannot_be_split_is_reported_and_searched_as_one_question(search_over, budgeted, reply, reported):
    state = RetrievalState(QUERY)
    search, retriever = search_over({})
    state = Decomposer(search, budgeted(decompose=reply)).run(state)
    assert retriever.calls == [[QUERY.text]]
    assert [part.text for part in state.sub_questions] == [QUERY.text]
    assert [failure.step for failure in state.failures] == ["decomposition"] * reported
