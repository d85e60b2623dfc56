"""The service over HTTP: results of one and of several collections."""

import pytest
from pipeline_stand_ins import ModelByRole
from serving_stand_ins import (
    DOCUMENTS,
    PERU_AND_CHAD,
    Back,
    Parts,
    Scripted,
    collection,
    events,
    post,
    serving,
)
from stand_ins import BrokenRetriever, ScriptedRetriever

from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.types import Document

PATHS = pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])


def reply(client, path, **body):
    """The reply of an endpoint; that of an answer is its last event."""
    answer = post(client, path, **body)
    assert answer.status_code == 200, answer.text
    return events(answer.text)[-1][1] if path == "/v1/answer" else answer.json()


@PATHS
class TestReformulation:
    def test_its_details_are_returned(self, path):
        with serving(strategies=Scripted(back=Back())) as client:
            info = reply(client, path, query="  What of Peru? ")["query_rewrite_info"]
        assert (info["original_query"], info["strategy"], info["route"]) == ("  What of Peru? ", "back", "disambiguate")
        assert (info["query_type"], info["reasoning"], info["problem"]) == ("factual", "a reason", None)
        assert [tuple(v.values()) for v in info["variants"]] == [
            ("capital of Peru", "reading", 0.5, None),
            ("  What of Peru? ", "original", 1.0, 0.2),
        ]

    def test_the_user_context_is_added_to_readings(self, path):
        """It is part of the cache key."""
        with serving(strategies=Scripted(back=Back())) as client:
            infos = [
                reply(client, path, query="x", user_context=context)["query_rewrite_info"]
                for context in ("", "for tourists", "")
            ]
        read = [[variant["text"] for variant in info["variants"]] for info in infos]
        assert read == [[f"capital of Peru{more}", "x"] for more in ("", " for tourists", "")]

    def test_num_variants_reaches_the_strategy(self, path):
        strategies = Scripted(parts=Parts())
        with serving(strategies=strategies) as client:
            for number in (4, 2):
                reply(client, path, num_variants=number)
                assert strategies.asked[-1] == ("parts", number)

    def test_what_the_strategy_does_not_use_is_ignored_with_a_note(self, path):
        """Clients send every field with its default."""
        for strategy, more in (("back", {}), ("raw", {}), ("parts", {"use_query_rewriting": False})):
            if more and path != "/v1/search":
                continue
            strategies = Scripted(parts=Parts(), back=Back())
            with serving(strategies=strategies) as client:
                given = {"rewriting_strategy": strategy, "num_variants": 3, "knowledge_pool_ids": None}
                [note] = reply(client, path, query="capital of Peru", **given, **more)["notes"]
            assert "num_variants" in note
            assert strategies.asked[-1][1] is None


def test_results_and_rankings_are_returned(client):
    """Fused score and similarity are separate fields."""
    body = post(client, limit=2, include_rankings=True).json()
    lima, _ = body["results"]
    assert [(row["document_id"], row["rank"]) for row in body["results"]] == [("lima", 1), ("ndjamena", 2)]
    assert (lima["title"], lima["text"], lima["metadata"]) == (
        *("Lima", DOCUMENTS["lima"].text),
        DOCUMENTS["lima"].metadata,
    )
    assert (lima["score"], lima["similarity"]) == (pytest.approx(1 + 1 / 2), pytest.approx(0.3))
    assert (body["total_results"], body["fusion"], body["failures"]) == (2, "rsf", [])
    assert body["processing_time_ms"] > 0
    assert [r["query"] for r in body["rankings"]] == ["capital of Peru", "capital of Chad"]
    ranked = [[(d["document_id"], d["score"]) for d in r["documents"][:2]] for r in body["rankings"]]
    assert ranked[0][0] == ("lima", pytest.approx(0.3)) and ranked[1][1] == ("lima", pytest.approx(0.2))
    assert [step["name"] for step in body["trace"]] == ["reformulation", "retrieval", "fusion"]
    assert post(client, limit=2).json()["rankings"] == []


