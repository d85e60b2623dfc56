"""The metrics after a few requests, and the dashboard."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from promql import Scrapes
from serving_stand_ins import Parts, Scripted

from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.searching.trace import Step
from acqo_rl.serving.metrics import Metrics
from acqo_rl.types import Query, Ranking, Reformulation, SubQuery

DASHBOARD = Path(__file__).parents[2] / "configs" / "serve" / "dashboard.json"
QUERY = {"query": "capital of Peru and capital of Chad"}


def values(text):
    """Name and labels -> value."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(s.name, *sorted(s.labels.items())): s.value for s in samples}


def test_requests_and_searches_are_counted(serving):
    with serving(timeouts=Timeouts(sub_query=10), strategies=Scripted(parts=Parts())) as client:
        for body in (QUERY, QUERY, {**QUERY, "use_query_rewriting": False}, {"query": "capital of Peru and broken it"}):
            assert client.post("/v1/search", json=body).status_code == 200
        client.post("/v1/search", json={})
        client.get("/a/path/of/the/users/own")
        text = client.get("/metrics").text
    seen = values(text)
    assert seen["rag_query_rewriting_total", ("query_type", "complex"), ("strategy", "parts")] == 3
    assert seen["rag_query_rewriting_duration_seconds_count", ("strategy", "parts")] == 2  # one was cached
    assert seen["rag_retrieval_max_score_count", ("used_rewriting", "true")] == 3
    assert seen["rag_retrieval_max_score_count", ("used_rewriting", "false")] == 1
    assert seen["rag_retrieval_max_score_bucket", ("le", "0.3"), ("used_rewriting", "true")] == 3  # similarities
    assert seen["acqo_searches_total", ("route", "decompose")] == 3
    assert seen["acqo_searches_total", ("route", "pass")] == 1
    assert seen["acqo_cache_requests_total", ("cache", "search"), ("outcome", "hit")] == 1
    assert seen["acqo_cache_requests_total", ("cache", "search"), ("outcome", "miss")] == 3
    assert seen["acqo_failures_total", ("kind", "error"), ("step", "retrieval")] == 1
    assert seen["acqo_model_calls_sum", ("use", "search")] == 2
    assert seen["acqo_stage_duration_seconds_count", ("stage", "fusion")] == 3
    assert seen["acqo_http_requests_total", ("method", "POST"), ("path", "/v1/search"), ("status", "422")] == 1
    assert seen["acqo_http_requests_total", ("method", "GET"), ("path", "other"), ("status", "404")] == 1
    assert "Peru" not in text
    assert "users" not in text


def test_failed_calls_are_counted(serving):
    with serving(timeouts=Timeouts(sub_query=0.2), strategies=Scripted(parts=Parts())) as client:
        assert client.post("/v1/search", json={"query": "stall"}).status_code == 503
        assert client.post("/v1/search", json={"query": "broken"}).status_code == 503
        assert "event: error" in client.post("/v1/answer", json={"query": "broken as well"}).text
        follow_up = {"query": "and of Chad", "history": ["What is the capital of Peru?"]}
        assert "event: result" in client.post("/v1/answer", json=follow_up).text
        seen = values(client.get("/metrics").text)
    assert seen["acqo_failures_total", ("kind", "timeout"), ("step", "search")] == 1
    assert seen["acqo_failures_total", ("kind", "error"), ("step", "search")] == 1
    assert seen["acqo_failures_total", ("kind", "error"), ("step", "answer")] == 1
    assert seen["rag_query_rewriting_total", ("query_type", "complex"), ("strategy", "parts")] == 1


def test_the_dashboard_uses_existing_metrics(serving):
    with serving() as client:
        client.post("/v1/search", json=QUERY)
        there = {family.name for family in text_string_to_metric_families(client.get("/metrics").text)}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = {
        re.sub(r"_(total|bucket|sum|count)$", "", name)
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"\b(?:rag|acqo)_\w+", target["expr"])
    }
    assert len(asked) >= 8
    assert asked <= there


