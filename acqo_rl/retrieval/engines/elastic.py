"""What Elasticsearch and OpenSearch share: one protocol, and clients with the same calls."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acqo_rl.errors import DataError, SearchError
from acqo_rl.retrieval.engines.conditions import Kind, fitting
from acqo_rl.retrieval.engines.engine import Hits, Schema
from acqo_rl.retrieval.engines.location import Fields, Location
from acqo_rl.retrieval.engines.rows import as_documents, as_numbers, as_row, at
from acqo_rl.types import Condition, Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTE = "acqo_rl"
_MOST_BYTES_OF_AN_ID = 512
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("long", "integer", "short", "byte", "unsigned_long"), "whole"),
    **dict.fromkeys(("double", "float", "half_float", "scaled_float"), "number"),
    **dict.fromkeys(("keyword", "constant_keyword", "wildcard", "text"), "text"),
    **dict.fromkeys(("date", "date_nanos"), "date"),
    "boolean": "truth",
}
_MOST_INDEXED = 8191
"""Characters of a text in the metadata that a filter can find; a text of more than 32,766 bytes would be refused."""

_AS_KEYWORDS = {
    "match_mapping_type": "string",
    "path_match": "metadata.*",
    "mapping": {"type": "keyword", "ignore_above": _MOST_INDEXED},
}


class ElasticEngine(ABC):
    """An index; the field ``_meta`` of its mapping holds the note of our build.

    Attributes:
        errors: exceptions of the client.
        vector_type: mapping type of vectors.
    """

    errors: tuple[type[Exception], ...]
    largest_k = 10_000
    vector_type: str

    def __init__(self, location: Location) -> None:
        self._location = location
        self._name = location.collection
        self._fields = Fields()
        self._types: dict[str, str] = {}
        scheme = "https" if location.given.get("tls") == "true" else "http"
        credentials, _, host = location.place.rpartition("@")
        login = tuple(credentials.split(":", 1)) if credentials else None
        self._client = self.connect(f"{scheme}://{host}", login, location.seconds)

    @abstractmethod
    def connect(self, url: str, login: tuple[str, ...] | None, seconds: float) -> Any:
        """The client of a server."""

    @staticmethod
    @abstractmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""

    @abstractmethod
    def helpers(self) -> Any:
        """The module of the client with ``bulk`` and ``scan``."""

    @abstractmethod
    def mapping_of_vectors(self, dimension: int) -> dict[str, Any]:
        """The mapping of vectors that are compared by their cosine."""

    @abstractmethod
    def vector_query(self, vector: list[float], k: int, conditions: list[dict[str, Any]]) -> dict[str, Any]:
        """The body of the search of one vector."""

    @abstractmethod
    def dimension_and_metric(self, mapping: dict[str, Any]) -> tuple[int, str]:
        """Dimension and metric of a vector field."""

    def schema(self) -> Schema | None:
        """What the index is; ``None`` if there is no such index."""
        if not self._client.indices.exists(index=self._name):
            return None
        described = next(iter(dict(self._client.indices.get_mapping(index=self._name)).values()))["mappings"]
        written = described.get("_meta", {}).get(_NOTE)
        properties: dict[str, Any] = described.get("properties", {})
        mappings = dict(_mappings(properties))
        self._types = {name: mapping.get("type", "object") for name, mapping in mappings.items()}
        vectors = [name for name, kind in self._types.items() if kind == self.vector_type]
        self._fields = self._location.fields(built_here=written is not None)
        if not self._fields.vector and len(vectors) == 1:
            self._fields = replace(self._fields, vector=vectors[0])
        is_there = self._fields.vector in vectors
        found = self.dimension_and_metric(mappings[self._fields.vector]) if is_there else (None, "")
        return Schema(
            dimension=found[0],
            metric=found[1],
            count=self._client.count(index=self._name)["count"],
            has_words=self._types.get(self._fields.words) == "text",
            note=json.loads(written) if written is not None else None,
            vector_fields=tuple(vectors),
            fields=tuple(self._types) if described.get("dynamic", "true") in (True, "true", "strict") else (),
        )

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[Hits]:
        """The nearest documents of each row, best first, by one ``_msearch``; float32[texts, dim]."""
        if (conditions := self._conditions(where)) is None:
            return [[] for _ in vectors]
        found = self._search([self.vector_query(row.tolist(), k, conditions) for row in vectors], k)
        return [[(doc_id, 2 * score - 1) for doc_id, score in hits] for hits in found]  # (1 + cosine) / 2

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[Hits]:
        """The documents that match each text best by BM25, best first, by one ``_msearch``."""
        if (conditions := self._conditions(where)) is None:
            return [[] for _ in texts]
        words = self._fields.words
        return self._search(
            [{"query": {"bool": {"must": [{"match": {words: text}}], "filter": conditions}}} for text in texts], k
        )

    def documents(self, doc_ids: Sequence[str]) -> list[Document]:
        """Those of the documents that exist, in any order."""
        if self._has_own_ids():
            rows = self._client.mget(index=self._name, body={"ids": list(doc_ids)})["docs"]
            return list(self._documents(row for row in rows if row.get("found")))
        is_number = _KINDS.get(self._types.get(self._fields.id, "")) == "whole"
        wanted = as_numbers(doc_ids) if is_number else list(doc_ids)
        query = {"query": {"terms": {self._exact(self._fields.id): wanted}}, "size": self.largest_k}
        return list(self._documents(self._client.search(index=self._name, body=query)["hits"]["hits"]))

    def scan(self) -> Iterator[Document]:
        """All documents, in any order."""
        self._client.indices.refresh(index=self._name)
        rows = self.helpers().scan(self._client, index=self._name, query={"query": {"match_all": {}}})
        return self._documents(rows)

    def check(self, documents: Sequence[Document]) -> None:
        """Refuses documents that the engine cannot hold.

        Raises:
            DataError: an id is empty or too long.
        """
        for document in documents:
            if not 0 < (size := len(document.id.encode())) <= _MOST_BYTES_OF_AN_ID:
                raise DataError(
                    f"The document id {document.id[:80]!r} has {size:,} bytes; the engine holds ids of 1 to"
                    f" {_MOST_BYTES_OF_AN_ID}. Give the document another id."
                )

    def create(self, dimension: int) -> None:
        """Creates the index with vectors for the cosine and full text."""
        self._fields = fields = Fields()
        properties = {
            fields.id: {"type": "keyword"},
            fields.title: {"type": "text", "index": False},
            fields.text: {"type": "text", "index": False},
            fields.words: {"type": "text"},
            fields.metadata: {"type": "object"},
            fields.vector: self.mapping_of_vectors(dimension),
        }
        templates = [{"metadata": _AS_KEYWORDS}]
        mappings = {"properties": properties, "dynamic_templates": templates, "date_detection": False}
        self._client.indices.create(index=self._name, body={**self.settings(), "mappings": mappings})

    def settings(self) -> dict[str, Any]:
        """Settings of a new index."""
        return {}

    def write_note(self, note: dict[str, Any]) -> None:
        """Replaces the note of our build in the mapping."""
        self._client.indices.put_mapping(index=self._name, body={"_meta": {_NOTE: json.dumps(note)}})

    def write(self, documents: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Adds documents, and replaces those of equal ids; float32[documents, dim]."""
        rows = ({**as_row(d), self._fields.vector: v.tolist()} for d, v in zip(documents, vectors, strict=True))
        actions = ({"_index": self._name, "_id": row[self._fields.id], "_source": row} for row in rows)
        self.helpers().bulk(self._client, actions)

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        actions = ({"_op_type": "delete", "_index": self._name, "_id": doc_id} for doc_id in doc_ids)
        self.helpers().bulk(self._client, actions, ignore_status=404)

    def finish(self) -> None:
        """Makes everything that was written searchable."""
        self._client.indices.refresh(index=self._name)

    def _search(self, queries: list[dict[str, Any]], k: int) -> list[Hits]:
        source = [] if self._has_own_ids() else [self._fields.id]
        lines: list[dict[str, Any]] = []
        for query in queries:
            lines += [{}, {**query, "size": k, "_source": source}]
        found: list[Hits] = []
        answers = self._client.msearch(index=self._name, body=lines)["responses"]
        for _, answer in zip(queries, answers, strict=True):
            if "error" in answer:
                reason = json.dumps(answer["error"])[:300]
                raise SearchError(
                    f"{self._location.shown} refused a search ({reason}); check the filter and the fields."
                )
            if answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
                raise SearchError(
                    f"{self._location.shown} searched only a part of its documents, because of a time-out or a failed"
                    " shard; check the state of the index."
                )
            found.append([(self._id_of(hit), hit["_score"]) for hit in answer["hits"]["hits"]])
        return found

    def _conditions(self, where: Filter) -> list[dict[str, Any]] | None:
        """The filters of a search; ``None`` if no document can meet all of them."""
        fitted = fitting(where, lambda name: _KINDS.get(self._types.get(self._fields.path_of(name), ""), "any"))
        return None if fitted is None else [part for condition in fitted for part in self._parts(condition)]

    def _parts(self, condition: Condition) -> Iterator[dict[str, Any]]:
        field = self._exact(self._fields.path_of(condition.field))
        if condition.any_of:
            yield {"terms": {field: list(condition.any_of)}}
        if condition.bounds:
            yield {"range": {field: dict(condition.bounds)}}

    def _exact(self, field: str) -> str:
        """The field whose values are not split into words: of a text often a second one of the type ``keyword``."""
        return f"{field}.keyword" if self._types.get(f"{field}.keyword") == "keyword" else field

    def _has_own_ids(self) -> bool:
        return not self._fields.id or self._fields == Fields()

    def _id_of(self, row: dict[str, Any]) -> str | None:
        found = row["_id"] if self._has_own_ids() else at(row["_source"], self._fields.id)
        return None if found is None else str(found)

    def _documents(self, rows: Iterable[dict[str, Any]]) -> Iterator[Document]:
        own = self._fields
        for row in rows:
            nested = {name: at(row["_source"], name) for name in (own.title, own.text) if "." in name}
            yield from as_documents([(self._id_of(row), {**row["_source"], **nested})], own)


def _mappings(properties: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and mapping of the fields of a mapping, with those inside of objects, and second ones of the same value."""
    for name, mapping in properties.items():
        yield f"{prefix}{name}", mapping
        yield from _mappings({**mapping.get("properties", {}), **mapping.get("fields", {})}, f"{prefix}{name}.")
