"""Milvus, as a server or as a file that this process opens (Milvus Lite)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import grpc
from pymilvus import DataType, Function, FunctionType, MilvusClient
from pymilvus.client.types import Status
from pymilvus.exceptions import MilvusException

from acqo_rl.errors import DataError, IndexMismatchError
from acqo_rl.retrieval.engines.conditions import SIGNS, Kind, fitting, holds, in_utc
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Hits, Schema, norms_of
from acqo_rl.retrieval.engines.location import Fields, Location
from acqo_rl.retrieval.engines.milvus_clients import of_file, of_server
from acqo_rl.retrieval.engines.rows import as_documents, as_numbers, as_row, at
from acqo_rl.types import Condition, Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTE = "acqo_rl"
_SPARSE = "passage_bm25"
_MOST_BYTES = 65_535
_LEAST, _MOST = -(2**63), 2**64 - 1
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
_VECTORS = (
    DataType.BINARY_VECTOR,
    DataType.FLOAT_VECTOR,
    DataType.FLOAT16_VECTOR,
    DataType.BFLOAT16_VECTOR,
    DataType.SPARSE_FLOAT_VECTOR,
    DataType.INT8_VECTOR,
)
_KINDS: dict[DataType, Kind] = {
    **dict.fromkeys(_WHOLE_NUMBERS, "whole"),
    DataType.FLOAT: "single",
    DataType.DOUBLE: "number",
    DataType.BOOL: "truth",
    DataType.VARCHAR: "text",
    DataType.TIMESTAMPTZ: "date",
    DataType.JSON: "any",
}
_TEMPORARY = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    Status.CONNECT_FAILED,
)
_LOADING_SECONDS = 3600.0
"""Time limit of loading a collection. Milvus Lite reads all of a file, and makes indexes, during the first call."""

_NOT_LOADED = 101
"""Milvus's own code of the error of a collection that is not in memory."""


