"""PostgreSQL with the extension pgvector; full text is PostgreSQL's own ``ts_rank``, which is not BM25."""

from __future__ import annotations

import atexit
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import psycopg
from pgvector import Vector
from psycopg import sql
from psycopg.types.numeric import FloatLoader
from psycopg_pool import ConnectionPool

from acqo_rl.errors import IndexMismatchError
from acqo_rl.language_models.http_clients import make_retrying
from acqo_rl.retrieval.engines.engine import Engine, Hit, calling
from acqo_rl.retrieval.engines.filters import as_json, meets, widened
from acqo_rl.retrieval.engines.location import Location, TableOptions
from acqo_rl.roles import Vectors
from acqo_rl.types import Condition, Document, Filter

_log = logging.getLogger(__name__)

T = TypeVar("T")

_WORDS = sql.SQL("to_tsvector('english', coalesce({title}::text, '') || ' ' || {text}::text)")
_COLUMNS = (
    "SELECT attname, typname, atttypmod FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid"
    " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
)
"""Name, type and modifier of the columns of a table; the modifier of a vector is its dimension, or -1."""

_TEMPORARY = ("08", "40", "53", "55", "57")
"""First two characters of the codes of errors after which the same call may succeed."""

_SEARCHED = ("vector", "halfvec")
"""Types of vectors that are searched."""

_HIDDEN = (*_SEARCHED, "sparsevec", "tsvector")
"""Types of columns that documents do not show."""

_CONNECTIONS = 8
_PAGE = 1000


