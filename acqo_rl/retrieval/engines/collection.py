"""A collection of a search engine, with retries of its calls."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

from acqo_rl.errors import SearchError
from acqo_rl.language_models.http_clients import make_retrying
from acqo_rl.retrieval.engines.engine import Engine, Schema
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.retrieval.manifest import IndexInfo
from acqo_rl.text import one_line

T = TypeVar("T")

_UNREADABLE = (AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""Exceptions after an answer of another form: the clients do not check all of it."""


class EngineCollection:
    """A collection. Its calls are repeated after temporary failures, with growing, random pauses.

    Attributes:
        engine: is called.
        location: of the collection.
        schema: what the engine told of the collection; set when it is opened.
    """

    schema: Schema

    def __init__(self, engine: Engine, location: Location, seconds: float | None = None) -> None:
        """Creates a collection that is not opened yet.

        Args:
            engine: is called.
            location: of the collection.
            seconds: time limit of a call over all attempts. By default a call is repeated for about a minute, so that a
                training run survives a restart of the engine.
        """
        self.engine = engine
        self.location = location
        self._retrying = make_retrying(engine.is_temporary, seconds)

    @cached_property
    def info(self) -> IndexInfo:
        """Its description. The hash of the corpus is made of the location and the number of documents alone."""
        corpus = _hash(self.location.shown, self.schema.count)
        is_dense = self.location.options.mode == "dense"
        kind, encoder = ("dense", _hash(self.location.encoder)) if is_dense else ("bm25", "")
        return IndexInfo(kind, _hash(kind, corpus, encoder), corpus, self.schema.count, encoder)

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


def _hash(*values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
