"""PostgreSQL tables that other programs made, and indexes of pgvector."""

import contextlib
import math
from datetime import timedelta
from urllib.parse import quote
from uuid import UUID

import psycopg
import pytest
from engine_cases import CORPUS, UnitEncoder, nearest, put_documents
from pgvector import Vector

from acqo_rl.errors import SearchError
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Scope

TEXTS = ["the river", "a stone", "rivers and a stone"]


@pytest.fixture(scope="module")
def times(postgres):
    """Noon in UTC of three days, in columns of all types, read by a session in Tokyo."""
    vectors = UnitEncoder().encode_queries(TEXTS)
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            "CREATE TABLE times (id int, text text, emb vector(16), zoned timestamptz, plain timestamp, day date,"
            " note float8)"
        )
        for row in range(3):
            noon = f"2024-01-1{row} 12:00"
            values = [row, Vector(vectors[row]).to_text(), f"{noon}Z", noon, noon]
            connection.execute("INSERT INTO times VALUES (%s, 'a', %s, %s, %s, %s)", values)
    return f"{postgres}/times?options={quote('-c timezone=Asia/Tokyo')}"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        *(({field: {"gte": "2024-01-11T12:00:00Z"}}, "12") for field in ("zoned", "plain")),
        *(({field: {"gt": "2024-01-11T13:00:00+01:00"}}, "2") for field in ("zoned", "plain")),
        *(({field: {"lte": "2024-01-11T12:00"}}, "01") for field in ("zoned", "plain")),
        ({"zoned": {"gt": "0001-01-01T00:00+01:00", "lt": "9999-12-31T23:59-20:00"}}, "012"),
        ({"day": {"gte": "2024-01-11T00:00:00Z"}}, "12"),
        ({"day": {"gt": "2024-01-11T00:00:00+01:00"}}, "12"),
        ({"zoned": "noon"}, ""),
        ({"zoned.hour": "2024-01-11"}, ""),
    ],
)
def test_times_are_compared_as_times_in_utc(times, given, found):
    retriever = load_retriever(times, encoder=UnitEncoder()).restrict(Scope(read_filter(given)))

    assert set(retriever.search(["a"], 5)[0].doc_ids) == set(found)


@pytest.mark.parametrize("kind", ["ivfflat", "hnsw"])
def test_an_index_of_others_finds_the_nearest_rows_of_all_and_of_a_tenant(postgres, kind):
    vectors = UnitEncoder().encode_queries([f"text {row}" for row in range(600)])
    owners = ["rare" if row % 20 == 7 else "common" for row in range(600)]
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE TABLE by_{kind} (id int, owner text, text text, emb vector(16))")
        rows = [(row, owners[row], Vector(vectors[row]).to_text()) for row in range(600)]
        connection.cursor().executemany(f"INSERT INTO by_{kind} VALUES (%s, %s, 'a', %s)", rows)
        lists = "WITH (lists = 60)" if kind == "ivfflat" else ""
        connection.execute(f"CREATE INDEX ON by_{kind} USING {kind} (emb vector_cosine_ops) {lists}")
    impatient = "-c hnsw.max_scan_tuples=1 -c enable_seqscan=off -c enable_sort=off"
    index = f"{postgres}/by_{kind}?options={quote(impatient)}"

    [ranking] = load_retriever(index, encoder=UnitEncoder()).search(["a question"], 100)
    tenants = load_retriever(f"{index}&tenant=owner", encoder=UnitEncoder())
    [rare] = tenants.restrict(Scope(tenant="rare")).search(["a question"], 30)

    assert len(nearest(vectors, "a question", 100) & set(ranking.doc_ids)) >= 95
    assert set(rare.doc_ids) == {str(row) for row in range(7, 600, 20)}


def test_rows_without_a_direction_are_not_found_by_vectors(postgres):
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TABLE gaps (id int, text text, emb vector(16))")
        [vector] = UnitEncoder().encode_queries(["the river"])
        rows = [(1, None), (2, Vector(vector).to_text()), (3, Vector([0] * 16).to_text())]
        connection.cursor().executemany("INSERT INTO gaps VALUES (%s, 'the river', %s)", rows)

    [ranking] = load_retriever(f"{postgres}/gaps", encoder=UnitEncoder()).search(["a stone"], 5)

    assert ranking.doc_ids == ("2",)
    assert set(load_retriever(f"{postgres}/gaps?mode=text").search(["river"], 5)[0].doc_ids) == {"1", "2", "3"}


@pytest.fixture(scope="module")
def odd_vectors(postgres):
    """Vectors without a declared dimension and of half precision; a row without an id; and values unknown to JSON."""
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            'CREATE TABLE odd ("the id" int, body varchar(50), bare vector, half halfvec(16), raw bytea, age interval,'
            " who uuid, rate float8, at timestamptz, parts jsonb)"
        )
        for row, vector in enumerate(UnitEncoder().encode_queries(TEXTS)):
            text = Vector(vector).to_text()
            values = [row + 1 if row < 2 else None, TEXTS[row], text, text]
            others = [b"a", timedelta(hours=1), UUID(int=1), math.nan, "2024-01-05T10:00Z", '[{"a": [1]}]']
            connection.execute(f"INSERT INTO odd VALUES ({', '.join(['%s'] * 10)})", [*values, *others])
    return f"{postgres}/odd"


@pytest.mark.parametrize("column", ["bare", "half"])
def test_vectors_of_any_column_are_searched(odd_vectors, column):
    index = f"{odd_vectors}?id=the%20id&text=body&vector={column}"
    retriever = load_retriever(index, encoder=UnitEncoder())

    [ranking] = retriever.search(["a stone"], 5)

    assert ranking.doc_ids == ("2", "1")
    assert ranking.scores[0] == pytest.approx(1, abs=1e-3)
    assert len(retriever.search([TEXTS[2]], 1)[0].doc_ids) == 1
    document = documents_of(f"{index}&options={quote('-c timezone=UTC')}")["2"]
    shown = {"age": "PT1H", "who": str(UUID(int=1)), "rate": None, "at": "2024-01-05T10:00:00Z", "parts": [{"a": [1]}]}
    assert (document.text, document.metadata) == (TEXTS[1], {"raw": "YQ==", **shown})


def test_postgresql_is_found_again_soon_after_it_was_away_for_long(postgres_server, engine_index):
    table = put_documents("postgresql", engine_index("postgresql", "restarts"), CORPUS)
    retriever = load_retriever(table(timeout=1), encoder=UnitEncoder(), remote_timeout=1)
    postgres_server.stop()
    try:
        for _ in range(4):
            with pytest.raises(SearchError):
                retriever.search(["stone"], 10)
    finally:
        postgres_server.ensure_postgres_running()

    with contextlib.suppress(SearchError):  # it may still wait for the next attempt to connect
        retriever.search(["stone"], 10)
    assert len(retriever.search(["stone"], 10)[0].doc_ids) == 10
