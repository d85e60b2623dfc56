"""No text leaves the part of a collection that a request may see, whatever other programs do to it."""

import httpx
import pytest
from engine_cases import UnitEncoder, drop_rows, located, put_rows
from serving_stand_ins import running

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.roles import Reranker
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.searching.settings import StepSettings
from acqo_rl.serving.app import make_app
from acqo_rl.serving.collections import open_collection
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.service import Service
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Scope

ROWS = [
    {"number": 1, "key": "faq", "body": "the river of anna", "owner": "anna"},
    {"number": 2, "key": "faq", "body": "the river of ben", "owner": "ben"},
    {"number": 3, "key": "note", "body": "a stone of anna", "owner": "anna"},
]
"""Two tenants have a document with the id ``faq``."""


class Reading(Reranker):
    """Keeps what it reads."""

    name = "reading"

    def __init__(self):
        self.read = []

    def score(self, pairs):
        self.read += [passage for _, passage in pairs]
        return [0.0] * len(pairs)


@pytest.fixture
def place(engine, engine_index):
    place = engine_index(engine, "owned")
    put_rows(engine, place, ROWS)
    return place


@pytest.fixture
def index(engine, place):
    return located(engine, place, metadata="", tenant="owner")


@pytest.fixture
def reranker():
    return Reading()


@pytest.fixture
def client(index, reranker):
    collection = open_collection(
        f"pages={index}",
        open_index=lambda place, **options: load_retriever(place, **{**options, "encoder": UnitEncoder()}),
    )
    strategies = Strategies(StepSettings().paths(["rules", "raw"]))
    service = Service([collection], strategies, Timeouts(), reranker=reranker)
    with running(make_app(service, Limits())) as url, httpx.Client(base_url=url, timeout=20) as client:
        yield client


def search(client, tenant):
    answer = client.post("/v1/search", json={"query": "river", "tenant": tenant, "include_rankings": True})
    assert answer.status_code == 200, answer.text
    return answer.json(), answer.text


def answer(client, tenant):
    return client.post("/v1/answer", json={"query": "river", "tenant": tenant}).text


def test_tenants_with_equal_ids_see_their_own_text(client, reranker):
    for tenant, other in (("anna", "ben"), ("ben", "anna")):
        reranker.read.clear()
        body, text = search(client, tenant)

        assert {result["text"] for result in body["results"]} == {r["body"] for r in ROWS if r["owner"] == tenant}
        assert {passage for passage in reranker.read if other in passage} == set()
        assert f"of {other}" not in text + answer(client, tenant)


def test_documents_that_were_moved_or_deleted_are_not_shown(client, engine, place):
    assert len(search(client, "anna")[0]["results"]) == 2
    assert "a stone of anna" in answer(client, "anna")

    put_rows(engine, place, [{**ROWS[2], "owner": "ben"}])

    body, _ = search(client, "anna")
    assert [(result["document_id"], result["rank"]) for result in body["results"]] == [("faq", 1)]
    assert [[d["document_id"] for d in ranking["documents"]] for ranking in body["rankings"]] == [["faq"]]
    assert "a stone of anna" not in answer(client, "anna")
    drop_rows(engine, place, [1])
    assert search(client, "anna")[0]["results"] == []
    assert "the river of anna" not in answer(client, "anna")


def test_documents_of_a_tenant_are_read_with_its_name(index):
    documents = documents_of(index)

    of_ben = documents.restrict(Scope(tenant="ben"))
    found = of_ben.fetch(["faq", "note"])
    assert [document.text for document in found.values()] == ["the river of ben"]
    if documents.lists:
        assert [*of_ben.values()] == [*found.values()]
    for read in (lambda: documents.fetch(["faq"]), lambda: list(documents)):
        with pytest.raises(ConfigError):
            read()


def test_documents_of_tenants_are_not_read_from_a_folder(index, tmp_path):
    with pytest.raises(ConfigError):
        open_collection(f"pages={tmp_path},{index}")