def test_of_a_long_document_the_part_that_matches_is_returned_with_its_place():
    text = f"{'Filler of many words. ' * 200}Lima is the capital of Peru. {'More of them. ' * 300}"
    with serving([collection(documents={"long": Document("long", "", text)})], answer_model=ModelByRole()) as client:
        [result] = post(client, query="capital of Peru").json()["results"]
        [passage] = reply(client, "/v1/answer", query="capital of Peru", mode="simple")["passages"]
    assert "Lima is the capital of Peru." in result["text"] and len(result["text"]) <= 2000
    assert (result["text"], result["length"]) == (text[result["start"] :][: len(result["text"])], len(text))
    assert [passage[name] for name in ("text", "start")] == [result[name] for name in ("text", "start")]
    matched = ScriptedRetriever({"capital of Peru": ("long",)}, {"long": (2200, 2420)})
    with serving([collection(name, matched, {"long": Document("long", "", text)}) for name in "ab"]) as client:
        shown = [(one["start"], one["text"]) for one in post(client, query="capital of Peru").json()["results"]]
    assert shown == [(2200, text[2200:2420])] * 2


def test_a_request_may_choose_its_strategy():
    offered = {"trained-x": PassThrough(), "parts": Parts()}
    with serving(strategies=Scripted(**offered)) as client:
        listed = client.get("/v1/strategies").json()
        assert listed == {"strategies": ["trained-x", "parts", "raw"], "default": "trained-x"}
        for given, used in (("trained:x", "trained-x"), (None, "trained-x"), ("parts", "parts")):
            assert post(client, rewriting_strategy=given).json()["query_rewrite_info"]["strategy"] == used
        assert post(client, rewriting_strategy="trained:y").status_code == 404
        body = post(client, rewriting_strategy="parts", use_query_rewriting=False, include_rankings=True).json()
    assert body["query_rewrite_info"] is None
    assert [r["query"] for r in body["rankings"]] == [PERU_AND_CHAD]


def test_the_threshold_of_the_service_is_the_default_and_holds_for_answers():
    for collections in ([collection()], [collection(), collection("other")]):
        with serving(collections, path={"score_threshold": 0.25}, answer_model=ModelByRole()) as client:
            found = post(client).json()["results"]
            assert {row["document_id"] for row in found} == {"lima", "ndjamena"}
            assert len(post(client, score_threshold=0.0).json()["results"]) > len(found)
            passages = reply(client, "/v1/answer", mode="simple")["passages"]
            assert {row["document_id"] for row in passages} == {"lima", "ndjamena"}


def test_clusters_group_results_by_the_sub_query_that_ranks_them_best(client):
    body = post(client).json()
    ids = {row["rank"]: row["document_id"] for row in body["results"]}
    clusters = [(c["query"], c["kind"], ids[c["ranks"][0]]) for c in body["clusters"]]
    assert clusters == [("capital of Peru", "part", "lima"), ("capital of Chad", "part", "ndjamena")]
    assert sorted(rank for c in body["clusters"] for rank in c["ranks"]) == [1, 2, 3]
    assert [c["ranks"] for c in post(client, limit=1).json()["clusters"]] == [[1], []]


def test_several_collections_are_merged_by_one_fusion():
    """There is one reformulation, and documents with equal ids in two collections stay distinct."""
    other = {"lima": Document("lima", "Lima bean", "lima bean capital of Peru"), "oslo": Document("oslo", "", "x")}
    parts = Parts()
    pools = [collection(), collection("beans", documents=other)]
    with serving(pools, strategies=Scripted(parts=parts)) as client:
        found = post(client, query="lima bean capital of Peru").json()["results"]
        assert [(row["knowledge_pool"], row["title"]) for row in found[:2]] == [
            ("beans", "Lima bean"),
            ("world", "Lima"),
        ]  # both are first in a list; the one with the better score leads
        assert len(parts.batches) == 1
        only = post(client, knowledge_pool_ids=["world"]).json()["results"]
        assert {row["knowledge_pool"] for row in only} == {"world"}
        assert post(client, knowledge_pool_ids=["nowhere"]).status_code == 404


def test_a_failing_collection_is_skipped_and_reported():
    with serving([collection(), collection("gone", BrokenRetriever())]) as client:
        body = post(client).json()
        assert {row["knowledge_pool"] for row in body["results"]} == {"world"}
        assert {f["retriever"] for f in body["failures"]} == {"gone/broken"}
        assert post(client, knowledge_pool_ids=["gone"]).status_code == 503
        assert [client.get(path).status_code for path in ("/readyz", "/healthz")] == [503, 200]
