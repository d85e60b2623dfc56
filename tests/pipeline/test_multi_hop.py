"""Chains and gaps: what is searched next, and when it ends."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import gap, gaps

from acqo_rl.pipeline.multi_hop import MultiHop, SelfQuery
from acqo_rl.pipeline.roles import BudgetedModel
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.types import Query

QUESTION = "Which company acquired the firm that developed BERT?"
FOUND = {QUESTION: ("bert",), "Google parent company": ("alphabet",), "transformer": ("transformer", "bert")}


@pytest.fixture
def state():
    return RetrievalState(Query("q", QUESTION))


class TestMultiHop:
    def test_the_worked_example(self, state, search_over, budgeted):
        """Two hops; what a hop finds is found once."""
        model = budgeted(
            gap=[
                gap("Google parent company", "who owns Google"),
                gap(),
            ]
        )
        MultiHop(search_over(FOUND), model, hops=2).run(state)
        assert [(h.number, h.query, h.doc_ids, h.answerable) for h in state.hops] == [
            (1, QUESTION, ("bert",), False),
            (2, "Google parent company", ("alphabet",), True),
        ]
        assert state.hops[0].missing == "who owns Google"
        assert list(state.chunks) == ["bert", "alphabet"]
        assert "(1) BERT: BERT is a language model" in model.model.asked[0][1]

    def test_one_call_and_one_search_a_hop(self, state, search_over, budgeted):
        model = budgeted(gap=[gap("a"), gap("b"), "unused"])
        search = search_over({})
        MultiHop(search, model, hops=2).run(state)
        assert model.model.count("gap") == state.budget.used == 2
        assert search.retriever.calls == [[QUESTION], ["a"], ["b"]]

    @pytest.mark.parametrize(
        "reply",
        [
            '{"answerable": false, "next_query": null}',
            "I cannot tell.",  # malformed is not complete
            "",
        ],
    )
    def test_no_next_query_ends_it_and_is_told(self, state, search_over, budgeted, reply):
        """Nothing is never searched."""
        search = search_over(FOUND)
        MultiHop(search, budgeted(gap=reply)).run(state)
        assert search.retriever.calls == [[QUESTION]]
        assert state.hops[0].answerable is not True
        assert "multi_hop: " in state.failures[0]

    def test_a_text_that_holds_none_is_searched(self, state, search_over, budgeted):
        search = search_over({})
        MultiHop(search, budgeted(gap=gap("nonexistent file error")), hops=1).run(state)
        assert search.retriever.calls[1] == ["nonexistent file error"]

    def test_a_repeated_query_ends_it(self, state, search_over, budgeted):
        search = search_over(FOUND)
        MultiHop(search, budgeted(gap=gap(QUESTION.lower())), hops=5).run(state)
        assert len(search.retriever.calls) == 1
        assert any(repr(f"{QUESTION.lower()}") in step.detail for step in state.trace.steps)

    def test_without_a_model_it_stops_with_a_reason(self, state, search_over):
        MultiHop(search_over(FOUND), BudgetedModel(None)).run(state)
        assert (len(state.hops), state.skipped) == (1, ["multi_hop: no language model"])


class TestSelfQuery:
    def test_the_most_important_new_gap_first(self, state, search_over, budgeted):
        model = budgeted(
            completeness=[
                gaps("Google parent company", "transformer"),
                gaps("Google parent company", "transformer"),
            ]
        )
        search = search_over(FOUND)
        SelfQuery(search, model, iterations=3).run(state)
        assert search.retriever.calls == [[QUESTION], ["Google parent company"], ["transformer"]]
        assert [i.sufficient for i in state.iterations] == [False, False, None]
        assert state.iterations[0].gaps == ("Google parent company", "transformer")
        assert state.iterations[2].doc_ids == ("transformer", "bert")
        assert state.budget.used == 2

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            (gaps(), "stopped: sufficient"),
            ('{"sufficient": false, "missing": []}', "stopped: no new gap"),
            (gaps(QUESTION.upper()), "stopped: no new gap"),
        ],
    )
    def test_ends_with_a_reason(self, state, search_over, budgeted, reply, reason):
        """It never ends in silence."""
        SelfQuery(search_over(FOUND), budgeted(completeness=reply)).run(state)
        assert (len(state.iterations), state.trace.steps[-1].detail) == (1, reason)

    def test_what_was_searched_before_is_not_searched_again(self, state, search_over, budgeted):
        search = search_over(FOUND)
        search.search(state, "initial", [QUESTION], 10)
        SelfQuery(search, budgeted(completeness=gaps())).run(state)
        assert search.retriever.calls == [[QUESTION]]
        assert state.iterations[0].doc_ids == ("bert",)

    @pytest.mark.parametrize("reply", ["The passages are about BERT.", ""])
    def test_a_reply_that_says_nothing_is_told(self, state, search_over, budgeted, reply):
        search = search_over(FOUND)
        SelfQuery(search, budgeted(completeness=reply)).run(state)
        assert search.retriever.calls == [[QUESTION]]
        assert len(state.failures) == 1
