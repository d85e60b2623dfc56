"""A service with a reranker after the fusion."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rerank_server import RerankServer
from serving_stand_ins import DOCUMENTS, Words, events
from shared import in_thread

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.retrieval.rerankers import load_reranker
from acqo_rl.serving.load import ServiceSettings, load_service

ASKED = "capital of Japan"


@pytest.fixture
def reranker():
    server = RerankServer()
    with in_thread(server, server.waiting):
        yield server


def found_by(client, query, **body):
    response = client.post("/v1/search", json={"query": query, **body})
    assert response.status_code == 200
    return [document["document_id"] for document in response.json()["results"]], response.json()


class Backwards(Words):
    """Finds all documents, the best last."""

    def _one(self, text, k):
        found = super()._one(text, k)
        doc_ids = (*found.doc_ids[::-1],)
        return type(found)(doc_ids, found.scores, self.name, text)


def test_results_are_those_of_the_reranker(serving, in_collection, reranker):
    world = [in_collection("world", Backwards())]
    with serving(world) as client:
        assert found_by(client, ASKED)[0][-1] == "tokyo"
    with serving(world, reranker=load_reranker(reranker.name)) as client:
        assert found_by(client, ASKED)[0][0] == "tokyo"
        _, answer = events(client.post("/v1/answer", json={"query": ASKED}).text)[-1]
        assert answer["passages"][0]["document_id"] == "tokyo"


def test_a_reranker_that_fails_is_reported_and_the_fused_results_returned(serving, in_collection, reranker):
    reranker.faults = [404]
    with serving([in_collection("world", Backwards())], reranker=load_reranker(reranker.name)) as client:
        doc_ids, body = found_by(client, ASKED)
        assert doc_ids[-1] == "tokyo"
        assert "reranking" in str(body)
        assert found_by(client, ASKED)[0][0] == "tokyo"


def test_the_settings_name_the_reranker(tmp_path, reranker):
    write_beir(tmp_path / "data", list(DOCUMENTS.values()), [], {})
    build_bm25_index(tmp_path / "index", list(DOCUMENTS.values()))
    place = f"world={tmp_path / 'data'},{tmp_path / 'index'}"
    settings = ServiceSettings(collections=[place], strategies=["rules"], reranker=reranker.name, rerank_depth=2)
    service = load_service(settings, StrategySettings())
    reranker.asked.clear()

    found = service.searcher("rules", None, service.collections.named(())).search(ASKED)

    assert [len(body["documents"]) for body in reranker.asked] == [2]
    assert found.fused.doc_ids[0] == "world/tokyo"
    service.close()
    with pytest.raises(ConfigError):
        load_service(replace(settings, rerank_depth=0), StrategySettings())
