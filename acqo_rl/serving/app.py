"""The HTTP application of the service."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

from acqo_rl import __version__
from acqo_rl.errors import SearchError
from acqo_rl.retrieval.federated import split_id
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import Failure, SearchResult
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.serving.answers import ANSWER, add_answers
from acqo_rl.serving.collections import Collection, DocumentsOf, cosine_lists
from acqo_rl.serving.http import AT_ROOT, REFUSALS, Web, finish_app, in_thread
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.logs import log_failures
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.page import add_page
from acqo_rl.serving.schemas import (
    Cluster,
    CollectionInfo,
    CollectionsResponse,
    DocumentRank,
    FailureInfo,
    QueryRewriteInfo,
    RankingBeforeFusion,
    ReformulateRequest,
    ReformulateResponse,
    Result,
    SearchRequest,
    SearchResponse,
    StrategiesResponse,
    shown,
)
from acqo_rl.serving.service import Service
from acqo_rl.types import Reformulation


def make_app(service: Service, metrics: Metrics, limits: Limits, web: Web = AT_ROOT) -> FastAPI:
    """Creates the application.

    Args:
        service: runs the requests; closed with the application.
        metrics: served at ``/metrics``.
        limits: API keys, sizes and rates.
        web: path prefix and CORS origins.

    Raises:
        ConfigError: a limit is invalid.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="acqo_rl",
        version=__version__,
        description="Rewrites search queries where that helps, searches, and fuses the rankings.",
        lifespan=lifespan,
    )

    _add_listings(app, service)
    _add_searches(app, service, metrics)
    add_answers(app, service, metrics)
    finish_app(app, metrics, limits, web, service.is_ready, open_paths=add_page(app), apart=[ANSWER])
    return app


def _add_listings(app: FastAPI, service: Service) -> None:
    @app.get("/v1/strategies", tags=["search"], responses={code: REFUSALS[code] for code in (401, 429)})
    async def strategies() -> StrategiesResponse:
        """The reformulation strategies."""
        return StrategiesResponse(strategies=list(service.strategies.names), default=service.strategies.default)

    @app.get("/v1/collections", tags=["search"], responses={code: REFUSALS[code] for code in (401, 429)})
    async def collections() -> CollectionsResponse:
        """The collections."""
        return CollectionsResponse(collections=[CollectionInfo.of(collection) for collection in service.collections])


def _add_searches(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.post("/v1/reformulate", tags=["search"], responses=REFUSALS)
    async def reformulate(body: ReformulateRequest, request: Request) -> ReformulateResponse:
        """Returns the sub-queries that a search would use; if this fails, the raw query and the problem."""
        begin = time.perf_counter()
        strategy = service.strategy(body.rewriting_strategy)
        chosen = service.collections.named(body.knowledge_pool_ids, body.scope())

        def reformulated() -> tuple[Reformulation, list[str]]:
            query, context, notes = body.read()
            searcher = service.searcher(strategy, body.num_variants, chosen)
            return searcher.reformulate(query, context=context), notes

        made, notes = await in_thread(reformulated, service.timeouts.total)
        seconds = time.perf_counter() - begin
        metrics.reformulated(strategy, made, seconds)
        if made.failed_calls:
            metrics.failed("reformulation", made.problem or "")
            log_failures([Failure("reformulation", made.problem or "", "")])
        return ReformulateResponse(
            query_rewrite_info=QueryRewriteInfo.of(made, strategy),
            notes=notes,
            processing_time_ms=1000 * seconds,
            request_id=request.state.request_id,
        )

    @app.post("/v1/search", tags=["search"], responses=REFUSALS)
    async def search(body: SearchRequest, request: Request) -> SearchResponse:
        """Reformulates a query, searches all sub-queries in all collections, and merges the results.

        If some searches fail, the results are partial.
        """
        begin = time.perf_counter()
        strategy = service.strategy(body.rewriting_strategy) if body.use_query_rewriting else "raw"
        chosen = service.collections.named(body.knowledge_pool_ids, body.scope())

        def searched() -> SearchResponse:
            query, context, notes = body.read()
            searcher = service.searcher(strategy, body.num_variants, chosen)
            found = searcher.search(query, DEPTH, context=context, score_threshold=body.score_threshold)
            metrics.searched(strategy, found)
            log_failures(found.failures)
            return _response(body, strategy, chosen, found, notes, request.state.request_id)

        try:
            response = await in_thread(searched, service.timeouts.total)
        except SearchError as error:
            metrics.failed("search", str(error))
            raise
        response.processing_time_ms = 1000 * (time.perf_counter() - begin)
        return response


def _response(
    body: SearchRequest,
    strategy: str,
    chosen: tuple[Collection, ...],
    found: SearchResult,
    notes: list[str],
    request_id: str,
) -> SearchResponse:
    results = _results(found, chosen, body.limit)
    rankings = []
    if body.include_rankings:
        rankings = [RankingBeforeFusion.of(ranking, DocumentsOf(chosen)) for ranking in found.rankings]
    else:
        results = [result.model_copy(update={"places": []}) for result in results]
    return SearchResponse(
        results=results,
        query_rewrite_info=QueryRewriteInfo.of(found.reformulation, strategy) if body.use_query_rewriting else None,
        clusters=Cluster.all_of(found, [f"{r.knowledge_pool}/{r.document_id}" for r in results]),
        total_results=len(results),
        processing_time_ms=0.0,
        failures=[FailureInfo.of(failure) for failure in found.failures],
        trace=list(found.trace),
        cached=found.cached,
        fusion=found.fused.retriever,
        rankings=rankings,
        notes=notes,
        request_id=request_id,
    )


def _results(found: SearchResult, collections: tuple[Collection, ...], limit: int) -> list[Result]:
    pool_ids = {collection.name: collection.id for collection in collections}
    top = found.fused.first(limit)
    places, cosines = _places(found), _best_cosines(found, collections)
    documents = fetch(DocumentsOf(collections), top.doc_ids)
    scored = [hit for hit in zip(top.doc_ids, top.scores, top.similarities, strict=True) if hit[0] in documents]
    return [
        Result(
            **shown(documents[key]),
            knowledge_pool_id=pool_ids[split_id(key)[0]],
            rank=rank,
            score=score,
            similarity=cosines.get(key, best),
            similarity_kind="cosine" if key in cosines else "score",
            places=places.get(key, []),
        )
        for rank, (key, score, best) in enumerate(scored, start=1)
    ]


def _best_cosines(found: SearchResult, collections: tuple[Collection, ...]) -> dict[str, float]:
    """The best cosine of each document, over the rankings that contain cosines."""
    lists = cosine_lists(collections)
    best: dict[str, float] = {}
    for ranking in found.rankings:
        for key, score in zip(ranking.doc_ids, ranking.scores, strict=True):
            if (ranking.retriever, split_id(key)[0]) in lists:
                best[key] = max(score, best.get(key, score))
    return best


def _places(found: SearchResult) -> dict[str, list[DocumentRank]]:
    places: dict[str, list[DocumentRank]] = {}
    for number, ranking in enumerate(found.rankings):
        for rank, (key, score) in enumerate(zip(ranking.doc_ids, ranking.scores, strict=True), start=1):
            places.setdefault(key, []).append(DocumentRank(ranking=number, rank=rank, score=score))
    return places
