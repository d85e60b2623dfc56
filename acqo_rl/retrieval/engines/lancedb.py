"""LanceDB, as a folder that this process opens. Vectors are compared one by one unless the table has an index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lancedb
import pyarrow as pa
from lancedb.index import FTS
from lancedb.query import MatchQuery

from acqo_rl.retrieval.engines.engine import COSINE, Hits, Schema
from acqo_rl.retrieval.engines.location import Fields, Location
from acqo_rl.retrieval.engines.rows import as_document, as_row, json_path
from acqo_rl.types import Condition, Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTE = "acqo_rl"
_PAGE = 1000
_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class LancedbEngine:
    """A LanceDB table; the metadata of its column of ids hold the note of our build."""

    errors = (ValueError, RuntimeError, OSError)
    largest_k = 10_000

    def __init__(self, location: Location) -> None:
        self._database = lancedb.connect(location.absolute().place)
        self._location = location
        self._name = location.collection
        self._fields = Fields()
        self._table: Any = None

    def is_temporary(self, error: BaseException) -> bool:
        """Whether the same call may succeed later: never, because the engine runs in this process."""
        return False

    def schema(self) -> Schema | None:
        """What the table is; ``None`` if there is no such table."""
        try:
            self._table = self._database.open_table(self._name)
        except ValueError as error:
            if "was not found" in str(error):  # table_exists is not for folders
                return None
            raise
        columns = {field.name: field for field in self._table.schema}
        own = columns.get(Fields().id)
        note = (own.metadata or {}).get(_NOTE.encode()) if own else None
        vectors = {name: field.type.list_size for name, field in columns.items() if _is_vector(field.type)}
        fields = self._location.fields(built_here=note is not None)
        self._fields = replace(
            fields, id=fields.id or "id", vector=fields.vector or (next(iter(vectors)) if len(vectors) == 1 else "")
        )
        return Schema(
            dimension=vectors.get(self._fields.vector),
            metric=COSINE,  # of the search
            count=self._table.count_rows(),
            has_words=self._has_words(),
            note=json.loads(note) if note is not None else None,
            vector_fields=tuple(vectors),
            fields=tuple(columns),
        )

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[Hits]:
        """The nearest rows of each vector, best first, by one call; float32[texts, dim]."""
        nearest = self._table.search(vectors.tolist(), vector_column_name=self._fields.vector).distance_type("cosine")
        hits: list[Hits] = [[] for _ in vectors]
        for row in self._narrowed(nearest, where).select([self._fields.id, "_distance"]).limit(k).to_list():
            hits[row.get("query_index", 0)].append((str(row[self._fields.id]), 1 - row["_distance"]))
        return hits

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[Hits]:
        """The rows that match each text best by BM25, best first; LanceDB searches one text a call."""
        return [self._matching(text, k, where) for text in texts]

    def documents(self, doc_ids: Sequence[str]) -> list[Document]:
        """Those of the documents that exist, in any order."""
        found = self._table.search().where(self._ids(doc_ids)).select(self._columns())
        return [self._document(row) for batch in found.to_batches(_PAGE) for row in batch.to_pylist()]

    def scan(self) -> Iterator[Document]:
        """All documents, in any order."""
        for batch in self._table.search().select(self._columns()).to_batches(_PAGE):
            yield from map(self._document, batch.to_pylist())

    def check(self, documents: Sequence[Document]) -> None:
        """Does nothing: LanceDB holds any document."""

    def create(self, dimension: int) -> None:
        """Creates the table; its full text index follows when it is full."""
        self._fields = fields = Fields()
        texts = [pa.field(name, pa.string()) for name in (fields.title, fields.text, fields.words)]
        vector = pa.field(fields.vector, pa.list_(pa.float32(), dimension))
        columns = [pa.field(fields.id, pa.string()), *texts, pa.field(fields.metadata, pa.json_()), vector]
        self._table = self._database.create_table(self._name, schema=pa.schema(columns))

    def write_note(self, note: dict[str, Any]) -> None:
        """Replaces the note of our build in the metadata of the column of ids."""
        self._table.update_field_metadata({"path": Fields().id, "metadata": {_NOTE: json.dumps(note)}})

    def write(self, documents: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Adds documents, and replaces those of equal ids; float32[documents, dim]."""
        fields = self._fields
        rows = [
            {**row, fields.metadata: json.dumps(row[fields.metadata]), fields.vector: vector.tolist()}
            for row, vector in zip(map(as_row, documents), vectors, strict=True)
        ]
        self._table.merge_insert(fields.id).when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        self._table.delete(self._ids(doc_ids))

    def finish(self) -> None:
        """Creates the full text index of a new table, and brings that of an old one up to date."""
        if not self._has_words():
            self._table.create_index(self._fields.words, config=FTS())
        self._table.optimize()

    def _matching(self, text: str, k: int, where: Filter) -> Hits:
        matching = self._table.search(MatchQuery(text, self._fields.words), query_type="fts")
        rows = self._narrowed(matching, where).select([self._fields.id, "_score"]).limit(k).to_list()
        return [(str(row[self._fields.id]), row["_score"]) for row in rows]

    def _narrowed(self, query: Any, where: Filter) -> Any:
        return query.where(" AND ".join(map(self._condition, where))) if where else query

    def _condition(self, condition: Condition) -> str:
        if self._fields.metadata:
            return self._json_condition(condition)
        tests = [f"{condition.field} {_SIGNS[name]} {_quoted(bound)}" for name, bound in condition.bounds]
        if condition.any_of:
            tests.append(f"{condition.field} IN ({', '.join(map(_quoted, condition.any_of))})")
        return " AND ".join(tests)

    def _json_condition(self, condition: Condition) -> str:
        """Numbers are compared in SQL, because the paths of LanceDB have no decimal fractions."""
        path = "$" + "".join(f".{json.dumps(part)}" for part in condition.field.split("."))
        number = f"TRY_CAST(json_extract({self._fields.metadata}, {_quoted(path)}) AS DOUBLE)"
        tests = [
            f"{number} {_SIGNS[name]} {bound}"
            if not isinstance(bound, str)
            else self._exists(condition, (), (name, bound))
            for name, bound in condition.bounds
        ]
        if condition.any_of:
            equal = (self._equal(condition, number, value) for value in condition.any_of)
            tests.append(f"({' OR '.join(equal)})")
        return " AND ".join(tests)

    def _equal(self, condition: Condition, number: str, value: str | float) -> str:
        if isinstance(value, float):
            return f"{number} = {value}"
        if value == "":  # the paths of LanceDB have no empty text, which is before all others
            return self._exists(condition, (), ("lte", "\0"))
        return self._exists(condition, (value,))

    def _exists(self, condition: Condition, any_of: tuple[Any, ...], *bounds: tuple[str, str]) -> str:
        path = json_path(replace(condition, any_of=any_of, bounds=bounds))
        return f"json_exists({self._fields.metadata}, {_quoted(path)})"

    def _ids(self, doc_ids: Sequence[str]) -> str:
        return f"CAST({self._fields.id} AS string) IN ({', '.join(map(_quoted, doc_ids))})"

    def _has_words(self) -> bool:
        return any(i.index_type == "FTS" and self._fields.words in i.columns for i in self._table.list_indices())

    def _columns(self) -> list[str]:
        own = self._fields
        if own.metadata:
            return [own.id, own.title, own.text, own.metadata]
        return [field.name for field in self._table.schema if not _is_vector(field.type)]

    def _document(self, row: dict[str, Any]) -> Document:
        if self._fields.metadata:
            row = {**row, self._fields.metadata: json.loads(row[self._fields.metadata] or "{}")}
        return as_document(str(row[self._fields.id]), row, self._fields)


def _is_vector(kind: Any) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))


def _quoted(value: str | int | float | bool) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json.dumps(value)