class MilvusEngine:
    """A Milvus collection; its properties hold the note of our build."""

    errors = (MilvusException, grpc.RpcError, ValueError, RuntimeError, OSError)
    largest_k = 16_384

    def __init__(self, location: Location) -> None:
        self._client = of_server(location) if location.is_server else of_file(location.absolute().place)
        self._location = location
        self._name = location.collection
        self._seconds = location.seconds
        self._fields = Fields()
        self._sparse = _SPARSE
        self._effort = ""
        self._most_effort = _MOST_EFFORT
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
        opening_seconds = self._seconds if self._location.is_server else _LOADING_SECONDS
        if not self._client.has_collection(self._name, timeout=opening_seconds):
            return None
        described = self._client.describe_collection(self._name, timeout=self._seconds)
        written = (described.get("properties") or {}).get(_NOTE)
        self._types = {f["name"]: f["type"] for f in described["fields"]}
        self._elements = {f["name"]: f["element_type"] for f in described["fields"] if f["type"] == DataType.ARRAY}
        self._is_dynamic = bool(described.get("enable_dynamic_field"))
        vectors = {f["name"]: f["params"]["dim"] for f in described["fields"] if f["type"] == DataType.FLOAT_VECTOR}
        self._fields = self._location.fields(built_here=written is not None)
        key = next(f["name"] for f in described["fields"] if f.get("is_primary"))
        self._fields = replace(
            self._fields,
            id=self._fields.id or key,
            vector=self._fields.vector or (next(iter(vectors)) if len(vectors) == 1 else ""),
        )
        words = [f["output_field_names"][0] for f in described.get("functions", []) if f["type"] == FunctionType.BM25]
        self._sparse = words[0] if words else ""
        self._check_indexes()
        self._client.load_collection(self._name, timeout=_LOADING_SECONDS)
        index = self._vector_index() if self._fields.vector in vectors else {}
        index_type = str(index.get("index_type", ""))
        self._effort = next((effort for first, effort in _EFFORTS.items() if index_type.startswith(first)), "")
        self._most_effort = min(int(index.get("nlist", _MOST_EFFORT)), _MOST_EFFORT)
        metric = str(index.get("metric_type", ""))
        return Schema(
            dimension=vectors.get(self._fields.vector),
            metric=_METRICS.get(metric, metric),
            norms=norms_of(self._some_vectors()) if metric == "IP" else (),
            count=self._client.query(self._name, output_fields=["count(*)"], timeout=self._seconds)[0]["count(*)"],
            has_words=bool(words),
            note=json.loads(written) if written is not None else None,
            id_field=self._fields.id,
            vector_fields=tuple(vectors),
            fields=self._field_names(),
        )

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[Hits]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""
        return self._search(list(vectors), self._fields.vector, k, where)

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[Hits]:
        """The entries that match each text best by BM25, best first, by one call."""
        found = self._search(list(texts), self._sparse, k, where)
        return [[(doc_id, abs(score)) for doc_id, score in hits] for hits in found]  # Milvus Lite negates the scores

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The documents that meet the conditions, in any order: those with the given ids, or all of them."""
        if (fitted := fitting(where, self._kind)) is None:
            return
        ids = [f"({self._ids(doc_ids)})"] if doc_ids is not None else []
        asked: dict[str, Any] = {
            "filter": " and ".join([*ids, *(test for condition in fitted for test in self._tests(condition))]),
            "output_fields": self._output_fields(),
        }
        if doc_ids is not None:  # the iterator does not quote ids
            rows = self._loaded(self._client.query, **asked)
            yield from self._documents(row for row in rows if self._is_met(fitted, row))
            return
        pages = self._loaded(self._client.query_iterator, batch_size=_PAGE, **asked)
        try:
            while rows := pages.next():
                yield from self._documents(row for row in rows if self._is_met(fitted, row))
        finally:
            pages.close()

    def check(self, documents: Sequence[Document]) -> None:
        """Refuses documents that Milvus cannot hold.

        Raises:
            DataError: a text is longer, or a whole number larger, than Milvus can hold.
        """
        for document in documents:
            row = as_row(document)
            texts = (document.id, row[Fields().words], json.dumps(row[Fields().metadata], ensure_ascii=False))
            if (size := max(len(text.encode()) for text in texts)) > _MOST_BYTES:
                raise DataError(
                    f"A field of the document {document.id[:80]!r} has {size:,} bytes; Milvus holds at most"
                    f" {_MOST_BYTES:,}. Split it."
                )
            if large := [number for number in _whole_numbers(row[Fields().metadata]) if not _LEAST <= number <= _MOST]:
                raise DataError(
                    f"The metadata of the document {document.id[:80]!r} have the number {large[0]}; Milvus holds whole"
                    " numbers of 64 bits. Write it as a text."
                )

    def create(self, dimension: int) -> None:
        """Creates the collection with vectors for the cosine and a full text index."""
        self._fields, self._sparse = Fields(), _SPARSE
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field(self._fields.id, DataType.VARCHAR, max_length=_MOST_BYTES, is_primary=True)
        schema.add_field(self._fields.title, DataType.VARCHAR, max_length=_MOST_BYTES)
        schema.add_field(self._fields.text, DataType.VARCHAR, max_length=_MOST_BYTES)
        schema.add_field(self._fields.words, DataType.VARCHAR, max_length=_MOST_BYTES, enable_analyzer=True)
        schema.add_field(self._fields.metadata, DataType.JSON)
        schema.add_field(self._fields.vector, DataType.FLOAT_VECTOR, dim=dimension)
        schema.add_field(_SPARSE, DataType.SPARSE_FLOAT_VECTOR)
        bm25 = Function(
            name="bm25",
            input_field_names=[self._fields.words],
            output_field_names=[_SPARSE],
            function_type=FunctionType.BM25,
        )
        schema.add_function(bm25)
        indexes = self._client.prepare_index_params()
        indexes.add_index(self._fields.vector, index_type="AUTOINDEX", metric_type="COSINE")
        indexes.add_index(_SPARSE, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        self._client.create_collection(
            self._name, schema=schema, index_params=indexes, consistency_level="Strong", timeout=self._seconds
        )

    def write_note(self, note: dict[str, Any]) -> None:
        """Replaces the note of our build in the properties of the collection."""
        self._client.alter_collection_properties(self._name, {_NOTE: json.dumps(note)}, timeout=self._seconds)

    def write(self, documents: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Adds documents, and replaces those of equal ids; float32[documents, dim]."""
        rows = [
            {**as_row(document), self._fields.vector: vector.tolist()}
            for document, vector in zip(documents, vectors, strict=True)
        ]
        self._client.upsert(self._name, rows, timeout=self._seconds)

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        self._client.delete(self._name, filter=self._ids(doc_ids), timeout=self._seconds)  # ids= quotes nothing

    def finish(self) -> None:
        """Writes everything to the disk."""
        self._client.flush(self._name)

    def _search(self, data: list[Any], field: str, k: int, where: Filter) -> list[Hits]:
        """The entries of each search that meet the conditions.

        The JSON of Milvus Lite does not tell 1 from true, so its entries are tested here too, and more are asked for.
        """
        if (fitted := fitting(where, self._kind)) is None:
            return [[] for _ in data]
        paths = [] if self._location.is_server else [self._fields.path_of(condition.field) for condition in fitted]
        asked = k
        while True:
            found = self._loaded(
                self._client.search,
                data=data,
                anns_field=field,
                limit=asked,
                filter=" and ".join(test for condition in fitted for test in self._tests(condition)),
                output_fields=[self._fields.id, *(path.partition(".")[0] for path in paths)],
                search_params=self._search_params(field, asked, where),
            )
            kept = [[hit for hit in hits if self._is_met(fitted, hit["entity"])] for hits in found]
            is_short = any(len(some) < k and len(hits) == asked for some, hits in zip(kept, found, strict=True))
            if asked == self.largest_k or not is_short:
                return [[(self._id_of(hit), float(hit["distance"])) for hit in hits[:k]] for hits in kept]
            asked = min(4 * asked, self.largest_k)

    def _is_met(self, where: Filter, row: Mapping[str, Any]) -> bool:
        """Whether a row of Milvus Lite meets the conditions on JSON; a server tests them itself."""
        tested = () if self._location.is_server else [c for c in where if self._kind(c.field) == "any"]
        return all(holds(condition, at(row, self._fields.path_of(condition.field))) for condition in tested)

    def _loaded(self, method: Callable[..., Any], **arguments: Any) -> Any:
        """The result of a method of the client; a server that was started again may not have loaded the collection."""
        try:
            return method(self._name, **arguments, timeout=self._seconds)
        except MilvusException as error:
            if error.code != _NOT_LOADED:
                raise
        self._client.load_collection(self._name, timeout=_LOADING_SECONDS)
        return method(self._name, **arguments, timeout=self._seconds)

    def _id_of(self, hit: Any) -> str | None:
        found = hit["entity"].get(self._fields.id, hit.get(self._fields.id))
        return None if found is None else str(found)

    def _kind(self, name: str) -> Kind | None:
        """The kind of a field, or of the elements of a list; ``None`` if it cannot be compared, or there is none."""
        first, *rest = self._fields.path_of(name).split(".")
        if first not in self._types:
            return "any" if self._is_dynamic else None
        kind = _KINDS.get(self._elements.get(first, self._types[first]))
        return None if rest and kind != "any" else kind

    def _tests(self, condition: Condition) -> Iterator[str]:
        first, *keys = self._fields.path_of(condition.field).split(".")
        field = self._named(first) + "".join(f"[{_quoted(key)}]" for key in keys)
        is_list, is_json = first in self._elements, not field.startswith("$")
        kind = self._kind(condition.field)
        as_value = _as_time if kind == "date" else _quoted
        for name, bound in condition.bounds:
            yield "false" if is_list else f"{field} {SIGNS[name]} {as_value(bound)}"
        if condition.any_of:
            values = [as_value(value) for value in condition.any_of]
            among = f"json_contains_any({field}, [{', '.join(values)}])"
            equal = [f"{field} == {value}" for value in values]
            yield (
                f"array_contains_any({field}, [{', '.join(values)}])"
                if is_list
                else (f"({' or '.join([*equal, among] if kind == 'any' and is_json else equal)})")
            )

    def _check_indexes(self) -> None:
        for name, kind in self._types.items():
            if kind in _VECTORS and not self._client.list_indexes(self._name, field_name=name):
                raise IndexMismatchError(
                    f"{self._location.shown} has no index on its vector field {name!r}, so Milvus cannot search it;"
                    " create one, for example with MilvusClient.create_index."
                )

    def _field_names(self) -> tuple[str, ...]:
        """The declared fields; in a collection with dynamic fields also those of some entries, and named ones."""
        names = dict.fromkeys(self._types)
        if self._is_dynamic:
            for row in self._client.query(
                self._name, filter="", limit=_SAMPLED, output_fields=["*"], timeout=self._seconds
            ):
                names |= dict.fromkeys(row)
            for name in self._location.named_fields(self._fields).values():
                has_it = f"exists $meta[{_quoted(name)}]"
                if name not in names and self._client.query(
                    self._name, filter=has_it, limit=1, output_fields=[name], timeout=self._seconds
                ):
                    names[name] = None
        return tuple(names)

    def _ids(self, doc_ids: Sequence[str]) -> str:
        values = as_numbers(doc_ids) if self._types.get(self._fields.id) in _WHOLE_NUMBERS else list(doc_ids)
        field = self._named(self._fields.id)
        if field.startswith("$"):
            return " or ".join(f"{field} == {_quoted(value)}" for value in values)
        return f"{field} in {_quoted(values)}"

    def _named(self, name: str) -> str:
        """The name of a field in an expression; of another form than names have, as a key of the dynamic fields.

        Milvus looks into no list of such a field, and does not take it on the left side of ``in``.
        """
        return name if name in self._types or name.isidentifier() else f"$meta[{_quoted(name)}]"

    def _some_vectors(self) -> list[Any]:
        name = self._fields.vector
        rows = self._client.query(self._name, filter="", limit=_SAMPLED, output_fields=[name], timeout=self._seconds)
        return [row[name] for row in rows]

    def _vector_index(self) -> dict[str, Any]:
        [name, *_] = self._client.list_indexes(self._name, field_name=self._fields.vector)
        return self._client.describe_index(self._name, name, timeout=self._seconds) or {}

    def _search_params(self, field: str, limit: int, where: Filter) -> dict[str, Any]:
        """Enough candidates for the limit; candidates that do not meet the conditions count too."""
        if field != self._fields.vector or not self._effort:
            return {}
        wanted = _MOST_EFFORT if where else max(2 * limit, _LEAST_EFFORT)
        return {"params": {self._effort: min(wanted, self._most_effort)}}

    def _output_fields(self) -> list[str]:
        own = self._fields
        names = (own.id, own.title, own.text, own.metadata)
        return [name for name in names if self._is_dynamic or name in self._types] if own.metadata else ["*"]

    def _documents(self, rows: Iterable[dict[str, Any]]) -> Iterator[Document]:
        readable = ({n: v for n, v in row.items() if self._types.get(n) not in _VECTORS} for row in rows)
        return as_documents(((row.get(self._fields.id), row) for row in readable), self._fields)


def _whole_numbers(value: Any) -> Iterator[int]:
    """All whole numbers in a JSON value."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _whole_numbers(inner)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _as_time(value: object) -> str:
    return f"ISO {_quoted(in_utc(str(value)))}"
