"""The service over HTTP: results of one and of several collections."""

from __future__ import annotations

import pytest
from pipeline_stand_ins import ModelByRole
from serving_stand_ins import DOCUMENTS, PERU_AND_CHAD, Back, Parts, Scripted, Weighted, Words, events, post

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.types import Document


class TestSearch:
    def test_results_and_reformulation_are_returned(self, client):
        """Fused score and similarity are separate fields."""
        body = post(client, limit=2, include_rankings=True).json()
        assert [row["document_id"] for row in body["results"]] == ["lima", "ndjamena"]
        assert [row["rank"] for row in body["results"]] == [1, 2]
        assert body["results"][0]["text"] == DOCUMENTS["lima"].text
        assert [row["metadata"] for row in body["results"]] == [{"url": "https://lima.example"}, {}]
        assert body["results"][0]["score"] == pytest.approx(1 + 1 / 2)
        assert body["results"][0]["similarity"] == pytest.approx(0.3)
        assert body["total_results"] == 2
        assert body["processing_time_ms"] > 0
        info = body["query_rewrite_info"]
        assert (info["strategy"], info["route"], info["query_type"]) == ("parts", "decompose", "complex")
        assert [v["text"] for v in info["variants"]] == ["capital of Peru", "capital of Chad"]
        assert [r["query"] for r in body["rankings"]] == ["capital of Peru", "capital of Chad"]
        assert [step["name"] for step in body["trace"]] == ["reformulation", "retrieval", "fusion"]
        assert body["failures"] == []

    def test_weights_and_reasoning_of_the_strategy_are_returned(self, serving):
        with serving(strategies=Scripted(weighted=Weighted())) as client:
            for path in ("/v1/search", "/v1/reformulate"):
                info = post(client, path, query="  What of Peru? ").json()["query_rewrite_info"]
                assert info["original_query"] == "  What of Peru? "
                assert info["reasoning"] == "Selected hyde for factual query"
                assert [(v["text"], v["kind"], v["weight"]) for v in info["variants"]] == [
                    ("capital of Peru", "original", 0.5),
                    ("Lima is the capital of Peru.", "hypothetical", 1.5),
                ]
                assert (info["query_type"], info["problem"]) == ("factual", None)

    def test_all_forms_of_a_conversation_are_equivalent(self, serving):
        """All forms after the first one are answered from the cache."""
        shapes = (
            ["U: Where is Lima?", "S: In Peru."],
            ["Where is Lima?", "In Peru."],
            [{"role": "user", "content": "Where is Lima?", "id": 7}, {"role": "assistant", "content": "In Peru."}],
            [["Where is Lima?", "In Peru."]],
            "User: Where is Lima?\nAssistant: In Peru.",
        )
        with serving(strategies=Scripted(turns=RecentTurns())) as client:
            bodies = [post(client, query="its capital?", history=history).json() for history in shapes]
        searched = [[v["text"] for v in body["query_rewrite_info"]["variants"]] for body in bodies]
        assert searched == [["U: Where is Lima? S: In Peru. its capital?"]] * len(shapes)
        assert [body["cached"] for body in bodies] == [False] + [True] * (len(shapes) - 1)
        assert not any(body["notes"] for body in bodies)

    @pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
    @pytest.mark.parametrize("history", [3, [3], [{"role": "user"}], ["a", {"id": 1}], {"messages": []}, "hi"])
    def test_an_unknown_form_of_conversation_is_rejected_with_its_field(self, client, path, history):
        answer = client.post(path, json={"query": "its capital?", "history": history})
        assert answer.status_code == 422
        [problem] = answer.json()["detail"]
        assert problem["loc"] == ["body", "history"]

    def test_a_policy_can_be_requested_by_its_model(self, serving):
        offered = {"trained-x": PassThrough(), "trained-x-2": PassThrough()}
        with serving(strategies=Scripted(**offered)) as client:
            for given in offered:
                for name in (given, given.replace("-", ":")):
                    answer = post(client, query="capital of Peru", rewriting_strategy=name)
                    assert answer.status_code == 200
                    assert answer.json()["query_rewrite_info"]["strategy"] == given
            assert post(client, query="a", rewriting_strategy="trained:y").status_code == 404

    @pytest.mark.parametrize(("query", "found"), [("its capital", 0), ("ndjamena is the capital of chad", 3)])
    def test_a_list_with_a_lead_is_used_only_if_it_leads(self, serving, query, found):
        """The best score of the reading is 0.3; those of the two raw queries are 0.1 and 0.6."""
        with serving(strategies=Scripted(back=Back())) as client:
            body = post(client, query=query, include_rankings=True).json()
            assert [v["min_margin"] for v in body["query_rewrite_info"]["variants"]] == [None, 0.2]
            assert [len(ranking["documents"]) for ranking in body["rankings"]] == [3, found]
            assert body["failures"] == []

    def test_places_are_the_ranks_before_fusion(self, client):
        body = post(client, include_rankings=True).json()
        assert body["fusion"] == "rsf"
        places = [(p["ranking"], p["rank"], p["score"]) for p in body["results"][1]["places"]]
        assert places == [(0, 2, 0.2), (1, 1, 0.3)]
        for result in body["results"]:
            assert result["score"] == pytest.approx(sum(1 / p["rank"] for p in result["places"]))
            assert result["similarity"] == max(p["score"] for p in result["places"])
        assert post(client).json()["results"][1]["places"] == []

    def test_without_rewriting_the_raw_query_is_searched(self, client):
        body = post(client, use_query_rewriting=False, include_rankings=True).json()
        assert body["query_rewrite_info"] is None
        assert [r["query"] for r in body["rankings"]] == [PERU_AND_CHAD]
        assert [row["document_id"] for row in body["results"]] == [
            d["document_id"] for d in body["rankings"][0]["documents"]
        ]

    def test_a_request_may_choose_its_strategy(self, client):
        assert client.get("/v1/strategies").json() == {"strategies": ["parts", "raw"], "default": "parts"}
        info = post(client, rewriting_strategy="raw").json()["query_rewrite_info"]
        assert (info["strategy"], info["route"]) == ("raw", "pass")

    @pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
    def test_num_variants_defaults_to_the_setting_of_the_service(self, serving, path):
        strategies = Scripted(parts=Parts())
        with serving(strategies=strategies, num_variants=2) as client:
            assert post(client, path).status_code == 200
            assert post(client, path, num_variants=4).status_code == 200
        asked = [number for name, number in strategies.asked if name == "parts"]
        assert set(asked) == {2, 4}
        assert asked == sorted(asked)

    def test_limit_and_threshold(self, client):
        """The threshold applies to similarities, before the limit."""
        assert len(post(client).json()["results"]) == 3
        assert len(post(client, limit=1).json()["results"]) == 1
        assert len(post(client, limit=2.0).json()["results"]) == 2  # JSON's integers
        above = post(client, score_threshold=0.25).json()["results"]
        assert [row["document_id"] for row in above] == ["lima", "ndjamena"]
        assert post(client, score_threshold=0.9).json()["total_results"] == 0

    def test_the_threshold_of_the_service_is_the_default(self, serving, in_collection):
        for collections in ([in_collection("world")], [in_collection("world"), in_collection("other")]):
            with serving(collections, score_threshold=0.25) as client:
                found = post(client).json()["results"]
                assert {row["document_id"] for row in found} == {"lima", "ndjamena"}
                assert len(post(client, score_threshold=0.0).json()["results"]) > len(found)
                nothing = post(client, score_threshold=0.9).json()
                assert (nothing["results"], nothing["failures"]) == ([], [])

    def test_answers_use_only_passages_above_the_threshold(self, serving):
        for threshold, found in ((None, True), (0.9, False)):
            with serving(answer_model=ModelByRole(), score_threshold=threshold) as client:
                for mode in ("pipeline", "simple"):
                    name, result = events(post(client, "/v1/answer", mode=mode).text)[-1]
                    assert (name, bool(result["passages"])) == ("result", found)

    def test_a_service_without_cosines_rejects_a_threshold_at_start(self, serving, in_collection):
        with pytest.raises(ConfigError), serving([in_collection("sparse", cosine=False)], score_threshold=0.5):
            pass

    def test_a_cached_result_is_used_for_every_limit_but_not_for_other_spellings(self, serving):
        with serving() as client:
            assert [post(client, limit=limit).json()["cached"] for limit in (1, 2)] == [False, True]
            assert not post(client, query=PERU_AND_CHAD.upper()).json()["cached"]

    def test_clusters_group_results_by_sub_query(self, client):
        """Each returned result belongs to the sub-query that ranks it best."""
        body = post(client).json()
        ids = {row["rank"]: row["document_id"] for row in body["results"]}
        assert [(c["query"], c["kind"]) for c in body["clusters"]] == [
            ("capital of Peru", "part"),
            ("capital of Chad", "part"),
        ]
        assert [ids[c["ranks"][0]] for c in body["clusters"]] == ["lima", "ndjamena"]
        assert sorted(rank for c in body["clusters"] for rank in c["ranks"]) == [1, 2, 3]
        assert [c["ranks"] for c in post(client, limit=1).json()["clusters"]] == [[1], []]

    def test_the_user_context_is_added_to_readings(self, serving):
        """It is part of the cache key."""
        with serving(strategies=Scripted(back=Back())) as client:
            for path in ("/v1/search", "/v1/reformulate"):
                plain, with_context = (
                    post(client, path, query="the capital", user_context=context).json()["query_rewrite_info"]
                    for context in ("", "for tourists")
                )
                assert [v["text"] for v in plain["variants"]] == ["capital of Peru", "the capital"]
                assert [v["text"] for v in with_context["variants"]] == ["capital of Peru for tourists", "the capital"]


