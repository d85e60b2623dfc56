"""The metrics after a few requests, and the dashboard."""

import json
import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from pipeline_stand_ins import BrokenModel
from prometheus_client.parser import text_string_to_metric_families
from serving_stand_ins import Parts, Scripted, Words, collection, serving

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.collections import InCollection

DASHBOARD = Path(__file__).parents[2] / "configs" / "serve" / "dashboard.json"
QUERY = {"query": "capital of Peru and capital of Chad"}


def values(text):
    """Name and labels -> value."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(s.name, *sorted(s.labels.items())): s.value for s in samples}


def test_requests_and_searches_are_counted():
    with serving(timeouts=Timeouts(sub_query=10), strategies=Scripted(adaptive=Parts())) as client:
        for body in (
            QUERY,
            QUERY,
            {**QUERY, "use_query_rewriting": False},
            {"query": "capital of Peru and broken it"},
            {"query": "capital of Peru"},
        ):
            assert client.post("/v1/search", json=body).status_code == 200
        client.post("/v1/search", json={})
        client.get("/a/path/of/the/users/own")
        text = client.get("/metrics").text
    seen = values(text)
    assert seen["rag_query_rewriting_total", ("query_type", "complex"), ("strategy", "parts")] == 4
    assert seen["rag_query_rewriting_duration_seconds_count", ("strategy", "parts")] == 3
    assert seen["rag_retrieval_max_score_count", ("used_rewriting", "true")] == 3
    assert seen["rag_retrieval_max_score_count", ("used_rewriting", "false")] == 2
    assert seen["rag_retrieval_max_score_bucket", ("le", "0.3"), ("used_rewriting", "true")] == 3  # similarities
    assert seen["acqo_searches_total", ("route", "decompose")] == 3
    assert seen["acqo_searches_total", ("route", "pass")] == 2
    assert seen["acqo_failures_total", ("kind", "error"), ("step", "retrieval")] == 1
    assert seen["acqo_model_calls_sum", ("use", "search")] == 3
    assert seen["acqo_http_requests_total", ("method", "POST"), ("path", "/v1/search"), ("status", "422")] == 1
    assert seen["acqo_http_requests_total", ("method", "GET"), ("path", "other"), ("status", "404")] == 1
    assert "Peru" not in text
    assert "users" not in text


def test_every_rewrite_is_counted_and_those_of_a_cache_are_not_timed():
    """Also the choice to search the raw query, those of /v1/reformulate and of answers, and the failures in answers."""

    class Choosing(Parts):
        def reformulate(self, queries):
            return [replace(pass_through(query, "raw"), query_type="simple") for query in queries]

    with serving(strategies=Scripted(adaptive=Choosing()), answer_model=BrokenModel()) as client:
        for path in ("/v1/search", "/v1/search", "/v1/reformulate", "/v1/answer"):
            assert client.post(path, json=QUERY).status_code == 200
        client.post("/v1/search", json={**QUERY, "rewriting_strategy": "raw"})
        seen = values(client.get("/metrics").text)
    assert seen["rag_query_rewriting_total", ("query_type", "simple"), ("strategy", "raw")] == 4
    assert seen["rag_query_rewriting_duration_seconds_count", ("strategy", "raw")] == 1
    assert seen["acqo_cache_requests_total", ("cache", "reformulation"), ("outcome", "hit")] == 3
    assert [seen["acqo_model_calls_count", ("use", use)] for use in ("search", "reformulate", "answer")] == [3, 1, 1]
    assert seen["acqo_failures_total", ("kind", "error"), ("step", "synthesis")] == 1


def test_the_best_score_is_a_cosine():
    world = collection()
    words = InCollection(Words(name="bm25", cosine=False, extra=9.0), "world", "world/bm25")
    hybrid = {"retrievers": (*world.retrievers, words)}
    for indexes, counted in (({"originals": (words,)}, 1), (hybrid, 0), ({"retrievers": (words,)}, 0)):
        with serving([replace(world, **indexes)]) as client:
            client.post("/v1/search", json=QUERY)
            seen = values(client.get("/metrics").text)
        assert seen.get(("rag_retrieval_max_score_bucket", ("le", "1.0"), ("used_rewriting", "true")), 0) == counted


WORDS = st.text("abcxyz", min_size=5, max_size=9)


@given(
    st.one_of(WORDS, st.sampled_from(["GET", "POST"])),
    st.one_of(WORDS.map("/{}".format), st.sampled_from(["/v1/search", "/v1/reformulate", "/v1/answer"])),
    st.dictionaries(st.sampled_from(["query", "rewriting_strategy", "mode", "tenant"]), WORDS),
    st.lists(WORDS, max_size=2),
)
def test_nothing_of_a_request_is_a_label(client, method, path, body, pools):
    """Methods, paths, strategies and collections are labels only if the service knows them."""
    client.request(method, path, json={**body, "knowledge_pool_ids": pools})
    labels = {value.lower() for _, *pairs in values(client.get("/metrics").text) for pair in pairs for value in pair}
    drawn = {method.lower(), path, *body.values(), *pools}
    assert drawn & labels <= {"get", "post", "/v1/search", "/v1/reformulate", "/v1/answer"}


def test_failed_calls_are_counted():
    with serving(timeouts=Timeouts(sub_query=0.2)) as client:
        for path, query in (("search", "stall"), ("search", "broken"), ("answer", "broken as well")):
            client.post(f"/v1/{path}", json={"query": query})
        seen = values(client.get("/metrics").text)
    for step, kind in (("search", "timeout"), ("search", "error"), ("answer", "error")):
        assert seen["acqo_failures_total", ("kind", kind), ("step", step)] == 1


def test_the_dashboard_uses_existing_metrics_and_labels():
    with serving(answer_model=BrokenModel()) as client:
        client.post("/v1/search", json=QUERY)
        client.post("/v1/search", json={"query": "broken"})
        client.post("/v1/answer", json=QUERY)
        there = {family.name for family in text_string_to_metric_families(client.get("/metrics").text)}
        labels = {label for _, *pairs in values(client.get("/metrics").text) for label, _ in pairs} | {"reason"}
    targets = [target for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]]
    asked = {name for target in targets for name in re.findall(r"\b(?:rag|acqo)_\w+", target["expr"])}
    assert len(asked) >= 8
    assert {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in asked} <= there
    for target in targets:
        kept = {name for names in re.findall(r"by \(([\w, ]+)\)", target["expr"]) for name in names.split(", ")}
        assert kept | set(re.findall(r"{(\w+)=", target["expr"])) <= labels
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= kept
