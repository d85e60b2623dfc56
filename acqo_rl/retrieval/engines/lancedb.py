"""LanceDB, as a folder that this process opens. Vectors are compared one by one unless the table has an index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import lancedb
import pyarrow as pa
from lancedb.index import FTS
from lancedb.query import MatchQuery

from acqo_rl.retrieval.engines.conditions import SIGNS, fitting
from acqo_rl.retrieval.engines.engine import COSINE, Engine, Fields, Hit, Row, Schema
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.retrieval.engines.rows import of_single_precision
from acqo_rl.types import Condition, Filter

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

_KINDS: tuple[tuple[Any, str, str], ...] = (
    (pa.types.is_boolean, "truth", "BOOLEAN"),
    (pa.types.is_float16, "number", "FLOAT"),
    (pa.types.is_float32, "number", "FLOAT"),
    (pa.types.is_integer, "number", "DOUBLE"),
    (pa.types.is_floating, "number", "DOUBLE"),
    (pa.types.is_decimal, "number", "DOUBLE"),
    (pa.types.is_date, "date", "TIMESTAMP"),
    (pa.types.is_timestamp, "date", "TIMESTAMP"),
    (pa.types.is_string, "text", "STRING"),
    (pa.types.is_large_string, "text", "STRING"),
)
"""Test of a type, its kind, and the SQL type of a comparison: LanceDB refuses literals that do not fit the column."""


class LancedbEngine(Engine):
    """A LanceDB table; the metadata of its column of ids hold the note of our build."""

    errors = (ValueError, RuntimeError, OSError)

    def __init__(self, location: Location) -> None:
        every_time = timedelta(0)  # each search sees what other processes wrote
        self._database = lancedb.connect(location.absolute().place, read_consistency_interval=every_time)
        self._location = location
        self._name = location.collection
        self._table: Any = None
        self._objects: set[str] = set()
        self._singles: set[str] = set()

    def schema(self) -> Schema | None:
        """What the table is; ``None`` if there is no such table."""
        try:
            self._table = self._database.open_table(self._name)
        except ValueError as error:
            if "was not found" in str(error):  # table_exists is not for folders
                return None
            raise
        columns = {field.name: field for field in self._table.schema}
        self._objects = {name for name in columns if _is_json(name, self._table.schema)}
        self._singles = {name for name, field in columns.items() if pa.types.is_float32(field.type)}
        own = columns.get(Fields().id)
        note = (own.metadata or {}).get(_NOTE.encode()) if own else None
        return Schema(
            count=self._table.count_rows(),
            vectors={n: (field.type.list_size, COSINE) for n, field in columns.items() if _is_vector(field.type)},
            note=note.decode() if note is not None else None,
            key="id",
            fields=list(columns),
            version=str(self._table.list_versions()[-1]),  # with its time: a table that is made again begins at 1
        )

    def has_words(self) -> bool:
        """Whether the column that full text searches has a full text index."""
        names = {self.fields.words, _column(self.fields.words)}  # LanceDB quotes some names
        return any(i.index_type == "FTS" and names.intersection(i.columns) for i in self._table.list_indices())

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[list[Hit]]:
        """The nearest rows of each vector, best first, by one call; float32[texts, dim]."""
        nearest = self._table.search(vectors.tolist(), vector_column_name=self.fields.vector).distance_type("cosine")
        if where:  # by default, an index looks into 20 lists, which may hold few of the rows that meet the conditions
            nearest = nearest.bypass_vector_index()
        else:
            nearest = nearest.maximum_nprobes(0).minimum_nprobes(max(k, _FEWEST_LISTS)).refine_factor(_REFINED)
        hits: list[list[Hit]] = [[] for _ in vectors]
        for doc_id, row in self._found(nearest.limit(k), "_distance", where):
            hits[row.get("query_index", 0)].append((doc_id, 1 - row["_distance"], row))
        return hits

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[list[Hit]]:
        """The rows that match each text best by BM25, best first; LanceDB searches one text a call."""
        matching = (self._table.search(MatchQuery(text, self.fields.words), query_type="fts") for text in texts)
        found = (self._found(query.limit(k), "_score", where) for query in matching)
        return [[(doc_id, row["_score"], row) for doc_id, row in rows] for rows in found]

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields, without vectors, of the rows with the given ids, or of all, in any order."""
        names = [field.name for field in self._table.schema if not _is_vector(field.type)]
        if self.fields.metadata:
            own = (self.fields.id, self.fields.title, self.fields.text, self.fields.metadata)
            names = [name for name in names if name in own]
        tests = [] if doc_ids is None else [self._with_ids(doc_ids)]
        pages = self._narrowed(self._table.search(), names, where, tests).to_batches(_PAGE)
        return map(self._row, chain.from_iterable(page.to_pylist() for page in pages))

    def create(self, dimension: int) -> None:
        """Creates the table; its full text index follows when it is full."""
        fields = self.fields
        texts = [pa.field(name, pa.string()) for name in (fields.title, fields.text, fields.words)]
        vector = pa.field(fields.vector, pa.list_(pa.float32(), dimension))
        columns = [pa.field(fields.id, pa.string()), *texts, pa.field(fields.metadata, pa.json_()), vector]
        self._table = self._database.create_table(self._name, schema=pa.schema(columns))
        self._objects = {fields.metadata}

    def write_note(self, note: str) -> None:
        """Replaces the note of our build in the metadata of the column of ids."""
        self._table.update_field_metadata({"path": self.fields.id, "metadata": {_NOTE: note}})

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Adds rows, and replaces those of equal ids."""
        name = self.fields.metadata
        written = [{**row, name: json.dumps(row[name])} for row in rows]
        self._table.merge_insert(self.fields.id).when_matched_update_all().when_not_matched_insert_all().execute(
            written
        )

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        self._table.delete(self._with_ids(doc_ids))

    def finish(self) -> None:
        """Creates the full text index of a new table, and brings that of an old one up to date."""
        if not self.has_words():
            self._table.create_index(self.fields.words, config=FTS())
        self._table.optimize()

    def _found(self, query: Any, score: str, where: Filter) -> Iterator[tuple[str | None, Row]]:
        names = {condition.field.partition(".")[0] for condition in where}
        there = [name for name in names if self._table.schema.get_field_index(name) >= 0]
        return map(self._row, self._narrowed(query, [*there, score], where, []).to_list())

    def _narrowed(self, query: Any, names: Sequence[str], where: Filter, tests: list[str]) -> Any:
        """The query of id and named columns of the rows that meet the tests and the conditions."""
        tests = [*tests, *(_test(condition, self._table.schema) for condition in where)]
        narrowed = query.where(" AND ".join(tests)) if tests else query
        return narrowed.select({_ID: self._id_as_text(), **{name: _column(name) for name in names}})

    def _row(self, row: dict[str, Any]) -> tuple[str | None, Row]:
        for name in row.keys() & self._objects:
            row[name] = json.loads(row[name] or "null")
        for name in row.keys() & self._singles:
            row[name] = of_single_precision(row[name])
        return row.pop(_ID), row

    def _with_ids(self, doc_ids: Sequence[str]) -> str:
        return f"{self._id_as_text()} IN ({', '.join(map(_quoted, doc_ids))})"

    def _id_as_text(self) -> str:
        return f"CAST({_column(self.fields.id)} AS string)"


def _is_vector(kind: Any) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_json(name: str, columns: pa.Schema) -> bool:
    there = columns.get_field_index(name) >= 0
    metadata = (columns.field(name).metadata or {}) if there else {}
    return bool(metadata.get(b"ARROW:extension:name") == b"lance.json")


def _column(path: str) -> str:
    """The name of a column in SQL, or the path to a field in a structure."""
    return ".".join(f"`{part}`" for part in path.split("."))


def _quoted(value: str | float) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json.dumps(value)


def _test(condition: Condition, columns: pa.Schema) -> str:
    """The test of a condition, by the type of its column, of the elements of a list, or of a field in a structure."""
    first, *rest = condition.field.split(".")
    if _is_json(first, columns):
        return _test_of_json(_column(first), rest, condition)
    found: Any = columns.field(first).type if columns.get_field_index(first) >= 0 else None
    for part in rest:
        place = found.get_field_index(part) if isinstance(found, pa.StructType) else -1
        found = found.field(place).type if place >= 0 else None
    is_list = found is not None and _is_list(found)
    element = found.value_type if is_list else found
    kind, sql_type = next(((k, t) for fits, k, t in _KINDS if element is not None and fits(element)), (None, ""))
    fitted = fitting(condition, kind)
    if fitted is None or (is_list and fitted.bounds):
        return "FALSE"
    name, values = _column(condition.field), [f"CAST({_quoted(v)} AS {sql_type})" for v in fitted.any_of]
    if is_list:
        return f"array_has_any({name}, [{', '.join(values)}])"
    compared = f"CAST({name} AS {sql_type})"
    if values:
        return f"{compared} IN ({', '.join(values)})"
    return " AND ".join(f"{compared} {SIGNS[n]} CAST({_quoted(bound)} AS {sql_type})" for n, bound in fitted.bounds)


def _test_of_json(name: str, keys: Sequence[str], condition: Condition) -> str:
    """The test of a JSON column; numbers are compared in SQL, because paths of LanceDB have no decimal fractions."""
    path = "$" + "".join(f".{json.dumps(key)}" for key in keys)
    number = f"TRY_CAST(json_extract({name}, {_quoted(path)}) AS DOUBLE)"

    def has(test: str) -> str:
        return f"json_exists({name}, {_quoted(f'{path}[*] ? ({test})')})"

    def equal(value: str | float) -> str:
        if isinstance(value, float):
            return f"{number} = {value} OR json_array_contains({name}, {_quoted(path)}, '{value}')"
        if value == "":  # the paths of LanceDB have no empty text, which is before all others
            return has('@ <= "\\u0000"')
        return has(f"@ == {json.dumps(value)}")

    if condition.any_of:
        return f"({' OR '.join(map(equal, condition.any_of))})"
    return " AND ".join(
        has(f"@ {SIGNS[n]} {json.dumps(bound)}") if isinstance(bound, str) else f"{number} {SIGNS[n]} {bound}"
        for n, bound in condition.bounds
    )