@pytest.fixture(scope="module")
def shown():
    """Title of a panel -> legend -> value."""
    metrics = Metrics()
    _observe(metrics, [(0.9, "parts", "decompose")] * 5, seconds=9.0)  # before the first scrape, so they must not count
    before = metrics.text().decode()
    _observe(metrics, [(0.9, "parts", "decompose")] * 60, seconds=0.02)
    _observe(metrics, [(0.8, "parts", "decompose")] * 37, seconds=0.4)
    _observe(metrics, [(0.5, "parts", "pass")] * 3, seconds=4.0)
    _observe(metrics, [(0.4, "other", "pass")] * 100, seconds=0.02)
    _observe(metrics, [(0.2, "raw", "pass")] * 50, seconds=0.0, calls=0)
    _observe(metrics, [(0.3, "parts", "decompose")] * 50, seconds=0.02, cached=True)
    for _ in range(30):
        metrics.failed("retrieval", "TimeoutError: late")
        metrics.refused.labels("key").inc(2)
    scrapes = Scrapes(before, metrics.text().decode(), seconds=300.0)
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return {
        panel["title"]: {
            _legend(target["legendFormat"], labels): value
            for target in panel["targets"]
            for labels, value in scrapes.evaluate(target["expr"]).items()
        }
        for panel in panels
    }


class TestDashboard:
    """The values in every panel after known requests; expressions are evaluated on two scrapes."""

    def test_shares_of_strategies_and_routes(self, shown):
        assert shown["Strategies"] == pytest.approx({"parts": 150 / 250, "other": 100 / 250})
        assert shown["Paths"] == pytest.approx(
            {
                "decompose": 147 / 300,
                "pass": 153 / 300,
                "similarity decompose": (60 * 0.9 + 37 * 0.8 + 50 * 0.3) / 147,
                "similarity pass": (3 * 0.5 + 100 * 0.4 + 50 * 0.2) / 153,
            }
        )

    def test_quantiles_are_in_the_right_buckets(self, shown):
        times = shown["Time of a reformulation"]
        assert 0.01 < times["p50 parts"] <= 0.025
        assert 0.25 < times["p95 parts"] <= 0.5
        assert 2.5 < times["p99 parts"] <= 5
        assert all(0.01 < times[f"{quantile} other"] <= 0.025 for quantile in ("p50", "p95", "p99"))

    def test_similarities(self, shown):
        assert shown["Mean best similarity"] == pytest.approx(
            {
                "rewriting true": (60 * 0.9 + 37 * 0.8 + 3 * 0.5 + 100 * 0.4 + 50 * 0.3) / 250,
                "rewriting false": 0.2,
            }
        )
        assert shown["Searches whose best similarity is above 0.7"] == pytest.approx({"above 0.7": 97 / 300})

    def test_cache_hits_model_calls_failures_and_rejections(self, shown):
        assert shown["Cache hits"] == pytest.approx({"search": 50 / 300})
        assert shown["Model calls a query"] == pytest.approx({"search": 2 * 200 / 300})
        assert shown["Failures and refusals"] == pytest.approx({"retrieval timeout": 0.1, "refused: key": 0.2})


def _observe(metrics, searches, seconds, calls=2, cached=False):
    for similarity, strategy, route in searches:
        query = Query("q", "text")
        made = Reformulation(query, route, (SubQuery("text", "part"),), strategy, calls=calls, query_type="complex")
        fused = Ranking(("d",), (1.0,), "rsf", similarities=(similarity,))
        trace = (Step("reformulation", 1000 * seconds),)
        metrics.searched(strategy, SearchResult(made, (), fused, (), trace, cached))


def _legend(form, labels):
    for name, value in labels:
        form = form.replace(f"{{{{{name}}}}}", value)
    assert "{{" not in form, f"{form} uses a label that its expression drops"
    return form
