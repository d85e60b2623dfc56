"""Collections from settings."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial

import httpx
import pytest
from serving_stand_ins import Scripted, running

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError, IndexMismatchError, NotFoundError
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.app import make_app
from acqo_rl.serving.batching import Batcher
from acqo_rl.serving.collections import Collection, Collections, DocumentsOf, InCollection, open_collection
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.service import Service
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Document, Query, Ranking, Reformulation, SubQuery

DOCUMENTS = [Document("a/b", "Peru", "Lima is the capital of Peru."), Document("c", "Chad", "Ndjamena")]


@pytest.fixture
def folder(tmp_path):
    write_beir(tmp_path, DOCUMENTS, [], {})
    build_bm25_index(tmp_path / "index", DOCUMENTS)
    return tmp_path


def test_a_collection_is_opened_from_its_folder_and_index(folder):
    opened = open_collection(f"world={folder},{folder}/index")
    assert (opened.name, opened.cosine, opened.id.version) == ("world", False, 5)
    [retriever] = opened.retrievers
    assert not retriever.cosine
    [found] = retriever.search(["capital of Peru"], 5)
    assert (retriever.name, found.doc_ids, found.retriever) == ("world/bm25", ("world/a/b",), "world/bm25")
    documents = DocumentsOf([opened])
    assert documents["world/a/b"] == Document("world/a/b", "Peru", "Lima is the capital of Peru.")
    assert (list(documents), len(documents)) == (["world/a/b", "world/c"], 2)


def test_concurrent_searches_are_one_call_of_the_index(folder, monkeypatch):
    calls = []
    search = Bm25Retriever.search
    monkeypatch.setattr(Bm25Retriever, "search", lambda self, texts, k: calls.append(texts) or search(self, texts, k))
    setting = f"world={folder},{folder}/index"
    texts = ["capital of Peru", "Ndjamena", "Lima"]
    [alone] = open_collection(setting).retrievers
    [together] = open_collection(setting, batcher=partial(Batcher, size=3, wait=5.0)).retrievers
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda text: together.search([text], 5)[0], texts))
    assert [sorted(call) for call in calls] == [sorted(texts)]
    assert found == alone.search(texts, 5)
    assert not together.cosine


def test_ids_do_not_change_between_starts(folder):
    setting = f"={folder},{folder}/index"
    world, again, other = (open_collection(name + setting) for name in ("world", "world", "other"))
    assert world.id == again.id != other.id
    both = Collections([world, other])
    assert both.named([]) == both.named([str(other.id), "world"]) == (world, other)
    with pytest.raises(NotFoundError):
        both.named([str(uuid.UUID(int=1))])
    with pytest.raises(ConfigError, match="world"):
        Collections([world, again])


def test_invalid_settings_and_other_corpora_are_rejected(folder, tmp_path_factory):
    for setting in ("world", "world=", f"world={folder}", f"world={folder},", f"/={folder},{folder}/index"):
        with pytest.raises(ConfigError):
            open_collection(setting)
    with pytest.raises(ConfigError, match="world"):
        open_collection(f"world={folder},{folder}/index,{folder}/index")
    other = tmp_path_factory.mktemp("other")
    write_beir(other, DOCUMENTS[:1], [], {})
    with pytest.raises(IndexMismatchError):
        open_collection(f"world={other},{folder}/index")


def test_metadata_reaches_the_answers_and_dates_order_their_passages(tmp_path):
    texts = [("old", "2001-05-01"), ("new", "2099-05-01"), ("now", f"{date.today():%Y-%m-%d}")]
    documents = [
        Document(name, "", "the price of copper", {"date": day, "url": f"https://{name}"}) for name, day in texts
    ]
    write_beir(tmp_path, documents, [], {})
    build_bm25_index(tmp_path / "index", documents)
    opened = open_collection(f"prices={tmp_path},{tmp_path}/index")
    service = Service([opened], Strategies({"raw": ""}, StrategySettings()), RankScoreFusion(), Timeouts())
    chunks = service.pipeline("raw", 3, (opened,)).ask("latest price of copper").chunks
    service.close()
    assert chunks[0].document.metadata == {"date": f"{date.today():%Y-%m-%d}", "url": "https://now"}
    assert chunks[-1].document.id == "prices/old"


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A service with three collections of very different sizes; two are irrelevant."""
    from acqo_rl.serving.load import ServiceSettings, load_service

    passages = {
        "places": {
            "oslo": "Oslo is the capital of Norway. It has a population of 700,000.",
            "bergen": "Bergen is a city in Norway with a population of 290,000.",
            **{f"place{i}": f"Town number {i} lies between a river and a forest." for i in range(20)},
            "Nebra (town)": "A town on a river.",
            "Nebra (sky disc)": "A disc of bronze.",
        },
        "poems": {"rose": "The rose blooms for a day.", "sea": "A population of gulls sings to the sea."},
        "law": {"rent": "The tenant pays the rent on the first of each month."},
    }
    settings = []
    for name, texts in passages.items():
        folder = tmp_path_factory.mktemp(name)
        documents = [Document(title.replace(" ", "-"), title, text) for title, text in texts.items()]
        write_beir(folder, documents, [], {})
        build_bm25_index(folder / "index", documents)
        settings.append(f"{name}={folder},{folder}/index")
    service = load_service(ServiceSettings(settings, strategies=["rules"], fusion="rsf"), StrategySettings())
    with running(make_app(service, Metrics(), Limits())) as url, httpx.Client(base_url=url, timeout=20) as client:
        yield client


