"""What a search engine has to do, and collections of engines, with retries of their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from threading import Lock
from typing import Any, Protocol, TypeVar

from cachetools import LRUCache

from acqo_rl.errors import AcqoError, SearchError
from acqo_rl.files import hash_of
from acqo_rl.language_models.http_clients import make_retrying
from acqo_rl.retrieval.engines.location import Location, LocationOptions, Mode
from acqo_rl.retrieval.manifest import IndexInfo
from acqo_rl.roles import Vectors
from acqo_rl.text import one_line
from acqo_rl.types import Filter

T = TypeVar("T")

Row = Mapping[str, Any]
"""Fields of an entry by name, as the engine's client returns them. Objects and lists may be inside."""

Hit = tuple[str | None, float, Row]
"""An entry that a search found: id or ``None``, score (higher is better), and the fields of the filter."""

COSINE, DOT = "cosine", "dot"
"""Metrics with which a dense index can be searched."""

_SEEN = 20_000
"""Maximum number of entries that are kept."""

_UNREADABLE = (AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""Exceptions after an answer of another form: the clients do not check all of it."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What an engine tells of a collection.

    Attributes:
        count: number of entries.
        vectors: name of a vector field -> dimension (``None`` if it is unknown) and metric: ``cosine``, ``dot``, or the
            engine's name of another one.
        key: field with the ids, if none is named; empty for the id of the engine itself.
        fields: names of the fields.
        metadata: field with an object of all other fields, if none is named.
        mode: how it is searched, if the location does not say it.
        embeds: whether the engine itself embeds the texts of a dense search.
        corpus: identifies the documents; by default, the location does.
        state: changes with the way in which the engine searches.
        filters: whether a part of the documents can be searched.
        lists: whether all documents can be read.
        looks_up: whether documents can be read by id; else those of the last hits are known.
    """

    count: int
    vectors: Mapping[str, tuple[int | None, str]]
    key: str
    fields: Sequence[str]
    metadata: str = ""
    mode: Mode | None = None
    embeds: bool = False
    corpus: str = ""
    state: str = ""
    filters: bool = True
    lists: bool = True
    looks_up: bool = True


class Engine(Protocol):
    """One collection of a search engine. Calls may come from several threads.

    A filter may find more than it says, but nothing less: what an engine returns is tested again by
    :func:`acqo_rl.retrieval.engines.filters.meets`. Its fields are paths that begin with a field of the collection,
    and its bounds are ``gte`` and ``lte``.

    Attributes:
        errors: exceptions of the engine's client that mean that a call failed.
        fields: names of the fields, as in the location of the collection; the opener fills in ``id`` and ``vector``.
    """

    errors: tuple[type[Exception], ...]
    fields: LocationOptions = LocationOptions()

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""

    def schema(self) -> Schema | None:
        """What the collection is; ``None`` if there is no such collection."""

    def has_words(self) -> bool:
        """Whether the field of the texts has a full text index."""

    def search(self, texts: Sequence[str], vectors: Vectors | None, k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best, best first; by its vector, float32[texts, dim], if there are some."""

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields, without vectors, of the entries with the given ids, or of all, in any order."""


class EngineCollection:
    """A collection. Its calls are repeated after temporary failures, with growing, random pauses.

    Attributes:
        engine: is called.
        location: of the collection.
        schema: what the engine told of the collection.
    """

    def __init__(self, engine: Engine, location: Location, schema: Schema, seconds: float | None = None) -> None:
        """Creates a collection.

        Args:
            engine: is called.
            location: of the collection.
            schema: what the engine told of the collection.
            seconds: time limit of a call over all attempts. By default a call is repeated for about a minute, so that a
                training run survives a restart of the engine.
        """
        self.engine = engine
        self.location = location
        self.schema = schema
        self._retrying = make_retrying(engine.is_temporary, seconds)

    @cached_property
    def info(self) -> IndexInfo:
        """Its description. The hash of the corpus is made of the location and the number of documents alone."""
        schema = self.schema
        corpus = hash_of(schema.corpus or self.location.shown, schema.count)
        kind, encoder = "bm25", ""
        if self.location.options.mode == "dense":
            kind, encoder = "dense", hash_of(self.location.shown if schema.embeds else self.location.encoder)
        return IndexInfo(kind, hash_of(kind, corpus, encoder, schema.state), corpus, schema.count, encoder)

    def __call__(self, method: Callable[..., T], *arguments: Any) -> T:
        """The result of a method of the engine.

        Raises:
            SearchError: the engine does not answer or rejects the call.
        """
        with reported(self.location, self.engine):
            answer: T = self._retrying(method, *arguments)
            return answer


class Seen:
    """The last entries that searches found, of engines that look up none by id. Thread-safe."""

    def __init__(self) -> None:
        self._rows: LRUCache[str, Row] = LRUCache(_SEEN)
        self._lock = Lock()

    def add(self, hits: Iterable[Hit]) -> None:
        """Keeps entries; a later one replaces an earlier one with its id."""
        with self._lock:
            self._rows.update({doc_id: row for doc_id, _, row in hits if doc_id is not None})

    def rows(self, doc_ids: Sequence[str]) -> list[tuple[str | None, Row]]:
        """Id and fields of those of the entries that are kept."""
        with self._lock:
            return [(doc_id, self._rows[doc_id]) for doc_id in doc_ids if doc_id in self._rows]


@cache
def seen_in(_: str) -> Seen:
    """What the searches of a location found, in this process."""
    return Seen()


@contextmanager
def reported(location: Location, engine: Engine | type[Engine]) -> Iterator[None]:
    """Turns exceptions of an engine's client, and those after an unreadable answer, into ``SearchError``."""
    caught: tuple[type[Exception], ...] = (*engine.errors, *_UNREADABLE)
    try:
        yield
    except AcqoError:
        raise
    except caught as error:
        reason = one_line(str(error) or "its answer has another form than expected")[:300]
        remedy = (
            "check that the engine runs and that the location is right"
            if engine.is_temporary(error)
            else "check the collection and its location"
        )
        raise SearchError(f"A call of {location.shown} failed ({type(error).__name__}: {reason}); {remedy}.") from error
