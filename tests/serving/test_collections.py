"""Collections from settings."""

from contextlib import suppress

import pytest
from serving_stand_ins import Back, Scripted, Words, collection, post, serving
from shared import bm25_folder

from acqo_rl.data.beir import write_beir
from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.serving.collections import open_collection
from acqo_rl.serving.load import ServiceSettings, load_service
from acqo_rl.types import Document

DOCUMENTS = [Document("a/b", "Peru", "Lima is the capital of Peru."), Document("c", "Chad", "Ndjamena")]


@pytest.fixture
def place(tmp_path):
    return bm25_folder(tmp_path, DOCUMENTS)


def test_invalid_settings_and_other_corpora_are_rejected(place, tmp_path, tmp_path_factory):
    build_bm25_index(tmp_path / "two", DOCUMENTS)
    wrong = (
        "world",
        "world=",
        f"world={tmp_path}",
        f"world={tmp_path},",
        f"/={place}",
        f"world={place},{tmp_path}/two",
    )
    for setting in (*wrong, f"world={place}@original", f"world={place},{tmp_path}/two@original"):
        with pytest.raises(ConfigError):
            open_collection(setting)
    other = tmp_path_factory.mktemp("other")
    write_beir(other, DOCUMENTS[:1], [], {})
    with pytest.raises(IndexMismatchError):
        open_collection(f"world={other},{tmp_path}/index")


def test_the_rules_use_the_names_in_the_collections(tmp_path):
    names = [Document(name, f"Nebra ({name})", "From Nebra.") for name in ("town", "disc")]
    service = load_service(
        ServiceSettings([f"places={bm25_folder(tmp_path, names)}"], strategies=["rules"]), StrategySettings()
    )
    found = service.searcher("rules", None, tuple(service.collections)).search("Nebra")
    service.close()
    assert {s.text for s in found.reformulation.sub_queries} == {"Nebra town", "Nebra disc"}


@pytest.mark.parametrize("cosine", [True, False])
def test_reformulate_lists_the_sub_queries_that_a_search_of_the_same_collections_uses(cosine):
    """The raw query with a margin is searched only if all scores are cosines."""
    pools = [collection("dense"), collection("words", Words(cosine=False))]
    with serving(pools, strategies=Scripted(back=Back())) as client:
        chosen = {"query": "its capital", "knowledge_pool_ids": [pools[not cosine].name]}
        made, found = (post(client, path, **chosen).json() for path in ("/v1/reformulate", "/v1/search"))
        listed = made["query_rewrite_info"]["variants"]
        assert listed == found["query_rewrite_info"]["variants"]
        assert len(listed) == (2 if cosine else 1)


def test_collections_of_one_encoder_embed_a_query_once(tmp_path, monkeypatch):
    """Also if both indexes ask at the same time; a text that failed is embedded again."""
    asked = []
    encode = SentenceTransformerEncoder.encode_queries

    def counted(self, texts):
        asked.extend(texts)
        if "fail" in texts and asked.count("fail") == 1:
            raise SearchError("the encoder failed")
        return encode(self, texts)

    monkeypatch.setattr(SentenceTransformerEncoder, "encode_queries", counted)
    places = []
    for name in ("one", "two", "three"):
        write_beir(tmp_path / name, DOCUMENTS, [], {})
        build_dense_index(tmp_path / f"{name}_index", DOCUMENTS, SentenceTransformerEncoder("embedded:minilm"))
        places.append(f"{name}={tmp_path}/{name},{tmp_path}/{name}_index")
    service = load_service(ServiceSettings(places, strategies=["raw"]), StrategySettings())
    searcher = service.searcher("raw", None, tuple(service.collections))
    asked.clear()
    for text in ("capital of Peru", "Chad", "capital of Peru"):
        assert len(searcher.search(text).fused.doc_ids) == 6
    assert sorted(asked) == ["Chad", "capital of Peru"]
    with suppress(SearchError):
        searcher.search("fail")
    assert len(searcher.search("fail").fused.doc_ids) == 6
    service.close()
