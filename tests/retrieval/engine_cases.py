"""Search engines of the tests, and an encoder whose vectors are all different."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from acqo_rl.roles import Encoder
from acqo_rl.types import Document

ENGINES = ("qdrant", "milvus", "postgresql", "lancedb")


class UnitEncoder(Encoder):
    """Random unit vectors that depend on the text alone, so that no two scores are equal."""

    settings = None

    def __init__(self, dim: int = 16, fingerprint: str = "unit") -> None:
        self.dim = dim
        self.fingerprint = fingerprint
        self.encoded: list[str] = []

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dim) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.dim)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += texts
        return self.encode_queries(texts)


def nearest(vectors: np.ndarray, text: str, k: int) -> set[str]:
    """The numbers of the rows that are nearest to a text."""
    [query] = UnitEncoder().encode_queries([text])
    return {str(row) for row in np.argsort(-(vectors @ query))[:k]}


WORDS = ["red", "green", "blue", "café", "東京", "heute", "😀", "river", "stone"]

CORPUS = [
    Document(
        f"d{i}",
        f"Title {i}" if i % 2 else "",
        f"passage {i} about {WORDS[i % len(WORDS)]} and " + "stone " * (1 + i % 5),
        {"lang": "de" if i % 3 else "en", "year": 1990 + i, "draft": i % 2 == 0, "date": f"2024-01-{i + 1:02}"},
    )
    for i in range(27)
]
"""Documents with metadata of several types."""


def put_rows(engine: str, index: str, rows: Sequence[dict[str, Any]]) -> None:
    """Writes rows as another program does, into a collection with the fields number, key, body, owner and vec.

    Args:
        engine: name of the engine.
        index: location of the collection; created if it is missing.
        rows: replace those of equal numbers; keys may appear several times.
    """
    vectors = UnitEncoder().encode_queries([row["body"] for row in rows])
    PUT[engine](index, [{**row, "vec": vector.tolist()} for row, vector in zip(rows, vectors, strict=True)])


def drop_rows(engine: str, index: str, numbers: Sequence[int]) -> None:
    """Deletes rows as another program does."""
    DROP[engine](index, list(numbers))


def _qdrant(index: str) -> tuple[Any, str]:
    from acqo_rl.retrieval.engines import qdrant

    folder, _, name = index.removeprefix("qdrant:").rpartition("/")
    return qdrant._folder(folder), name


def _put_qdrant(index: str, rows: list[dict[str, Any]]) -> None:
    from qdrant_client import models

    client, name = _qdrant(index)
    if not client.collection_exists(name):
        client.create_collection(name, vectors_config=models.VectorParams(size=16, distance=models.Distance.COSINE))
    client.upsert(
        name, [models.PointStruct(id=row["number"], vector=row.pop("vec"), payload=row) for row in map(dict, rows)]
    )


def _drop_qdrant(index: str, numbers: list[int]) -> None:
    client, name = _qdrant(index)
    client.delete(name, numbers)


def _milvus(index: str) -> tuple[Any, str]:
    from acqo_rl.retrieval.engines import milvus

    file, _, name = index.removeprefix("milvus:").rpartition("/")
    return milvus.of_file(file), name


def _put_milvus(index: str, rows: list[dict[str, Any]]) -> None:
    from pymilvus import DataType, MilvusClient

    client, name = _milvus(index)
    if not client.has_collection(name):
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("number", DataType.INT64, is_primary=True)
        for field in ("key", "body", "owner"):
            schema.add_field(field, DataType.VARCHAR, max_length=100)
        schema.add_field("vec", DataType.FLOAT_VECTOR, dim=16)
        indexes = client.prepare_index_params()
        indexes.add_index("vec", index_type="AUTOINDEX", metric_type="COSINE")
        client.create_collection(name, schema=schema, index_params=indexes, consistency_level="Strong")
    client.upsert(name, rows)


def _drop_milvus(index: str, numbers: list[int]) -> None:
    client, name = _milvus(index)
    client.delete(name, filter=f"number in {numbers}")


def _put_postgresql(index: str, rows: list[dict[str, Any]]) -> None:
    import psycopg

    address, _, name = index.rpartition("/")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        columns = "number int, key text, body text, owner text, vec vector(16)"
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        for row in rows:
            connection.execute(f"DELETE FROM {name} WHERE number = %s", [row["number"]])
            values = [row["number"], row["key"], row["body"], row["owner"], str(row["vec"])]
            connection.execute(f"INSERT INTO {name} VALUES (%s, %s, %s, %s, %s)", values)


def _drop_postgresql(index: str, numbers: list[int]) -> None:
    import psycopg

    address, _, name = index.rpartition("/")
    with psycopg.connect(address) as connection:
        connection.execute(f"DELETE FROM {name} WHERE number = ANY(%s)", [numbers])


def _put_lancedb(index: str, rows: list[dict[str, Any]]) -> None:
    import lancedb
    import pyarrow as pa

    folder, _, name = index.removeprefix("lancedb:").rpartition("/")
    texts = [pa.field(field, pa.string()) for field in ("key", "body", "owner")]
    columns = [pa.field("number", pa.int64()), *texts, pa.field("vec", pa.list_(pa.float32(), 16))]
    table = lancedb.connect(folder).create_table(name, schema=pa.schema(columns), exist_ok=True)
    table.merge_insert("number").when_matched_update_all().when_not_matched_insert_all().execute(rows)


def _drop_lancedb(index: str, numbers: list[int]) -> None:
    import lancedb

    folder, _, name = index.removeprefix("lancedb:").rpartition("/")
    lancedb.connect(folder).open_table(name).delete(f"number IN ({', '.join(map(str, numbers))})")


PUT = {"qdrant": _put_qdrant, "milvus": _put_milvus, "postgresql": _put_postgresql, "lancedb": _put_lancedb}
DROP = {"qdrant": _drop_qdrant, "milvus": _drop_milvus, "postgresql": _drop_postgresql, "lancedb": _drop_lancedb}
