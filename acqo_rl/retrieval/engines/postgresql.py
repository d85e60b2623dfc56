"""PostgreSQL with the extension pgvector; full text is PostgreSQL's own ``ts_rank``, which is not BM25."""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import psycopg
from pgvector import Vector
from psycopg import sql
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool

from acqo_rl.errors import ConfigError, DataError, IndexMismatchError
from acqo_rl.retrieval.engines.engine import COSINE, Hits, Schema
from acqo_rl.retrieval.engines.location import Fields, Location
from acqo_rl.retrieval.engines.postgresql_conditions import sql_of
from acqo_rl.retrieval.engines.rows import as_documents, as_json
from acqo_rl.types import Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOTE = "acqo_rl "
_WORDS = sql.SQL("to_tsvector('english', coalesce({title}::text, '') || ' ' || {text}::text)")
_ROWS = "SELECT {id}::text, to_jsonb(t) - {hidden}::text[] FROM {table} AS t WHERE {where}"
_COLUMNS = (
    "SELECT attname, coalesce(base.typname, own.typname), greatest(atttypmod, own.typtypmod) FROM pg_attribute"
    " JOIN pg_type AS own ON own.oid = atttypid LEFT JOIN pg_type AS base ON base.oid = own.typbasetype"
    " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
)
"""Name, type and modifier of the columns of a table; the type of a domain is that which it is made of."""

_INDEXED = (
    "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)"
    " WHERE indrelid = to_regclass(%s)"
)
_WRITES = (
    "SELECT concat_ws(' ', to_regclass(%s)::oid, sum(pg_stat_get_tuples_inserted(part)),"
    " sum(pg_stat_get_tuples_updated(part)), sum(pg_stat_get_tuples_deleted(part)))"
    " FROM (SELECT to_regclass(%s)::oid AS part UNION SELECT relid FROM pg_partition_tree(to_regclass(%s))) AS parts"
)
"""Number of rows of a table, or of its partitions, that were ever written; another program's count may be late."""

_TEMPORARY = ("08", "40", "53", "55", "57")
"""First two characters of the codes of errors after which the same call may succeed."""

_SEARCHED = ("vector", "halfvec")
"""Types of vectors that are searched."""

_FRACTIONS = ("float4", "float8", "numeric")
"""Types of numbers that may be NaN or infinite."""

_UNKNOWN = -1
"""Modifier of a vector column without a dimension."""

_SAMPLED = 100
_MOST_BYTES_OF_A_NAME = 63
_MOST_BYTES_OF_AN_ID = 2600
"""An index of PostgreSQL holds keys of 2,704 bytes, with their headers."""

_SURELY_HELD = 100_000
"""Characters of a passage that PostgreSQL's full text surely holds: 1 MB of distinct words with their positions."""

_MOST_INDEXED = 2000
"""The most dimensions of which pgvector makes an HNSW index; vectors of more are compared one by one."""

_FEWEST_CANDIDATES, _MOST_CANDIDATES = 200, 1000
"""Bounds of ``hnsw.ef_search``; the upper one is pgvector's own."""

_FEWEST_LISTS, _MOST_LISTS = 100, 32_768
"""Bounds of ``ivfflat.probes``; the upper one is pgvector's own."""

_CONNECTIONS = 8
_PAGE = 1000


