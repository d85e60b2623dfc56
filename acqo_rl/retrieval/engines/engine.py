"""What an engine has to do; everything else is shared by all engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from acqo_rl.types import Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Hits = list[tuple[str | None, float]]
"""Document ids and scores of one search; a higher score is better. The id of an entry may be missing (``None``)."""

COSINE, DOT = "cosine", "dot"
"""Metrics with which a dense index can be searched."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What an engine tells of a collection.

    Attributes:
        dimension: of the vectors; ``None`` if the vector field is missing.
        metric: ``cosine``, ``dot``, or the engine's name of another one.
        count: number of entries.
        norms: lengths of some of the vectors if the metric is ``dot``, which compares lengths too.
        has_words: whether the field that full text searches has a full text index.
        note: what our own build wrote into the metadata of the collection; ``None`` for a collection of others.
        id_field: name of the field with the ids; empty if the ids are those of the engine itself.
        vector_fields: names of the vector fields, for messages.
        fields: names of all fields that documents have; empty if the engine does not tell.
        version: changes with the entries; empty if the engine does not tell.
    """

    dimension: int | None
    metric: str
    count: int
    has_words: bool
    norms: tuple[float, ...] = field(default=())
    note: dict[str, Any] | None = None
    id_field: str = ""
    vector_fields: tuple[str, ...] = field(default=())
    fields: tuple[str, ...] = field(default=())
    version: str = ""


def norms_of(vectors: Sequence[Any]) -> tuple[float, ...]:
    """The lengths of vectors; an entry may also have several vectors."""
    import numpy as np

    return tuple(float(norm) for vector in vectors for norm in np.atleast_1d(np.linalg.norm(vector, axis=-1)))


class Engine(Protocol):
    """One collection of a search engine. Calls may come from several threads.

    Attributes:
        errors: exceptions of the engine's client that mean that a call failed.
        largest_k: the most entries that one search returns.
    """

    errors: tuple[type[Exception], ...]
    largest_k: int

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""
        ...

    def schema(self) -> Schema | None:
        """What the collection is; ``None`` if there is no such collection."""
        ...

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[Hits]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""
        ...

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[Hits]:
        """The entries that match each text best by full text, best first, by one call."""
        ...

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The documents that meet the conditions, in any order: those with the given ids, or all of them."""
        ...

    def check(self, documents: Sequence[Document]) -> None:
        """Refuses documents that the engine cannot hold, before any is written.

        Raises:
            DataError: the engine cannot hold one of them.
        """
        ...

    def create(self, dimension: int) -> None:
        """Creates the collection with vectors for the cosine and a full text index."""
        ...

    def write_note(self, note: dict[str, Any]) -> None:
        """Replaces the note of our build in the metadata of the collection."""
        ...

    def write(self, documents: Sequence[Document], vectors: NDArray[np.float32]) -> None:
        """Adds documents, and replaces those of equal ids; float32[documents, dim]."""
        ...

    def delete(self, doc_ids: Sequence[str]) -> None:
        """Deletes documents."""
        ...

    def finish(self) -> None:
        """Makes everything that was written searchable."""
        ...
