"""What a search engine has to do, and what its implementations share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from threading import Lock
from typing import Literal, Protocol

from cachetools import LRUCache

from acqo_rl.errors import SearchError
from acqo_rl.files import hash_of
from acqo_rl.libraries import reported
from acqo_rl.retrieval.engines.filters import conditions_of
from acqo_rl.retrieval.engines.location import Location
from acqo_rl.retrieval.manifest import IndexInfo
from acqo_rl.roles import Vectors
from acqo_rl.types import Document, Filter, Scope

Hit = tuple[str | None, float]
"""An entry that a search found: id and score (higher is better). It has no id if it does not meet the filter."""

_SEEN = 20_000
"""Maximum number of documents that are kept."""


class Engine(Protocol):
    """One collection of a search engine. Calls may come from several threads, and are repeated where this may help.

    The class is called with the location and the time limit of a call over all attempts. By default a call is repeated
    for about a minute, so that a training run survives a restart of the engine. It raises ``IndexMismatchError`` if
    there is no such collection or it does not fit, and ``SearchError`` if the engine does not answer.

    A filter narrows a search by :func:`~acqo_rl.retrieval.engines.filters.widened` conditions, and
    :func:`~acqo_rl.retrieval.engines.filters.meets` tests each entry that is found.

    Attributes:
        location: of the collection.
        kind: what is searched: vectors or words.
        count: number of entries; 0 if it is unknown.
        cosine: whether the scores are cosines.
        embeds: whether the engine itself embeds the texts of a dense search.
        dim: dimension of the vectors; ``None`` if it is unknown.
        corpus: identifies the documents; by default, the location does.
        state: changes with the way in which the engine searches.
        filters: whether a part of the documents can be searched.
        lists: whether all documents can be read.
        looks_up: whether documents can be read by id; else those of the last hits are known.
    """

    location: Location
    kind: Literal["dense", "bm25"]
    count: int = 0
    cosine: bool = False
    embeds: bool = False
    dim: int | None = None
    corpus: str = ""
    state: str = ""
    filters: bool = True
    lists: bool = True
    looks_up: bool = True

    def search(self, texts: Sequence[str], vectors: Vectors | None, k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best, best first; by its vector, float32[texts, dim], if there are some."""

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The entries with the given ids, or all, in any order."""

    def where(self, scope: Scope) -> Filter:
        """The conditions of a scope; see :func:`~acqo_rl.retrieval.engines.filters.conditions_of`."""
        return conditions_of(self.location.shown, self.location.options.tenant, scope)

    @property
    def info(self) -> IndexInfo:
        """The description. The hash of the corpus is made of the location and the number of documents alone."""
        shown = self.location.shown
        corpus = hash_of(self.corpus or shown, self.count)
        encoder = hash_of(shown if self.embeds else self.location.encoder) if self.kind == "dense" else ""
        return IndexInfo(self.kind, hash_of(self.kind, corpus, encoder, self.state), corpus, self.count, encoder)


class Seen:
    """The last documents that searches found, of engines that look up none by id. Thread-safe."""

    def __init__(self) -> None:
        self._documents: LRUCache[str, Document] = LRUCache(_SEEN)
        self._lock = Lock()

    def add(self, documents: Iterable[Document]) -> None:
        """Keeps documents; a later one replaces an earlier one with its id."""
        with self._lock:
            self._documents.update({document.id: document for document in documents})

    def find(self, doc_ids: Sequence[str]) -> list[Document]:
        """Those of the documents that are kept."""
        with self._lock:
            return [self._documents[doc_id] for doc_id in doc_ids if doc_id in self._documents]


@cache
def seen_in(_: str) -> Seen:
    """What the searches of a location found, in this process."""
    return Seen()


def calling(shown: str, *errors: type[Exception]) -> AbstractContextManager[None]:
    """Turns exceptions of an engine's client into ``SearchError``."""
    remedy = "; check that the engine runs, and the collection and its location."
    return reported(SearchError, f"A call of {shown} failed", remedy, *errors)
