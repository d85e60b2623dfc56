"""The service over HTTP: results, errors and answers."""

from __future__ import annotations

import json
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from pipeline_stand_ins import BrokenModel, ModelByRole
from serving_stand_ins import DOCUMENTS, Back, Gate, Parts, Scripted, Weighted, Words, events

from acqo_rl.batching import BatchedReformulator, Batcher
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.types import Completion, Document

PERU_AND_CHAD = "capital of Peru and capital of Chad"


def post(client, path="/v1/search", **body):
    return client.post(path, json={"query": PERU_AND_CHAD, **body})


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

    def test_the_rules_name_the_type_of_a_follow_up_and_what_they_did(self, serving):
        with serving(strategies=Scripted(rules=Heuristic())) as client:
            history = ["Where is Lima?", "In Peru."]
            answer = post(client, "/v1/reformulate", query="How large is it?", history=history)
            info = answer.json()["query_rewrite_info"]
        assert (info["route"], info["query_type"]) == ("disambiguate", "factual")
        assert "Lima" in info["reasoning"]

    def test_all_forms_of_a_conversation_are_equivalent(self, serving):
        """All forms after the first one are answered from the cache."""
        shapes = (
            ["U: Where is Lima?", "S: In Peru."],
            ["Where is Lima?", "In Peru."],
            [{"role": "user", "content": "Where is Lima?", "id": 7}, {"role": "assistant", "content": "In Peru."}],
            [{"role": "user", "content": [{"type": "text", "text": "Where is Lima?"}]}, "S: In Peru."],
            [{"question": "Where is Lima?", "answer": "In Peru."}],
            [["Where is Lima?", "In Peru."]],
            "User: Where is Lima?\nAssistant: In Peru.",
            {"messages": [{"role": "user", "content": "Where is Lima?"}, {"role": "assistant", "content": "In Peru."}]},
            [{"from": "human", "value": "Where is Lima?"}, None, {"from": "gpt", "value": "In Peru."}],
            [{"type": "human", "data": {"content": "Where is Lima?"}}, {"type": "ai", "content": "In Peru."}],
            [
                {"role": "user", "content": {"type": "text", "text": "Where is Lima?"}},
                {"role": "assistant", "tool_calls": []},
                {"role": "model", "parts": [{"text": "In Peru."}]},
            ],
        )
        with serving(strategies=Scripted(turns=RecentTurns())) as client:
            bodies = [post(client, query="its capital?", history=history).json() for history in shapes]
        searched = [[v["text"] for v in body["query_rewrite_info"]["variants"]] for body in bodies]
        assert searched == [["U: Where is Lima? S: In Peru. its capital?"]] * len(shapes)
        assert [body["cached"] for body in bodies] == [False] + [True] * (len(shapes) - 1)
        assert sum(len(body["notes"]) for body in bodies) == 1  # null is a turn without text

    @pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
    @pytest.mark.parametrize("history", [3, [3], [{"role": "user"}], ["a", {"id": 1}], '["a", "b'])
    def test_an_unknown_form_of_conversation_is_rejected_with_one_sentence(self, client, path, history):
        answer = client.post(path, json={"query": "its capital?", "history": history})
        assert answer.status_code == 422
        [problem] = answer.json()["detail"]
        assert problem["loc"] == ["body", "history"]
        assert problem["msg"].count(". ") == 0

    def test_a_policy_can_be_requested_by_its_model(self, serving):
        offered = {"trained-x": PassThrough(), "trained-x_else_rules": PassThrough()}
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

    def test_num_variants_reaches_the_strategy(self, serving):
        strategies = Scripted(parts=Parts())
        with serving(strategies=strategies) as client:
            post(client, num_variants=5)
            post(client)
        assert strategies.asked == [("parts", 5), ("parts", 3)]

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

    def test_reformulate_caches_its_result(self, client):
        query = "capital of Cuba and capital of Chad"
        first, again = (post(client, "/v1/reformulate", query=query).json()["query_rewrite_info"] for _ in range(2))
        assert [v["text"] for v in first["variants"]] == ["capital of Cuba", "capital of Chad"]
        assert (first["model_calls"], again["model_calls"]) == (1, 0)


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

    def test_a_uuid_as_name_is_the_id(self, serving, in_collection):
        name = str(uuid.UUID(int=7))
        with serving([in_collection(name)]) as client:
            assert post(client, knowledge_pool_ids=[name]).json()["results"][0]["knowledge_pool_id"] == name

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


