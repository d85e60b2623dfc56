"""What a search engine has to do, and collections of engines, with retries of their calls."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from acqo_rl.errors import SearchError
from acqo_rl.files import hash_of
from acqo_rl.language_models.http_clients import make_retrying
from acqo_rl.retrieval.engines.location import Location, LocationOptions
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
        fields: names of the fields; of a collection without declared fields, those of some entries.
    """

    count: int
    vectors: Mapping[str, tuple[int | None, str]]
    key: str
    fields: Sequence[str]


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

    def search_vectors(self, vectors: Vectors, k: int, where: Filter) -> list[list[Hit]]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best by full text, best first."""

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
        corpus = hash_of(self.location.shown, self.schema.count)
        is_dense = self.location.options.mode == "dense"
        kind, encoder = ("dense", hash_of(self.location.encoder)) if is_dense else ("bm25", "")
        return IndexInfo(kind, hash_of(kind, corpus, encoder), corpus, self.schema.count, encoder)

    def __call__(self, method: Callable[..., T], *arguments: Any) -> T:
        """The result of a method of the engine.

        Raises:
            SearchError: the engine does not answer or rejects the call.
        """
        with reported(self.location, self.engine):
            answer: T = self._retrying(method, *arguments)
            return answer


@contextmanager
def reported(location: Location, engine: Engine | type[Engine]) -> Iterator[None]:
    """Turns exceptions of an engine's client, and those after an unreadable answer, into ``SearchError``."""
    caught: tuple[type[Exception], ...] = (*engine.errors, *_UNREADABLE)
    try:
        yield
    except caught as error:
        reason = one_line(str(error) or "its answer has another form than expected")[:300]
        remedy = (
            "check that the engine runs and that the location is right"
            if engine.is_temporary(error)
            else "check the collection and its location"
        )
        raise SearchError(f"A call of {location.shown} failed ({type(error).__name__}: {reason}); {remedy}.") from error
