"""Search engines of the tests, an encoder whose vectors are all different, and collections of other programs."""

import zlib

import numpy as np

from acqo_rl.roles import Encoder
from acqo_rl.types import Document

ENGINES = ("qdrant", "postgresql")


class UnitEncoder(Encoder):
    """Random unit vectors that depend on the text alone, so that no two scores are equal."""

    settings = None

    def __init__(self, dim=16, fingerprint="unit"):
        self.dim = dim
        self.fingerprint = fingerprint
        self.encoded = []

    def encode_queries(self, texts):
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dim) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.dim)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def encode_passages(self, texts):
        self.encoded += texts
        return self.encode_queries(texts)


def nearest(vectors, text, k):
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

DEFAULTS = {
    **{"key": "", "body": "", "owner": "", "page": 0, "rate": 0.0, "draft": False, "day": "2024-01-01"},
    **{"tags": [], "more": {}},
}
"""Fields of a collection that :func:`put_rows` writes, beside ``number`` and ``vec``; ``rate`` has 32 bits."""


def put_documents(engine, index, documents, encoder=None):
    """Writes documents as another program does; returns the location with the names of its fields."""
    rows = [
        {"number": number, "key": d.id, "owner": d.title, "body": d.text, "more": dict(d.metadata)}
        for number, d in enumerate(documents)
    ]
    put_rows(engine, index, rows, encoder)
    return f"{index}?id=key&title=owner&text=body&metadata=more"


def put_rows(engine, index, rows, encoder=None):
    """Writes rows as another program does.

    Args:
        engine: name of the engine.
        index: location of the collection; created if it is missing.
        rows: replace those of equal numbers; keys may appear several times.
        encoder: embeds the texts; by default :class:`UnitEncoder`.
    """
    vectors = (encoder or UnitEncoder()).encode_passages([row["body"] for row in rows]).tolist()
    PUT[engine](index, [{**DEFAULTS, **row, "vec": vector} for row, vector in zip(rows, vectors, strict=True)])


def drop_rows(engine, index, numbers):
    """Deletes rows as another program does."""
    DROP[engine](index, numbers)


def of_qdrant(index):
    """Client and name of a collection."""
    from acqo_rl.retrieval.engines import qdrant

    folder, _, name = index.removeprefix("qdrant:").rpartition("/")
    return qdrant._folder(folder), name


def _put_qdrant(index, rows):
    from qdrant_client import models

    client, name = of_qdrant(index)
    if not client.collection_exists(name):
        params = models.VectorParams(size=len(rows[0]["vec"]), distance=models.Distance.COSINE)
        client.create_collection(name, vectors_config=params)
        scored = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True)
        client.create_payload_index(name, "body", scored)
    client.upsert(name, [models.PointStruct(id=row["number"], vector=row.pop("vec"), payload=row) for row in rows])


def _drop_qdrant(index, numbers):
    client, name = of_qdrant(index)
    client.delete(name, numbers)


def _put_postgresql(index, rows):
    import psycopg
    from psycopg.types.json import Jsonb

    address, _, name = index.rpartition("/")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {name} (number int, key text, body text, owner text, page int, rate real,"
            " draft boolean, day date, tags text[], more jsonb, vec vector(16))"
        )
        for row in rows:
            connection.execute(f"DELETE FROM {name} WHERE number = %s", [row["number"]])
            values = [*({**row, "more": Jsonb(row["more"]), "vec": str(row["vec"])}).values()]
            marks = ", ".join(["%s"] * len(row))
            connection.execute(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({marks})", values)


def _drop_postgresql(index, numbers):
    import psycopg

    address, _, name = index.rpartition("/")
    with psycopg.connect(address) as connection:
        connection.execute(f"DELETE FROM {name} WHERE number = ANY(%s)", [numbers])


PUT = {"qdrant": _put_qdrant, "postgresql": _put_postgresql}
DROP = {"qdrant": _drop_qdrant, "postgresql": _drop_postgresql}
