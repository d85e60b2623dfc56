"""A model as classifier, scripted: its word is read however it is dressed, and the rules answer where it says none."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.classify import classify
from acqo_rl.reformulation.model_classifier import ModelClassifier, read_labels
from acqo_rl.types import Completion, Query, QueryType

QUERY = Query("q", "Why is the sky blue?")
LONG = "Tell me whatever there may be to know about that old man from the sea village please"


@pytest.mark.parametrize(
    ("reply", "query_type"),
    [
        ("factual", "factual"),
        ("Factual.", "factual"),
        ("**How-to**", "how_to"),
        ("how to", "how_to"),
        ("It is a comparison question", "comparison"),
        ("<think>factual?</think> debugging", "debugging"),
    ],
)
def test_one_word_however_it_is_dressed(reply, query_type):
    [answer] = ModelClassifier(ScriptedLanguageModel(reply)).query_types([QUERY])
    assert (answer.query_type, answer.calls, answer.problem) == (query_type, 1, None)
    assert answer.route == "pass"


@pytest.mark.parametrize("reply", ["", "artifactual", "I do not know", Completion("", 0, problem="HTTP 500")])
def test_the_rules_answer_where_the_model_does_not(reply):
    [answer] = ModelClassifier(ScriptedLanguageModel(reply)).query_types([QUERY])
    assert (answer.query_type, answer.calls) == ("conceptual", 1)
    assert answer.failed_calls == isinstance(reply, Completion)
    assert answer.problem.startswith("classifier: ")
    assert answer.problem.endswith("; the rules answered")


def test_one_call_for_a_batch():
    model = ScriptedLanguageModel("factual", "simple")
    answers = ModelClassifier(model).query_types([QUERY, QUERY])
    assert [len(call) for call in model.calls] == [2]
    assert [a.query_type for a in answers] == ["factual", "simple"]


class TestChallenges:
    def test_only_what_the_rules_are_unsure_of_is_asked(self):
        model = ScriptedLanguageModel("multi-hop and temporal")
        answers = ModelClassifier(model).challenges([QUERY, Query("r", LONG)])
        assert [len(call) for call in model.calls] == [1]
        assert [a.challenges for a in answers] == [("simple",), ("multi_hop", "temporal")]
        assert [a.calls for a in answers] == [0, 1]

    @pytest.mark.parametrize(("reply", "failed"), [("simple", False), ("", True), ("no idea", True)])
    def test_simple_stays_simple(self, reply, failed):
        [answer] = ModelClassifier(ScriptedLanguageModel(reply)).challenges([Query("r", LONG)])
        assert answer.challenges == ("simple",)
        assert (answer.problem is not None) == failed

    def test_no_call_where_none_is_needed(self):
        model = ScriptedLanguageModel()
        assert ModelClassifier(model).challenges([QUERY]) == [classify(QUERY)]
        assert model.calls == []


@given(st.text())
def test_every_reply_can_be_read(reply):
    assert set(read_labels(Completion(reply, 1), get_args(QueryType))) <= set(get_args(QueryType))
