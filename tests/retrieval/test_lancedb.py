"""LanceDB tables that other programs wrote."""

from __future__ import annotations

import datetime
import decimal
import json

import lancedb
import pyarrow as pa
import pytest
from engine_cases import UnitEncoder, nearest
from lancedb.index import FTS, HnswSq, IvfFlat, IvfPq

from acqo_rl.retrieval.engines.opening import documents_of, open_collection
from acqo_rl.retrieval.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.roles import restrict
from acqo_rl.types import Scope

TEXTS = ["the river", "a stone", "the river and a stone"]
VECTOR = pa.list_(pa.float32(), 16)


@pytest.fixture
def pages(tmp_path):
    """Columns of many types, names with spaces and capitals, and a row without an id."""
    columns = {
        "Page no": pa.int64(),
        "Head line": pa.string(),
        "The Body": pa.string(),
        "my vector": VECTOR,
        "second vector": VECTOR,
        "day": pa.date32(),
        "seen": pa.timestamp("us", tz="UTC"),
        "thumb": pa.binary(),
        "price": pa.decimal128(10, 2),
        "rate": pa.float64(),
        "author": pa.struct([("home town", pa.string()), ("born", pa.int32())]),
    }
    vectors = UnitEncoder().encode_queries(TEXTS)
    rows = [
        {
            "Page no": row + 1 if row < 2 else None,
            "Head line": f"Page {row}",
            "The Body": TEXTS[row],
            "my vector": vectors[row].tolist(),
            "second vector": vectors[row].tolist(),
            "day": datetime.date(2024, 1, row + 1),
            "seen": datetime.datetime(2024, 1, row + 1, 10, tzinfo=datetime.UTC),
            "thumb": b"\xff\x00",
            "price": decimal.Decimal("1.50"),
            "rate": float("nan"),
            "author": {"home town": "Lima", "born": 1990 + row},
        }
        for row in range(3)
    ]
    schema = pa.schema([pa.field(name, kind) for name, kind in columns.items()])
    table = lancedb.connect(str(tmp_path)).create_table("pages", rows, schema=schema)
    table.create_index("The Body", config=FTS())
    return f"lancedb:{tmp_path}/pages"


FIELDS = "id=Page%20no&title=Head%20line&text=The%20Body&vector=my%20vector"


def test_columns_of_any_type_and_name_become_documents_that_json_can_hold(pages):
    documents = documents_of(f"{pages}?{FIELDS}")

    [first, second] = [documents[doc_id] for doc_id in documents]
    assert (second.id, second.title, second.text) == ("2", "Page 1", "a stone")
    assert dict(first.metadata) == {
        "day": "2024-01-01",
        "seen": "2024-01-01T10:00:00+00:00",
        "thumb": "/wA=",
        "price": 1.5,
        "rate": None,
        "author": {"home town": "Lima", "born": 1990},
    }
    json.dumps(dict(first.metadata), allow_nan=False)


def test_the_fingerprint_changes_with_rows_that_are_replaced(tmp_path):
    database, index = lancedb.connect(str(tmp_path)), f"lancedb:{tmp_path}/pages"
    rows = [{"id": "a", "text": "a", "vector": [1.0] * 16}]
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("vector", VECTOR)])
    table = database.create_table("pages", rows, schema=schema)
    seen = [open_collection(index).info.fingerprint, open_collection(index).info.fingerprint]
    table.update(values={"vector": [0.5] * 16})
    seen.append(open_collection(index).info.fingerprint)
    database.drop_table("pages")
    database.create_table("pages", rows, schema=schema)
    seen.append(open_collection(index).info.fingerprint)

    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_rows_without_an_id_are_not_found(pages):
    retriever = load_retriever(f"{pages}?{FIELDS}&mode=hybrid", encoder=UnitEncoder())

    assert retriever.search(["stone"], 1)[0].doc_ids in (("1",), ("2",))
    assert set(retriever.search(["the river stone"], 5)[0].doc_ids) == {"1", "2"}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"day": {"gte": "2024-01-02"}}, {"2"}),
        ({"seen": {"lt": "2024-01-01T12:30:00+02:00"}}, {"1"}),
        ({"seen": "2024-01-02T11:00+01:00"}, {"2"}),
        ({"rate": {"gt": 1}}, set()),
        ({"price": 1.5}, {"1", "2"}),
        ({"author.born": {"gt": 1990.5}}, {"2"}),
        ({"author.nothing": 1}, set()),
        ({"thumb": "/wA="}, set()),
    ],
)
def test_filters_read_columns_of_any_type(pages, given, found):
    retriever = restrict(load_retriever(f"{pages}?{FIELDS}", encoder=UnitEncoder()), Scope(read_filter(given)))

    assert set(retriever.search(["a"], 5)[0].doc_ids) == found


@pytest.mark.parametrize("index", [IvfFlat, IvfPq, HnswSq])
@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_an_index_of_others_finds_the_nearest_rows_of_all_and_of_a_tenant(tmp_path, index, metric):
    vectors = UnitEncoder().encode_queries([f"text {row}" for row in range(600)])
    rows = [
        {"id": row, "owner": "rare" if row % 20 == 7 else "common", "text": "a", "vector": vectors[row].tolist()}
        for row in range(600)
    ]
    schema = pa.schema([("id", pa.int64()), ("owner", pa.string()), ("text", pa.string()), ("vector", VECTOR)])
    table = lancedb.connect(str(tmp_path)).create_table("pages", rows, schema=schema)
    lists = {"num_sub_vectors": 4} if index is IvfPq else {}
    table.create_index("vector", config=index(distance_type=metric, num_partitions=60, **lists))
    location = f"lancedb:{tmp_path}/pages"

    [ranking] = load_retriever(location, encoder=UnitEncoder()).search(["a question"], 100)
    tenants = load_retriever(f"{location}?tenant=owner", encoder=UnitEncoder())
    [rare] = restrict(tenants, Scope(tenant="rare")).search(["a question"], 30)

    assert len(nearest(vectors, "a question", 100) & set(ranking.doc_ids)) >= 95
    cosines = vectors @ UnitEncoder().encode_queries(["a question"])[0]
    assert ranking.scores == pytest.approx([cosines[int(doc_id)] for doc_id in ranking.doc_ids], abs=1e-4)
    assert set(rare.doc_ids) == {str(row) for row in range(7, 600, 20)}
