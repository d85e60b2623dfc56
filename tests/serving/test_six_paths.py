"""Multi-query, HyDE and the raw query in a dense index, and the raw query in a separate BM25 index."""

from __future__ import annotations

from dataclasses import replace

import pytest
from serving_stand_ins import DOCUMENTS, Words
from stand_ins import ScriptedLanguageModel

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError
from acqo_rl.fusion import ReciprocalRankFusion
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.retrieval.federated import InCollection
from acqo_rl.roles import Reformulator
from acqo_rl.searching.path import search
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.serving import strategies
from acqo_rl.serving.collections import Collection, open_collection
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Document, Query, Reformulation, SubQuery

QUERY = "capital of Peru"
VARIANTS = ["seat of government Peru", "Lima Peru", "main city of Peru"]
PASSAGE = "Lima is the capital of Peru."


class Counted(Words):
    """Like BM25: no cosines, and a known maximum score."""

    def __init__(self, documents=DOCUMENTS):
        super().__init__(documents, "bm25", cosine=False, extra=20.0)

    def search(self, texts, k):
        return [replace(ranking, ceiling=21.0) for ranking in super().search(texts, k)]


def collection(name, original=None, documents=DOCUMENTS):
    bm25 = original or Counted(documents)
    dense = InCollection(Words(documents), name, "dense 1")
    return Collection(name, documents, (dense,), (InCollection(bm25, name, f"{name}/bm25"),))


@pytest.fixture
def six(serving, monkeypatch):
    """Searches collections; returns the response and the list of collections."""
    model = ScriptedLanguageModel("\n".join(VARIANTS), PASSAGE)
    monkeypatch.setattr(strategies, "load_strategy_model", lambda *_: model)

    def search(collections):
        offered = Strategies({"multi_query+hyde": "m"}, StrategySettings())
        with serving(collections, strategies=offered) as client:
            listed = client.get("/v1/collections").json()["collections"]
            return client.post("/v1/search", json={"query": QUERY, "include_rankings": True}).json(), listed

    return search


def test_six_paths(six):
    words = Counted()
    body, [listed] = six([collection("world", words)])
    paths = [(r["query"], r["retriever"]) for r in body["rankings"]]
    dense = [(text, "dense 1") for text in (QUERY, *VARIANTS, PASSAGE)]
    assert paths == [*dense, (QUERY, "world/bm25")]
    assert words.calls == [[QUERY]]
    assert listed["retrievers"] == ["world/dense", "world/bm25"]
    places = {place["ranking"] for result in body["results"] for place in result["places"]}
    assert 5 in places
    assert body["failures"] == []


def test_the_similarity_is_a_cosine_although_bm25_scores_are_larger(six):
    for collections in ([collection("world")], [collection("world"), collection("moon")]):
        body, _ = six(collections)
        for result in body["results"]:
            cosines = [place["score"] for place in result["places"] if place["ranking"] < 5]
            assert (result["similarity"], result["similarity_kind"]) == (max(cosines), "cosine")


def test_a_result_says_whether_its_similarity_is_a_cosine(six):
    other = {"bean": Document("bean", "", "capital of Peru bean")}
    words = Collection("words", other, (InCollection(Counted(other), "words", "words/bm25"),))
    dense = Collection("dense", DOCUMENTS, (InCollection(Words(), "dense", "dense 1"),))
    body, _ = six([words, dense])
    kinds = {result["knowledge_pool"]: result["similarity_kind"] for result in body["results"]}
    assert kinds == {"words": "score", "dense": "cosine"}
    both = (*dense.retrievers, InCollection(Counted(), "dense", "dense/bm25"))
    for one in (words, replace(dense, retrievers=both)):
        body, _ = six([one])
        assert {result["similarity_kind"] for result in body["results"]} == {"score"}


def test_several_collections_have_one_list_for_the_raw_query(six):
    body, _ = six([collection("world"), collection("moon")])
    assert [r["query"] for r in body["rankings"]].count(QUERY) == 2
    assert len(body["rankings"]) == 6
    assert {d["knowledge_pool"] for d in body["rankings"][5]["documents"]} == {"world", "moon"}


def test_searcher_and_evaluation_return_the_same():
    class Split(Reformulator):
        name = "split"

        def reformulate(self, queries):
            subs = (SubQuery("Lima", "part"), SubQuery("Peru", "part"))
            return [Reformulation(query, "decompose", subs, self.name) for query in queries]

    retrievers = [Words(), RawQueryOnly(Counted())]
    query = Query("q", QUERY)
    [wanted] = search(Split().reformulate([query]), retrievers, ReciprocalRankFusion())
    found = AdaptiveSearcher(Split(), retrievers, ReciprocalRankFusion()).search(query)
    assert (found.rankings, found.fused) == (wanted.rankings, wanted.fused)
    with pytest.raises(ConfigError):
        AdaptiveSearcher(Split(), [RawQueryOnly(Words())], ReciprocalRankFusion())


def test_invalid_settings_are_rejected(tmp_path):
    documents = list(DOCUMENTS.values())
    write_beir(tmp_path, documents, [], {})
    for name in ("one", "two"):
        build_bm25_index(tmp_path / name, documents)
    with pytest.raises(ConfigError, match="world"):
        open_collection(f"world={tmp_path},{tmp_path}/one,{tmp_path}/two@original")
    with pytest.raises(ConfigError, match="@original"):
        open_collection(f"world={tmp_path},{tmp_path}/one@original")


def test_a_dense_index_and_a_bm25_index_for_the_raw_query(tmp_path, monkeypatch):
    documents = list(DOCUMENTS.values())
    write_beir(tmp_path, documents, [], {})
    build_bm25_index(tmp_path / "words", documents)
    build_bm25_index(tmp_path / "dense", documents)
    opened = open_collection(
        f"world={tmp_path},{tmp_path}/dense,{tmp_path}/words@original",
        open_index=lambda index, **_: Words() if index.endswith("dense") else Counted(),
    )
    assert [r.name for r in opened.retrievers] == ["world/dense"]
    assert [r.name for r in opened.originals] == ["world/bm25"]
    assert not opened.cosine
