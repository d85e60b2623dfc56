"""The query type from a language model; the rules answer where it does not."""

from __future__ import annotations

from typing import get_args

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.language_models.structured import example
from acqo_rl.reformulation.classify import classify
from acqo_rl.reformulation.model_classifier import ModelClassifier
from acqo_rl.types import Completion, Query, QueryType

QUERY = Query("q", "Who painted Guernica?")


@pytest.mark.parametrize("reply", [example(type="debugging"), "Debugging.", '{"type": "DEBUGGING"}'])
def test_the_type_of_the_reply(reply):
    [answer] = ModelClassifier(ScriptedLanguageModel(reply)).query_types([QUERY])
    assert (answer.query_type, answer.calls, answer.problem) == ("debugging", 1, None)


@pytest.mark.parametrize("reply", ["hm", "not debugging", Completion("", 0, problem="timed out")])
def test_the_rules_answer_where_the_model_does_not(reply):
    [answer] = ModelClassifier(ScriptedLanguageModel(reply)).query_types([QUERY])
    assert answer.query_type == classify(QUERY).query_type
    assert (answer.calls, answer.failed_calls) == (1, int(isinstance(reply, Completion)))
    assert answer.problem


def test_one_call_for_a_batch_and_every_type_is_defined():
    model = ScriptedLanguageModel(example(type="factual"), example(type="how_to"))
    answers = ModelClassifier(model).query_types([QUERY, QUERY])
    assert [answer.query_type for answer in answers] == ["factual", "how_to"]
    [[conversation, _]] = model.calls
    assert all(f"\n{label} - " in conversation[0]["content"] for label in get_args(QueryType))
