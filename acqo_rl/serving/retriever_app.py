"""The HTTP application of a shared index; :mod:`acqo_rl.retrieval.remote` is the client."""

import json
from typing import Annotated

from fastapi import Depends, FastAPI
from fastapi.responses import Response
from pydantic import BaseModel, Field

from acqo_rl import __version__
from acqo_rl.retrieval.manifest import IndexInfo
from acqo_rl.retrieval.remote import Rankings
from acqo_rl.roles import Retriever
from acqo_rl.serving.http import REFUSALS, Web, finish_app, refuse_repeated_keys
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.requests import Text, Whole, request_config
from acqo_rl.text import MAX_QUERY
from acqo_rl.time_limit import in_thread
from acqo_rl.types import Passage


class TextsRequest(BaseModel):
    """Texts to search."""

    model_config = request_config(texts=["capital of Peru"], k=10)

    texts: list[Annotated[Text, Field(max_length=MAX_QUERY)]] = Field(max_length=20_000)
    k: Annotated[int, Field(ge=1, le=2000), Whole] = 10
    passages: list[Annotated[int, Field(ge=0), Whole]] = Field(
        default=[], max_length=20_000, description="Positions of the texts to embed with the passage prompt."
    )


def make_retriever_app(retriever: Retriever, info: IndexInfo, limits: Limits, web: Web = Web()) -> FastAPI:
    """Creates the application.

    Requests are searched one at a time and not combined into batches. An encoder rounds differently if a batch contains
    other texts, so the rankings would differ from those of the same index in the caller's process.

    Args:
        retriever: runs the searches.
        info: description of the index.
        limits: API keys, sizes and rates.
        web: path prefix, CORS origins and names.
    """
    app = FastAPI(title="acqo_rl retriever", version=__version__, dependencies=[Depends(refuse_repeated_keys)])

    @app.get("/info", responses={code: REFUSALS[code] for code in (401, 429)})
    async def describe() -> IndexInfo:
        """The description of the index."""
        return info

    @app.post("/search", name="search", responses=REFUSALS, response_model=Rankings)
    async def post_texts(body: TextsRequest) -> Response:
        """Searches all texts; scores are returned without loss of precision."""

        def searched() -> bytes:
            passages = set(body.passages)
            texts = [Passage(text) if i in passages else text for i, text in enumerate(body.texts)]
            rows = [
                {name: getattr(ranking, name) for name in ("doc_ids", "scores", "ceiling", "windows", "spans")}
                for ranking in retriever.search(texts, body.k)
            ]
            return json.dumps({"rankings": rows, "fingerprint": info.fingerprint}).encode()

        return Response(await in_thread(searched), media_type="application/json")

    finish_app(app, Metrics(), limits, web, lambda: True, limited=("/info", "/search"))
    return app