class PostgresqlEngine:
    """A table; its comment holds the note of our build."""

    errors = (psycopg.Error,)
    largest_k = 10_000

    def __init__(self, location: Location) -> None:
        options = f"?{urlencode(location.libpq_options, quote_via=quote)}" if location.libpq_options else ""
        self._pool = _pool(f"postgresql://{location.place}{options}", location.seconds)
        self._location = location
        names = location.collection.split(".")
        if any(len(name.encode()) > _MOST_BYTES_OF_A_NAME for name in names):
            raise ConfigError(
                f"The name in {location.shown} is longer than the {_MOST_BYTES_OF_A_NAME} bytes that PostgreSQL allows;"
                " give the table a shorter one."
            )
        self._table = sql.Identifier(*names)
        self._fields = Fields()
        self._columns: dict[str, str] = {}

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""
        if not isinstance(error, psycopg.OperationalError) or isinstance(error, psycopg.errors.QueryCanceled):
            return False
        return error.sqlstate is None or error.sqlstate[:2] in _TEMPORARY  # a lost connection has no code

    def schema(self) -> Schema | None:
        """What the table is; ``None`` if there is no such table."""
        name = self._table.as_string()
        with self._pool.connection() as connection:
            comment = connection.execute(
                "SELECT obj_description(oid) FROM pg_class WHERE oid = to_regclass(%s)", [name]
            ).fetchone()
            if comment is None:
                return None
            columns = connection.execute(_COLUMNS, [name]).fetchall()
            writes = connection.execute(_WRITES, [name, name, name]).fetchone()
            counted = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(self._table)).fetchone()
        note = comment[0].removeprefix(_NOTE) if (comment[0] or "").startswith(_NOTE) else None
        self._columns = {column: kind for column, kind, _ in columns}
        vectors = {column: size for column, kind, size in columns if kind in _SEARCHED}
        fields = self._location.fields(built_here=note is not None)
        self._fields = replace(
            fields, id=fields.id or "id", vector=fields.vector or (next(iter(vectors)) if len(vectors) == 1 else "")
        )
        dimension = vectors.get(self._fields.vector)
        return Schema(
            dimension=self._dimension_of_rows() if dimension == _UNKNOWN else dimension,
            metric=COSINE,  # of the search, whatever the table was made for
            count=counted[0] if counted else 0,
            version=writes[0] if writes else "",
            has_words=self._fields.text in self._columns,
            note=json.loads(note) if note is not None else None,
            id_field=self._fields.id,
            vector_fields=tuple(vectors),
            fields=tuple(self._columns),
        )

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[Hits]:
        """The nearest rows of each vector, best first, by one lateral join; float32[texts, dim]."""
        return self._search(
            "SELECT {id}::text AS id, 1 - ({vector} <=> q.asked) AS score FROM {table} AS t WHERE {where}"
            " ORDER BY {vector} <=> q.asked LIMIT {k}",
            [Vector(vector).to_text() for vector in vectors],
            self._columns.get(self._fields.vector, ""),
            k,
            where,
        )

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[Hits]:
        """The rows that share a word with each text, best first, by one lateral join."""
        return self._search(
            "SELECT {id}::text AS id, ts_rank({words}, wanted.query, 1)::float8 AS score FROM {table} AS t,"
            " (SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS query"
            " FROM unnest(to_tsvector('english', q.asked))) AS wanted"
            " WHERE {words} @@ wanted.query AND {where} ORDER BY score DESC LIMIT {k}",
            [text.replace("\0", " ") for text in texts],
            "text",
            k,
            where,
        )

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The documents that meet the conditions, in any order: those with the given ids, or all of them."""
        query = self._format(_ROWS, hidden=self._hidden(), where=sql_of(where, self._columns, self._fields))
        wanted = []
        if doc_ids is not None:
            query += self._format(" AND {id}::text = ANY(%s)")
            wanted = [[doc_id for doc_id in doc_ids if "\0" not in doc_id]]
        with self._pool.connection() as connection, connection.cursor(name="documents") as cursor:
            cursor.itersize = _PAGE
            yield from as_documents(self._finite(cursor.execute(query, wanted)), self._fields)

    def check(self, documents: Sequence[Document]) -> None:
        """Refuses documents that PostgreSQL cannot hold.

        Raises:
            DataError: a document contains the character NUL, its id is too long, or it has too many words.
        """
        for document in documents:
            metadata = json.dumps(dict(document.metadata))
            if "\0" in document.id + document.title + document.text or "\\u0000" in metadata:
                raise DataError(f"The document {document.id!r} contains the character NUL; PostgreSQL cannot hold it.")
            if (size := len(document.id.encode())) > _MOST_BYTES_OF_AN_ID:
                raise DataError(
                    f"The document id {document.id[:80]!r} has {size:,} bytes; PostgreSQL holds ids of at most"
                    f" {_MOST_BYTES_OF_AN_ID:,}. Give the document another id."
                )
            if len(document.title) + len(document.text) > _SURELY_HELD:
                self._check_words(document)

    def create(self, dimension: int) -> None:
        """Creates the table; its indexes follow when it is full."""
        self._fields = Fields()
        self._run("CREATE EXTENSION IF NOT EXISTS vector")
        self._run(
            "CREATE TABLE {table} ({id} text PRIMARY KEY, {title} text NOT NULL, {text} text NOT NULL,"
            " {metadata} jsonb NOT NULL, {vector} vector({dimension}) NOT NULL,"
            " {passage} tsvector GENERATED ALWAYS AS ({made_words}) STORED)",
            dimension=sql.Literal(dimension),
            passage=sql.Identifier(Fields().words),
            made_words=_WORDS.format(title=sql.Identifier("title"), text=sql.Identifier("text")),
        )

    def write_note(self, note: dict[str, Any]) -> None:
        """Replaces the note of our build in the comment of the table."""
        self._run("COMMENT ON TABLE {table} IS {note}", note=sql.Literal(_NOTE + json.dumps(note)))

    def write(self, documents: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Adds documents, and replaces those of equal ids; float32[documents, dim]."""
        rows = [
            (document.id, document.title, document.text, Jsonb(as_json(document.metadata)), Vector(vector).to_text())
            for document, vector in zip(documents, vectors, strict=True)
        ]
        query = self._format(
            "INSERT INTO {table} ({id}, {title}, {text}, {metadata}, {vector}) VALUES (%s, %s, %s, %s, %s::vector)"
            " ON CONFLICT ({id}) DO UPDATE SET {title} = EXCLUDED.{title}, {text} = EXCLUDED.{text},"
            " {metadata} = EXCLUDED.{metadata}, {vector} = EXCLUDED.{vector}"
        )
        with self._pool.connection() as connection, connection.cursor() as cursor:
            cursor.executemany(query, rows)

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        with self._pool.connection() as connection:
            connection.execute(self._format("DELETE FROM {table} WHERE {id} = ANY(%s)"), [list(doc_ids)])

    def finish(self) -> None:
        """Creates the indexes of a new table; PostgreSQL gives them names that are free."""
        schema, own = self.schema(), Fields()
        indexes = {own.words: "GIN ({passage})", own.metadata: "GIN ({metadata} jsonb_path_ops)"}
        if schema and (schema.dimension or 0) <= _MOST_INDEXED:
            indexes[own.vector] = "hnsw ({vector} vector_cosine_ops)"
        with self._pool.connection() as connection:
            indexed = {column for (column,) in connection.execute(_INDEXED, [self._table.as_string()])}
        for column, kind in indexes.items():
            if column not in indexed:
                self._run("CREATE INDEX ON {table} USING " + kind, passage=sql.Identifier(own.words))
        self._run("ANALYZE {table}")

    def _search(self, one: str, asked: list[str], kind: str, k: int, where: Filter) -> list[Hits]:
        words: sql.Composable = sql.Identifier("t", Fields().words)
        if self._fields != Fields():
            title = sql.SQL("''") if self._fields.title == Fields().title else sql.Identifier("t", self._fields.title)
            words = _WORDS.format(title=title, text=sql.Identifier("t", self._fields.text))
        inner = self._format(
            one,
            words=words,
            where=sql_of(where, self._columns, self._fields),
            k=sql.Literal(k),
        )
        query = sql.SQL(  # the texts are cast here, once, and not again for each row
            "SELECT q.number, found.id, found.score FROM unnest(%s::text[]::{}[]) WITH ORDINALITY AS q(asked, number)"
            " CROSS JOIN LATERAL ({}) AS found WHERE found.score <> 'NaN' ORDER BY q.number, found.score DESC"
        ).format(sql.Identifier(kind), inner)
        hits: list[Hits] = [[] for _ in asked]  # without rows of no vector (NULL) or of zeros (NaN), which sort last
        with self._pool.connection() as connection:
            settings = _thorough(k, has_filter=bool(where))
            connection.execute(
                "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS given(name, value)",
                [list(settings), list(settings.values())],
            )
            for number, doc_id, score in connection.execute(query, [asked]):
                hits[number - 1].append((doc_id, score))
        return hits

    def _finite(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Rows with NaN and infinity as ``None``: JSON has no such numbers, so PostgreSQL writes them as texts."""
        numbers = [column for column, kind in self._columns.items() if kind.removeprefix("_") in _FRACTIONS]
        for doc_id, row in rows:
            yield doc_id, {**row, **{name: _without_texts(row[name]) for name in numbers}}

    def _check_words(self, document: Document) -> None:
        made = _WORDS.format(title=sql.Literal(document.title), text=sql.Literal(document.text))
        try:
            with self._pool.connection() as connection:
                connection.execute(sql.SQL("SELECT length({})").format(made))
        except psycopg.errors.ProgramLimitExceeded as error:
            raise DataError(
                f"The document {document.id[:80]!r} has {len(document.text):,} characters and too many different words"
                " for the full text of PostgreSQL, which holds 1 MB of a document; split it."
            ) from error

    def _hidden(self) -> sql.Literal:
        vectors = [column for column, kind in self._columns.items() if kind in (*_SEARCHED, "sparsevec")]
        return sql.Literal([*vectors, Fields().words] if self._fields == Fields() else vectors)

    def _dimension_of_rows(self) -> int:
        """The dimension of the vectors in some rows of a column that is declared without one."""
        query = self._format(
            "SELECT DISTINCT vector_dims(found.vector) FROM (SELECT {vector} AS vector FROM {table}"
            " WHERE {vector} IS NOT NULL LIMIT {some}) AS found",
            some=sql.Literal(_SAMPLED),
        )
        with self._pool.connection() as connection:
            found = sorted(size for (size,) in connection.execute(query, []))
        if len(found) != 1:
            seen = f"vectors of {' and '.join(map(str, found))} dimensions" if found else "no vectors"
            raise IndexMismatchError(
                f"The column {self._fields.vector!r} of {self._location.shown} is declared without a dimension and"
                f" holds {seen}; it must hold vectors of one dimension."
            )
        return int(found[0])

    def _format(self, query: str, **parts: sql.Composable) -> sql.Composed:
        """A query to be executed with parameters: each ``%`` in a name or a value is doubled."""
        names = ("id", "title", "text", "metadata", "vector")
        columns = {name: sql.Identifier(getattr(self._fields, name)) for name in names if getattr(self._fields, name)}
        doubled = {
            name: sql.SQL(part.as_string().replace("%", "%%"))
            for name, part in {"table": self._table, **columns, **parts}.items()
        }
        return sql.SQL(query).format(**doubled)

    def _run(self, query: str, **parts: sql.Composable) -> None:
        with self._pool.connection() as connection:
            connection.execute("SET LOCAL statement_timeout = 0")  # an index takes its time
            connection.execute(self._format(query, **parts), [])


def _without_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_texts(one) for one in value]
    return None if isinstance(value, str) else value


def _thorough(k: int, *, has_filter: bool) -> dict[str, str]:
    """Settings with which an index finds ``k`` rows.

    By default, HNSW indexes return at most 40 rows and give up after 20,000, and IVFFlat indexes look into one list;
    rows that do not meet a filter count too.
    """
    candidates = _MOST_CANDIDATES if has_filter else min(max(2 * k, _FEWEST_CANDIDATES), _MOST_CANDIDATES)
    lists = _MOST_LISTS if has_filter else min(max(k, _FEWEST_LISTS), _MOST_LISTS)
    return {
        "hnsw.iterative_scan": "strict_order",
        "hnsw.ef_search": str(candidates),
        "hnsw.max_scan_tuples": str(2**31 - 1),
        "hnsw.scan_mem_multiplier": "1000",
        "ivfflat.iterative_scan": "relaxed_order",
        "ivfflat.probes": str(lists),
    }


@cache
def _pool(conninfo: str, seconds: float) -> ConnectionPool[psycopg.Connection]:
    """The connections of a database, shared by its tables."""

    def limit(connection: psycopg.Connection) -> None:
        connection.execute("SELECT set_config('statement_timeout', %s, false)", [str(round(1000 * seconds))])
        connection.commit()

    psycopg.connect(conninfo, connect_timeout=max(2, round(seconds))).close()  # says why it fails; a pool does not
    pool = ConnectionPool(
        conninfo,
        min_size=1,
        max_size=_CONNECTIONS,
        timeout=seconds,
        reconnect_timeout=seconds,  # then the next search begins anew, instead of a pause that doubles each time
        configure=limit,
        check=ConnectionPool.check_connection,
        open=True,
    )
    atexit.register(pool.close)
    return pool
