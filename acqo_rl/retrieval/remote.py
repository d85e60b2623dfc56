"""Client of ``acqo serve --retriever``; its rankings equal those of the same index loaded in this process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat, PositiveInt, StrictStr, TypeAdapter, model_validator

from acqo_rl.errors import SearchError
from acqo_rl.language_models.http_clients import key_in
from acqo_rl.retrieval.http_calls import Server
from acqo_rl.retrieval.manifest import IndexInfo
from acqo_rl.roles import Retriever
from acqo_rl.types import Passage, Ranking, Span, well_formed

KEY_VARIABLE = "ACQO_RETRIEVER_KEY"
"""Environment variable with the API key of a retriever server."""

_BYTES_PER_DOCUMENT = 1024
"""Maximum size of a document's id, score and span in an answer, on average."""


class OneRanking(BaseModel):
    """Ids and scores, best first."""

    doc_ids: list[StrictStr]
    scores: list[Annotated[float, Field(strict=True, allow_inf_nan=False)]]
    ceiling: FiniteFloat | None = Field(
        default=None, description="Upper bound on the score of any document for the text; None if unknown."
    )
    windows: PositiveInt = Field(default=1, description="Number of parts of the text that were searched.")
    spans: dict[str, Span] = Field(
        default={}, description="Start and end of the passage that matched, of documents that were split."
    )

    @model_validator(mode="after")
    def _one_score_per_document(self) -> OneRanking:
        if len(self.doc_ids) != len(self.scores):
            raise ValueError(f"{len(self.doc_ids)} documents with {len(self.scores)} scores")
        if len(set(self.doc_ids)) < len(self.doc_ids):
            raise ValueError("a document is twice in a ranking")
        if any(earlier < later for earlier, later in pairwise(self.scores)):
            raise ValueError("the scores of a ranking rise")
        return self


class Rankings(BaseModel):
    """One ranking per text, in input order."""

    rankings: list[OneRanking]
    fingerprint: str = Field(description="Fingerprint of the index, as in /info.")


class RemoteRetriever(Retriever):
    """Searches an index on a server, with retries. Thread-safe.

    A failure always raises an exception and never returns an empty result.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str = "remote",
        seconds: float | None = None,
        fingerprint: str = "",
        cosine: bool = False,
    ) -> None:
        """Creates a client without connecting. The environment variable ``ACQO_RETRIEVER_KEY`` holds the API key.

        Args:
            url: URL of the server.
            name: recorded in every ranking.
            seconds: time limit of a search, see :class:`~acqo_rl.retrieval.http_calls.Server`.
            fingerprint: expected fingerprint of the index; responses from another index raise an error.
            cosine: whether the scores are cosines.

        Raises:
            MissingPackageError: the packages of the extra ``remote`` are not installed.
        """
        self.name = name
        self.fingerprint = fingerprint
        self.cosine = cosine
        self._server = Server(url, "An index server", key_in(KEY_VARIABLE), seconds)

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns one ranking of at most ``k`` documents per text, in input order.

        Raises:
            SearchError: the server does not respond, rejects the call, sends an invalid response or serves another
                index.
        """
        if not texts:
            return []
        asked: dict[str, Any] = {"texts": [well_formed(text) for text in texts], "k": k}
        if passages := [place for place, text in enumerate(texts) if isinstance(text, Passage)]:
            asked["passages"] = passages

        def read(body: Any) -> list[Ranking]:
            answer = Rankings.model_validate(body)
            if (longest := max((len(row.doc_ids) for row in answer.rankings), default=0)) > k:
                raise ValueError(f"{longest} documents in a ranking of at most {k}")
            if self.fingerprint not in ("", answer.fingerprint):
                raise SearchError(
                    f"{self._server.url} now serves another index ({answer.fingerprint[:12]}, expected"
                    f" {self.fingerprint[:12]}). Serve the expected index again, or restart this process.",
                    public="An index server now serves another index.",
                )
            return [
                Ranking(
                    tuple(row.doc_ids),
                    tuple(row.scores),
                    self.name,
                    text,
                    ceiling=row.ceiling,
                    windows=row.windows,
                    spans=row.spans,
                )
                for row, text in zip(answer.rankings, texts, strict=True)
            ]

        return self._server.call("POST", "/search", read, asked, most=len(texts) * k * _BYTES_PER_DOCUMENT)

    def info(self) -> IndexInfo:
        """Returns the description of the index.

        Raises:
            SearchError: as in :meth:`search`.
        """
        return self._server.call("GET", "/info", TypeAdapter(IndexInfo).validate_python, is_first=True)
