"""The service over HTTP: rejected requests, and results if a component is slow or fails."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from serving_stand_ins import DOCUMENTS, Parts, Scripted, Words, post
from shared import in_thread

from acqo_rl.language_models.openai import OpenAIModel
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import HyDE
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.searching.searcher import Timeouts


class TestSlowness:
    def test_a_slow_model_times_out(self, serving):
        """The raw query is searched, and the problem is reported."""
        slow = Scripted(parts=Parts(seconds=1.0))
        with serving(timeouts=Timeouts(total=2, reformulation=0.1), strategies=slow) as client:
            begin = time.monotonic()
            body = post(client).json()
            assert time.monotonic() - begin < 0.9
            assert body["query_rewrite_info"]["route"] == "pass"
            assert "timeout" in body["query_rewrite_info"]["problem"]
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


@pytest.fixture
def gateway():
    """The URL of a server that answers with an HTML page, as a gateway does whose server is down."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(502)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><h1>Bad Gateway</h1>upstream 10.1.2.3:9200</html>")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with in_thread(server, threading.Event()):
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
@pytest.mark.parametrize("broken", ["index", "model"])
def test_what_other_servers_say_is_logged_and_not_shown(serving, in_collection, gateway, caplog, path, broken):
    model = OpenAIModel("m", base_url=f"{gateway}/v1", max_retries=0)
    index = RemoteRetriever(gateway, name="dense", attempts=1) if broken == "index" else Words()
    strategies = Scripted(prompted=Prompted(model, [HyDE()]) if broken == "model" else Parts())
    pools = [in_collection("world", index)]
    with serving(pools, strategies=strategies, answer_model=model) as client:
        answer = post(client, path)
    if (path, broken) == ("/v1/reformulate", "index"):
        return
    shown = answer.text.lower()
    assert "timeout" in shown or "error" in shown or answer.status_code == 503
    for secret in ("<h", "10.1.2.3", "gateway", "127.0.0.1"):
        assert secret not in shown
    assert any("Bad Gateway" in str(getattr(record, "error", "")) for record in caplog.records)


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
            {"messages": [{"role": "user", "content": "a"}]},
            {"query": "a", "messages": []},
            {"query": "a", "history": [{"role": "user"}]},
            {"query": "a", "history": [3]},
        ],
    )
    def test_bodies_outside_the_schema_are_rejected(self, client, body):
        answer = client.post("/v1/search", json=body)
        assert answer.status_code == 422
        assert answer.json()["detail"]

    @pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
    def test_a_body_of_chat_completions_is_told_the_two_fields_to_send(self, client, path):
        answer = client.post(path, json={"messages": [{"role": "user", "content": "a"}], "model": "x"})
        [problem] = answer.json()["detail"]
        assert (answer.status_code, problem["loc"]) == (422, ["body"])
        assert {'"query"', '"history".'} <= set(problem["msg"].split())

    def test_a_threshold_that_is_no_number_is_named_so(self, client):
        content = b'{"query": "a", "score_threshold": NaN}'
        answer = client.post("/v1/search", content=content, headers={"Content-Type": "application/json"})
        assert [problem["type"] for problem in answer.json()["detail"]] == ["finite_number"]

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
        assert isinstance(answer.json()["detail"], str if status == 400 else list)

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

    @pytest.mark.parametrize("body", [{"top_k": 3}, {"filter": {"year": {"$gt": 3}}}])
    def test_messages_name_a_remedy_and_no_class_of_python(self, client, body):
        [problem] = client.post("/v1/search", json={"query": "a", **body}).json()["detail"]
        assert ";" in problem["msg"]
        assert "Value error" not in problem["msg"]

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
