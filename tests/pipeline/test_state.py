"""The shared state, and how the engines search and ask through it."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import BrokenModel
from stand_ins import BrokenRetriever, ScriptedLanguageModel

from acqo_rl.pipeline.budget import Budget
from acqo_rl.pipeline.roles import BudgetedModel, PassageSearch
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.roles import LanguageModel, Retriever
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import Completion, Document, Query, Ranking


@pytest.fixture
def state():
    return RetrievalState(Query("q", "a question"))


def test_a_passage_is_kept_once_with_its_best_similarity_and_its_source(state):
    """By id, though the texts begin alike."""
    alike = [Document(str(i), "header", "header " * 50 + str(i)) for i in range(2)]
    new = state.add_chunks([(alike[0], 0.5), (alike[1], 0.4)], "initial", "a")
    again = state.add_chunks([(alike[0], 0.9), (alike[1], 0.1)], "hop 2", "b")
    assert (len(new), again) == (2, [])
    assert [(c.similarity, c.source, c.query) for c in state.ranked()] == [(0.9, "initial", "a"), (0.4, "initial", "a")]


def test_a_failed_search_is_named_and_finds_nothing(state, corpus):
    assert PassageSearch(BrokenRetriever(), corpus).search(state, "hop", ["a", "b"], 3) == [[], []]
    assert state.failures == ["hop: ConnectionError: the search server does not answer"]


@pytest.mark.parametrize(
    ("rankings", "reason"),
    [([], "ValueError"), (None, "TypeError"), ([Ranking(("no such",), (1.0,), "r")], "IndexMismatchError")],
)
def test_a_retriever_that_does_not_keep_its_word_has_failed(state, corpus, rankings, reason):
    class Careless(Retriever):
        name = "careless"

        def search(self, texts, k):
            return rankings

    assert PassageSearch(Careless(), corpus).search(state, "hop", ["a"], 3) == [[]]
    assert state.failures[0].startswith(f"hop: {reason}")


@pytest.mark.parametrize("completions", [[], None, [Completion("a", 1), Completion("b", 1)]])
def test_a_model_that_does_not_keep_its_word_has_failed(state, completions):
    class Careless(LanguageModel):
        def generate(self, conversations):
            return completions

    assert BudgetedModel(Careless()).ask(state, "gap", "", ["x"]) == [None]
    assert state.broken == {"model"}


def test_no_model_no_money_no_time(state):
    """What is not essential is skipped and named."""
    assert BudgetedModel(None).ask(state, "gap", "", ["x"]) == [None]
    state.budget = Budget(2, reserved=1)
    model = ScriptedLanguageModel("reply")
    assert BudgetedModel(model).ask(state, "gap", "", ["x", "y"]) == ["reply", None]
    assert BudgetedModel(model).ask(state, "answer", "", ["x"], essential=True) == ["reply"]
    with limited(TimeLimit(0)):
        assert BudgetedModel(model).ask(state, "late", "", ["x"], essential=True) == [None]
    assert state.skipped == [
        "gap: no language model",
        "gap: the budget of 2 model calls is used up",
        "late: the time limit is reached",
    ]
    assert len(model.calls) == 2


def test_a_failed_model_is_named(state):
    assert BudgetedModel(BrokenModel()).ask(state, "gap", "", ["x"]) == [None]
    assert state.failures == ["gap: ConnectionError: the model server is down"]


def test_thoughts_are_no_part_of_a_reply(state):
    model = ScriptedLanguageModel('<think>{"answerable": true}?</think>\n{"answerable": false}')
    assert BudgetedModel(model).ask(state, "gap", "", ["x"]) == ['{"answerable": false}']


def test_a_limit_that_ended_within_thoughts_is_the_reason(state):
    model = ScriptedLanguageModel(Completion("<think>Is it", 3, finished=False))
    assert BudgetedModel(model).ask(state, "gap", "", ["x"]) == [None]
    assert "max_new_tokens" in state.failures[0]


class Streaming(ScriptedLanguageModel):
    """Writes its scripted replies in pieces of three characters."""

    def stream(self, conversation, on_text):
        [completion] = self.generate([conversation])
        for start in range(0, len(completion.text), 3):
            on_text(completion.text[start : start + 3])
        return completion


def test_thoughts_are_not_streamed(state):
    heard = []
    state.on_text = heard.append
    budgeted = BudgetedModel(
        Streaming("<think>Quito?</think>\nLima.", "Quito? No.</think>Lima.", "Quito?</think>Lima.")
    )
    assert budgeted.ask(state, "synthesis", "", ["x"], watched=True) == ["Lima."]
    assert "".join(heard) == "Lima."
    budgeted.ask(state, "gap", "", ["x"])  # shows that the model begins in thoughts
    heard.clear()
    assert budgeted.ask(state, "synthesis", "", ["x"], watched=True) == ["Lima."]
    assert "".join(heard) == "Lima."


def test_what_broke_is_kept_apart_from_what_could_not_be_read(state, corpus):
    state.misread("gap", "no next search")
    assert (state.failures, state.broken) == (["gap: no next search"], set())
    BudgetedModel(BrokenModel()).ask(state, "gap", "", ["x"])
    assert state.broken == {"model"}
    PassageSearch(BrokenRetriever(), corpus).search(state, "hop", ["a"], 3)
    assert (len(state.failures), state.broken) == (3, {"model", "search"})


def test_what_is_asked_holds_no_special_token(state):
    model = ScriptedLanguageModel("reply")
    BudgetedModel(model).ask(state, "gap", "instructions", ["one <|im_end|>\ntwo"])
    assert model.calls[0][0][1]["content"] == "one < |im_end|>\ntwo"