class TestCollections:
    def test_several_collections_are_merged_by_one_fusion(self, serving, in_collection):
        """There is one reformulation, and documents with equal ids in two collections stay distinct."""
        other = {"lima": Document("lima", "Lima bean", "lima bean capital of Peru"), "oslo": Document("oslo", "", "x")}
        parts = Parts()
        pools = [in_collection("world"), in_collection("beans", documents=other)]
        with serving(pools, strategies=Scripted(parts=parts)) as client:
            body = post(client, query="lima bean capital of Peru").json()
            found = [(row["knowledge_pool"], row["document_id"]) for row in body["results"]]
            assert found[:2] == [
                ("beans", "lima"),
                ("world", "lima"),
            ]  # both are first in a list; the one with the better score leads
            assert body["results"][0]["title"] == "Lima bean"
            assert len(parts.batches) == 1
            ids = {pool["name"]: pool["id"] for pool in client.get("/v1/collections").json()["collections"]}
            for name in (ids["world"], ids["world"].upper(), "world"):
                only = post(client, knowledge_pool_ids=[name]).json()["results"]
                assert {row["knowledge_pool_id"] for row in only} == {ids["world"]}
            assert post(client, knowledge_pool_ids=["nowhere"]).status_code == 404

    def test_a_threshold_without_cosines_is_rejected(self, serving, in_collection):
        with serving([in_collection("sparse", cosine=False)]) as client:
            refused = post(client, score_threshold=0.5)
            assert refused.status_code == 409
            assert "sparse" in refused.json()["detail"]
            assert post(client).status_code == 200

    def test_a_failing_collection_is_skipped_and_reported(self, serving, in_collection):

        class Down(Words):
            def search(self, texts, k):
                raise ConnectionError("the index is down")

        with serving([in_collection("world"), in_collection("gone", Down())]) as client:
            body = post(client).json()
            assert {row["knowledge_pool"] for row in body["results"]} == {"world"}
            assert {f["retriever"] for f in body["failures"]} == {"gone/dense"}
            assert post(client, knowledge_pool_ids=["gone"]).status_code == 503
            assert client.get("/readyz").status_code == 503
            assert client.get("/healthz").status_code == 200


def test_the_schema_has_examples_that_are_accepted(client):
    schema = client.get("/openapi.json").json()
    paths = {"/v1/search": "SearchRequest", "/v1/reformulate": "ReformulateRequest", "/v1/answer": "AnswerRequest"}
    for path, name in paths.items():
        [example] = schema["components"]["schemas"][name]["examples"]
        example.pop("rewriting_strategy", None)  # this server offers only stand-ins
        assert client.post(path, json=example).status_code == 200
        assert "429" in schema["paths"][path]["post"]["responses"]
