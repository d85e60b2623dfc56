"""Schemas of responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from acqo_rl.retrieval.federated import split_id
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import Failure, SearchResult, public_problem
from acqo_rl.searching.searcher import cluster_by_sub_query
from acqo_rl.searching.trace import Step
from acqo_rl.serving.collections import Collection
from acqo_rl.serving.requests import MAX_LIMIT
from acqo_rl.types import Document, Ranking, Reformulation

Notes = Annotated[
    list[str], Field(description="Parts of the request that were shortened, dropped or replaced; usually empty.")
]


class Variant(BaseModel):
    """A sub-query."""

    text: str
    kind: str
    weight: float
    min_margin: float | None = Field(
        description="Minimum margin: the ranking of this sub-query is used only if its top cosine exceeds that of the "
        "other sub-queries by more than this. Null: always."
    )


class QueryRewriteInfo(BaseModel):
    """The reformulation of a query."""

    original_query: str
    strategy: str
    route: str
    query_type: str | None
    reasoning: str
    variants: list[Variant]
    problem: str | None = Field(
        description="What went wrong, for example why the raw query was searched instead; null if nothing."
    )
    model_calls: int

    @classmethod
    def of(cls, reformulation: Reformulation, strategy: str) -> QueryRewriteInfo:
        """Converts a reformulation."""
        problem = reformulation.problem
        return cls(
            original_query=reformulation.query.text,
            strategy=strategy,
            route=reformulation.route,
            query_type=reformulation.query_type,
            reasoning=reformulation.reasoning,
            variants=[
                Variant(text=s.text, kind=s.kind, weight=s.weight, min_margin=s.min_margin)
                for s in reformulation.sub_queries
            ],
            problem=public_problem(problem) if problem and reformulation.failed_calls else problem,
            model_calls=reformulation.calls,
        )


Metadata = Annotated[dict[str, Any], Field(description="Metadata of the document in the corpus: URL, page, date, ...")]


class DocumentRank(BaseModel):
    """The rank of a document in one list."""

    ranking: int = Field(description="Position of the ranking in `rankings`, starting at 0.")
    rank: int
    score: float


class Result(BaseModel):
    """A document of the result."""

    document_id: str
    knowledge_pool_id: UUID
    knowledge_pool: str
    title: str
    text: str
    rank: int
    score: float = Field(
        description="Score of the fusion (high if several rankings have the document near the top) or the reranker."
    )
    similarity: float = Field(
        description="Best cosine of the document in rankings of dense indexes; without one, its best score in others."
    )
    similarity_kind: Literal["cosine", "score"] = Field(
        description="What `similarity` is: a cosine, or another score (BM25, hybrid), which is not comparable to those "
        "of other collections or requests."
    )
    metadata: Metadata
    places: list[DocumentRank] = Field(description="Ranks in the rankings before fusion; only with `include_rankings`.")


class RankedDocument(BaseModel):
    """A document in a list before fusion."""

    document_id: str
    knowledge_pool: str
    title: str
    score: float


class RankingBeforeFusion(BaseModel):
    """One list before fusion."""

    query: str
    retriever: str
    documents: list[RankedDocument]

    @classmethod
    def of(cls, ranking: Ranking, documents: Mapping[str, Document]) -> RankingBeforeFusion:
        """Converts the top of a ranking."""
        rows = []
        top = ranking.first(MAX_LIMIT)
        found = fetch(documents, top.doc_ids)
        for key, score in zip(top.doc_ids, top.scores, strict=True):
            if key in found:
                pool, doc_id = split_id(key)
                title = found[key].title
                rows.append(RankedDocument(document_id=doc_id, knowledge_pool=pool, title=title, score=score))
        return cls(query=ranking.query, retriever=ranking.retriever, documents=rows)


class FailureInfo(BaseModel):
    """A failed call; the result was computed without it."""

    step: str
    reason: str
    retriever: str
    sub_query: str

    @classmethod
    def of(cls, failure: Failure) -> FailureInfo:
        """Converts a failure."""
        return cls(step=failure.step, reason=failure.public, retriever=failure.retriever, sub_query=failure.sub_query)


class TraceStep(BaseModel):
    """A step of the search and its duration in milliseconds."""

    name: str
    ms: float
    detail: str

    @classmethod
    def of(cls, step: Step) -> TraceStep:
        """Converts a step."""
        return cls(name=step.name, ms=step.ms, detail=step.detail)


class ReformulateResponse(BaseModel):
    """The reformulation of a query."""

    query_rewrite_info: QueryRewriteInfo
    notes: Notes
    processing_time_ms: float
    request_id: str


class Cluster(BaseModel):
    """The results for which one sub-query gives the best rank."""

    query: str
    kind: str = Field(description="Kind of the sub-query: reading, part, variant, original, ...")
    ranks: list[int] = Field(
        description="`rank` of each result in the cluster; empty if other sub-queries rank every result better."
    )

    @classmethod
    def all_of(cls, found: SearchResult, results: Sequence[str]) -> list[Cluster]:
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


class SearchResponse(BaseModel):
    """The result of a search."""

    results: list[Result]
    query_rewrite_info: QueryRewriteInfo | None = Field(description="Null if `use_query_rewriting` is false.")
    clusters: list[Cluster] = Field(description="The results, grouped by sub-query.")
    total_results: int
    processing_time_ms: float
    failures: list[FailureInfo] = Field(description="Failed calls; if not empty, the results are partial.")
    trace: list[TraceStep]
    cached: bool
    fusion: str = Field(description="Fusion method: rsf, rrf, combsum or combmnz.")
    rankings: list[RankingBeforeFusion]
    notes: Notes
    request_id: str


class CollectionInfo(BaseModel):
    """A collection."""

    id: UUID
    name: str
    documents: int
    retrievers: list[str]

    @classmethod
    def of(cls, collection: Collection) -> CollectionInfo:
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
