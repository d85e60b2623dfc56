"""Responses, and their construction from the results of searches and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from acqo_rl.pipeline.context import SHOWN_CHARACTERS, searched_texts, window
from acqo_rl.pipeline.pipeline import PipelineResult
from acqo_rl.pipeline.state import RetrievalStep, Round, SubQuestion
from acqo_rl.retrieval.federated import split_id
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import Failure, SearchResult, public_problem
from acqo_rl.searching.searcher import cluster_by_sub_query
from acqo_rl.searching.trace import Step
from acqo_rl.serving.collections import Collection, DocumentsOf, cosine_lists
from acqo_rl.serving.requests import MAX_LIMIT, Asked, Notes, SearchRequest
from acqo_rl.types import Document, Ranking, Reformulation, SubQuery

PASSAGES = 8
"""Maximum number of passages with an answer."""


class QueryRewriteInfo(BaseModel):
    """The reformulation of a query."""

    original_query: str
    strategy: str
    route: str
    query_type: str | None
    reasoning: str
    variants: list[SubQuery] = Field(
        description="The sub-queries. The ranking of one with `min_margin` is used only if its top cosine exceeds that "
        "of the others by more than this."
    )
    problem: str | None = Field(
        description="What went wrong, for example why the raw query was searched instead; null if nothing."
    )
    model_calls: int

    @classmethod
    def of(cls, reformulation: Reformulation, strategy: str) -> Self:
        """Converts a reformulation."""
        problem = reformulation.problem
        return cls(
            original_query=reformulation.query.text,
            strategy=strategy,
            route=reformulation.route,
            query_type=reformulation.query_type,
            reasoning=reformulation.reasoning,
            variants=list(reformulation.sub_queries),
            problem=public_problem(problem) if problem and reformulation.failed_calls else problem,
            model_calls=reformulation.calls,
        )


class ReformulateReply(BaseModel):
    """The reformulation of a query, for language models."""

    query_rewrite_info: QueryRewriteInfo
    notes: Notes


class ReformulateResponse(ReformulateReply):
    """The reformulation of a query."""

    processing_time_ms: float
    request_id: str


class FoundDocument(BaseModel):
    """A document that was found."""

    document_id: str
    knowledge_pool: str
    title: str


def _named(document: Document) -> dict[str, Any]:
    """The fields of a document whose id begins with its collection."""
    pool, doc_id = split_id(document.id)
    return {"document_id": doc_id, "knowledge_pool": pool, "title": document.title}


def _shown(document: Document, about: str) -> dict[str, Any]:
    """The fields of a document with the part of its text that matches best."""
    start, text = window(document.text, about)
    own = {"text": text, "start": start, "length": len(document.text), "metadata": dict(document.metadata)}
    return {**_named(document), **own}


class Passage(FoundDocument):
    """A passage that was used for an answer."""

    text: str = Field(
        description=f"The document, or of one with more than {SHOWN_CHARACTERS:,} characters the part that matches the "
        "query best."
    )
    start: int = Field(description="Number of characters before `text` in the document.")
    length: int = Field(description="Number of characters of the document.")
    metadata: dict[str, Any] = Field(description="Metadata of the document in the corpus: URL, page, date, ...")
    similarity: float = Field(
        description="Best cosine of the document in rankings of dense indexes; without one, its best score in others."
    )
    similarity_kind: Literal["cosine", "score", "rank"] = Field(
        description="What `similarity` is: a cosine; another score (BM25, hybrid), which is not comparable to those of "
        "other collections or requests; or, in answers, a number that only depends on the best rank."
    )


class DocumentRank(BaseModel):
    """The rank of a document in one list."""

    ranking: int = Field(description="Position of the ranking in `rankings`, starting at 0.")
    rank: int
    score: float


class Result(Passage):
    """A document of the result."""

    knowledge_pool_id: UUID
    rank: int
    score: float = Field(
        description="Score of the fusion (high if several rankings have the document near the top) or the reranker."
    )
    places: list[DocumentRank] = Field(description="Ranks in the rankings before fusion; only with `include_rankings`.")


class RankedDocument(FoundDocument):
    """A document in a list before fusion."""

    score: float


class RankingBeforeFusion(BaseModel):
    """One list before fusion."""

    query: str
    retriever: str
    documents: list[RankedDocument]

    @classmethod
    def of(cls, ranking: Ranking, documents: Mapping[str, Document]) -> Self:
        """Converts the top of a ranking."""
        top = ranking.first(MAX_LIMIT)
        found = fetch(documents, top.doc_ids)
        scored = [(found[key], score) for key, score in zip(top.doc_ids, top.scores, strict=True) if key in found]
        rows = [RankedDocument(**_named(document), score=score) for document, score in scored]
        return cls(query=ranking.query, retriever=ranking.retriever, documents=rows)


class FailureInfo(BaseModel):
    """A failed call; the result was computed without it."""

    step: str
    reason: str
    retriever: str
    sub_query: str

    @classmethod
    def of(cls, failure: Failure) -> Self:
        """Converts a failure."""
        return cls(step=failure.step, reason=failure.public, retriever=failure.retriever, sub_query=failure.sub_query)


class Cluster(BaseModel):
    """The results for which one sub-query gives the best rank."""

    query: str
    kind: str = Field(description="Kind of the sub-query: reading, part, variant, original, ...")
    ranks: list[int] = Field(
        description="`rank` of each result in the cluster; empty if other sub-queries rank every result better."
    )

    @classmethod
    def all_of(cls, found: SearchResult, results: Sequence[str]) -> list[Self]:
        """Creates one cluster per sub-query, in their order.

        Args:
            found: result of a search.
            results: ids of the documents in the response, best first.
        """
        kinds = {s.text: s.kind for s in found.reformulation.sub_queries}
        rank = {key: number for number, key in enumerate(results, start=1)}
        return [
            cls(query=text, kind=kinds.get(text, "original"), ranks=[rank[key] for key in keys if key in rank])
            for text, keys in cluster_by_sub_query(found).items()
        ]


class SearchReply(BaseModel):
    """The result of a search, for language models."""

    results: list[Result]
    query_rewrite_info: QueryRewriteInfo | None = Field(description="Null if `use_query_rewriting` is false.")
    failures: list[FailureInfo] = Field(description="Failed calls; if not empty, the results are partial.")
    notes: Notes


class SearchResponse(SearchReply):
    """The result of a search."""

    clusters: list[Cluster] = Field(description="The results, grouped by sub-query.")
    total_results: int
    processing_time_ms: float
    trace: list[Step]
    cached: bool
    fusion: str = Field(description="Fusion method: rsf, rrf or combsum.")
    rankings: list[RankingBeforeFusion]
    request_id: str


class ClaimSource(BaseModel):
    """A claim of the answer, and the passage that supports it."""

    claim: str
    source: Passage | None = Field(description="None if no passage supports the claim.")


class Retrieval(BaseModel):
    """The steps after the first search; steps that were not needed are empty.

    ``doc_ids`` have the form knowledge_pool/document_id.
    """

    mode: str = Field(description="pipeline, or the mode that was used.")
    hops: tuple[Round, ...]
    iterations: tuple[Round, ...]
    sub_questions: tuple[SubQuestion, ...]
    path: tuple[RetrievalStep, ...]


class AnswerResponse(BaseModel):
    """An answer and its confidence."""

    answer: str = Field(description="Empty if no model wrote an answer; `skipped` gives the reason.")
    confidence: float
    confidence_label: str = Field(description="High, Medium, Low or Very Low.")
    claims: list[ClaimSource] = Field(description="The claims of the answer; empty if no model checked them.")
    challenges: list[str]
    strategies: list[str] = Field(description="The steps that were chosen for the challenges, or the mode.")
    retrieval: Retrieval
    query_rewrite_info: QueryRewriteInfo | None = Field(
        description="The reformulation of the first search; None if the budget did not allow one."
    )
    passages: list[Passage]
    model_calls: int
    skipped: list[str]
    failures: list[str]
    notes: Notes
    cached: bool
    processing_time_ms: float
    request_id: str

    @classmethod
    def of(cls, result: PipelineResult, asked: Asked, mode: str, request_id: str, ms: float) -> Self:
        """Converts a result of the pipeline."""
        made = result.reformulation
        kind: Literal["rank", "cosine"] = "rank" if result.confidence.retrieval is None else "cosine"
        about = searched_texts(made) if made else asked.query.text
        passages = {
            chunk.document.id: Passage(
                **_shown(chunk.document, about), similarity=chunk.similarity, similarity_kind=kind
            )
            for chunk in result.chunks
        }
        return cls(
            answer=result.answer,
            confidence=result.confidence.score,
            confidence_label=result.confidence.label,
            claims=[
                ClaimSource(claim=claim.text, source=passages.get(claim.doc_id or ""))
                for claim in result.confidence.claims
            ],
            challenges=list(result.challenges),
            strategies=list(result.strategies),
            retrieval=Retrieval(
                mode=mode if mode == "pipeline" else result.strategies[0],  # the mode that auto has chosen
                hops=result.hops,
                iterations=result.iterations,
                sub_questions=result.sub_questions,
                path=result.path,
            ),
            query_rewrite_info=QueryRewriteInfo.of(made, asked.strategy) if made else None,
            passages=list(passages.values())[:PASSAGES],
            model_calls=result.model_calls,
            skipped=list(result.skipped),
            failures=[f"{failure.step}: {failure.public}" for failure in result.failures],
            notes=asked.notes,
            cached=result.cached,
            processing_time_ms=ms,
            request_id=request_id,
        )


class CollectionInfo(BaseModel):
    """A collection."""

    id: UUID
    name: str
    documents: int
    retrievers: list[str]

    @classmethod
    def of(cls, collection: Collection) -> Self:
        """Converts a collection."""
        return cls(
            id=collection.id,
            name=collection.name,
            documents=len(collection.documents),
            retrievers=[retriever.name for retriever in collection.all_retrievers],
        )


class CollectionsResponse(BaseModel):
    """The collections."""

    collections: list[CollectionInfo]


class StrategiesResponse(BaseModel):
    """The strategies."""

    strategies: list[str]
    default: str


class Problem(BaseModel):
    """The reason why a request was rejected."""

    detail: str


def search_response(
    found: SearchResult, body: SearchRequest, asked: Asked, request_id: str, ms: float
) -> SearchResponse:
    """Converts the result of a search."""
    results = _results(found, asked.collections, body)
    shown = found.rankings if body.include_rankings else ()
    return SearchResponse(
        results=results,
        query_rewrite_info=QueryRewriteInfo.of(found.reformulation, asked.strategy)
        if body.use_query_rewriting
        else None,
        clusters=Cluster.all_of(found, [f"{r.knowledge_pool}/{r.document_id}" for r in results]),
        total_results=len(results),
        processing_time_ms=ms,
        failures=[FailureInfo.of(failure) for failure in found.failures],
        trace=list(found.trace),
        cached=found.cached,
        fusion=found.fused.retriever,
        rankings=[RankingBeforeFusion.of(ranking, DocumentsOf(asked.collections)) for ranking in shown],
        notes=[*asked.notes, *found.notes],
        request_id=request_id,
    )


def _results(found: SearchResult, collections: tuple[Collection, ...], body: SearchRequest) -> list[Result]:
    pool_ids = {collection.name: collection.id for collection in collections}
    top = found.fused.first(body.limit)
    documents, about = fetch(DocumentsOf(collections), top.doc_ids), searched_texts(found.reformulation)
    places: dict[str, list[DocumentRank]] = {key: [] for key in documents}
    lists, cosines = cosine_lists(collections), dict[str, float]()
    for number, ranking in enumerate(found.rankings):
        for rank, (key, score) in enumerate(zip(ranking.doc_ids, ranking.scores, strict=True), start=1):
            if key in documents:
                places[key].append(DocumentRank(ranking=number, rank=rank, score=score))
                if (ranking.retriever, split_id(key)[0]) in lists:
                    cosines[key] = max(score, cosines.get(key, score))
    scored = [hit for hit in zip(top.doc_ids, top.scores, top.similarities, strict=True) if hit[0] in documents]
    return [
        Result(
            **_shown(documents[key], about),
            knowledge_pool_id=pool_ids[split_id(key)[0]],
            rank=rank,
            score=score,
            similarity=cosines.get(key, best),
            similarity_kind="cosine" if key in cosines else "score",
            places=places[key] if body.include_rankings else [],
        )
        for rank, (key, score, best) in enumerate(scored, start=1)
    ]