class TestSlowness:
    def test_a_slow_model_times_out(self, serving):
        """The raw query is searched, and the problem is reported."""
        slow = Scripted(parts=Parts(seconds=1.0))
        with serving(timeouts=Timeouts(total=2, reformulation=0.1), strategies=slow) as client:
            begin = time.monotonic()
            body = post(client).json()
            assert time.monotonic() - begin < 0.9
            assert body["query_rewrite_info"]["route"] == "pass"
            assert "TimeoutError" in body["query_rewrite_info"]["problem"]
            assert body["failures"][0]["step"] == "reformulation"
            assert body["total_results"] == 3
            assert 'acqo_failures_total{kind="timeout",step="reformulation"} 1.0' in client.get("/metrics").text

    def test_results_are_partial_if_a_list_is_late_or_fails(self, serving):
        with serving(timeouts=Timeouts(sub_query=0.2)) as client:
            for lost in ("stall", "broken"):
                body = post(client, query=f"capital of Peru and {lost} one").json()
                assert body["results"][0]["document_id"] == "lima"
                assert [f["sub_query"] for f in body["failures"]] == [f"{lost} one"]
                assert not body["cached"]
            assert not post(client, query="capital of Peru and broken one").json()["cached"]
            nothing = post(client, query="broken one")
            assert (nothing.status_code, nothing.headers["retry-after"]) == (503, "1")


