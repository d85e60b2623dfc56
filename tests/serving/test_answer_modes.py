"""The modes of the pipeline over HTTP: results, steps and model calls."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import ModelByRole, gaps, split
from serving_stand_ins import DOCUMENTS, Parts, Scripted, events

from acqo_rl.types import Document

REPLIES = {
    "gap": (gaps("capital of Chad"), gaps()),
    "decompose": split("capital of Peru", "capital of Chad"),
    "sub_answer": "Lima",
    "synthesis": "Lima and Ndjamena.",
    "grounding": '{"claims": [{"claim": "Lima", "source": 1}]}',
}


def answer(client, mode, query="capital of Peru", **body):
    name, data = events(client.post("/v1/answer", json={"query": query, "mode": mode, **body}).text)[-1]
    assert name == "result"
    return data


@pytest.fixture
def asked(serving):
    """Asks a service in a mode; returns the result and the model."""

    def ask(mode, query="capital of Peru", strategy="raw", **settings):
        model = ModelByRole(**REPLIES)
        with serving(answer_model=model, **settings) as client:
            return answer(client, mode, query, rewriting_strategy=strategy), model

    return ask


def test_simple(asked):
    result, model = asked("simple")
    assert (result["answer"], result["strategies"], result["retrieval"]["mode"]) == (
        REPLIES["synthesis"],
        ["simple"],
        "simple",
    )
    assert [role for role, _ in model.asked] == ["synthesis", "grounding"]
    assert result["claims"][0]["source"]["document_id"] == "lima"
    assert result["confidence"] > 0.5


def test_multi_hop(asked):
    result, model = asked("multi_hop")
    first, second = result["retrieval"]["hops"]
    assert (first["query"], first["complete"], first["missing"]) == ("capital of Peru", False, ["capital of Chad"])
    assert (second["query"], second["complete"]) == ("capital of Chad", True)
    assert "world/ndjamena" in second["doc_ids"]
    assert result["model_calls"] == len(model.asked) == 4


def test_self_query(asked):
    result, _ = asked("self_query")
    first, second = result["retrieval"]["iterations"]
    assert (first["complete"], first["missing"]) == (False, ["capital of Chad"])
    assert (second["query"], second["complete"]) == ("capital of Chad", True)


def test_recursive(asked, in_collection):
    """Answers the parts of the question, then follows references in their passages."""
    lima = Document("lima", "Lima", "Lima is the capital of Peru. See also: Rimac.")
    documents = {**DOCUMENTS, "lima": lima, "rimac": Document("rimac", "Rimac", "Rimac is a river.")}
    pools = [in_collection("world", documents=documents)]
    result, _ = asked("recursive", "Compare the capitals", collections=pools)
    assert [(p["text"], p["answer"]) for p in result["retrieval"]["sub_questions"]] == [
        ("capital of Peru", "Lima"),
        ("capital of Chad", "Lima"),
    ]
    followed = [step for step in result["retrieval"]["path"] if step["action"] == "follow_reference"]
    assert [(step["query"], step["doc_ids"]) for step in followed] == [("Rimac", ["world/rimac"])]


def test_no_mode_exceeds_the_budget(asked):
    for mode in ("simple", "recursive", "multi_hop", "self_query", "auto"):
        result, model = asked(mode, max_model_calls=3)
        assert len(model.asked) == result["model_calls"] <= 3
        assert (model.count("synthesis"), model.count("grounding")) == (1, 1)


def test_without_a_model_passages_are_returned(serving):
    with serving(strategies=Scripted(parts=Parts())) as client:
        for mode in ("pipeline", "auto", "simple", "recursive", "multi_hop", "self_query"):
            result = answer(client, mode, rewriting_strategy="raw")
            assert (result["answer"], result["passages"][0]["document_id"]) == ("", "lima")
            assert any("no language model" in reason for reason in result["skipped"])