@pytest.mark.parametrize("pools", [["places", "poems"], ["law", "poems", "places"]], ids=len)
def test_a_small_irrelevant_collection_does_not_rank_first(several, pools):
    body = {"query": "Compare the populations of Oslo and Bergen", "limit": 2, "rewriting_strategy": "rules"}
    found = several.post("/v1/search", json=body | {"knowledge_pool_ids": pools}).json()
    alone = several.post("/v1/search", json=body | {"knowledge_pool_ids": ["places"]}).json()
    assert len(found["query_rewrite_info"]["variants"]) == 2
    assert {row["document_id"] for row in alone["results"]} == {"oslo", "bergen"}
    assert [row["document_id"] for row in found["results"]] == [row["document_id"] for row in alone["results"]]


class Scored(Retriever):
    """Scripted cosines: text -> document -> score."""

    name, cosine = "dense", True

    def __init__(self, scores):
        self.scores = scores

    def search(self, texts, k):
        found = [sorted(self.scores[text].items(), key=lambda item: -item[1])[:k] for text in texts]
        return [
            Ranking(tuple(d for d, _ in some), tuple(s for _, s in some), self.name, text)
            for text, some in zip(texts, found, strict=True)
        ]


def test_irrelevant_documents_in_every_list_do_not_outrank_the_best_ones():
    query = Query("q", "Compare the populations of Oslo and Bergen")
    one, other = (s.text for s in Heuristic().reformulate([query])[0].sub_queries)
    relevant = {one: {"Oslo": 0.8}, other: {"Bergen": 0.81}}
    irrelevant = {text: {"poem": 0.7} for text in (one, other)}
    pools = [
        Collection(name, {}, (InCollection(Scored(scores), name, "dense minilm"),))
        for name, scores in (("places", relevant), ("poems", irrelevant))
    ]
    service = Service(pools, Strategies({"rules": ""}, StrategySettings()), ReciprocalRankFusion(), Timeouts())
    found = [service.searcher("rules", None, tuple(some)).search(query).fused.doc_ids for some in (pools[:1], pools)]
    service.close()
    assert found == [("places/Bergen", "places/Oslo"), ("places/Bergen", "poems/poem", "places/Oslo")]


def test_the_rules_use_the_names_in_the_collections(several):
    body = {"query": "Nebra", "rewriting_strategy": "rules", "knowledge_pool_ids": ["places"]}
    found = several.post("/v1/search", json=body).json()
    assert {v["text"] for v in found["query_rewrite_info"]["variants"]} == {"Nebra town", "Nebra sky disc"}


class Reading(Reformulator):
    """Writes one reading, and the raw query with a margin, as a policy does."""

    name = "reading"

    def reformulate(self, queries):
        return [
            Reformulation(
                query,
                "disambiguate",
                (SubQuery("b", "reading"), SubQuery(query.text, "original", min_margin=0.05)),
                self.name,
            )
            for query in queries
        ]


def test_reformulate_lists_the_sub_queries_that_a_search_of_the_same_collections_uses(serving):
    """The raw query with a margin is searched only if all scores are cosines."""
    scores = {"a": {"x": 0.5}, "b": {"x": 0.6}}
    words = Scored(scores)
    words.cosine = False
    pools = [
        Collection(name, {"x": Document("x", "", "x")}, (InCollection(one, name, "dense"),))
        for name, one in (("cosines", Scored(scores)), ("words", words))
    ]
    with serving(pools, strategies=Scripted(reading=Reading())) as client:
        for names in (["cosines"], ["words"]):
            body = {"query": "a", "rewriting_strategy": "reading", "knowledge_pool_ids": names}
            made, found = (client.post(path, json=body).json() for path in ("/v1/reformulate", "/v1/search"))
            listed = made["query_rewrite_info"]["variants"]
            assert listed == found["query_rewrite_info"]["variants"]
            assert len(listed) == (2 if names == ["cosines"] else 1)
