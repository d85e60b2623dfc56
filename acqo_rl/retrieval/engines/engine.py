"""What a search engine has to do; everything else is shared by all engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from acqo_rl.retrieval.engines.location import LocationOptions
from acqo_rl.types import Filter

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
    :func:`acqo_rl.retrieval.engines.conditions.meets`. Its fields are paths that begin with a field of the collection,
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
        return False

    def schema(self) -> Schema | None:
        """What the collection is; ``None`` if there is no such collection."""

    def has_words(self) -> bool:
        """Whether the field of the texts has a full text index."""

    def search_vectors(self, vectors: NDArray[np.float32], k: int, where: Filter) -> list[list[Hit]]:
        """The nearest entries of each row, best first, by one call; float32[texts, dim]."""

    def search_texts(self, texts: Sequence[str], k: int, where: Filter) -> list[list[Hit]]:
        """The entries that match each text best by full text, best first."""

    def rows(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[tuple[str | None, Row]]:
        """Id and fields, without vectors, of the entries with the given ids, or of all, in any order."""
