"""Search engines of the tests, an encoder whose vectors are all different, and collections of other programs."""

import re
import zlib
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import yaml
from json_server import JsonServer

from acqo_rl.retrieval.build import build_bm25_index, build_dense_index
from acqo_rl.roles import Encoder
from acqo_rl.types import Document

ENGINES = ("http+json", "postgresql")


FOLDERS = ("dense", "split", "bm25", "hybrid")
"""Kinds of index folders; in ``split``, each document has two passages."""


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
    """Writes documents as another program does; returns :func:`located` for them."""
    rows = [
        {"number": number, "key": d.id, "owner": d.title, "body": d.text, "more": dict(d.metadata)}
        for number, d in enumerate(documents)
    ]
    put_rows(engine, index, rows, encoder)
    return partial(located, engine, index)


def located(engine, index, mode="dense", *, id="key", metadata="more", **options):
    """The location of a collection with the given name of the ids and of the object of the other fields, or none."""
    if engine == "postgresql":
        fields = {"id": id, "title": "owner", "text": "body", **({"metadata": metadata} if metadata else {})}
        return f"{index}?{urlencode({**fields, 'mode': mode, **options})}"
    if mode == "hybrid":
        return "+".join(located(engine, index, one, id=id, metadata=metadata, **options) for one in ("dense", "text"))
    file = Path(index.partition(":")[2])
    file = file.with_name(f"{file.stem}_{mode}_{id}_{metadata}.yaml")
    file.write_text(yaml.safe_dump(template_of(Path(index).stem, mode, id, metadata)), encoding="utf-8")
    return f"http+json:{file}?{urlencode(options)}"


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


def index_folder(kind, folder, documents):
    """Writes an index folder of a kind."""
    parts = [replace(d, text=f"{d.text}{part}") for d in documents for part in ("", " more")]
    if kind != "bm25":
        dense = folder / "dense" if kind == "hybrid" else folder
        build_dense_index(dense, documents, UnitEncoder(), passages=parts if kind == "split" else None)
    if kind in ("bm25", "hybrid"):
        build_bm25_index(folder / "bm25" if kind == "hybrid" else folder, documents)


def drop_rows(engine, index, numbers):
    """Deletes rows as another program does."""
    DROP[engine](index, numbers)


def template_of(name, mode, id="key", metadata="more"):
    """A template for a collection of :class:`SearchEngine`."""
    words = {"bool": {"must": {"match": {"body": "{text}"}}, "filter": "{filter}"}}
    nearest = {"knn": {"vec": "{vector}", "filter": "{filter}"}}
    source = "_source"
    prefix = f"{metadata}." if metadata else ""
    return {
        "url": search_engine().url.removesuffix("/v1"),
        "search": {"path": f"/{name}/_search", "body": {"size": "{k}", "query": nearest if mode == "dense" else words}},
        "batch": {"path": f"/{name}/_msearch", "lines": [{}, "{search}"], "answers": "responses"},
        "scores": "cosine" if mode == "dense" else "higher",
        "answer": {
            **{"hits": "hits.hits", "id": f"{source}.{id}", "score": "_score", "title": f"{source}.owner"},
            **{"text": f"{source}.body", "metadata": f"{source}.{metadata}" if metadata else source},
        },
        "filter": {
            "equals": {"term": {f"{prefix}{{field}}": "{value}"}},
            "at_least": {"range": {f"{prefix}{{field}}": {"gte": "{value}"}}},
            "at_most": {"range": {f"{prefix}{{field}}": {"lte": "{value}"}}},
            "any_of": {"bool": {"should": "{conditions}"}},
            "all_of": {"bool": {"filter": "{conditions}"}},
        },
        "documents": {
            "path": f"/{name}/_search",
            "body": {"size": 1000, "query": {"bool": {"must": {"terms": {id: "{ids}"}}, "filter": "{filter}"}}},
        },
    }


class SearchEngine(JsonServer):
    """A stand-in for Elasticsearch, with collections of rows; a term meets any value that is equal in Python."""

    def __init__(self):
        super().__init__()
        self.collections = {}

    def answer(self, path, body):
        name, _, action = path.removeprefix("/").partition("/")
        if name not in self.collections:
            return 404, {"error": "no such index"}
        self.asked.append(body)
        if action == "_msearch":
            return 200, {"responses": [self.search(name, one) for one in body[1::2]]}
        return 200, self.search(name, body)

    def search(self, name, body):
        rows = self.collections[name].values()
        scored = [(self.score(row, body["query"]), row) for row in rows]
        best = sorted((hit for hit in scored if hit[0]), key=lambda hit: -hit[0])[: body["size"]]
        shown = [{"_score": s, "_source": {n: v for n, v in row.items() if n != "vec"}} for s, row in best]
        return {"hits": {"hits": shown}}

    def score(self, row, query):
        """The score of a row; 0 if it does not match."""
        [(kind, asked)] = query.items()
        if kind == "knn":
            met = "filter" not in asked or self.score(row, asked["filter"])
            return float(np.dot(row["vec"], asked["vec"])) if met else 0
        if kind == "match":
            return len(set(re.findall(r"\w+", asked["body"])) & set(re.findall(r"\w+", row["body"])))
        if kind == "bool" and "should" in asked:
            return any(self.score(row, one) for one in asked["should"])
        if kind == "bool":
            filters = asked.get("filter", [])
            tests = filters if isinstance(filters, list) else [filters]
            met = all(self.score(row, one) for one in tests)
            return met and self.score(row, asked["must"]) if "must" in asked else met
        [(field, wanted)] = asked.items()
        value = row
        for part in field.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if kind == "range":
            [(sign, bound)] = wanted.items()
            same = isinstance(value, str) == isinstance(bound, str) and isinstance(value, (str, int, float))
            return same and (value >= bound if sign == "gte" else value <= bound)
        values = value if isinstance(value, list) else [value]
        return str(value) in wanted if kind == "terms" else wanted in values


@cache
def search_engine():
    """The engine of this process; it ends with it."""
    return SearchEngine().__enter__()


def _put_http_json(index, rows):
    collection = search_engine().collections.setdefault(Path(index).stem, {})
    collection.update({row["number"]: row for row in rows})


def _drop_http_json(index, numbers):
    for number in numbers:
        del search_engine().collections[Path(index).stem][number]


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


PUT = {"http+json": _put_http_json, "postgresql": _put_postgresql}
DROP = {"http+json": _drop_http_json, "postgresql": _drop_postgresql}
