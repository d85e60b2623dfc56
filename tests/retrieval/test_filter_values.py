"""Filters mean the same in every engine: numbers by their value, and values of different types are different."""

from __future__ import annotations

import datetime
import operator

import pytest
from engine_cases import ENGINES, UnitEncoder

from acqo_rl.retrieval.engines.build import build_engine_index
from acqo_rl.retrieval.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.roles import restrict
from acqo_rl.types import Document, Scope

VALUES = [
    *(1, 1.0, True, False, 0, -0.0, "1", "", "true", -3, -3.0, 2.5, -2.5, 2**53 + 1, 1e300, "a'b", None),
    *([1, "a"], ["z", "b"], [2.5, True], ["2.5"], [-7, 7], {"inner": 1}),
]
FILTERS = [
    *(1, 1.0, True, False, 0, -3, -3.0, 2.5, -2.5, 2**53 + 1, 1e300, "1", "", "true", "a", "b", "a'b", 7, -7),
    *([1, "true"], [True, 0], [2.5, "b"], {"gte": -3, "lt": 0.5}, {"lt": 0}, {"gt": 2**60}),
]


def type_of(value):
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)


def holds(value, wanted):
    """What a filter means; bounds on lists are left to the engines."""
    if isinstance(wanted, dict):
        tests = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
        return type_of(value) == "number" and all(tests[name](value, bound) for name, bound in wanted.items())
    values, all_wanted = (one if isinstance(one, list) else [one] for one in (value, wanted))
    return any(type_of(one) == type_of(other) and one == other for one in values for other in all_wanted)


@pytest.fixture(scope="module", params=ENGINES)
def mixed(request, engine_index):
    """A collection of our own build whose documents have values of all types in one field."""
    index = engine_index(request.param, "mixed")
    build_engine_index(
        index, [Document(f"d{i}", "", f"text {i}", {"v": v}) for i, v in enumerate(VALUES)], UnitEncoder()
    )
    return load_retriever(index, encoder=UnitEncoder())


