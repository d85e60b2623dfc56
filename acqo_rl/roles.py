"""The protocols of the components that a query passes.

All calls are batched and return results in input order. Implementations inherit from their protocol, which has defaults
for its optional members, and do not depend on each other. A property may replace an attribute: nothing assigns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from acqo_rl.errors import ConfigError
from acqo_rl.types import (
    UNRESTRICTED,
    Completion,
    Conversation,
    Document,
    FeedbackSpec,
    Query,
    Ranking,
    Reformulation,
    Schema,
    Scope,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Vectors: TypeAlias = "NDArray[np.float32]"
"""One vector per row, float32[texts, dim]."""


class Reformulator(Protocol):
    """Rewrites queries into sub-queries.

    Attributes:
        name: recorded in every reformulation.
        max_calls: maximum number of model calls per query.
        feedback: the results of a first search that it reads; none by default.
    """

    name: str
    max_calls: int = 0
    feedback: FeedbackSpec = FeedbackSpec()

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; an invalid completion falls back to the raw query."""


class LanguageModel(Protocol):
    """Generates one completion per conversation, without thoughts."""

    def generate(self, conversations: Sequence[Conversation], schema: Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; a failed call is reported in ``problem``.

        Args:
            conversations: the prompts.
            schema: JSON schema of the replies. A model that cannot guarantee it ignores it.
        """

    def with_sampling(self, temperature: float | None, max_new_tokens: int | None) -> LanguageModel:
        """The same model at another temperature or token limit; itself if it has none. ``None`` changes nothing."""
        return self


class Encoder(Protocol):
    """Embeds texts.

    Attributes:
        fingerprint: identifies model, revision, prompts and precision.
        dim: embedding dimension.
        settings: what an index records to load an equal encoder; ``None`` if an encoder has to be given.
    """

    fingerprint: str
    dim: int
    settings: dict[str, Any] | None = None

    def windows(self, text: str) -> tuple[str, ...]:
        """The parts of a query to search: the query, or its first and its last part if it is too long to be read."""
        return (text,)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeddings, float32[texts, dim]."""

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Embeddings, float32[texts, dim]."""


class Retriever(Protocol):
    """Searches documents.

    Attributes:
        name: recorded in every ranking.
        cosine: whether the scores are cosines.
        fingerprint: changes with the documents; empty if it is unknown.
    """

    name: str
    cosine: bool = False
    fingerprint: str = ""

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns one ranking of at most ``k`` documents per text, in input order; empty if nothing matches.

        Dense retrievers embed a :class:`Passage` with the passage prompt.
        """

    def restrict(self, scope: Scope) -> Retriever:
        """The retriever of the documents in the scope; connections are shared.

        Raises:
            ConfigError: the retriever cannot search a part of its documents.
        """
        if scope == UNRESTRICTED:
            return self
        raise ConfigError(
            f"The index {self.name!r} searches all of its documents; only an index folder and a search engine"
            " can be searched with a filter or a tenant."
        )


@runtime_checkable
class RemoteCorpus(Protocol):
    """Documents that are looked up in a search engine.

    Attributes:
        lists: whether all documents can be read.
    """

    lists: bool = True

    def fetch(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        """The given documents by id, from one call; those that do not exist or may not be seen are left out."""


class Fusion(Protocol):
    """Merges the rankings of each query into one."""

    name: str

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """Returns one fused ranking of at most ``k`` documents per query, in input order."""


class Hop(Protocol):
    """Chooses one more search after reading the results of the searches so far.

    Attributes:
        name: recorded in the trace.
        languages: codes (ISO 639-1) of the languages that it reads; ``None`` stands for any language.
    """

    name: str
    languages: tuple[str, ...] | None = None

    def choose(self, searched: Sequence[Reformulation], fused: Sequence[Ranking]) -> list[str | None]:
        """Returns a name to search for each query, or ``None`` to stop, in input order.

        Args:
            searched: the searches so far, including those of earlier hops.
            fused: the fused results of these searches.
        """


class Reranker(Protocol):
    """Scores how well passages answer queries."""

    name: str

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Returns one score per pair of query and passage, in input order; comparable within one query."""
