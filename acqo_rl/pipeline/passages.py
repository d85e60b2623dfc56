"""The passages that the searches for one question found, in the order in which an answer reads them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from acqo_rl.types import Document, Span


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrieved passage.

    Attributes:
        document: the passage.
        similarity: its best cosine, without boost; derived from its best rank if scores are not cosines.
        source: the step that first found it.
        span: start and end of the passage whose vector matched, in the text of a split document.
    """

    document: Document
    similarity: float
    source: str
    span: Span | None = None


@dataclass(slots=True)
class Passages:
    """The passages of one question.

    Attributes:
        found: document id -> passage, in the order in which they were found.
        fused: document ids of a first search with fused rankings, best first; these passages keep their order.
        boost: returns a factor for the similarity of a passage, used only for ordering.
    """

    found: dict[str, Chunk] = field(default_factory=dict)
    fused: tuple[str, ...] = ()
    boost: Callable[[Chunk], float] = lambda _: 1.0

    def add(
        self, found: Iterable[tuple[Document, float]], source: str, spans: Mapping[str, Span] | None = None
    ) -> None:
        """Adds passages; a known passage keeps its source, its span and its higher similarity."""
        for document, similarity in found:
            new = Chunk(document, similarity, source, (spans or {}).get(document.id))
            chunk = self.found.setdefault(document.id, new)
            self.found[document.id] = replace(chunk, similarity=max(similarity, chunk.similarity))

    @property
    def best(self) -> tuple[Chunk, ...]:
        """The passages by boosted similarity, best first.

        Passages of a fused first search keep their order: their similarities are sorted and assigned to them in that
        order. Ordered by similarity alone, the best passage of one sub-query could come after all passages of another
        sub-query that is closer to its documents.
        """
        values = {doc_id: chunk.similarity for doc_id, chunk in self.found.items()}
        values |= zip(self.fused, sorted((values[doc_id] for doc_id in self.fused), reverse=True), strict=True)

        def boosted(chunk: Chunk) -> float:
            value = values[chunk.document.id]
            factor = self.boost(chunk)
            return value * factor if value >= 0 else value / factor

        return tuple(sorted(self.found.values(), key=boosted, reverse=True))
