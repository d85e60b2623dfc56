"""Milvus, as a server or as a file that this process opens (Milvus Lite)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import grpc
from pymilvus import DataType, FunctionType, MilvusClient
from pymilvus.client.types import Status
from pymilvus.exceptions import ConnectionConfigException, MilvusException

from acqo_rl.api_keys import key_in
from acqo_rl.retrieval.engines.conditions import SIGNS, fitting
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Engine, Hit, Row, Schema
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.retrieval.engines.rows import as_numbers
from acqo_rl.types import Condition, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOKEN_VARIABLE = "MILVUS_TOKEN"
"""Environment variable with the token of a server, or ``USER:PASSWORD``."""

_PAGE = 1000
_SAMPLED = 100
_METRICS = {"COSINE": COSINE, "IP": DOT}
_EFFORTS = {"AUTOINDEX": "ef", "HNSW": "ef", "IVF": "nprobe", "GPU_IVF": "nprobe", "SCANN": "nprobe"}
"""First letters of the name of an index -> parameter of a search: the number of candidates, or of lists to look into.

With its default, a search misses documents, most of all those that are rare among all that are filtered.
"""

_LEAST_EFFORT, _MOST_EFFORT = 100, 32_768
"""Bounds of these parameters; the upper one is Milvus's own for ``ef``."""

_WHOLE_NUMBERS = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64)
_KINDS = {
    **dict.fromkeys((*_WHOLE_NUMBERS, DataType.FLOAT, DataType.DOUBLE), "number"),
    DataType.BOOL: "truth",
    DataType.VARCHAR: "text",
}
_TEMPORARY = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    Status.CONNECT_FAILED,
)
_LOADING_SECONDS = 3600.0
"""Time limit of loading a collection. Milvus Lite reads all of a file, and makes indexes, during the first call."""

_BY_KEY = {"iterator": "True", "reduce_stop_for_best": "True"}
"""Options of a query whose limited answer is in the order of the primary keys."""

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs stacks of errors that are reported anyway


