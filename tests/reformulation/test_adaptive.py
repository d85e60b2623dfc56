"""Query types, and the choice of a strategy by query type."""

from dataclasses import replace
from typing import get_args

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.structured import example
from acqo_rl.reformulation.adaptive import BY_TYPE, Adaptive, Classifier
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.templated import Templated
from acqo_rl.roles import Reformulator
from acqo_rl.types import Completion, FeedbackSpec, Query, QueryType

QUERY = Query("q", "Who painted Guernica?")


class Scripted(Reformulator):
    """Passes every query, with changes, and keeps the batches that it was given."""

    def __init__(self, name, feedback=0, **changes):
        self.name = name
        self.feedback = FeedbackSpec(feedback)
        self.changes = changes
        self.batches = []

    def reformulate(self, queries):
        self.batches.append([q.text for q in queries])
        return [replace(pass_through(q, self.name), **self.changes) for q in queries]


def scripted():
    return {name: Scripted(name) for name in {*BY_TYPE.values(), "expansion"}}


QUESTIONS = {
    "Who wrote Hamlet?": "hyde",
    "How do I tie a bowline?": "multi_query+step_back",
    "Compare Peru and Chad": "decomposition",
    "KeyError in pandas": "step_back",
    "Why is the sky blue?": "step_back",
    "Who wrote Hamlet and when was it published?": "multi_query+hyde",
    "Lima": "raw",
    "What is the capital of Chad?": "hyde",
    "Wo liegt Graz und wie gross ist es?": "raw",
}


def test_each_type_gets_its_strategy_in_one_call_and_the_result_names_it():
    there = scripted()
    answers = Adaptive(there).reformulate([Query(str(i), text) for i, text in enumerate(QUESTIONS)])
    assert [a.query.text for a in answers] == list(QUESTIONS)
    assert [a.reasoning.split()[1] for a in answers] == list(QUESTIONS.values())
    assert (answers[0].reasoning, answers[0].query_type) == ("Selected hyde for factual query", "factual")
    assert [a.made_by for a in answers] == list(QUESTIONS.values())
    assert there["hyde"].batches == [["Who wrote Hamlet?", "What is the capital of Chad?"]]
    assert there["step_back"].batches == [["KeyError in pandas", "Why is the sky blue?"]]
    assert there["expansion"].batches == []
    assert (answers[-1].query_type, answers[-1].reasoning) == (None, "Selected raw for unsure query")
    assert Adaptive(there).reformulate([]) == []


@pytest.mark.parametrize("by_type", [{**BY_TYPE, "simple": "magic"}, {"simple": "raw"}])
def test_every_type_needs_a_known_strategy(by_type):
    with pytest.raises(ConfigError):
        Adaptive(scripted(), by_type=by_type)


def test_costs_of_another_classifier_are_added():
    classifier = Scripted("types", query_type="simple", calls=1, tokens=2, problem="unsure")
    [answer] = Adaptive(scripted(), classifier=classifier).reformulate([Query("q", "Why?")])
    assert (answer.calls, answer.tokens, answer.problem) == (1, 2, "unsure")
    assert answer.reasoning == "Selected raw for simple query"


def test_wrappers_read_the_feedback_of_what_they_wrap():
    reading = {name: Scripted(name) for name in BY_TYPE.values()} | {"hyde": Scripted("hyde", feedback=3)}
    assert Adaptive(reading).feedback == Templated(reading["hyde"]).feedback == FeedbackSpec(3)
    assert Adaptive(reading, by_type=dict.fromkeys(BY_TYPE, "raw")).feedback == FeedbackSpec()


@pytest.mark.parametrize("reply", [example(type="debugging"), '{"type": "DEBUGGING"}'])
def test_the_type_of_the_reply(reply):
    [answer] = Classifier(ScriptedLanguageModel(reply)).reformulate([QUERY])
    assert (answer.query_type, answer.calls, answer.problem) == ("debugging", 1, None)


@pytest.mark.parametrize("reply", ["hm", "not debugging", Completion("", 0, problem="timed out")])
def test_the_rules_answer_if_the_model_does_not(reply):
    [answer] = Classifier(ScriptedLanguageModel(reply)).reformulate([QUERY])
    assert answer.query_type == Classifier().reformulate([QUERY])[0].query_type == "factual"
    assert (answer.calls, answer.failed_calls) == (1, int(isinstance(reply, Completion)))
    assert answer.problem


def test_one_call_for_a_batch_and_every_type_is_defined():
    model = ScriptedLanguageModel(example(type="factual"), example(type="how_to"))
    answers = Classifier(model).reformulate([QUERY, QUERY])
    assert [answer.query_type for answer in answers] == ["factual", "how_to"]
    [[conversation, _]] = model.calls
    assert all(f"\n{label} - " in conversation[0]["content"] for label in get_args(QueryType))
