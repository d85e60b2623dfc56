"""The choice of a strategy by query type."""

from __future__ import annotations

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.adaptive import BY_TYPE, Adaptive
from acqo_rl.reformulation.classify import Classification
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.templated import Templated
from acqo_rl.roles import Reformulator
from acqo_rl.types import FeedbackSpec, Query


class Scripted(Reformulator):
    """Passes every query, and keeps the batches that it was given."""

    def __init__(self, name):
        self.name = name
        self.batches = []

    def reformulate(self, queries):
        self.batches.append([q.text for q in queries])
        return [pass_through(q, self.name) for q in queries]


def scripted():
    return {name: Scripted(name) for name in {*BY_TYPE.values(), "expansion"}}


QUESTIONS = {
    "Who wrote Hamlet?": "hyde",
    "How do I tie a bowline?": "multi_query+step_back",
    "Compare Peru and Chad": "decomposition",
    "KeyError in pandas": "step_back",
    "Why is the sky blue?": "step_back",
    "Who wrote Hamlet and when was it published?": "decomposition",
    "Lima": "raw",
    "What is the capital of Chad?": "hyde",
}


def test_each_type_gets_its_strategy_in_one_call_and_the_result_says_so():
    there = scripted()
    answers = Adaptive(there).reformulate([Query(str(i), text) for i, text in enumerate(QUESTIONS)])
    assert [a.query.text for a in answers] == list(QUESTIONS)
    assert [a.reasoning.split()[1] for a in answers] == list(QUESTIONS.values())
    assert answers[0].reasoning == "Selected hyde for factual query"
    assert answers[0].query_type == "factual"
    assert {a.made_by for a in answers} == {"adaptive"}
    assert there["hyde"].batches == [["Who wrote Hamlet?", "What is the capital of Chad?"]]
    assert there["step_back"].batches == [["KeyError in pandas", "Why is the sky blue?"]]
    assert there["expansion"].batches == []


def test_one_strategy_can_be_forced():
    there = scripted()
    answers = Adaptive(there, forced="expansion").reformulate([Query("q", t) for t in QUESTIONS])
    assert len(there["expansion"].batches[0]) == len(QUESTIONS)
    assert answers[0].reasoning == "Selected expansion for factual query"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forced": "magic"}, "'magic'; choose"),
        ({"by_type": {**BY_TYPE, "simple": "magic"}}, "'magic'"),
        ({"by_type": {"simple": "raw"}}, "factual, how_to"),
    ],
)
def test_an_unknown_strategy_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Adaptive(scripted(), **settings)


def test_another_classifier_and_what_it_cost():
    def classifier(queries):
        return [Classification("simple", ("simple",), calls=1, tokens=2, problem="unsure") for _ in queries]

    [answer] = Adaptive(scripted(), classifier=classifier).reformulate([Query("q", "Why?")])
    assert (answer.calls, answer.tokens, answer.problem) == (1, 2, "unsure")
    assert answer.reasoning == "Selected raw for simple query"


def test_nothing_asked_nothing_answered():
    assert Adaptive(scripted()).reformulate([]) == []


def test_wrappers_read_the_feedback_of_what_they_wrap():
    class Reading(Scripted):
        feedback = FeedbackSpec(3, 50)

    reading = {name: Scripted(name) for name in BY_TYPE.values()} | {"hyde": Reading("hyde")}
    wrappers = [
        Adaptive(reading),
        Adaptive(reading, forced="hyde"),
        Templated(Reading("hyde")),
    ]
    assert {wrapper.feedback for wrapper in wrappers} == {FeedbackSpec(3, 50)}
    assert Adaptive(reading, forced="raw").feedback == FeedbackSpec()
