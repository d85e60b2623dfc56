"""Milvus collections that other programs wrote."""

from __future__ import annotations

import pytest
from engine_cases import UnitEncoder
from pymilvus import DataType, MilvusClient

from acqo_rl.retrieval.build import load_retriever
from acqo_rl.retrieval.engines import milvus
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.types import Document

TEXTS = ["the river", "a stone", "the river and a stone"]


@pytest.fixture
def pages(tmp_path):
    """A collection with a whole number as its key and a second one as a field."""
    path = str(tmp_path / "here.db")
    client = milvus._file(path)
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field("page", DataType.INT32)
    schema.add_field("body", DataType.VARCHAR, max_length=100)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=16)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
    client.create_collection("pages", schema=schema, index_params=indexes, consistency_level="Strong")
    vectors = UnitEncoder().encode_queries(TEXTS)
    rows = [{"key": 5 + row, "page": -row, "body": TEXTS[row], "vector": vectors[row].tolist()} for row in range(3)]
    client.upsert("pages", rows)
    return f"milvus:{path}/pages"


@pytest.mark.parametrize(("field", "doc_id", "other"), [("", "6", {"page": -1}), ("&id=page", "-1", {"key": 6})])
def test_documents_are_looked_up_by_ids_that_are_numbers(pages, field, doc_id, other):
    index = f"{pages}?text=body{field}"

    [ranking] = load_retriever(index, encoder=UnitEncoder()).search(["a stone"], 1)

    assert ranking.doc_ids == (doc_id,)
    assert documents_of(index)[doc_id] == Document(doc_id, "", "a stone", other)
    assert "nothing" not in documents_of(index)
    assert "06" not in documents_of(index)
