"""Qdrant, as a server or as a folder that this process opens (qdrant-client's local mode)."""

from __future__ import annotations

import atexit
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from acqo_rl.api_keys import key_in
from acqo_rl.loopback import is_loopback
from acqo_rl.retrieval.engines.conditions import kind_of
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Fields, Hit, Row, Schema
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.retrieval.engines.rows import as_numbers, as_row, at
from acqo_rl.retrieval.http_calls import TEMPORARY
from acqo_rl.types import Condition, Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY_VARIABLE = "QDRANT_API_KEY"
"""Environment variable with the API key of a server."""

_NOTE = "acqo_rl"
_POINTS = uuid.UUID("0b6f4a0e-3c5b-5c0e-8a59-1f2d8f6f5d11")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAIN_NAME = re.compile(r"[\w-]+")
_DOT = re.compile(r"(?<=\S)\.(?=\S)")
"""The dot of a path, but not that of the name ``No.``."""

_PAGE = 1000
_SAMPLED = 100
_METRICS = {models.Distance.COSINE: COSINE, models.Distance.DOT: DOT}


class QdrantEngine:
    """A Qdrant collection; its metadata hold the note of our build."""

    errors = (ApiException, QdrantException, ValueError, RuntimeError, OSError)
    largest_k = 10_000

    def __init__(self, location: Location) -> None:
        self.fields = Fields()
        self._client = _server(location) if location.is_server else _folder(location.absolute().place)
        self._location = location
        self._name = location.collection
        self._is_own = True

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""
        if isinstance(error, UnexpectedResponse):
            return error.status_code in TEMPORARY
        if isinstance(error, ResponseHandlingException):
            return not isinstance(error.source, ValueError)  # of an answer that is not Qdrant's
        return isinstance(error, QdrantException)

    def schema(self) -> Schema | None:
        """What the collection is; ``None`` if there is no such collection."""
        if not self._client.collection_exists(self._name):
            return None
        info = self._client.get_collection(self._name)
        written = (info.config.metadata or {}).get(_NOTE)
        self._is_own = written is not None
        self.fields = self._location.fields(built_here=self._is_own)
        vectors = info.config.params.vectors or {}
        named: Mapping[str, models.VectorParams] = vectors if isinstance(vectors, Mapping) else {"": vectors}
        if not self.fields.vector and len(named) == 1:
            self.fields = replace(self.fields, vector=next(iter(named)))
        vector = named.get(self.fields.vector)
        some, _ = self._client.scroll(self._name, limit=_SAMPLED)
        return Schema(
            dimension=vector.size if vector else None,
            metric=_METRICS.get(vector.distance, vector.distance.value) if vector else "",
            count=self._client.count(self._name).count,
            has_words=self._has_words(info.payload_schema),
            note=json.loads(written) if written is not None else None,
            vector_fields=tuple(named),
            fields=tuple(dict.fromkeys(path for point in some for path in _paths(point.payload or {}))),
        )

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[list[Hit]]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""
        return self._search([row.tolist() for row in vectors], self.fields.vector or None, k, where)

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best by BM25, best first, by one call."""
        return self._search([models.TextQuery(text=text) for text in texts], _path(self.fields.words), k, where)

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields of the entries with the given ids, or of all, in any order."""
        tests = [test for condition in where for test in _tests(condition)]
        if doc_ids is not None:
            tests.append(self._with_ids(doc_ids))
        offset = None
        while True:
            points, offset = self._client.scroll(self._name, models.Filter(must=tests), limit=_PAGE, offset=offset)
            yield from ((self._id_of(point), point.payload or {}) for point in points)
            if offset is None:
                return

    def check(self, documents: Sequence[Document]) -> None:
        """Does nothing: Qdrant holds any document."""

    def create(self, dimension: int) -> None:
        """Creates the collection with vectors for the cosine and a full text index."""
        vectors = {self.fields.vector: models.VectorParams(size=dimension, distance=models.Distance.COSINE)}
        self._client.create_collection(self._name, vectors_config=vectors)
        scored = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True)
        self._client.create_payload_index(self._name, self.fields.words, scored)
        if self._location.is_server and self._location.tenant:
            by_tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            self._client.create_payload_index(self._name, self.fields.path_of(self._location.tenant), by_tenant)

    def write_note(self, note: dict[str, Any]) -> None:
        """Replaces the note of our build in the metadata of the collection."""
        self._client.update_collection(self._name, metadata={_NOTE: json.dumps(note)})

    def write(self, documents: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Adds documents, and replaces those of equal ids; float32[documents, dim]."""
        points = [
            models.PointStruct(
                id=_made_id(document.id), vector={self.fields.vector: vector.tolist()}, payload=as_row(document)
            )
            for document, vector in zip(documents, vectors, strict=True)
        ]
        self._client.upsert(self._name, points, wait=True)

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        self._client.delete(self._name, [_made_id(doc_id) for doc_id in doc_ids], wait=True)

    def finish(self) -> None:
        """Does nothing: Qdrant searches what was written at once."""

    def _search(self, queries: Sequence[Any], using: str | None, k: int, where: Filter) -> list[list[Hit]]:
        payload: Any = [_path(path) for path in (self.fields.id, *(condition.field for condition in where)) if path]
        tests = models.Filter(must=[test for condition in where for test in _tests(condition)])
        asked = [
            models.QueryRequest(query=query, using=using, limit=k, filter=tests, with_payload=payload or False)
            for query in queries
        ]
        found = self._client.query_batch_points(self._name, asked)
        return [
            [(self._id_of(point), point.score, point.payload or {}) for point in response.points] for response in found
        ]

    def _with_ids(self, doc_ids: Sequence[str]) -> models.Condition:
        if self._is_own:
            return models.HasIdCondition(has_id=[_made_id(doc_id) for doc_id in doc_ids])
        numbers = as_numbers(doc_ids)
        if not self.fields.id:  # a point has a number from 0, or a UUID
            uuids = [doc_id for doc_id in doc_ids if _UUID.fullmatch(doc_id)]
            return models.HasIdCondition(has_id=[*(number for number in numbers if number >= 0), *uuids])
        matches = [models.MatchAny(any=list(doc_ids)), models.MatchAny(any=numbers)]
        key = _path(self.fields.id)
        return models.Filter(should=[models.FieldCondition(key=key, match=match) for match in matches if match.any])

    def _id_of(self, point: models.Record | models.ScoredPoint) -> str | None:
        found = at(point.payload or {}, self.fields.id) if self.fields.id else point.id
        return None if found is None else str(found)

    def _has_words(self, indexes: Mapping[str, models.PayloadIndexInfo]) -> bool:
        if self._location.is_server:
            params = getattr(indexes.get(_path(self.fields.words)), "params", None)
            return bool(getattr(params, "scoring", None))
        try:  # only a search tells whether a folder has the index, and it takes a while
            return self._location.mode == "dense" or bool(self.search_texts(["word"], 1, ()))
        except (ValueError, NotImplementedError):  # no index, or one with a tokenization that the local mode lacks
            return False


def _made_id(doc_id: str) -> str:
    """The id of a point of our own build."""
    return str(uuid.uuid5(_POINTS, doc_id))


@cache
def _folder(folder: str) -> QdrantClient:
    """The client of a folder; one for all collections in it, because it locks the folder."""
    client = QdrantClient(path=folder, force_disable_check_same_thread=True)
    atexit.register(client.close)  # its destructor fails when the interpreter ends
    return client


def _server(location: Location) -> QdrantClient:
    url = f"{'https' if location.given.get('tls') == 'true' else 'http'}://{location.place}"
    return QdrantClient(
        url=url,
        api_key=key_in(KEY_VARIABLE),
        timeout=max(1, round(location.seconds)),
        check_compatibility=False,
        trust_env=not is_loopback(url),
    )


def _tests(condition: Condition) -> Iterator[models.Condition]:
    """The tests of a condition. A match of 1 does not find 1.0, and a range does not find large numbers exactly."""
    key, bounds = _path(condition.field), dict(condition.bounds)
    if condition.any_of:
        matches = [value for value in condition.any_of if not isinstance(value, float)]
        numbers: list[Any] = [value for value in condition.any_of if kind_of(value) == "number"]
        equal: list[models.Condition] = [
            *(models.FieldCondition(key=key, match=models.MatchValue(value=value)) for value in matches),
            *(models.FieldCondition(key=key, range=models.Range(gte=value, lte=value)) for value in numbers),
        ]
        yield models.Filter(should=equal)
    elif any(isinstance(bound, str) for bound in bounds.values()):
        days: dict[str, Any] = bounds
        yield models.FieldCondition(key=key, range=models.DatetimeRange(**days))
    else:
        between: dict[str, Any] = bounds
        yield models.FieldCondition(key=key, range=models.Range(**between))


def _paths(payload: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The paths of all fields, with those inside of objects."""
    for name, value in payload.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{name}.")


def _path(name: str) -> str:
    """The path of a payload field; names with other signs than letters, digits, ``_`` and ``-`` are quoted."""
    return ".".join(part if _PLAIN_NAME.fullmatch(part) else f'"{part}"' for part in _DOT.split(name))
