"""Multi-query, HyDE and the raw query in a dense index, and the raw query in a separate BM25 index."""

from dataclasses import replace

import pytest
from serving_stand_ins import DOCUMENTS, Words, collection, post, serving
from stand_ins import BySchema

from acqo_rl.language_models.structured import example
from acqo_rl.retrieval.composite import InCollection
from acqo_rl.searching.settings import StepSettings
from acqo_rl.serving import strategies
from acqo_rl.serving.collections import Collection
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Document

QUERY = "capital of Peru"
VARIANTS = ["seat of government Peru", "Lima Peru", "main city of Peru"]
PASSAGE = "Lima is the capital of Peru."


class Counted(Words):
    """Like BM25: no cosines, and a known maximum score."""

    def __init__(self, documents=DOCUMENTS):
        super().__init__(documents, "bm25", cosine=False, extra=20.0)

    def search(self, texts, k):
        return [replace(ranking, ceiling=21.0) for ranking in super().search(texts, k)]


def with_words(name, words=None):
    """A dense collection whose BM25 index searches the raw query."""
    return replace(collection(name), originals=(InCollection(words or Counted(), name, f"{name}/bm25"),))


@pytest.fixture
def found(monkeypatch):
    """Searches collections."""
    model = BySchema(searches=example(searches=VARIANTS), sentences=example(sentences=[PASSAGE]))
    monkeypatch.setattr(strategies, "load_strategy_model", lambda *_: model)

    def search(*collections):
        offered = Strategies(StepSettings().paths(["multi_query+hyde", "raw"], model="m"))
        with serving(collections, strategies=offered) as client:
            return post(client, query=QUERY, include_rankings=True).json()

    return search


def test_six_paths(found):
    words = Counted()
    body = found(with_words("world", words))
    dense = [(text, "dense 1") for text in (QUERY, *VARIANTS, PASSAGE)]
    assert [(r["query"], r["retriever"]) for r in body["rankings"]] == [*dense, (QUERY, "world/bm25")]
    assert words.calls == [[QUERY]]
    assert body["rankings"][5]["documents"]
    assert body["failures"] == []


def test_an_index_that_another_collection_does_not_have_is_reported(found):
    both = (*collection("both").retrievers, InCollection(Counted(), "both", "both/bm25"))
    pools = [with_words("world"), replace(collection("both"), retrievers=both)]
    for chosen, unused in (([pools[0]], 0), ([pools[1]], 0), (pools, 1)):
        assert len(found(*chosen)["notes"]) == 2 + unused
    assert found(*pools)["notes"][0].endswith(": world/bm25, both/bm25.")


def test_a_result_says_whether_its_similarity_is_a_cosine(found):
    other = {"bean": Document("bean", "", "capital of Peru bean")}
    words = Collection("words", other, (InCollection(Counted(other), "words", "words/bm25"),))
    dense = collection("dense")
    kinds = {result["knowledge_pool"]: result["similarity_kind"] for result in found(words, dense)["results"]}
    assert kinds == {"words": "score", "dense": "score"}
    both = (*dense.retrievers, InCollection(Counted(), "dense", "dense/bm25"))
    for one, kind in ((words, "score"), (replace(dense, retrievers=both), "score"), (dense, "cosine")):
        assert {result["similarity_kind"] for result in found(one)["results"]} == {kind}
