"""Milvus collections that other programs wrote."""

from __future__ import annotations

import pytest
from engine_cases import UnitEncoder
from milvus_lite.db import MilvusLite
from pymilvus import DataType, MilvusClient

from acqo_rl.errors import IndexMismatchError, SearchError
from acqo_rl.retrieval.engines import milvus
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.roles import restrict
from acqo_rl.types import Document, Scope

TEXTS = ["the river", "a stone", "the river and a stone"]


@pytest.fixture
def dynamic(tmp_path):
    """A collection whose fields are not declared, except key and vectors."""
    path = str(tmp_path / "here.db")
    client = milvus.of_file(path)
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("key", DataType.VARCHAR, max_length=20, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=16)
    schema.add_field("other", DataType.FLOAT_VECTOR, dim=16)
    indexes = client.prepare_index_params()
    for name in ("vector", "other"):
        indexes.add_index(name, index_type="AUTOINDEX", metric_type="COSINE")
    client.create_collection("loose", schema=schema, index_params=indexes, consistency_level="Strong")
    vectors = UnitEncoder().encode_queries([f"text {row}" for row in range(120)]).tolist()
    rows = [
        {
            "key": f'é "{row}',
            "vector": vectors[row],
            "other": vectors[row],
            "my body": f"text {row}",
            "page": f"p{row}",
            "n": -row,
        }
        for row in range(120)
    ]
    del rows[3]["page"]
    rows[119]["seldom"] = "here"
    client.upsert("loose", rows)
    return f"milvus:{path}/loose"


def test_dynamic_fields_are_read_and_filtered(dynamic, monkeypatch):
    monkeypatch.setattr(milvus, "_PAGE", 50)
    index = f"{dynamic}?vector=vector&text=my%20body&id=page"
    retriever, documents = load_retriever(index, encoder=UnitEncoder()), documents_of(index)

    assert retriever.search(["text 7"], 1)[0].doc_ids == ("p7",)
    assert documents["p7"] == Document("p7", "", "text 7", {"key": 'é "7', "n": -7})
    assert len(list(documents)) == 119
    assert "p3" not in retriever.search(["text 3"], 120)[0].doc_ids
    for given, found in (({"n": [-4, -5], "seldom": "here"}, ()), ({"n": {"lte": -118}, "seldom": "here"}, ("p119",))):
        assert restrict(retriever, Scope(read_filter(given))).search(["a"], 5)[0].doc_ids == found
    tenants = load_retriever(f"{index}&tenant=my%20body", encoder=UnitEncoder())
    assert restrict(tenants, Scope(tenant="text 5")).search(["a"], 5)[0].doc_ids == ("p5",)
    with pytest.raises(IndexMismatchError, match="'nowhere'"):
        load_retriever(f"{index}&tenant=nowhere", encoder=UnitEncoder())


def test_a_collection_without_an_index_is_refused(tmp_path):
    path = str(tmp_path / "here.db")
    client = milvus.of_file(path)
    schema = MilvusClient.create_schema(auto_id=True)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=16)
    client.create_collection("plain", schema=schema)

    with pytest.raises(SearchError):
        load_retriever(f"milvus:{path}/plain", encoder=UnitEncoder())


@pytest.mark.parametrize("index", ["HNSW", "IVF_FLAT"])
def test_rare_documents_of_a_tenant_and_long_rankings_are_found_in_full(tmp_path, index):
    """The collection is loaded again so that its vector index is used."""
    client = milvus.of_file(str(tmp_path / "here.db"))
    schema = MilvusClient.create_schema(auto_id=False)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field("owner", DataType.VARCHAR, max_length=20)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=16)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type=index, metric_type="COSINE", index_name="of_vectors")
    client.create_collection("owned", schema=schema, index_params=indexes, consistency_level="Strong")
    vectors = UnitEncoder().encode_queries([f"text {row}" for row in range(3000)]).tolist()
    owners = ["rare" if row % 200 == 7 else "common" for row in range(3000)]
    rows = [{"key": n, "owner": owners[n], "vector": vector} for n, vector in enumerate(vectors)]
    for start in range(0, len(rows), 1000):
        client.upsert("owned", rows[start : start + 1000])
    client.flush("owned")
    client.release_collection("owned")
    location = f"milvus:{tmp_path}/here.db/owned?text=owner"

    tenants = restrict(load_retriever(f"{location}&tenant=owner", encoder=UnitEncoder()), Scope(tenant="rare"))
    everything = load_retriever(location, encoder=UnitEncoder())

    assert [len(found.doc_ids) for found in tenants.search(["a question", "another"], 15)] == [15, 15]
    assert [len(found.doc_ids) for found in everything.search(["a question", "another"], 2500)] == [2500, 2500]


def test_a_file_that_another_process_has_open_is_reported_with_the_reason(tmp_path):
    path = str(tmp_path / "here.db")
    other = MilvusLite(path)

    with pytest.raises(SearchError, match="another process"):
        load_retriever(f"milvus:{path}/pages", encoder=UnitEncoder())

    other.close()
    with pytest.raises(IndexMismatchError):
        load_retriever(f"milvus:{path}/pages", encoder=UnitEncoder())