@pytest.mark.parametrize("wanted", FILTERS, ids=repr)
def test_a_filter_finds_equal_values_of_the_same_type(mixed, wanted):
    [ranking] = restrict(mixed, Scope(read_filter({"v": wanted}))).search(["text"], 100)

    found = {int(doc_id[1:]) for doc_id in ranking.doc_ids}
    without_lists = {row for row in found if not (isinstance(wanted, dict) and isinstance(VALUES[row], list))}
    assert without_lists == {row for row, value in enumerate(VALUES) if holds(value, wanted)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dot_leads_into_an_object_and_not_into_the_objects_of_a_list(engine_index, engine):
    index = engine_index(engine, "nested")
    parts = [
        {"name": "wheel", "n": 1},
        [{"name": "wheel", "n": 1}],
        [[{"name": "wheel"}]],
        {"name": ["wheel"]},
        "wheel",
    ]
    build_engine_index(
        index, [Document(f"d{i}", "", f"t {i}", {"parts": p}) for i, p in enumerate(parts)], UnitEncoder()
    )
    retriever = load_retriever(index, encoder=UnitEncoder())

    found = [
        set(restrict(retriever, Scope(read_filter(given))).search(["t"], 9)[0].doc_ids)
        for given in ({"parts.name": "wheel"}, {"parts.n": {"gte": 1}}, {"parts.n": [1, 2]})
    ]
    assert found == [{"d0", "d3"}, {"d0"}, {"d0"}]


def test_a_filter_leaves_as_many_documents_as_asked(engine_index):
    """The first documents hold True, which the JSON of Milvus Lite does not tell from 1."""
    index = engine_index("milvus", "many")
    texts = ["the query"] * 20 + [f"text {row}" for row in range(5)]
    corpus = [Document(f"d{row}", "", text, {"v": True if row < 20 else 1}) for row, text in enumerate(texts)]
    build_engine_index(index, corpus, UnitEncoder())

    [ranking] = restrict(load_retriever(index, encoder=UnitEncoder()), Scope(read_filter({"v": 1}))).search(
        ["the query"], 3
    )

    assert len(ranking.doc_ids) == 3
    assert {int(doc_id[1:]) for doc_id in ranking.doc_ids} <= {*range(20, 25)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tenant_may_be_a_number_in_the_documents(engine_index, engine):
    index = engine_index(engine, "tenants")
    owners = [7, 7.0, "7", 70, True, "07", -7]
    build_engine_index(
        index, [Document(f"d{i}", "", f"t {i}", {"owner": o}) for i, o in enumerate(owners)], UnitEncoder()
    )
    retriever = load_retriever(f"{index}?tenant=owner", encoder=UnitEncoder())

    found = {
        tenant: set(restrict(retriever, Scope(tenant=tenant)).search(["t"], 9)[0].doc_ids)
        for tenant in ("7", "1", "-7")
    }
    assert found == {"7": {"d0", "d1", "d2"}, "1": set(), "-7": {"d6"}}


ROWS = [
    {"page": 1, "rate": 1.0, "draft": True, "lang": "New York", "day": "2024-01-01", "tags": ["x", "a b"]},
    {"page": -3, "rate": 2.5, "draft": False, "lang": "1", "day": "2024-01-02", "tags": []},
    {"page": 0, "rate": -3.0, "draft": False, "lang": "true", "day": "2024-02-01", "tags": ["1"]},
    {"page": 9, "rate": 0.4, "draft": False, "lang": "fr", "day": "2024-03-01", "tags": []},
]
"""Of a collection that another program made, with one type for each field."""

TYPED = [
    *({"page": value} for value in (1, 1.0, 1.5, True, "1", -3, 2**40, [0, "a"], {"gt": 0.5}, {"lte": -2.5})),
    *({"rate": value} for value in (1, 2.5, -3, True, "2.5", {"gte": 1}, {"gt": -1e300})),
    *({"rate": value} for value in (0.4, [0.4, 1], {"lte": 0.4}, {"gte": 0.4}, {"gt": 0.4}, {"lt": 0.4})),
    *({"draft": value} for value in (True, False, 1, 0, "true", {"gte": 0}, [1, True])),
    *({"lang": value} for value in ("New York", "new", 1, True, "1", {"lt": 5})),
    *({"tags": value} for value in ("a b", "1", 1, ["x", 3])),
    *({"nothing": value} for value in (1, "a", {"lt": 3})),
    {"page": {"lt": 1}, "draft": False},
]


@pytest.fixture(scope="module", params=ENGINES)
def typed(request, engine_index):
    index = engine_index(request.param, "typed")
    MAKERS[request.param](index, UnitEncoder().encode_queries([f"t{row}" for row in range(len(ROWS))]))
    return load_retriever(f"{index}?id=key&text=body", encoder=UnitEncoder())


@pytest.mark.parametrize("given", TYPED, ids=repr)
def test_a_filter_on_a_field_of_one_type_finds_nothing_of_another(typed, given):
    [ranking] = restrict(typed, Scope(read_filter(given))).search(["t"], 10)

    wanted = {f"k{row}" for row, values in enumerate(ROWS) if all(holds(values.get(n), w) for n, w in given.items())}
    assert set(ranking.doc_ids) == wanted


@pytest.mark.parametrize(
    "given", [{"day": {"gte": "2024-01-02", "lt": "2024-02-01"}}, {"day": "2024-01-02"}, {"day": 5}]
)
def test_a_filter_on_dates(typed, given):
    [ranking] = restrict(typed, Scope(read_filter(given))).search(["t"], 10)

    assert set(ranking.doc_ids) == (set() if given["day"] == 5 else {"k1"})


def make_lancedb(index, vectors):
    import lancedb
    import pyarrow as pa

    columns = [pa.field(n, t) for n, t in (("key", pa.string()), ("body", pa.string()), ("page", pa.int32()))]
    columns += [pa.field("rate", pa.float32()), pa.field("draft", pa.bool_()), pa.field("lang", pa.string())]
    columns += [pa.field("day", pa.date32()), pa.field("tags", pa.list_(pa.string()))]
    columns += [pa.field("vec", pa.list_(pa.float32(), 16))]
    rows = [{**row, "day": datetime.date.fromisoformat(row["day"])} for row in with_keys(vectors)]
    folder, _, name = index.removeprefix("lancedb:").rpartition("/")
    lancedb.connect(folder).create_table(name, rows, schema=pa.schema(columns))


def make_milvus(index, vectors):
    from pymilvus import DataType, MilvusClient

    from acqo_rl.retrieval.engines import milvus

    file, _, name = index.removeprefix("milvus:").rpartition("/")
    client, schema = milvus.of_file(file), MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=20)
    for field in ("body", "lang", "day"):
        schema.add_field(field, DataType.VARCHAR, max_length=20)
    for field, kind in {"page": DataType.INT32, "rate": DataType.FLOAT, "draft": DataType.BOOL}.items():
        schema.add_field(field, kind)
    schema.add_field("tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=5, max_length=20)
    schema.add_field("vec", DataType.FLOAT_VECTOR, dim=16)
    indexes = client.prepare_index_params()
    indexes.add_index("vec", index_type="AUTOINDEX", metric_type="COSINE")
    client.create_collection(name, schema=schema, index_params=indexes, consistency_level="Strong")
    client.upsert(name, with_keys(vectors))


def make_postgresql(index, vectors):
    import psycopg

    address, _, name = index.rpartition("/")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            f"CREATE TABLE {name} (key text, body text, page int, rate real, draft boolean, lang text, day date,"
            " tags text[], vec vector(16))"
        )
        for row in with_keys(vectors):
            names = ", ".join(row)
            values = [str(value) if key == "vec" else value for key, value in row.items()]
            connection.execute(f"INSERT INTO {name} ({names}) VALUES ({', '.join(['%s'] * len(row))})", values)


def make_qdrant(index, vectors):
    from qdrant_client import models

    from acqo_rl.retrieval.engines import qdrant

    folder, _, name = index.removeprefix("qdrant:").rpartition("/")
    client = qdrant._folder(folder)
    client.create_collection(name, vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    rows = with_keys(vectors)
    client.upsert(name, [models.PointStruct(id=i, vector=row.pop("vec"), payload=row) for i, row in enumerate(rows)])


def with_keys(vectors):
    return [
        {"key": f"k{row}", "body": f"t{row}", **values, "vec": vectors[row].tolist()} for row, values in enumerate(ROWS)
    ]


MAKERS = {
    "lancedb": make_lancedb,
    "milvus": make_milvus,
    "postgresql": make_postgresql,
    "qdrant": make_qdrant,
}