class MilvusEngine(Engine):
    """A Milvus collection."""

    errors = (MilvusException, grpc.RpcError, ValueError, RuntimeError, OSError)
    largest_k = 16_384

    def __init__(self, location: Location) -> None:
        self._client = _server(location) if location.is_server else of_file(location.place)
        self._name = location.collection
        self._seconds = location.options.timeout
        self._opening_seconds = self._seconds if location.is_server else _LOADING_SECONDS
        self._key = self._sparse = ""
        self._indexes: dict[str, dict[str, Any]] = {}
        self._types: dict[str, DataType] = {}
        self._elements: dict[str, DataType] = {}
        self._is_dynamic = False

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""
        if isinstance(error, grpc.RpcError):
            return getattr(error, "code", lambda: None)() in _TEMPORARY
        return isinstance(error, MilvusException) and (error.retriable or error.code in _TEMPORARY)

    def schema(self) -> Schema | None:
        """What the collection is; ``None`` if there is no such collection."""
        if not self._client.has_collection(self._name, timeout=self._opening_seconds):
            return None
        described = self._client.describe_collection(self._name, timeout=self._seconds)
        self._types = {f["name"]: f["type"] for f in described["fields"]}
        self._elements = {f["name"]: f["element_type"] for f in described["fields"] if f["type"] == DataType.ARRAY}
        self._is_dynamic = bool(described.get("enable_dynamic_field"))
        self._key = next(f["name"] for f in described["fields"] if f.get("is_primary"))
        vectors = {f["name"]: f["params"]["dim"] for f in described["fields"] if f["type"] == DataType.FLOAT_VECTOR}
        words = [f["output_field_names"][0] for f in described.get("functions", []) if f["type"] == FunctionType.BM25]
        self._sparse = words[0] if words else ""
        self._indexes = {
            name: self._client.describe_index(self._name, index, timeout=self._seconds) or {}
            for name, kind in self._types.items()
            if _is_vector(kind)
            for index in self._client.list_indexes(self._name, field_name=name)[:1]
        }
        self._client.load_collection(self._name, timeout=_LOADING_SECONDS)
        sampled: dict[str, Any] = {"filter": "", "limit": _SAMPLED, "output_fields": ["*"], "timeout": self._seconds}
        some = self._client.query(self._name, **sampled) if self._is_dynamic else []
        metrics = {name: str(self._indexes[name]["metric_type"]) for name in vectors}
        return Schema(
            count=self._client.query(self._name, output_fields=["count(*)"], timeout=self._seconds)[0]["count(*)"],
            vectors={name: (dim, _METRICS.get(metrics[name], metrics[name])) for name, dim in vectors.items()},
            key=self._key,
            fields=list(dict.fromkeys([*self._types, *(name for row in some for name in row)])),
        )

    def has_words(self) -> bool:
        """Whether the collection has a function that makes vectors of words."""
        return bool(self._sparse)

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[list[Hit]]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""
        return self._search(list(vectors), self.fields.vector, k, where)

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best by BM25, best first, by one call."""
        found = self._search(list(texts), self._sparse, k, where)
        return [[(doc_id, abs(score), row) for doc_id, score, row in hits] for hits in found]  # Lite negates scores

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields, without vectors, of the entries with the given ids, or of all, in any order."""
        own, key = self.fields, self._key
        names = [n for n in (key, own.id, own.title, own.text, own.metadata) if self._is_dynamic or n in self._types]
        asked: dict[str, Any] = {"output_fields": list(dict.fromkeys(names)) if own.metadata else ["*"], "limit": _PAGE}
        tests = [self._test(condition) for condition in where]
        if doc_ids is not None:
            tests.append(f"({self._with_ids(doc_ids)})")
        page: list[dict[str, Any]] = []
        while True:  # as QueryIterator, which does not quote the key
            after = [f"{key} > {_quoted(page[-1][key])}"] if page else []
            page = self._client.query(
                self._name, timeout=self._seconds, filter=" and ".join([*after, *tests]), **asked, **_BY_KEY
            )
            yield from map(self._row, page)
            if len(page) < _PAGE:
                return

    def _search(self, data: list[Any], field: str, k: int, where: Filter) -> list[list[Hit]]:
        index = self._indexes.get(field, {})
        effort = next((e for first, e in _EFFORTS.items() if str(index.get("index_type", "")).startswith(first)), "")
        wanted = _MOST_EFFORT if where else max(2 * k, _LEAST_EFFORT)  # entries that do not meet a filter count too
        params = {"params": {effort: min(wanted, int(index.get("nlist", _MOST_EFFORT)))}} if effort else {}
        found = self._client.search(
            self._name,
            timeout=self._seconds,
            data=data,
            anns_field=field,
            limit=k,
            filter=" and ".join(map(self._test, where)),
            output_fields=[self.fields.id, *(condition.field.partition(".")[0] for condition in where)],
            search_params=params,
        )
        rows = [[(hit["distance"], *self._row({**hit, **hit["entity"]})) for hit in hits] for hits in found]
        return [[(doc_id, float(score), row) for score, doc_id, row in some] for some in rows]

    def _row(self, row: dict[str, Any]) -> tuple[str | None, Row]:
        doc_id = row.get(self.fields.id)
        shown = {name: value for name, value in row.items() if not _is_vector(self._types.get(name))}
        return None if doc_id is None else str(doc_id), shown

    def _test(self, condition: Condition) -> str:
        """The test of a condition, by the type of its field; JSON has fields of any type."""
        first, *keys = condition.field.split(".")
        kind = self._types.get(first, DataType.JSON if self._is_dynamic else None)
        field = self._named(first) + "".join(f"[{_quoted(key)}]" for key in keys)
        is_json = kind == DataType.JSON
        element = self._elements.get(first, kind)
        fitted = condition if is_json else fitting(condition, None if keys else _KINDS.get(element))
        if fitted is None or (element != kind and fitted.bounds):
            return "false"
        bounds = [f"{field} {SIGNS[sign]} {_quoted(bound)}" for sign, bound in fitted.bounds]
        equal = [f"{field} == {_quoted(value)}" for value in fitted.any_of]
        values = ", ".join(map(_quoted, fitted.any_of))
        if element != kind:
            return f"array_contains_any({field}, [{values}])"
        if is_json and equal and not field.startswith("$"):
            equal.append(f"json_contains_any({field}, [{values}])")
        return f"({' or '.join(equal)})" if equal else " and ".join(bounds)

    def _with_ids(self, doc_ids: Sequence[str]) -> str:
        values = as_numbers(doc_ids) if self._types.get(self.fields.id) in _WHOLE_NUMBERS else list(doc_ids)
        return f"{self.fields.id} in {_quoted(values)}"

    def _named(self, name: str) -> str:
        """The name of a field in an expression; such as ``a-b``, as a key of the dynamic fields."""
        return name if name in self._types or name.isidentifier() else f"$meta[{_quoted(name)}]"


@cache
def of_file(path: str) -> MilvusClient:
    """The client of a file; one for all collections in it, because it locks the file."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    try:
        return MilvusClient(path)
    except ConnectionConfigException as error:  # Milvus Lite only logs the reason
        raise RuntimeError(f"{error.message}; another process may have the file open") from error


def _server(location: Location) -> MilvusClient:
    tls = "https" if location.options.tls else "http"
    credentials, _, host = location.place.rpartition("@")
    token = unquote(credentials) or key_in(TOKEN_VARIABLE) or ""
    return MilvusClient(f"{tls}://{host}", token=token, timeout=location.options.timeout)


def _is_vector(kind: DataType | None) -> bool:
    return kind is not None and kind.name.endswith("_VECTOR")


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
