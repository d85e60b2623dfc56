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
from acqo_rl.retrieval.engines.conditions import in_utc
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Hits, Schema, norms_of
from acqo_rl.retrieval.engines.location import Fields, Location
from acqo_rl.retrieval.engines.rows import as_documents, as_numbers, as_row, at
from acqo_rl.retrieval.http_calls import TEMPORARY
from acqo_rl.types import Condition, Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY_VARIABLE = "QDRANT_API_KEY"
"""Environment variable with the API key of a server."""

_NOTE = "acqo_rl"
_POINTS = uuid.UUID("0b6f4a0e-3c5b-5c0e-8a59-1f2d8f6f5d11")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAIN_NAME = re.compile(r"[\w-]+")
_DOT = re.compile(r"(?<=\S)\.(?=\S)")
"""The dot of a path, but not that of the name ``No.``."""

_LARGEST = 2**53
"""The largest number up to which a range is exact."""

_PAGE = 1000
_SAMPLED = 100
_METRICS = {models.Distance.COSINE: COSINE, models.Distance.DOT: DOT}


class QdrantEngine:
    """A Qdrant collection; its metadata hold the note of our build."""

    errors = (ApiException, QdrantException, ValueError, RuntimeError, OSError)
    largest_k = 10_000

    def __init__(self, location: Location) -> None:
        self._client = _server(location) if location.is_server else _folder(location.absolute().place)
        self._location = location
        self._name = location.collection
        self._fields = Fields()

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
        self._fields = self._location.fields(built_here=written is not None)
        vectors = info.config.params.vectors or {}
        named: Mapping[str, models.VectorParams] = vectors if isinstance(vectors, Mapping) else {"": vectors}
        if not self._fields.vector and len(named) == 1:
            self._fields = replace(self._fields, vector=next(iter(named)))
        vector = named.get(self._fields.vector)
        return Schema(
            dimension=vector.size if vector else None,
            metric=_METRICS.get(vector.distance, vector.distance.value) if vector else "",
            count=self._client.count(self._name).count,
            has_words=self._has_words(info.payload_schema),
            norms=norms_of(self._some_vectors()) if vector and vector.distance == models.Distance.DOT else (),
            note=json.loads(written) if written is not None else None,
            vector_fields=tuple(named),
            fields=self._field_names() if written is None else (),
        )

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[Hits]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""
        return self._search([row.tolist() for row in vectors], self._fields.vector or None, k, where)

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[Hits]:
        """The entries that match each text best by BM25, best first, by one call."""
        return self._search([models.TextQuery(text=text) for text in texts], _path(self._fields.words), k, where)

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The documents that meet the conditions, in any order: those with the given ids, or all of them."""
        conditions = [one for condition in where for one in _condition(condition, self._fields)]
        if doc_ids is not None:
            conditions.append(self._with_ids(doc_ids))
        offset = None
        while True:
            points, offset = self._client.scroll(self._name, models.Filter(must=conditions), limit=_PAGE, offset=offset)
            yield from as_documents(map(self._read, points), self._fields)
            if offset is None:
                return

    def check(self, documents: Sequence[Document]) -> None:
        """Does nothing: Qdrant holds any document."""

    def create(self, dimension: int) -> None:
        """Creates the collection with vectors for the cosine and a full text index."""
        self._fields = Fields()
        vectors = {self._fields.vector: models.VectorParams(size=dimension, distance=models.Distance.COSINE)}
        self._client.create_collection(self._name, vectors_config=vectors)
        scored = models.TextIndexParams(type=models.TextIndexType.TEXT, scoring=True)
        self._client.create_payload_index(self._name, self._fields.words, scored)
        if self._location.is_server and self._location.tenant:
            by_tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            self._client.create_payload_index(self._name, self._fields.path_of(self._location.tenant), by_tenant)

    def write_note(self, note: dict[str, Any]) -> None:
        """Replaces the note of our build in the metadata of the collection."""
        self._client.update_collection(self._name, metadata={_NOTE: json.dumps(note)})

    def write(self, documents: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Adds documents, and replaces those of equal ids; float32[documents, dim]."""
        points = [
            models.PointStruct(
                id=_made_id(document.id), vector={self._fields.vector: vector.tolist()}, payload=as_row(document)
            )
            for document, vector in zip(documents, vectors, strict=True)
        ]
        self._client.upsert(self._name, points, wait=True)

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        self._client.delete(self._name, self._points(doc_ids), wait=True)

    def finish(self) -> None:
        """Does nothing: Qdrant searches what was written at once."""

    def _search(self, queries: Sequence[Any], using: str | None, k: int, where: Filter) -> list[Hits]:
        payload: Any = [_path(self._fields.id)] if self._fields.id else False
        conditions = _conditions(where, self._fields)
        asked = [
            models.QueryRequest(query=query, using=using, limit=k, filter=conditions, with_payload=payload)
            for query in queries
        ]
        found = self._client.query_batch_points(self._name, asked)
        return [[(self._id_of(point), point.score) for point in response.points] for response in found]

    def _with_ids(self, doc_ids: Sequence[str]) -> models.Condition:
        if not self._fields.id or self._fields == Fields():
            return models.HasIdCondition(has_id=self._points(doc_ids))
        matches = [models.MatchAny(any=list(doc_ids)), models.MatchAny(any=as_numbers(doc_ids))]
        key = _path(self._fields.id)
        return models.Filter(should=[models.FieldCondition(key=key, match=match) for match in matches if match.any])

    def _some_vectors(self) -> list[Any]:
        name = self._fields.vector
        points, _ = self._client.scroll(
            self._name, limit=_SAMPLED, with_payload=False, with_vectors=[name] if name else True
        )
        vectors = [point.vector.get(name) if isinstance(point.vector, dict) else point.vector for point in points]
        return [vector for vector in vectors if vector is not None]

    def _field_names(self) -> tuple[str, ...]:
        """The fields of some points, and the given ones that any point has."""
        some, _ = self._client.scroll(self._name, limit=_SAMPLED)
        names = dict.fromkeys(name for point in some for name in point.payload or {})
        for name in self._location.named_fields(self._fields).values():
            has_none = models.IsEmptyCondition(is_empty=models.PayloadField(key=_path(name)))
            if self._client.scroll(self._name, models.Filter(must_not=[has_none]), limit=1)[0]:
                names[name] = None
        return tuple(names)

    def _read(self, point: models.Record) -> tuple[object, dict[str, Any]]:
        payload = point.payload or {}
        nested = {name: at(payload, name) for name in (self._fields.title, self._fields.text) if "." in name}
        return self._id_of(point), {**payload, **nested}

    def _id_of(self, point: models.Record | models.ScoredPoint) -> str | None:
        found = at(point.payload or {}, self._fields.id) if self._fields.id else point.id
        return None if found is None else str(found)

    def _point_id(self, doc_id: str) -> int | str | None:
        """The id of a document's point; ``None`` if no point can have it: those of others are numbers or UUIDs."""
        if self._fields.id:
            return _made_id(doc_id)
        if _NUMBER.fullmatch(doc_id):
            return int(doc_id)
        return doc_id if _UUID.fullmatch(doc_id) else None

    def _points(self, doc_ids: Sequence[str]) -> Any:
        return [point for doc_id in doc_ids if (point := self._point_id(doc_id)) is not None]

    def _has_words(self, indexes: Mapping[str, models.PayloadIndexInfo]) -> bool:
        if self._location.is_server:
            params = getattr(indexes.get(_path(self._fields.words)), "params", None)
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
    tls = location.given.get("tls") == "true"
    url = f"{'https' if tls else 'http'}://{location.place}"
    return QdrantClient(
        url=url,
        api_key=key_in(KEY_VARIABLE),
        timeout=max(1, round(location.seconds)),
        check_compatibility=False,
        trust_env=not is_loopback(url),
    )


