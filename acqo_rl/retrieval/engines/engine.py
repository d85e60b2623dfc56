"""What a search engine has to do; everything else is shared by all engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from acqo_rl.types import Document, Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row = Mapping[str, Any]
"""Fields of an entry by name, as the engine's client returns them. Objects and lists may be inside."""

Hit = tuple[str | None, float, Row]
"""An entry that a search found: id or ``None``, score (higher is better), and the fields of the filter."""

COSINE, DOT = "cosine", "dot"
"""Metrics with which a dense index can be searched."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the fields of a collection.

    Attributes:
        id: document id; empty for the id of the engine itself.
        title: may be missing from the collection.
        text: the text of a document.
        vector: the embedding; empty for the unnamed vector of engines that have one.
        metadata: an object with all other fields; empty if these stand beside the text.
        words: searched by full text.
    """

    id: str = "id"
    title: str = "title"
    text: str = "text"
    vector: str = "vector"
    metadata: str = "metadata"
    words: str = "passage"

    def path_of(self, name: str) -> str:
        """The path of a metadata field, with dots."""
        return f"{self.metadata}.{name}" if self.metadata else name


@dataclass(frozen=True, slots=True)
class Schema:
    """What an engine tells of a collection.

    Attributes:
        dimension: of the vectors; ``None`` if the vector field is missing.
        metric: ``cosine``, ``dot``, or the engine's name of another one.
        count: number of entries.
        has_words: whether the field that full text searches has a full text index.
        note: what our own build wrote into the metadata of the collection; ``None`` for a collection of others.
        vector_fields: names of the vector fields, for messages.
        fields: names of the fields; of a collection without declared fields, those of some entries.
        version: changes with the entries; empty if the engine does not tell.
    """

    dimension: int | None
    metric: str
    count: int
    has_words: bool
    note: dict[str, Any] | None
    vector_fields: tuple[str, ...] = field(default=())
    fields: tuple[str, ...] = field(default=())
    version: str = ""


class Engine(Protocol):
    """One collection of a search engine. Calls may come from several threads.

    A filter may find more than it says, but nothing less: what an engine returns is tested again by
    :func:`acqo_rl.retrieval.engines.conditions.meets`. Its fields are paths that begin with a field of the collection,
    and its bounds are ``gte`` and ``lte``.

    Attributes:
        errors: exceptions of the engine's client that mean that a call failed.
        largest_k: the most entries that one search returns.
        fields: names of the fields, known after a call of ``schema``.
    """

    errors: tuple[type[Exception], ...]
    largest_k: int
    fields: Fields

    @staticmethod
    def is_temporary(error: BaseException) -> bool:
        """Whether the same call may succeed later."""
        ...

    def schema(self) -> Schema | None:
        """What the collection is; ``None`` if there is no such collection."""
        ...

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[list[Hit]]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""
        ...

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best by full text, best first."""
        ...

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields, without vectors, of the entries with the given ids, or of all, in any order."""
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
