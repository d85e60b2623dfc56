"""Answers over HTTP: steps, text and the result arrive as events."""

from __future__ import annotations

import threading

import pytest
from pipeline_stand_ins import BrokenModel, ModelByRole
from serving_stand_ins import Back, Parts, Scripted, Words, events, post

from acqo_rl.reformulation.turns import RecentTurns

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

    @pytest.mark.parametrize("kind", ["cosine", "rank"])
    def test_a_passage_says_what_its_similarity_is(self, serving, in_collection, kind):
        pools = [in_collection("world", Words(cosine=kind == "cosine"))]
        with serving(pools, answer_model=ModelByRole(**MODEL)) as client:
            [first, *_] = events(post(client, "/v1/answer", query="capital").text)[-1][1]["passages"]
        assert first["similarity_kind"] == kind

    def test_the_user_context_is_added_to_readings(self, serving):
        """It is part of the cache key."""
        with serving(answer_model=ModelByRole(**MODEL), strategies=Scripted(back=Back())) as client:
            asked = {"query": "the capital"}
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

    def test_a_failing_model_is_reported(self, serving):
        with serving(answer_model=BrokenModel()) as client:
            _, result = events(post(client, "/v1/answer", query="capital of Peru").text)[-1]
        assert result["answer"] == ""
        assert "synthesis: ConnectionError" in result["failures"]
        assert result["passages"]

    def test_a_failing_index_is_an_error_event(self, serving):
        with serving() as client:
            [*_, (name, data)] = events(post(client, "/v1/answer", query="broken one").text)
        assert name == "error"
        assert "No search succeeded" in data["detail"]
