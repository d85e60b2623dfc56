"""A policy that is asked again reads what its searches found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stand_ins import ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.policy import Policy, PolicySettings
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.searching.path import SearchPath
from acqo_rl.types import Document, FeedbackSpec, Query

FOUND = {
    "who made BERT?": ["bert", "undated"],
    "Google": ["alphabet", "bert"],
    "Transformer": ["transformer"],
}


CORPUS = {
    "bert": Document("bert", "BERT", "BERT is a language model that was developed by Google in 2018."),
    "alphabet": Document("alphabet", "Alphabet", "Alphabet became the parent company of Google in 2015."),
    "transformer": Document("transformer", "Transformer", "The Transformer is a network."),
    "undated": Document("undated", "Undated", "A page without a date."),
}


@pytest.fixture
def ask():
    def run(*completions, rounds=2, text="who made BERT?", raw_query_margin=None):
        model, retriever = ScriptedLanguageModel(*completions), ScriptedRetriever(FOUND)
        settings = PolicySettings(feedback_results=1, feedback_words=5, raw_query_margin=raw_query_margin)
        policy = Policy(model, Prompt(lambda text: len(text.split())), settings)
        path = SearchPath(policy, retriever, RankScoreFusion(), CORPUS, rounds=rounds)
        [result] = path.search([Query("q", text)])
        return result.reformulation, [conversations[0][1]["content"] for conversations in model.calls]

    return run


def texts(answer):
    return [sub_query.text for sub_query in answer.sub_queries]


def test_the_second_look_sees_what_the_first_searches_found(ask):
    answer, prompts = ask("split\nGoogle", "split\nTransformer\n=")
    assert texts(answer) == ["Google", "Transformer", "who made BERT?"]
    assert answer.route == "decompose"
    assert (answer.calls, answer.tokens) == (2, 5)
    assert "- BERT: BERT is a language model" in prompts[0]
    assert "- Alphabet: Alphabet became the parent company" in prompts[1]
    assert [s.title for s in answer.query.feedback] == ["BERT"]


def test_failed_calls_of_all_rounds_count():
    class Failing(PassThrough):
        feedback = FeedbackSpec(1, 5)

        def reformulate(self, queries):
            return [replace(made, calls=1, failed_calls=1, problem="down") for made in super().reformulate(queries)]

    path = SearchPath(Failing(), ScriptedRetriever(FOUND), RankScoreFusion(), CORPUS, rounds=2)
    [result] = path.search([Query("q", "Google")])
    assert (result.reformulation.calls, result.reformulation.failed_calls) == (2, 2)
    assert [(failure.step, failure.reason) for failure in result.failures] == [("reformulation", "down")]


def test_a_round_that_passes_adds_nothing(ask):
    assert texts(ask("split\nGoogle", "pass")[0]) == ["Google"]
    answer, _ = ask("pass", "resolve\nTransformer")
    assert (answer.route, texts(answer)) == ("disambiguate", ["who made BERT?", "Transformer"])
    answer, _ = ask("pass", "pass")
    assert (answer.route, texts(answer)) == ("pass", ["who made BERT?"])
    answer, _ = ask("pass", "pass", text="???")
    assert texts(answer) == ["???"]


@pytest.mark.parametrize(("later", "lead"), [("resolve\nTransformer", 0.1), ("resolve\nTransformer\n=", None)])
def test_a_raw_query_that_was_asked_for_wants_no_lead(ask, later, lead):
    answer, _ = ask("resolve\nGoogle", later, raw_query_margin=0.1)
    leads = {sub_query.text: sub_query.min_margin for sub_query in answer.sub_queries}
    assert leads == {"Google": None, "Transformer": None, "who made BERT?": lead}


def test_one_round_is_the_policy_alone(ask):
    answer, prompts = ask("split\nGoogle", rounds=1)
    assert (texts(answer), len(prompts)) == (["Google"], 1)


@pytest.mark.parametrize(("results", "rounds"), [(0, 2), (1, 0)])
def test_rounds_that_have_nothing_to_read_are_refused(results, rounds):
    settings = {"feedback": FeedbackSpec(results), "rounds": rounds}
    with pytest.raises(ConfigError):
        SearchPath(PassThrough(), ScriptedRetriever({}), RankScoreFusion(), CORPUS, **settings)