def _conditions(where: Filter, fields: Fields) -> models.Filter | None:
    if not where:
        return None
    return models.Filter(must=[one for condition in where for one in _condition(condition, fields)])


def _condition(condition: Condition, fields: Fields) -> Iterator[models.Condition]:
    key = _path(fields.path_of(condition.field))
    if condition.any_of:
        matches: list[models.Condition] = [one for value in condition.any_of for one in _equal(key, value)]
        yield models.Filter(should=matches)
    if condition.bounds:
        is_date = any(isinstance(value, str) for _, value in condition.bounds)
        bounds: dict[str, Any] = {n: in_utc(str(value)) if is_date else value for n, value in condition.bounds}
        between = models.DatetimeRange(**bounds) if is_date else models.Range(**bounds)
        yield models.FieldCondition(key=key, range=between)


def _equal(key: str, value: str | int | float | bool) -> Iterator[models.FieldCondition]:
    """Equality; a match finds whole numbers but not 1.0, and a range finds both up to 2**53."""
    if not isinstance(value, float):
        yield models.FieldCondition(key=key, match=models.MatchValue(value=value))
    if isinstance(value, float) or (not isinstance(value, (bool, str)) and abs(value) <= _LARGEST):
        yield models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))


def _path(name: str) -> str:
    """The path of a payload field; names with other signs than letters, digits, ``_`` and ``-`` are quoted."""
    return ".".join(part if _PLAIN_NAME.fullmatch(part) else f'"{part}"' for part in _DOT.split(name))
