"""Qdrant, as a server or as a folder that this process opens (qdrant-client's local mode)."""

import atexit
import io
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse
from qdrant_client.local import persistence

from acqo_rl.language_models.http_clients import TEMPORARY, key_in, limited_transport
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Engine, Hit, Row, Schema
from acqo_rl.retrieval.engines.filters import as_numbers, at, kind_of
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.roles import Vectors
from acqo_rl.types import Condition, Filter

KEY_VARIABLE = "QDRANT_API_KEY"
"""Environment variable with the API key of a server."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_PAGE = 1000
_SAMPLED = 100
_METRICS = {models.Distance.COSINE: COSINE, models.Distance.DOT: DOT}


class _PointReader(pickle.Unpickler):
    """Reads a point of a folder, and refuses a pickle of anything else, which would run code."""

    def find_class(self, module: str, name: str) -> Any:
        """The class of a part of a point.

        Raises:
            ValueError: it is something else.
        """
        found = getattr(models, name, None)
        if module != models.PointStruct.__module__ or not isinstance(found, type):
            raise ValueError(f"the folder contains {module}.{name}, which is no part of a point, and may be malicious")
        return found


_reader: Any = persistence
# qdrant-client would run the code that the folder of somebody else contains
_reader.pickle = SimpleNamespace(
    dumps=_reader.pickle.dumps, loads=lambda content: _PointReader(io.BytesIO(content)).load()
)


class QdrantEngine(Engine):
    """A Qdrant collection."""

    errors = (ApiException, QdrantException, ValueError, RuntimeError, OSError)

    def __init__(self, location: Location) -> None:
        self._client = _server(location) if location.is_server else _folder(location.place)
        self._location = location
        self._name = location.collection

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
        vectors = self._client.get_collection(self._name).config.params.vectors or {}
        named: Mapping[str, models.VectorParams] = vectors if isinstance(vectors, Mapping) else {"": vectors}
        some, _ = self._client.scroll(self._name, limit=_SAMPLED)
        return Schema(
            count=self._client.count(self._name).count,
            vectors={n: (v.size, _METRICS.get(v.distance, v.distance.value)) for n, v in named.items()},
            key="",
            fields=list(dict.fromkeys(path for point in some for path in _paths(point.payload or {}))),
        )

    def has_words(self) -> bool:
        """Whether the field that full text searches has a full text index that ranks."""
        if self._location.is_server:
            index = self._client.get_collection(self._name).payload_schema.get(self.fields.text)
            return bool(getattr(index and index.params, "scoring", None))
        try:  # only a search tells whether a folder has the index
            return bool(self.search_texts(["word"], 1, ()))
        except (ValueError, NotImplementedError):  # no index, or one with a tokenization that the local mode lacks
            return False

    def search_vectors(self, vectors: Vectors, k: int, where: Filter) -> list[list[Hit]]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""
        return self._search([row.tolist() for row in vectors], self.fields.vector or None, k, where)

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best by BM25, best first, by one call."""
        return self._search([models.TextQuery(text=text) for text in texts], self.fields.text, k, where)

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields of the entries with the given ids, or of all, in any order."""
        tests = [*map(_test, where)]
        if doc_ids is not None:
            tests.append(self._with_ids(doc_ids))
        offset = None
        while True:
            points, offset = self._client.scroll(self._name, models.Filter(must=tests), limit=_PAGE, offset=offset)
            yield from ((self._id_of(point), point.payload or {}) for point in points)
            if offset is None:
                return

    def _search(self, queries: Sequence[Any], using: str | None, k: int, where: Filter) -> list[list[Hit]]:
        payload: Any = [path for path in (self.fields.id, *(condition.field for condition in where)) if path]
        tests = models.Filter(must=[*map(_test, where)])
        asked = [
            models.QueryRequest(query=query, using=using, limit=k, filter=tests, with_payload=payload or False)
            for query in queries
        ]
        found = self._client.query_batch_points(self._name, asked)
        return [
            [(self._id_of(point), point.score, point.payload or {}) for point in response.points] for response in found
        ]

    def _with_ids(self, doc_ids: Sequence[str]) -> models.Condition:
        numbers = as_numbers(doc_ids)
        if not self.fields.id:  # a point has a number from 0, or a UUID
            uuids = [doc_id for doc_id in doc_ids if _UUID.fullmatch(doc_id)]
            return models.HasIdCondition(has_id=[*(number for number in numbers if number >= 0), *uuids])
        matches = [models.MatchAny(any=list(doc_ids)), models.MatchAny(any=numbers)]
        return models.Filter(
            should=[models.FieldCondition(key=self.fields.id, match=match) for match in matches if match.any]
        )

    def _id_of(self, point: models.Record | models.ScoredPoint) -> str | None:
        found = at(point.payload or {}, self.fields.id) if self.fields.id else point.id
        return None if found is None else str(found)


@cache
def _folder(folder: str) -> QdrantClient:
    """The client of a folder; one for all collections in it, because it locks the folder."""
    client = QdrantClient(path=folder, force_disable_check_same_thread=True)
    atexit.register(client.close)  # its destructor fails when the interpreter ends
    return client


def _server(location: Location) -> QdrantClient:
    url = f"{'https' if location.options.tls else 'http'}://{location.place}"
    seconds = max(1, round(location.options.timeout))
    transport = limited_transport(url, location.shown, seconds)
    return QdrantClient(
        url=url, api_key=key_in(KEY_VARIABLE), timeout=seconds, check_compatibility=False, transport=transport
    )


def _test(condition: Condition) -> models.Condition:
    """The test of a condition. A match of 1 does not find 1.0, and a range does not find large numbers exactly."""
    key = condition.field
    if condition.bounds:
        bounds: dict[str, Any] = dict(condition.bounds)
        is_date = any(isinstance(bound, str) for bound in bounds.values())
        return models.FieldCondition(key=key, range=(models.DatetimeRange if is_date else models.Range)(**bounds))
    matches = [models.MatchValue(value=value) for value in condition.any_of if not isinstance(value, float)]
    numbers: list[Any] = [value for value in condition.any_of if kind_of(value) == "number"]
    equal: list[models.Condition] = [
        *(models.FieldCondition(key=key, match=match) for match in matches),
        *(models.FieldCondition(key=key, range=models.Range(gte=value, lte=value)) for value in numbers),
    ]
    return models.Filter(should=equal)


def _paths(payload: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The paths of all fields, with those inside of objects."""
    for name, value in payload.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{name}.")