class PostgresqlEngine(Engine):
    """A table."""

    def __init__(self, location: Location, seconds: float | None = None) -> None:
        assert isinstance(location.options, TableOptions)
        self.location = location
        self._options = location.options
        self._retrying = make_retrying(_is_temporary, seconds)
        self._table = sql.Identifier(*location.collection.split("."))
        client = urlencode(self._options.model_extra or {}, quote_via=quote)
        place = f"{location.place}?{client}" if client else location.place
        with calling(location.shown, psycopg.Error):
            self._pool = _pool(f"postgresql://{place}", self._options.timeout)
            with self._pool.connection() as connection:
                columns = connection.execute(_COLUMNS, [self._table.as_string()]).fetchall()
                if not columns:
                    raise IndexMismatchError(f"There is no table {location.shown}; create it, or correct the location.")
                self._columns = {name: kind for name, kind, _ in columns}
                self._check_columns()
                vectors = {name: size for name, kind, size in columns if kind in _SEARCHED}
                self._vector = self._options.vector or (next(iter(vectors)) if len(vectors) == 1 else "")
                counted = self._format("SELECT count(*), count({id}) FROM {table}")
                [(self.count, with_id)] = connection.execute(counted)
        if with_id < self.count:
            _report_missing_ids(location.shown)
        self.kind = "bm25" if self._options.mode == "text" else "dense"
        self.cosine = self.kind == "dense"
        if self.cosine and self._vector not in vectors:
            raise IndexMismatchError(
                f"{location.shown} has no vectors {self._vector!r}; it has {', '.join(vectors) or 'none'}. Name others"
                " with the option vector=COLUMN, or search with mode=text."
            )
        dimension = vectors.get(self._vector, 0)
        self.dim = dimension if dimension > 0 else None

    def _check_columns(self) -> None:
        options = self._options
        tenant = "" if options.metadata else options.tenant.partition(".")[0]
        named = {"id": options.id, "text": options.text, "tenant": tenant}
        named |= options.model_dump(include={"title", "metadata"}, exclude_unset=True)
        for option, name in named.items():
            if (name or option in ("id", "text")) and name not in self._columns:
                raise IndexMismatchError(
                    f"{self.location.shown} has no column {name!r}; name an existing one by the option"
                    f" {option}=COLUMN. There are: {', '.join(self._columns)}."
                )

    def _call(self, method: Callable[..., T], *arguments: Any) -> T:
        with calling(self.location.shown, psycopg.Error):
            answer: T = self._retrying(method, *arguments)
            return answer

    def search(self, texts: Sequence[str], vectors: Vectors | None, k: int, where: Filter) -> list[list[Hit]]:
        """The nearest rows, or those that share a word with each text, best first, by one lateral join."""
        where = self._in_columns(where)
        if vectors is not None:
            return self._call(
                self._search,
                "SELECT {id}::text AS id, 1 - ({vector} <=> q.asked) AS score{shown} FROM {table} AS t WHERE {where}"
                " ORDER BY {vector} <=> q.asked LIMIT {k}",
                [Vector(vector).to_text() for vector in vectors],
                self._columns[self._vector],
                k,
                where,
            )
        return self._call(
            self._search,
            "SELECT {id}::text AS id, ts_rank({words}, wanted.query, 1)::float8 AS score{shown} FROM {table} AS t,"
            " (SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS query"
            " FROM unnest(to_tsvector('english', q.asked))) AS wanted"
            " WHERE {words} @@ wanted.query AND {where} ORDER BY score DESC LIMIT {k}",
            [text.replace("\0", " ") for text in texts],
            "text",
            k,
            where,
        )

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The rows with the given ids, or all, in any order."""
        where = self._in_columns(where)
        if doc_ids is not None:
            wanted = [doc_id for doc_id in doc_ids if "\0" not in doc_id]
            yield from self._call(lambda: list(self._rows(wanted, where)))
            return
        with calling(self.location.shown, psycopg.Error):
            yield from self._rows(None, where)

    def _rows(self, doc_ids: list[str] | None, where: Filter) -> Iterator[Document]:
        names = [name for name, kind in self._columns.items() if kind not in _HIDDEN]
        query = self._format(
            "SELECT {id}::text{shown} FROM {table} AS t WHERE {id} IS NOT NULL AND {where}",
            shown=_shown(names),
            where=self._tests(where),
        )
        if doc_ids is not None:
            query += self._format(" AND {id}::text = ANY(%s)")
        with self._pool.connection() as connection, connection.cursor(name="rows") as cursor:
            cursor.itersize = _PAGE
            for doc_id, *values in cursor.execute(query, [] if doc_ids is None else [doc_ids]):
                row = dict(zip(names, values, strict=True))
                if meets(where, row):
                    yield self._document(doc_id, row)

    def _document(self, doc_id: str, row: Mapping[str, Any]) -> Document:
        options = self._options
        own = (options.id, options.title, options.text, self._vector)
        metadata = {name: value for name, value in row.items() if name not in own}
        if options.metadata:
            inner = row[options.metadata] or {}
            metadata = inner if isinstance(inner, dict) else {options.metadata: inner}
        title, text = (str(row.get(name) or "") for name in (options.title, options.text))
        return Document(doc_id, title, text, as_json(metadata))

    def _in_columns(self, where: Filter) -> Filter:
        """The conditions on paths that begin with a column."""
        prefix = f"{self._options.metadata}." if self._options.metadata else ""
        return tuple(replace(condition, field=f"{prefix}{condition.field}") for condition in where)

    def _search(self, one: str, asked: list[str], kind: str, k: int, where: Filter) -> list[list[Hit]]:
        """Searches with settings with which an index finds ``k`` rows; rows that do not meet a filter count too.

        By default, HNSW indexes return at most 40 rows and give up after 20,000, and IVFFlat indexes look into one
        list.
        """
        title = sql.Identifier("t", self._options.title) if self._options.title in self._columns else sql.SQL("''")
        words = _WORDS.format(title=title, text=sql.Identifier("t", self._options.text))
        names = list(dict.fromkeys(condition.field.partition(".")[0] for condition in where))
        names = [name for name in names if name in self._columns]
        inner = self._format(
            one, words=words, where=self._tests(where), k=sql.Literal(k), shown=_shown(names, "filtered{}")
        )
        query = sql.SQL(  # the texts are cast here, once, and not again for each row
            "SELECT q.number, found.* FROM unnest(%s::text[]::{}[]) WITH ORDINALITY AS q(asked, number)"
            " CROSS JOIN LATERAL ({}) AS found WHERE found.score <> 'NaN' ORDER BY q.number, found.score DESC,"
            ' found.id COLLATE "C"'
        ).format(sql.Identifier(kind), inner)
        hits: list[list[Hit]] = [[] for _ in asked]  # without rows of no vector (NULL) or of zeros (NaN)
        with self._pool.connection() as connection:
            settings = {
                "hnsw.iterative_scan": "strict_order",
                "hnsw.ef_search": "1000" if where else str(min(max(2 * k, 200), 1000)),
                "hnsw.max_scan_tuples": str(2**31 - 1),
                "hnsw.scan_mem_multiplier": "1000",
                "ivfflat.iterative_scan": "relaxed_order",
                "ivfflat.probes": "32768" if where else str(max(k, 100)),
            }
            connection.execute(
                "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS given(name, value)",
                [list(settings), list(settings.values())],
            )
            for number, doc_id, score, *values in connection.execute(query, [asked]):
                row = dict(zip(names, values, strict=True))
                hits[number - 1].append((doc_id if meets(where, row) else None, score))
        return hits

    def _tests(self, where: Filter) -> sql.Composable:
        return sql.SQL(" AND ").join([sql.SQL("true"), *map(self._test, widened(where))])

    def _test(self, condition: Condition) -> sql.Composable:
        """The test of a condition, by a path of SQL/JSON; strict, because lax ones look into lists of objects."""
        name, *keys = condition.field.split(".")
        if name not in self._columns:
            return sql.SQL("false")
        signs = {"gte": ">=", "lte": "<="}
        tests = [f"@ {signs[sign]} {json.dumps(bound)}" for sign, bound in condition.bounds]
        if condition.any_of:
            equal = " || ".join(f"@ == {json.dumps(value)}" for value in condition.any_of)
            tests.append(f"({equal} || exists(@[*] ? ({equal})))")
        path = f"strict ${''.join(f'.{json.dumps(key)}' for key in keys)} ? ({' && '.join(tests)})"
        column = sql.SQL("{}" if self._columns[name] == "jsonb" else "to_jsonb({})").format(sql.Identifier("t", name))
        return sql.SQL("{} @? {}::jsonpath").format(column, sql.Literal(path))

    def _format(self, query: str, **parts: sql.Composable) -> sql.Composed:
        """A query to be executed with parameters: each ``%`` in a name or a value is doubled."""
        columns = {"id": sql.Identifier(self._options.id), "vector": sql.Identifier(self._vector or "none")}
        doubled = {
            name: sql.SQL(part.as_string().replace("%", "%%"))
            for name, part in {"table": self._table, **columns, **parts}.items()
        }
        return sql.SQL(query).format(**doubled)


def _shown(names: Sequence[str], alias: str = "{}") -> sql.Composable:
    """Columns after others."""
    return sql.Composed(
        [sql.SQL(", {} AS {}").format(sql.Identifier("t", name), sql.Identifier(alias.format(name))) for name in names]
    )


def _is_temporary(error: BaseException) -> bool:
    """Whether the same call may succeed later."""
    if not isinstance(error, psycopg.OperationalError) or isinstance(error, psycopg.errors.QueryCanceled):
        return False
    return error.sqlstate is None or error.sqlstate[:2] in _TEMPORARY  # a lost connection has no code


@cache
def _report_missing_ids(shown: str) -> None:
    """Warns once for each table."""
    _log.warning("%s has rows without an id; searches leave them out", shown)


@cache
def _pool(conninfo: str, seconds: float) -> ConnectionPool[psycopg.Connection]:
    """The connections of a database, shared by its tables."""

    def configure(connection: psycopg.Connection) -> None:
        connection.adapters.register_loader("numeric", FloatLoader)
        connection.execute("SELECT set_config('statement_timeout', %s, false)", [str(round(1000 * seconds))])
        connection.commit()

    psycopg.connect(conninfo, connect_timeout=max(2, round(seconds))).close()  # says why it fails; a pool does not
    pool = ConnectionPool(
        conninfo,
        min_size=1,
        max_size=_CONNECTIONS,
        timeout=seconds,
        reconnect_timeout=seconds,  # then the next search begins anew, instead of a pause that doubles each time
        configure=configure,
        check=ConnectionPool.check_connection,
        open=True,
    )
    atexit.register(pool.close)
    return pool
