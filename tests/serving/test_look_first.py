"""Rewrite-retrieve-read over HTTP: one model call, only if the raw query finds nothing similar."""

from __future__ import annotations

import pytest
from serving_stand_ins import Words
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.serving import strategies
from acqo_rl.serving.strategies import Strategies

NAME = "rewrite_retrieve_read"


@pytest.fixture
def asked(serving, monkeypatch):
    """Searches; returns the status, the body, and the number of model calls."""

    def ask(query, threshold=0.4, **settings):
        model = ScriptedLanguageModel("lima is the capital of peru")
        monkeypatch.setattr(strategies, "load_strategy_model", lambda *_: model)
        offered = Strategies({NAME: "m"}, StrategySettings(similarity_threshold=threshold))
        with serving(strategies=offered, **settings) as client:
            answer = client.post("/v1/search", json={"query": query, "rewriting_strategy": NAME})
            return answer.status_code, answer.json(), sum(map(len, model.calls))

    return ask


def test_a_query_with_a_similar_document_is_not_rewritten(asked):
    """The best document has the score 0.6."""
    _, body, calls = asked("Lima is the capital of Peru")
    assert (body["query_rewrite_info"]["route"], body["query_rewrite_info"]["strategy"], calls) == ("pass", NAME, 0)


def test_other_queries_are_rewritten_and_the_better_search_is_used(asked):
    """The best score is 0.1 before and 0.6 after."""
    _, body, calls = asked("Peru")
    info = body["query_rewrite_info"]
    assert (info["variants"][0]["text"], info["model_calls"], calls) == ("lima is the capital of peru", 1, 1)
    assert "kept the second search" in info["reasoning"]
    assert body["results"][0]["document_id"] == "lima"


def test_a_retriever_without_cosines_is_rejected(asked, in_collection):
    status, body, _ = asked("Peru", collections=[in_collection("words", Words(cosine=False))])
    assert (status, "cosines" in body["detail"]) == (409, True)
