"""LanceDB, as a folder that this process opens. Vectors are compared one by one unless the table has an index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import lancedb
import pyarrow as pa
from lancedb.index import FTS
from lancedb.query import MatchQuery

from acqo_rl.retrieval.engines.engine import COSINE, Hits, Schema
from acqo_rl.retrieval.engines.lancedb_conditions import column, is_json, quoted, sql_of
from acqo_rl.retrieval.engines.location import Fields, Location
from acqo_rl.retrieval.engines.rows import as_documents, as_row
from acqo_rl.types import Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTE = "acqo_rl"
_ID = "document_id"
"""Name of the id in the rows of a query."""

_PAGE = 1000
_FEWEST_LISTS = 100
_REFINED = 5
"""An index compresses vectors: the distances of 5 times as many rows as wanted are computed again from the vectors."""


class LancedbEngine:
    """A LanceDB table; the metadata of its column of ids hold the note of our build."""

    errors = (ValueError, RuntimeError, OSError)
    largest_k = 10_000

    def __init__(self, location: Location) -> None:
        self._database = lancedb.connect(location.absolute().place, read_consistency_interval=timedelta(0))
        self._location = location
        self._name = location.collection
        self._fields = Fields()
        self._table: Any = None

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
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
            id_field=self._fields.id,
            vector_fields=tuple(vectors),
            fields=tuple(columns),
            version=str(self._table.list_versions()[-1]),  # with its time: a table that is made again begins at 1
        )

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[Hits]:
        """The nearest rows of each vector, best first, by one call; float32[texts, dim]."""
        nearest = self._table.search(vectors.tolist(), vector_column_name=self._fields.vector).distance_type("cosine")
        if where:  # by default, an index looks into 20 lists, which may hold few of the rows that meet the conditions
            nearest = nearest.bypass_vector_index()
        else:
            nearest = nearest.maximum_nprobes(0).minimum_nprobes(max(k, _FEWEST_LISTS)).refine_factor(_REFINED)
        hits: list[Hits] = [[] for _ in vectors]
        for row in self._rows(nearest, "_distance", k, where):
            hits[row.get("query_index", 0)].append((row[_ID], 1 - row["_distance"]))
        return hits

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[Hits]:
        """The rows that match each text best by BM25, best first; LanceDB searches one text a call."""
        return [self._matching(text, k, where) for text in texts]

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The documents that meet the conditions, in any order: those with the given ids, or all of them."""
        if (conditions := self._conditions(where)) is None:
            return iter(())
        tests = " AND ".join(filter(None, [conditions, "" if doc_ids is None else self._ids(doc_ids)]))
        rows = self._table.search()
        return self._documents(rows.where(tests) if tests else rows)

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
        return [(row[_ID], row["_score"]) for row in self._rows(matching, "_score", k, where)]

    def _rows(self, query: Any, score: str, k: int, where: Filter) -> list[dict[str, Any]]:
        """Id and score of the rows that a query finds and that meet the conditions."""
        if (tests := self._conditions(where)) is None:
            return []
        narrowed = query.where(tests) if tests else query
        found: list[dict[str, Any]] = narrowed.select({_ID: self._id_as_text(), score: score}).limit(k).to_list()
        return found

    def _conditions(self, where: Filter) -> str | None:
        paths = tuple(replace(condition, field=self._fields.path_of(condition.field)) for condition in where)
        return sql_of(paths, self._table.schema)

    def _ids(self, doc_ids: Sequence[str]) -> str:
        return f"{self._id_as_text()} IN ({', '.join(map(quoted, doc_ids))})"

    def _id_as_text(self) -> str:
        return f"CAST({column(self._fields.id)} AS string)"

    def _has_words(self) -> bool:
        names = {self._fields.words, column(self._fields.words)}  # LanceDB quotes some names
        return any(i.index_type == "FTS" and names.intersection(i.columns) for i in self._table.list_indices())

    def _documents(self, query: Any) -> Iterator[Document]:
        own, schema = self._fields, self._table.schema
        names = [field.name for field in schema if not _is_vector(field.type)]
        if own.metadata:
            names = [name for name in names if name in (own.id, own.title, own.text, own.metadata)]
        columns = {_ID: self._id_as_text(), **{name: column(name) for name in names}}
        objects = [name for name in names if is_json(name, schema)]
        for batch in query.select(columns).to_batches(_PAGE):
            rows = batch.to_pylist()
            for row in rows:
                row |= {name: json.loads(row[name] or "null") for name in objects}
            yield from as_documents(((row.pop(_ID), row) for row in rows), own)


def _is_vector(kind: Any) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))
