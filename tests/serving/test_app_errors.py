"""The service over HTTP: rejected requests, and results if a component is slow or fails."""

import json

import pytest
from json_server import JsonServer
from serving_stand_ins import Parts, Scripted, Words, collection, post, serving
from stand_ins import strategy

from acqo_rl.language_models.server_model import ServerModel
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.searching.searcher import Timeouts

PATHS = pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])


def test_results_are_partial_if_a_list_is_late_or_fails():
    with serving(timeouts=Timeouts(sub_query=0.2)) as client:
        for lost in ("stall", "broken"):
            body = post(client, query=f"capital of Peru and {lost} one").json()
            assert body["results"][0]["document_id"] == "lima"
            assert [f["sub_query"] for f in body["failures"]] == [f"{lost} one"]
        nothing = post(client, query="broken one")
        assert (nothing.status_code, nothing.headers["retry-after"]) == (503, "1")


class Gateway(JsonServer):
    """Answers with an HTML page, as a gateway does whose server is down."""

    def answer(self, path, body):
        return 502, b"<html><h1>Bad Gateway</h1>upstream 10.1.2.3:9200</html>"


@pytest.fixture
def gateway():
    """The URL of a gateway."""
    with Gateway() as server:
        yield f"http://{server.address}"


@pytest.mark.parametrize(
    ("path", "broken"),
    [("/v1/search", "index"), ("/v1/answer", "index"), *((path, "model") for path in PATHS.args[1])],
)
def test_what_other_servers_say_is_logged_and_not_shown(gateway, caplog, path, broken):
    model = ServerModel("m", base_url=f"{gateway}/v1", max_retries=0)
    index = RemoteRetriever(gateway, name="dense", seconds=0.2) if broken == "index" else Words()
    strategies = Scripted(prompted=Prompted(model, [strategy("hyde")]) if broken == "model" else Parts())
    with serving([collection(retriever=index)], strategies=strategies, answer_model=model) as client:
        answer = post(client, path)
    model.close()
    shown = answer.text.lower()
    assert "no text" in shown or "timeout" in shown or "error" in shown or answer.status_code == 503
    assert not [secret for secret in ("<h", "10.1.2.3", "gateway", "127.0.0.1") if secret in shown]
    assert any("Bad Gateway" in str(getattr(record, "error", "")) for record in caplog.records)


@PATHS
@pytest.mark.parametrize(
    ("fields", "location"),
    [
        ({"query": " \n\u200b"}, "query"),
        ({"num_variants": 6}, "num_variants"),
        ({"long" * 50: 1}, "long" * 25),
        ({"filter": {"year": {"$gt": 3}}}, "filter"),
        ({"filter": {"name": "\ud800"}}, "filter"),
        ({"history": [{"role": "user"}]}, "history"),
    ],
)
def test_a_field_outside_the_schema_is_named(client, path, fields, location):
    content = json.dumps({"query": "capital of Peru", **fields})
    answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
    [problem] = answer.json()["detail"]
    assert (answer.status_code, problem["loc"][0]) == (422, "body")
    assert location in (*problem["loc"], *problem["msg"].split("'"))


def test_an_unexpected_error_is_a_500_without_details(monkeypatch):
    def surprise(_):
        raise RuntimeError("secret words")

    monkeypatch.setattr("acqo_rl.serving.responses.cluster_by_sub_query", surprise)
    with serving() as client:
        answer = post(client)
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert answer.headers["x-request-id"]
        assert 'status="500"' in client.get("/metrics").text
