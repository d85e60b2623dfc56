"""Parts that wait for each other."""

from __future__ import annotations

from graphlib import CycleError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.pipeline.decomposition import Decomposer, levels_of, read_sub_questions
from acqo_rl.pipeline.roles import BudgetedModel
from acqo_rl.pipeline.state import RetrievalState, SubQuestion
from acqo_rl.types import Query

QUERY = Query("q", "Who owns the developer of BERT?")


@pytest.mark.parametrize(
    "reply",
    [
        '{"sub_questions": [{"id": 1, "question": "Who made BERT?", "depends_on": []},'
        ' {"id": 2, "question": "Who owns it?", "depends_on": [1]}]}',
        '```json\n[{"query": "Who made BERT?"}, {"query": "Who owns it?", "dependency": "sub1"}]\n```',
        "SUB1: Who made BERT?\nDEPENDS: none\nSUB2: Who owns it?\nDEPENDS: SUB1",
        "  - **sub 1:** Who made BERT?\n  depends: none\n  - **Sub-query 2:** Who owns it?\n  **Depends on:** sub 1.",
        "Here they are:\n1. Who made BERT?\n2) Who owns it?\ndepends_on: 1",
        "SUB_QUERY_1 = Who made BERT?\nDEPENDS = none\nSUB_QUERY_2 = Who owns it?\nDEPENDS = SUB_QUERY_1",
        "sub1: Who made BERT?\nsub2: Who owns it?\nDEPENDENCY: sub1, sub7",
    ],
)
def test_parts_and_dependencies(reply):
    first, second = read_sub_questions(reply, QUERY)
    assert (first.text, first.depends_on) == ("Who made BERT?", ())
    assert (second.text, second.depends_on, second.kind) == ("Who owns it?", (1,), "decomposed")


@pytest.mark.parametrize(
    "reply", ["", "I cannot.", '{"other": 1}', "SUB1: who owns the developer of bert", '{"sub_questions": []}', "[7"]
)
def test_nothing_to_split_is_the_question_itself(reply):
    [part] = read_sub_questions(reply, QUERY)
    assert (part.text, part.kind, part.depends_on) == (QUERY.text, "original", ())


@given(st.text(max_size=200))
def test_any_reply_is_read(reply):
    assert 1 <= len(read_sub_questions(reply, QUERY)) <= 4


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


def test_a_circle_is_refused():
    with pytest.raises(CycleError):
        list(levels_of([SubQuestion(1, "a", (2,)), SubQuestion(2, "b", (1,))]))
    with pytest.raises(CycleError):
        list(levels_of([SubQuestion(1, "a", (1,))]))


def reply_of(*depends):
    rows = (f'{{"id": {i}, "question": "part {i}", "depends_on": {on}}}' for i, on in enumerate(depends, start=1))
    return f"[{', '.join(rows)}]"


def test_answers_go_where_they_are_waited_for(search_over, budgeted):
    """Independent parts in one search and one batch, the dependent one after them with their answers."""
    found = {"part 1": ("bert",), "part 2": ("alphabet",), "part 3 (Context: Google; Alphabet)": ("alphabet", "bert")}
    search = search_over(found)
    model = budgeted(decompose=reply_of([], [], [1, 2]), sub_answer=["Google", "Alphabet", "Alphabet owns it"])
    state = RetrievalState(QUERY)
    Decomposer(search, model).run(state)
    assert search.retriever.calls == [["part 1", "part 2"], ["part 3 (Context: Google; Alphabet)"]]
    assert [part.answer for part in state.sub_questions] == ["Google", "Alphabet", "Alphabet owns it"]
    assert state.sub_questions[2].doc_ids == ("alphabet", "bert")
    assert state.budget.used == 4


def test_no_answer_is_none_and_no_passage_is_not_asked_about(search_over, budgeted):
    search = search_over({"part 1": ("bert",)})
    model = budgeted(decompose=reply_of([], [], [1]), sub_answer="None.")
    state = RetrievalState(QUERY)
    Decomposer(search, model).run(state)
    assert [part.answer for part in state.sub_questions] == ["", "", ""]
    assert model.model.count("sub_answer") == 1
    assert search.retriever.calls[1] == ["part 3"]


def test_a_circle_is_asked_as_one_question(search_over, budgeted):
    search = search_over({})
    state = RetrievalState(QUERY)
    Decomposer(search, budgeted(decompose=reply_of([2], [1]))).run(state)
    assert search.retriever.calls == [[QUERY.text]]
    assert "circular" in state.failures[0]


def test_without_a_model_the_question_is_searched_once(search_over):
    search = search_over({})
    state = RetrievalState(QUERY)
    Decomposer(search, BudgetedModel(None)).run(state)
    Decomposer(search, BudgetedModel(None)).run(state)
    assert search.retriever.calls == [[QUERY.text]]
    assert state.sub_questions[0].kind == "original"


@pytest.mark.parametrize(
    ("reply", "reported"),
    [
        ("The answer is Google.", True),
        ("", True),
        ('{"sub_questions": [{"id": 1, "question": "...", "depends_on": []}]}', True),  # the prompt's example, copied
        ('{"sub_questions": [{"id": 1, "question": "who owns the developer of BERT"}]}', False),
        ("Question: Who owns the developer of BERT?", False),
    ],
)
def test_a_reply_without_parts_is_reported_unless_the_question_is_simple(search_over, budgeted, reply, reported):
    state = RetrievalState(QUERY)
    Decomposer(search_over({}), budgeted(decompose=reply)).run(state)
    assert [part.text for part in state.sub_questions] == [QUERY.text]
    assert state.failures == ([f"decomposition: found no sub-questions in {reply[:80]!r}"] if reported else [])


def test_a_long_answer_is_cut_before_another_part_is_searched_with_it(search_over, budgeted):
    """What waits for it is still a search."""
    search = search_over({"part 1": ("bert",)})
    model = budgeted(decompose=reply_of([], [1]), sub_answer="Google made it. " * 50)
    Decomposer(search, model).run(RetrievalState(QUERY))
    assert search.retriever.calls[1][0].startswith("part 2 (Context: Google made it.")
    assert len(search.retriever.calls[1][0]) < 230