class TestErrors:
    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"query": ""},
            {"query": " \n\u200b"},
            {"query": 3},
            {"query": "a", "limit": 0},
            {"query": "a", "limit": 21},
            {"query": "a", "limit": "5"},
            {"query": "a", "limit": 5.5},
            {"query": "a", "limit": True},
            {"query": "a", "num_variants": 6},
            {"query": "a", "score_threshold": 1.1},
            {"query": "a", "use_query_rewriting": "yes"},
            {"query": "a", "knowledge_pool_ids": "world"},
            {"query": "a", "surprise": 1},
            {"query": "a", "history": [{"role": "user"}]},
            {"query": "a", "history": [3]},
        ],
    )
    def test_bodies_outside_the_schema_are_rejected(self, client, body):
        answer = client.post("/v1/search", json=body)
        assert answer.status_code == 422
        assert answer.json()["detail"]

    @pytest.mark.parametrize(
        ("content", "status"),
        [
            (b"{", 400),
            (b'{"query": "a', 400),
            (b'{"query": "a", "score_threshold": NaN}', 422),
            (b'{"query": "a", "\\ud800": 1}', 422),
            (b"\xff\xfe", 400),
            (b"[" * 100_000, 400),
        ],
    )
    def test_invalid_json_is_rejected(self, client, content, status):
        answer = client.post("/v1/search", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == status
        assert answer.json()["detail"]

    @pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
    def test_other_content_types_are_rejected(self, client, kind):
        headers = {"Content-Type": kind} if kind else {}
        answer = client.post("/v1/search", content=b'{"query": "capital of Peru"}', headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/json")
        [problem] = answer.json()["detail"]
        assert problem["loc"] == ["body"]
        assert "application/json" in problem["msg"]

    @pytest.mark.parametrize("query", [" ", "\u200b", "\u0000"])
    def test_a_query_without_text_is_refused_in_words(self, client, query):
        answer = client.post("/v1/search", json={"query": query})
        [problem] = answer.json()["detail"]
        assert (answer.status_code, problem["loc"]) == (422, ["body", "query"])
        assert "\\p{" not in problem["msg"]

    @pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
    def test_null_means_the_default_of_every_optional_field(self, client, path):
        """Required and unknown fields may not be null; the schema agrees."""
        schemas = client.get("/openapi.json").json()["components"]["schemas"]
        schema = schemas[f"{path.rsplit('/', 1)[1].title()}Request"]
        optional = set(schema["properties"]) - set(schema["required"])
        assert len(optional) >= 3
        for name in optional:
            assert {"type": "null"} in schema["properties"][name]["anyOf"]
            assert client.post(path, json={"query": "capital of Peru", name: None}).status_code == 200, name
        assert client.post(path, json={"query": None}).status_code == 422
        assert client.post(path, json={"query": "capital of Peru", "surprise": None}).status_code == 422

    def test_unknown_paths_and_methods_are_rejected(self, client):
        assert client.get("/v1/search").status_code == 405
        assert client.get("/nowhere").status_code == 404
        assert post(client, rewriting_strategy="magic").status_code == 404

    def test_an_unexpected_error_is_a_500_without_details(self, serving):
        class Surprise(Words):
            @property
            def fingerprint(self):
                raise RuntimeError("secret words")

        from acqo_rl.serving.collections import Collection, InCollection

        with serving([Collection("a", DOCUMENTS, (InCollection(Surprise(), "a", "s"),))]) as client:
            answer = post(client)
            assert answer.status_code == 500
            assert "secret" not in answer.text
            assert answer.headers["x-request-id"]
            assert 'status="500"' in client.get("/metrics").text


MODEL = {"analyzer": "simple", "synthesis": "Lima.", "grounding": '{"claims": [{"claim": "Lima", "source": 1}]}'}


class TestAnswers:
    def test_steps_are_streamed_before_the_result(self, serving):
        with serving(answer_model=ModelByRole(**MODEL)) as client:
            answer = post(client, "/v1/answer", query="capital of Peru")
            assert answer.headers["content-type"].startswith("text/event-stream")
            stream = events(answer.text)
            again = events(post(client, "/v1/answer", query="Capital of Peru?").text)
            metrics = client.get("/metrics").text
        assert {name for name, _ in stream[:-1]} == {"step"}
        name, result = stream[-1]
        assert (name, result["answer"], result["model_calls"]) == ("result", "Lima.", 3)
        assert result["passages"][0]["document_id"] == "lima"
        assert result["passages"][0]["knowledge_pool"] == "world"
        assert result["passages"][0]["metadata"] == {"url": "https://lima.example"}
        assert result["confidence_label"] in ("High", "Medium", "Low", "Very Low")
        assert [data["name"] for _, data in stream[:-1]].index("synthesis") > 0
        assert (again[-1][1]["cached"], again[-1][1]["model_calls"]) == (True, 0)
        assert "acqo_budget_used_ratio_sum 0.15" in metrics
        assert 'acqo_cache_requests_total{cache="answer",outcome="hit"} 1.0' in metrics

    def test_claims_have_their_supporting_passages(self, serving):
        grounding = '{"claims": [{"claim": "Lima", "source": 1}, {"claim": "It rains", "source": null}]}'
        model = ModelByRole(**{**MODEL, "grounding": grounding, "gap": '{"answerable": true}'})
        with serving(answer_model=model) as client:
            chain = "Which company acquired the firm that built the capital of Peru?"
            result = events(post(client, "/v1/answer", query=chain).text)[-1][1]
        first, second = result["claims"]
        assert (first["claim"], first["source"]["document_id"]) == ("Lima", result["passages"][0]["document_id"])
        assert first["source"]["text"] == result["passages"][0]["text"]
        assert second == {"claim": "It rains", "source": None}
        assert result["strategies"] == ["multi_hop"]

    @pytest.mark.parametrize(
        ("claims", "label"),
        [("[1, 1]", "High"), ("[1, null]", "Medium"), ("[null, null]", "Low"), ("[]", "Low")],
    )
    def test_the_label_depends_on_the_grounding(self, serving, in_collection, claims, label):
        """With cosines of 0.8 and three passages: 0.30 + 0.15 + 0.55 x share of supported claims."""
        grounding = json.dumps({"claims": [{"claim": "c", "source": source} for source in json.loads(claims)]})
        pools = [in_collection("world", Words(extra=0.7))]
        with serving(pools, answer_model=ModelByRole(**{**MODEL, "grounding": grounding})) as client:
            result = events(post(client, "/v1/answer", query="capital").text)[-1][1]
        assert result["confidence_label"] == label

    def test_without_a_passage_the_label_is_the_lowest(self, serving):
        with serving(answer_model=ModelByRole(**MODEL)) as client:
            result = events(post(client, "/v1/answer", query="nothing fits").text)[-1][1]
        assert (result["confidence_label"], result["claims"], result["passages"]) == ("Very Low", [], [])

    def test_the_first_search_uses_the_strategy(self, serving):
        with serving(answer_model=ModelByRole(**MODEL)) as client:
            split, raw = (
                events(post(client, "/v1/answer", rewriting_strategy=strategy).text)[-1][1]
                for strategy in ("parts", "raw")
            )
        parts = ["capital of Peru", "capital of Chad"]
        assert [v["text"] for v in split["query_rewrite_info"]["variants"]] == parts
        assert split["query_rewrite_info"]["original_query"] == PERU_AND_CHAD
        assert [v["text"] for v in raw["query_rewrite_info"]["variants"]] == [PERU_AND_CHAD]

    @pytest.mark.parametrize("mode", ["pipeline", "simple", "multi_hop"])
    def test_the_user_context_is_added_to_readings(self, serving, mode):
        """It is part of the cache key."""
        with serving(answer_model=ModelByRole(**MODEL), strategies=Scripted(back=Back())) as client:
            asked = {"query": "the capital", "mode": mode}
            plain, with_context, _ = (
                events(post(client, "/v1/answer", **asked, user_context=context).text)[-1][1]["query_rewrite_info"]
                for context in ("", "for tourists", "")
            )
        assert [v["text"] for v in plain["variants"]] == ["capital of Peru", "the capital"]
        assert [v["text"] for v in with_context["variants"]] == ["capital of Peru for tourists", "the capital"]

    def test_a_follow_up_is_rewritten_by_the_strategy_of_the_request(self, serving):
        """The steps show the searched texts; the cached reformulation of an earlier search is used."""
        parts, turns = Parts(), ["U: capital of Peru and capital of Chad?"]
        strategies = Scripted(parts=parts, turns=RecentTurns())
        with serving(answer_model=ModelByRole(**MODEL), strategies=strategies) as client:
            asked = {"query": "its currency and Peru", "history": turns}
            post(client, **asked)
            stream = events(post(client, "/v1/answer", **asked).text)
            by_turns = events(post(client, "/v1/answer", **asked, rewriting_strategy="turns").text)
            unknown = post(client, "/v1/answer", **asked, rewriting_strategy="magic")
        assert {"name": "initial", "ms": 0.0, "detail": "searched ['its currency', 'Peru']"} in [d for _, d in stream]
        _, result = stream[-1]
        info = result["query_rewrite_info"]
        assert (info["strategy"], [v["text"] for v in info["variants"]]) == ("parts", ["its currency", "Peru"])
        assert (result["model_calls"], len(parts.batches)) == (2, 1)
        [variant] = by_turns[-1][1]["query_rewrite_info"]["variants"]
        assert variant["text"] == f"{turns[0]} its currency and Peru"
        assert unknown.status_code == 404

    def test_a_step_is_sent_while_the_next_one_runs(self, serving):
        """The model waits; earlier steps have arrived already."""
        gate = Gate()

        class Waiting(ModelByRole):
            def generate(self, conversations):
                gate.reformulate([])
                return super().generate(conversations)

        with (
            serving(answer_model=Waiting(**MODEL)) as client,
            client.stream("POST", "/v1/answer", json={"query": "capital of Peru"}) as answer,
        ):
            lines = answer.iter_lines()
            assert next(lines) == "event: step"
            assert not gate.open.is_set()
            gate.open.set()
            assert "event: result" in list(lines)

    def test_the_answer_is_streamed(self, serving):
        """The second piece is written only after the first has reached the client."""
        received = threading.Event()

        class Writing(ModelByRole):
            def stream(self, conversation, on_text):
                on_text("Li")
                assert received.wait(10)
                on_text("ma.")
                return self.generate([conversation])[0]

        with (
            serving(answer_model=Writing(**MODEL)) as client,
            client.stream("POST", "/v1/answer", json={"query": "capital of Peru"}) as answer,
        ):
            text = ""
            for line in answer.iter_lines():
                text += line + "\n"
                if line == 'data: {"text": "Li"}':
                    received.set()
        stream = events(text)
        assert [data["text"] for name, data in stream if name == "token"] == ["Li", "ma."]
        assert stream[-1][1]["answer"] == "Lima."

    def test_thoughts_are_neither_streamed_nor_part_of_the_answer(self, serving):
        class Thinking(ModelByRole):
            def stream(self, conversation, on_text):
                for piece in ("<thi", "nk>Quito?</th", "ink>\n\nLi", "ma."):
                    on_text(piece)
                return Completion("<think>Quito?</think>\n\nLima.", 9)

        with serving(answer_model=Thinking(**MODEL)) as client:
            stream = events(post(client, "/v1/answer", query="capital of Peru").text)
        assert "".join(data["text"] for name, data in stream if name == "token") == "Lima."
        assert stream[-1][1]["answer"] == "Lima."

    def test_a_failing_model_is_reported(self, serving):
        with serving(answer_model=BrokenModel()) as client:
            _, result = events(post(client, "/v1/answer", query="capital of Peru").text)[-1]
        assert result["answer"] == ""
        assert "the model server is down" in " ".join(result["failures"])
        assert result["passages"]

    def test_a_failing_index_is_an_error_event(self, serving):
        with serving() as client:
            [*_, (name, data)] = events(post(client, "/v1/answer", query="broken one").text)
        assert name == "error"
        assert "No search succeeded" in data["detail"]

    def test_a_failing_collection_is_skipped_and_reported(self, serving, in_collection):
        class Down(Words):
            def search(self, texts, k):
                raise ConnectionError("the index is down")

        pools = [in_collection("world"), in_collection("other", Down())]
        with serving(pools, answer_model=ModelByRole(**MODEL)) as client:
            name, data = events(post(client, "/v1/answer", query="capital of Peru").text)[-1]
        assert (name, data["passages"][0]["document_id"]) == ("result", "lima")
        assert "other/dense ConnectionError: the index is down" in data["failures"][0]


def test_the_schema_has_examples_that_are_accepted(client):
    schema = client.get("/openapi.json").json()
    paths = {"/v1/search": "SearchRequest", "/v1/reformulate": "ReformulateRequest", "/v1/answer": "AnswerRequest"}
    for path, name in paths.items():
        [example] = schema["components"]["schemas"][name]["examples"]
        example.pop("rewriting_strategy", None)  # this server offers only stand-ins
        assert client.post(path, json=example).status_code == 200
        assert "429" in schema["paths"][path]["post"]["responses"]


def test_concurrent_requests_reach_the_model_as_one_batch(serving):
    model, sizes = Parts(), []
    batched = BatchedReformulator(model, partial(Batcher, wait=1.0, size=8, on_batch=sizes.append))
    with serving(strategies=Scripted(parts=batched)) as client, ThreadPoolExecutor(8) as pool:

        def ask(number):
            body = {"query": f"capital {number} of Peru and Chad"}
            return client.post("/v1/reformulate", json=body).json()["query_rewrite_info"]["variants"][0]["text"]

        assert list(pool.map(ask, range(8))) == [f"capital {number} of Peru" for number in range(8)]
    assert sizes == [8]
    assert len(model.batches) == 1
