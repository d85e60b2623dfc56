"""A collection of a search engine behind the service: filters, tenants, caches and batches."""

from __future__ import annotations

import time
from functools import partial

import httpx
import pytest
from serving_stand_ins import running
from stand_ins import eager_scorer

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.retrieval.engines.build import build_engine_index
from acqo_rl.retrieval.engines.qdrant import QdrantEngine
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.searching.settings import StepSettings
from acqo_rl.serving.app import make_app
from acqo_rl.serving.batching import Batcher
from acqo_rl.serving.collections import Collection, InCollection, open_collection
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.service import Service
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Document

CITIES = [
    Document("lima", "Peru", "Lima is the capital.", {"owner": "anna", "year": 2020}),
    Document("cusco", "Peru", "Cusco was the capital.", {"owner": "anna", "year": 1990}),
    Document("oslo", "Norway", "Oslo is the capital.", {"owner": "ben", "year": 2020}),
]


class Zeros:
    """An encoder that is never asked, because only words are searched."""

    dim, fingerprint, settings = 2, "zeros", None

    def encode_passages(self, texts):
        import numpy as np

        return np.ones((len(texts), 2), np.float32)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = f"qdrant:{tmp_path_factory.mktemp('cities')}/cities"
    build_engine_index(index, CITIES, Zeros())
    return index


def serving(*settings, **options):
    batcher = partial(Batcher, size=8, wait=0.02)
    collections = [open_collection(setting, batcher=batcher) for setting in settings]
    strategies = Strategies({"rules": ""}, StrategySettings())
    service = Service(collections, strategies, RankScoreFusion(), Timeouts(sub_query=20.0), **options)
    service.warm_up()
    return make_app(service, Metrics(), Limits())


@pytest.fixture(scope="module")
def client(index):
    with running(serving(f"cities={index}?mode=text")) as url, httpx.Client(base_url=url, timeout=20) as client:
        yield client


@pytest.fixture(scope="module")
def of_tenants(index):
    app = serving(f"cities={index}?mode=text&tenant=owner")
    with running(app) as url, httpx.Client(base_url=url, timeout=20) as client:
        yield client


def found(client, status=200, path="/v1/search", **body):
    answer = client.post(path, json={"query": "capital", **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def ids(body):
    return {result["document_id"] for result in body["results"]}


def test_results_have_the_documents_of_the_engine(client):
    body = found(client, query="Lima")

    [result] = body["results"]
    assert (result["title"], result["text"]) == ("Peru", "Lima is the capital.")
    assert result["metadata"] == CITIES[0].metadata
    assert client.get("/readyz").status_code == 200
    assert client.get("/v1/collections").json()["collections"][0]["documents"] == 3


def test_a_filter_has_results_and_a_cache_of_its_own(client):
    assert ids(found(client)) == {"lima", "cusco", "oslo"}
    assert ids(found(client, filter={"year": {"gte": 2000}})) == {"lima", "oslo"}
    assert ids(found(client, filter={"owner": ["anna"], "year": 1990})) == {"cusco"}

    again = found(client, filter={"year": 1990, "owner": "anna"})

    assert again["cached"]
    assert ids(again) == {"cusco"}


def test_results_of_documents_that_may_be_deleted_are_cached_for_a_shorter_time(index, tmp_path, monkeypatch):
    monkeypatch.setattr("acqo_rl.serving.service._CHANGING", 0.1)
    write_beir(tmp_path, CITIES, [], {})
    build_bm25_index(tmp_path / "index", CITIES)
    for place in (f"{index}?mode=text", f"{tmp_path},{tmp_path}/index"):
        with running(serving(f"cities={place}")) as url, httpx.Client(base_url=url, timeout=20) as client:
            found(client)
            assert found(client)["cached"]
            time.sleep(0.2)
            assert found(client)["cached"] == (place[0] == "/")


@pytest.mark.parametrize("filter", [{"year": {"gte": "often"}}, {"year": {"over": 3}}, {"a b": 1}, ["year"]])
def test_a_filter_of_a_wrong_type_is_refused(client, filter):
    for path in ("/v1/search", "/v1/reformulate", "/v1/answer"):
        assert found(client, 422, path, filter=filter)["detail"]


def test_a_search_names_a_tenant_where_there_are_some(client, of_tenants):
    assert found(of_tenants, 409)["detail"]
    assert found(of_tenants, 409, "/v1/answer")["detail"]
    assert found(client, 409, tenant="anna")["detail"]
    assert of_tenants.get("/readyz").status_code == 200


def test_the_sub_queries_of_a_request_are_one_call_of_the_engine(client, monkeypatch):
    calls = []
    search = QdrantEngine.search_texts
    monkeypatch.setattr(
        QdrantEngine, "search_texts", lambda self, texts, *rest: calls.append(texts) or search(self, texts, *rest)
    )

    body = found(client, query="Compare the capital of Norway and Peru")

    assert len(body["query_rewrite_info"]["variants"]) == 2
    assert [len(texts) for texts in calls] == [2]


def test_an_index_that_cannot_filter_is_refused():
    documents = {document.id: document for document in CITIES}
    words = Bm25Retriever.build([document.text for document in CITIES], list(documents))
    plain = Collection("plain", documents, (InCollection(words, "plain", "bm25"),))
    service = Service([plain], Strategies({"rules": ""}, StrategySettings()), RankScoreFusion(), Timeouts())

    with running(make_app(service, Metrics(), Limits())) as url, httpx.Client(base_url=url, timeout=20) as client:
        assert found(client, 409, filter={"year": 2020})["detail"]
        assert ids(found(client, query="Lima")) == {"lima"}


def test_all_indexes_of_a_collection_have_tenants_or_none(index):
    with pytest.raises(ConfigError):
        open_collection(f"cities={index}?mode=text&tenant=owner,{index}?mode=dense")


@pytest.mark.parametrize(
    ("seen", "hidden", "restriction"),
    [
        ({"lima", "cusco"}, ("Norway", "Oslo", "oslo"), {"tenant": "anna"}),
        ({"oslo"}, ("Peru", "Lima", "lima"), {"tenant": "ben"}),
        ({"cusco"}, ("Norway", "Lima", "lima"), {"tenant": "anna", "filter": {"year": {"lt": 2000}}}),
    ],
)
def test_hops_read_and_search_only_what_may_be_seen(index, tmp_path, seen, hidden, restriction):
    eager_scorer().save(tmp_path)
    app = serving(f"cities={index}?mode=text&tenant=owner", steps=StepSettings(hops=2, hop=str(tmp_path)))
    with running(app) as url, httpx.Client(base_url=url, timeout=20) as client:
        answer = found(client, **restriction)
    assert ids(answer) == seen
    assert "which is searched too" in str(answer)
    assert not any(word in str(answer) for word in hidden)
