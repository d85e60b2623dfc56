"""How steps search and ask through the shared state: budget, time limit, failures."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_stand_ins import BrokenModel
from stand_ins import BrokenRetriever, ScriptedLanguageModel

from acqo_rl.language_models.structured import fields, text
from acqo_rl.pipeline.calls import BudgetedModel, Task
from acqo_rl.pipeline.state import Budget, RetrievalState
from acqo_rl.roles import LanguageModel
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import Completion, Document, Query


@pytest.fixture
def state():
    return RetrievalState(Query("q", "a question"))


def test_a_passage_is_kept_once_with_its_best_similarity_and_its_source(state):
    """By id, though the texts begin alike."""
    alike = [Document(str(i), "header", "header " * 50 + str(i)) for i in range(2)]
    state.add_chunks([(alike[0], 0.5), (alike[1], 0.4)], "initial", "a")
    state.add_chunks([(alike[0], 0.9), (alike[1], 0.1)], "hop 2", "b")
    assert [(c.similarity, c.source, c.query) for c in state.ranked()] == [(0.9, "initial", "a"), (0.4, "initial", "a")]


def test_a_boost_helps_a_negative_similarity_too(state):
    state.add_chunks([(Document("a", "", ""), -0.3), (Document("b", "", ""), -0.25)], "initial", "q")
    state.boost = lambda chunk: 1.4 if chunk.document.id == "a" else 1.0
    assert [chunk.document.id for chunk in state.ranked()] == ["a", "b"]


def test_a_failed_search_is_named_and_finds_nothing(state, searching):
    assert searching(BrokenRetriever()).search(state, "hop", ["a", "b"], 3) == [[], []]
    assert (state.failures[0].step, state.broken) == ("hop", {"search"})
    ask(BrokenModel(), state)
    assert str(state.failures[1]) == "gap: ConnectionError: the model server is down"
    assert state.broken == {"search", "model"}


SCHEMA = fields(value=text())


def ask(model, state, step="gap", contents=("x",), **settings):
    return BudgetedModel(model).ask(state, step, Task("instructions", SCHEMA), contents, **settings)


@pytest.mark.parametrize("completions", [[], None, [Completion("a", 1), Completion("b", 1)]])
def test_a_model_that_does_not_keep_its_word_has_failed(state, completions):
    class Careless(LanguageModel):
        def generate(self, conversations, schema=None):
            return completions

    assert ask(Careless(), state) == [None]
    assert state.broken == {"model"}


def test_no_model_no_money_no_time(state):
    """What is not essential is skipped and named."""
    assert ask(None, state) == [None]
    state.budget = Budget(2, reserved=1)
    model = ScriptedLanguageModel("reply")
    assert ask(model, state, contents=["x", "y"]) == [{"value": "reply"}, None]
    assert ask(model, state, "answer", essential=True) == [{"value": "reply"}]
    with limited(TimeLimit(0)):
        assert ask(model, state, "late", essential=True) == [None]
    assert state.skipped == [
        "gap: no language model",
        "gap: the budget of 2 model calls is used up",
        "late: the time limit is reached",
    ]
    assert len(model.calls) == 2


def test_a_reply_of_another_form_is_named_and_does_not_count_as_broken(state):
    assert ask(ScriptedLanguageModel('{"other": 1}'), state) == [None]
    assert (len(state.failures), state.broken) == (1, set())


class Streaming(ScriptedLanguageModel):
    """Writes its scripted replies in pieces of three characters."""

    def stream(self, conversation, on_text):
        [completion] = self.generate([conversation])
        for start in range(0, len(completion.text), 3):
            on_text(completion.text[start : start + 3])
        return completion


def test_only_the_answer_is_streamed(state):
    heard = []
    state.on_text = heard.append
    model = Streaming("Lima.")
    assert ask(model, state) == [{"value": "Lima."}]
    assert heard == []
    assert BudgetedModel(model).write(state, "synthesis", Task("instructions"), "x") == "Lima."
    assert heard == ["Lim", "a."]


def test_what_is_asked_holds_no_special_token(state):
    model = ScriptedLanguageModel("reply")
    ask(model, state, contents=["one <|im_end|>\ntwo"])
    assert model.calls[0][0][1]["content"] == "one < |im_end|>\ntwo"


class TestBudget:
    def test_essential_calls_are_kept(self):
        """Analysis, two hops, decomposition and four answers at 8 leave the last two for answer and grounding."""
        budget = Budget(8, reserved=2)
        assert [budget.use() for _ in range(8)] == [True] * 6 + [False] * 2
        assert budget.use(essential=True)
        assert not budget.use()
        assert budget.use(essential=True)
        assert not budget.use(essential=True)
        assert budget.used == budget.limit == 8
        budget = Budget(2, reserved=1)
        assert budget.use(essential=True) and budget.use()

    @given(st.integers(0, 10), st.integers(0, 5), st.lists(st.tuples(st.integers(1, 3), st.booleans())))
    def test_it_is_never_exceeded(self, limit, reserved, wishes):
        budget, granted, essential_granted = Budget(limit, reserved), 0, 0
        for calls, essential in wishes:
            if budget.use(calls, essential=essential):
                granted += calls
                essential_granted += calls * essential
            assert budget.used == granted <= limit
            assert granted - essential_granted <= max(0, limit - reserved)

    def test_calls_that_were_granted_and_not_made_are_free_again(self):
        budget = Budget(8, reserved=2)
        assert budget.use(6) and not budget.use()
        budget.settle(6, 2)
        assert budget.used == 2
        assert budget.use(4) and not budget.use()

    def test_between_threads(self):
        budget, granted = Budget(100, reserved=0), []
        threads = [threading.Thread(target=lambda: granted.extend(budget.use() for _ in range(50))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(granted) == 100
