"""The HTTP application of a shared index; :mod:`acqo_rl.retrieval.remote` is its client."""

from __future__ import annotations

import json
from dataclasses import asdict

from fastapi import FastAPI
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from acqo_rl import __version__
from acqo_rl.retrieval.remote import IndexInfo
from acqo_rl.serving.http import REFUSALS, Threads, finish_app
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.schemas import Body, Notes, Position, Whole
from acqo_rl.serving.web import AT_ROOT, Web
from acqo_rl.surrogates import REPLACEMENT
from acqo_rl.types import Passage, Ranking, Retriever


class TextsRequest(Body):
    """Texts to search."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"texts": ["capital of Peru"], "k": 10}]}
    )

    texts: list[str] = Field(max_length=20_000)
    k: Whole = Field(default=10, ge=1, le=2000)
    passages: list[Position] = Field(
        default=[], max_length=20_000, description="Positions of texts that are embedded as passages are."
    )

    def notes(self) -> list[str]:
        """What of the texts is broken."""
        broken = sum(REPLACEMENT in text for text in self.texts)
        return [f"{broken} of {len(self.texts)} texts hold U+FFFD, where a character was broken."] if broken else []

    def marked(self) -> list[str]:
        """The texts, those that are passages as such."""
        passages = set(self.passages)
        return [Passage(text) if i in passages else text for i, text in enumerate(self.texts)]


class OneRanking(BaseModel):
    """Ids and scores, best first."""

    doc_ids: list[str]
    scores: list[float]
    ceiling: float | None = Field(description="Best score that any document could have for the text, where known.")


class RankingsResponse(BaseModel):
    """One ranking a text, position for position."""

    rankings: list[OneRanking]
    fingerprint: str = Field(description="Of the index, as /info tells it.")
    notes: Notes


class InfoResponse(BaseModel):
    """See :class:`acqo_rl.retrieval.remote.IndexInfo`."""

    kind: str
    fingerprint: str
    corpus_hash: str
    document_count: int
    encoder: str


def make_retriever_app(
    retriever: Retriever, info: IndexInfo, metrics: Metrics, limits: Limits, web: Web = AT_ROOT
) -> FastAPI:
    """The application around an index.

    One call after the other is searched, each as it came: an encoder rounds otherwise when it meets other texts in a
    batch, and the rankings would not be those that the index gives in the caller's own process.

    Args:
        retriever: searches.
        info: what the index is.
        metrics: shown at ``/metrics``.
        limits: keys, sizes, rates.
        web: prefix and origins.
    """
    thread = Threads(1)
    app = FastAPI(title="acqo_rl retriever", version=__version__)

    @app.get("/info", responses={code: REFUSALS[code] for code in (401, 429)})
    async def tell() -> InfoResponse:
        """What the index is."""
        return InfoResponse(**asdict(info))

    @app.post("/search", responses=REFUSALS, response_model=RankingsResponse)
    async def search(body: TextsRequest) -> Response:
        """The rankings of all texts; numbers are written so that they read back as they were."""
        answer = await thread.run(
            lambda: _dump(retriever.search(body.marked(), body.k), info.fingerprint, body.notes())
        )
        return Response(answer, media_type="application/json")

    finish_app(app, metrics, limits, web, lambda: True)
    return app


def _dump(rankings: list[Ranking], fingerprint: str, notes: list[str]) -> bytes:
    rows = [{"doc_ids": r.doc_ids, "scores": r.scores, "ceiling": r.ceiling} for r in rankings]
    return json.dumps({"rankings": rows, "fingerprint": fingerprint, "notes": notes}).encode()
