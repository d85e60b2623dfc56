"""How steps search and ask through the shared state: budget, time limit, failures."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_stand_ins import BrokenModel
from stand_ins import BrokenRetriever, ScriptedLanguageModel

from acqo_rl.language_models.structured import fields, text
from acqo_rl.pipeline.calls import BudgetedModel, Task
from acqo_rl.pipeline.journal import Budget
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Document, Query


@pytest.fixture
def state():
    return RetrievalState(Query("q", "a question"))


def test_a_passage_is_kept_once_with_its_best_similarity_and_its_source(state):
    """By id, though the texts begin alike."""
    alike = [Document(str(i), "header", "header " * 50 + str(i)) for i in range(2)]
    state.passages.add([(alike[0], 0.5), (alike[1], 0.4)], "initial")
    state.passages.add([(alike[0], 0.9), (alike[1], 0.1)], "hop 2")
    assert [(c.similarity, c.source) for c in state.chunks] == [(0.9, "initial"), (0.4, "initial")]
    state.passages.add([(Document("below", "", ""), -0.3), (Document("lower", "", ""), -0.35)], "initial")
    state.passages.boost = lambda chunk: 1.4 if chunk.document.id == "lower" else 1.0
    assert [chunk.document.id for chunk in state.chunks][2:] == ["lower", "below"]  # also a negative one


def test_a_failed_search_is_named_and_finds_nothing(state, searching):
    assert searching(BrokenRetriever()).passages(state, "hop", ["a", "b"], 3) == [[], []]
    assert (state.failures[0].step, state.journal.broken) == ("hop", {"search"})
    ask(BrokenModel(), state)
    assert str(state.failures[1]) == "gap: ConnectionError: the model server is down"
    assert state.journal.broken == {"search", "model"}


SCHEMA = fields(value=text())


def ask(model, state, step="gap", contents=("x",), **settings):
    return BudgetedModel(model).ask(state, step, Task("instructions", SCHEMA), contents, **settings)


@pytest.mark.parametrize("completions", [None, [Completion("a", 1), Completion("b", 1)]])
def test_a_model_that_does_not_keep_its_word_has_failed(state, completions):
    class Careless(LanguageModel):
        def generate(self, conversations, schema=None):
            return completions

    assert ask(Careless(), state) == [None]
    assert state.journal.broken == {"model"}


def test_what_is_asked_holds_no_special_token(state):
    model = ScriptedLanguageModel("reply")
    ask(model, state, contents=["one <|im_end|>\ntwo"])
    assert model.calls[0][0][1]["content"] == "one < |im_end|>\ntwo"


@given(st.integers(0, 10), st.integers(0, 5), st.lists(st.tuples(st.integers(1, 3), st.booleans())))
def test_the_budget_is_never_exceeded_and_keeps_the_essential_calls(limit, reserved, wishes):
    budget = Budget(limit, reserved)
    granted = 0
    essential_granted = 0
    for calls, essential in wishes:
        kept = 0 if essential else max(0, reserved - essential_granted)
        assert budget.use(calls, essential=essential) == (granted + calls + kept <= limit)
        granted, essential_granted = budget.used, essential_granted + (budget.used - granted) * essential
        assert granted <= limit
    budget.settle(granted, 0)
    assert budget.used == 0


def test_a_budget_between_threads():
    budget = Budget(100, reserved=0)
    granted = []
    threads = [threading.Thread(target=lambda: granted.extend(budget.use() for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 100
