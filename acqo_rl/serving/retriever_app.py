"""The HTTP application of a shared index; :mod:`acqo_rl.retrieval.remote` is the client."""

from __future__ import annotations

import json
from dataclasses import asdict

from fastapi import FastAPI
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from acqo_rl import __version__
from acqo_rl.retrieval.remote import IndexInfo
from acqo_rl.roles import Retriever
from acqo_rl.serving.http import REFUSALS, finish_app, in_thread
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.requests import Body, Position, Whole
from acqo_rl.serving.responses import Notes
from acqo_rl.serving.web import AT_ROOT, Web
from acqo_rl.types import REPLACEMENT, Passage, Ranking


class TextsRequest(Body):
    """Texts to search."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"texts": ["capital of Peru"], "k": 10}]}
    )

    texts: list[str] = Field(max_length=20_000)
    k: Whole = Field(default=10, ge=1, le=2000)
    passages: list[Position] = Field(
        default=[], max_length=20_000, description="Positions of the texts to embed with the passage prompt."
    )

    def notes(self) -> list[str]:
        """A note on texts with broken characters."""
        broken = sum(REPLACEMENT in text for text in self.texts)
        return [f"{broken} of {len(self.texts)} texts contain U+FFFD in place of a broken character."] if broken else []

    def marked(self) -> list[str]:
        """The texts; those listed in ``passages`` are converted to :class:`acqo_rl.types.Passage`."""
        passages = set(self.passages)
        return [Passage(text) if i in passages else text for i, text in enumerate(self.texts)]


class OneRanking(BaseModel):
    """Ids and scores, best first."""

    doc_ids: list[str]
    scores: list[float]
    ceiling: float | None = Field(description="Upper bound on the score of any document for the text; None if unknown.")


class RankingsResponse(BaseModel):
    """One ranking per text, in input order."""

    rankings: list[OneRanking]
    fingerprint: str = Field(description="Fingerprint of the index, as in /info.")
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
    """Creates the application.

    Requests are searched one at a time and not combined into batches. An encoder rounds differently if a batch contains
    other texts, so the rankings would differ from those of the same index in the caller's process.

    Args:
        retriever: runs the searches.
        info: description of the index.
        metrics: served at ``/metrics``.
        limits: API keys, sizes and rates.
        web: path prefix and CORS origins.
    """
    app = FastAPI(title="acqo_rl retriever", version=__version__)

    @app.get("/info", responses={code: REFUSALS[code] for code in (401, 429)})
    async def describe() -> InfoResponse:
        """The description of the index."""
        return InfoResponse(**asdict(info))

    @app.post("/search", responses=REFUSALS, response_model=RankingsResponse)
    async def search(body: TextsRequest) -> Response:
        """Searches all texts; scores are returned without loss of precision."""
        answer = await in_thread(lambda: _dump(retriever.search(body.marked(), body.k), info.fingerprint, body.notes()))
        return Response(answer, media_type="application/json")

    finish_app(app, metrics, limits, web, lambda: True)
    return app


def _dump(rankings: list[Ranking], fingerprint: str, notes: list[str]) -> bytes:
    rows = [{"doc_ids": r.doc_ids, "scores": r.scores, "ceiling": r.ceiling} for r in rankings]
    return json.dumps({"rankings": rows, "fingerprint": fingerprint, "notes": notes}).encode()
