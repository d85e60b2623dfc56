"""Milvus collections that other programs wrote."""

from __future__ import annotations

import pytest
from engine_cases import UnitEncoder
from pymilvus import DataType, MilvusClient

from acqo_rl.errors import IndexMismatchError
from acqo_rl.retrieval.build import load_retriever
from acqo_rl.retrieval.engines import milvus
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.filters import read_filter
from acqo_rl.types import Document, Scope, restrict

TEXTS = ["the river", "a stone", "the river and a stone"]


@pytest.fixture
def pages(tmp_path):
    """A collection with a whole number as its key and a second one as a field."""
    path = str(tmp_path / "here.db")
    client = milvus._file(path)
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field("page", DataType.INT32)
    schema.add_field("tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=5, max_length=20)
    schema.add_field("body", DataType.VARCHAR, max_length=100)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=16)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
    client.create_collection("pages", schema=schema, index_params=indexes, consistency_level="Strong")
    vectors = UnitEncoder().encode_queries(TEXTS)
    rows = [
        {"key": 5 + row, "page": -row, "tags": ["all", f"t{row}"], "body": TEXTS[row], "vector": vectors[row].tolist()}
        for row in range(3)
    ]
    client.upsert("pages", rows)
    return f"milvus:{path}/pages"


@pytest.mark.parametrize(
    ("field", "doc_id", "other"),
    [("", "6", {"page": -1, "tags": ["all", "t1"]}), ("&id=page", "-1", {"key": 6, "tags": ["all", "t1"]})],
)
def test_documents_are_looked_up_by_ids_that_are_numbers(pages, field, doc_id, other):
    index = f"{pages}?text=body{field}"

    [ranking] = load_retriever(index, encoder=UnitEncoder()).search(["a stone"], 1)

    assert ranking.doc_ids == (doc_id,)
    assert documents_of(index)[doc_id] == Document(doc_id, "", "a stone", {**other, "tags": ["all", "t1"]})
    assert "nothing" not in documents_of(index)
    assert "06" not in documents_of(index)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"tags": "t1"}, {"6"}),
        ({"tags": ["t0", "t2"]}, {"5", "7"}),
        ({"page": -2}, {"7"}),
        ({"page": {"gt": -1}}, {"5"}),
    ],
)
def test_filters_read_fields_of_any_type(pages, given, found):
    retriever = restrict(load_retriever(f"{pages}?text=body", encoder=UnitEncoder()), Scope(read_filter(given)))

    assert set(retriever.search(["a"], 5)[0].doc_ids) == found


@pytest.mark.parametrize("field", ["text=words", "text=body&id=number"])
def test_a_field_that_is_missing_is_refused(pages, field):
    with pytest.raises(IndexMismatchError):
        load_retriever(f"{pages}?{field}", encoder=UnitEncoder())


@pytest.fixture
def dynamic(tmp_path):
    """A collection whose fields are not declared, except key and vectors."""
    path = str(tmp_path / "here.db")
    client = milvus._file(path)
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=16)
    schema.add_field("other", DataType.FLOAT_VECTOR, dim=16)
    indexes = client.prepare_index_params()
    for name in ("vector", "other"):
        indexes.add_index(name, index_type="AUTOINDEX", metric_type="COSINE")
    client.create_collection("loose", schema=schema, index_params=indexes, consistency_level="Strong")
    vectors = UnitEncoder().encode_queries([f"text {row}" for row in range(120)]).tolist()
    rows = [
        {
            "key": row,
            "vector": vectors[row],
            "other": vectors[row],
            "my body": f"text {row}",
            "page id": f"p{row}",
            "n": -row,
        }
        for row in range(120)
    ]
    del rows[3]["page id"]
    rows[119]["seldom"] = "here"
    client.upsert("loose", rows)
    return f"milvus:{path}/loose"


@pytest.mark.parametrize("field", ["text=nowhere", "text=my%20body&id=nowhere", "text=my%20body&tenant=nowhere"])
def test_a_dynamic_field_that_no_entry_has_is_refused(dynamic, field):
    with pytest.raises(IndexMismatchError, match="'nowhere'"):
        load_retriever(f"{dynamic}?vector=vector&{field}", encoder=UnitEncoder())


def test_dynamic_fields_may_be_rare_and_have_spaces(dynamic):
    index = f"{dynamic}?vector=vector&text=my%20body&id=page%20id"
    retriever, documents = load_retriever(index, encoder=UnitEncoder()), documents_of(index)

    assert retriever.search(["text 7"], 1)[0].doc_ids == ("p7",)
    assert documents["p7"] == Document("p7", "", "text 7", {"key": 7, "n": -7})
    assert len(list(documents)) == 119
    assert "p3" not in retriever.search(["text 3"], 120)[0].doc_ids
    load_retriever(f"{dynamic}?vector=vector&text=seldom", encoder=UnitEncoder())
    filtered = restrict(retriever, Scope(read_filter({"n": [-4, -5], "seldom": "here"})))
    assert filtered.search(["a"], 5)[0].doc_ids == ()
    tenants = load_retriever(f"{index}&tenant=my%20body", encoder=UnitEncoder())
    assert restrict(tenants, Scope(tenant="text 5")).search(["a"], 5)[0].doc_ids == ("p5",)


def test_a_collection_without_an_index_is_refused_with_the_field(tmp_path):
    path = str(tmp_path / "here.db")
    client = milvus._file(path)
    schema = MilvusClient.create_schema(auto_id=True)
    schema.add_field("key", DataType.INT64, is_primary=True)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=16)
    client.create_collection("plain", schema=schema)

    with pytest.raises(IndexMismatchError, match="no index on its vector field 'embedding'"):
        load_retriever(f"milvus:{path}/plain", encoder=UnitEncoder())
