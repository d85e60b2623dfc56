"""Answers over HTTP: steps, text and the result arrive as events."""

import pytest
from pipeline_stand_ins import BrokenModel, ModelByRole, gaps, split
from serving_stand_ins import DOCUMENTS, Parts, Scripted, collection, events, post, serving

from acqo_rl.reformulation.pass_through import RecentTurns
from acqo_rl.types import Document

MODEL = {"analyzer": "simple", "synthesis": "Lima.", "grounding": '{"claims": [{"claim": "Lima", "source": 1}]}'}
PERU = "capital of Peru"


def answer(client, **body):
    """All events of an answer."""
    return events(post(client, "/v1/answer", **{"query": PERU, **body}).text)


def test_steps_are_streamed_before_the_result():
    with serving(answer_model=ModelByRole(**MODEL)) as client:
        stream = answer(client)
        [(_, again)] = answer(client, query="Capital of Peru?")[-1:]
        metrics = client.get("/metrics").text
    assert {name for name, _ in stream[:-1]} == {"step"}
    assert [data["name"] for _, data in stream[:-1]].index("synthesis") > 0
    name, result = stream[-1]
    assert (name, result["answer"], result["model_calls"]) == ("result", "Lima.", 3)
    passage = result["passages"][0]
    assert (passage["document_id"], passage["knowledge_pool"]) == ("lima", "world")
    assert passage["metadata"] == DOCUMENTS["lima"].metadata
    assert result["confidence_label"] in ("High", "Medium", "Low", "Very Low")
    assert (again["cached"], again["model_calls"]) == (True, 0)
    assert 'acqo_cache_requests_total{cache="answer",outcome="hit"} 1.0' in metrics


def test_claims_have_their_supporting_passages():
    grounding = '{"claims": [{"claim": "Lima", "source": 1}, {"claim": "It rains", "source": null}]}'
    with serving(answer_model=ModelByRole(**{**MODEL, "grounding": grounding}), max_model_calls=2) as client:
        result = answer(client)[-1][1]
    first, second = result["claims"]
    assert (result["model_calls"], first) == (2, {"claim": "Lima", "source": result["passages"][0]})
    assert second == {"claim": "It rains", "source": None}


@pytest.mark.parametrize(
    ("mode", "steps"),
    [
        ("simple", set()),
        ("multi_hop", {"hops"}),
        ("self_query", {"hops"}),
        ("recursive", {"sub_questions", "path"}),
    ],
)
def test_a_mode_shows_its_steps(mode, steps):
    """Ids in the steps begin with the collection."""
    lima = Document("lima", "Lima", "Lima is the capital of Peru. See also: Rimac.")
    pool = collection(documents={**DOCUMENTS, "lima": lima, "rimac": Document("rimac", "Rimac", "Rimac is a river.")})
    parts = {"decompose": split(PERU, "capital of Chad"), "sub_answer": "Lima"}
    model = ModelByRole(**MODEL, **parts, gap=(gaps("capital of Chad"), gaps()))
    with serving([pool], answer_model=model, strategies=Scripted()) as client:
        retrieval = answer(client, mode=mode)[-1][1]["retrieval"]
    assert retrieval.pop("mode") == mode
    assert {name for name, rows in retrieval.items() if rows} == steps
    rows = [row for name in steps - {"sub_questions"} for row in retrieval[name]]
    assert all(doc_id.startswith("world/") for row in rows for doc_id in row["doc_ids"])


def test_a_follow_up_is_rewritten_by_the_strategy_of_the_request():
    """The steps show the searched texts; the cached reformulation of an earlier search is used."""
    parts = Parts()
    turns = ["U: capital of Peru and capital of Chad?"]
    with serving(answer_model=ModelByRole(**MODEL), strategies=Scripted(parts=parts, turns=RecentTurns())) as client:
        asked = {"query": "its currency and Peru", "history": turns}
        post(client, **asked)
        stream = answer(client, **asked, mode="simple")
        by_turns = answer(client, **asked, rewriting_strategy="turns")[-1][1]
    assert {"name": "initial", "ms": 0.0, "detail": "searched ['its currency', 'Peru']"} in [d for _, d in stream]
    assert len(parts.batches) == 1
    [variant] = by_turns["query_rewrite_info"]["variants"]
    assert variant["text"] == f"{turns[0]} its currency and Peru"


def test_failures_are_reported():
    with serving(answer_model=BrokenModel()) as client:
        _, result = answer(client)[-1]
        assert (result["answer"], result["failures"]) == ("", ["synthesis: ConnectionError"])
        assert result["passages"]
        name, problem = answer(client, query="broken one")[-1]
        assert (name, *problem) == ("error", "detail")
