"""Responses, and their construction from the results of searches and answers."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from acqo_rl.fusion import best_scores
from acqo_rl.pipeline.context import SHOWN_CHARACTERS, searched_texts, window
from acqo_rl.pipeline.state import RetrievalState, RetrievalStep, Round, SubQuestion
from acqo_rl.pipeline.synthesis import PASSAGES
from acqo_rl.retrieval.composite import split_id
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import SearchResult, notes_of, public_problem
from acqo_rl.searching.searcher import cluster_by_sub_query
from acqo_rl.searching.trace import Step
from acqo_rl.serving.collections import Collection, DocumentsOf
from acqo_rl.serving.requests import AnswerRequest, Asked, Notes, SearchRequest
from acqo_rl.types import Corpus, Document, Reformulation, Span, SubQuery, well_formed


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


class ReformulateResponse(BaseModel):
    """The reformulation of a query."""

    query_rewrite_info: QueryRewriteInfo
    notes: Notes
    processing_time_ms: float


class Passage(BaseModel):
    """A document, or the part of it that was used."""

    document_id: str
    knowledge_pool: str
    title: str
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
        description="What `similarity` is: a cosine; another score (BM25, hybrid, different indexes), which is not "
        "comparable to those of other requests; or, in answers, a number that only depends on the best rank."
    )

    @classmethod
    def of(cls, document: Document, about: str, span: Span | None = None, **details: Any) -> Self:
        """Shows the part of a document that :func:`window` chooses; its id begins with the collection."""
        pool, doc_id = split_id(document.id)
        start, text = window(document.text, about, span=span)
        return cls(
            document_id=doc_id,
            knowledge_pool=pool,
            title=document.title,
            text=text,
            start=start,
            length=len(document.text),
            metadata=dict(document.metadata),
            **details,
        )


class Result(Passage):
    """A document of the result."""

    rank: int
    score: float = Field(
        description="What orders the results; see `scored_by`. Of a fusion, it is high if several rankings have "
        "the document near the top. Of an order or a reranker, it may be negative, and `similarity` need not fall."
    )


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


class FailureInfo(BaseModel):
    """A failed call; the result was computed without it."""

    model_config = ConfigDict(from_attributes=True)

    step: str
    reason: str = Field(validation_alias="public")
    retriever: str
    sub_query: str


class Cluster(BaseModel):
    """The results for which one sub-query gives the best rank."""

    query: str
    kind: str = Field(description="Kind of the sub-query: reading, part, variant, original, ...")
    ranks: list[int] = Field(
        description="`rank` of each result in the cluster; empty if other sub-queries rank every result better."
    )


class SearchResponse(BaseModel):
    """The result of a search."""

    results: list[Result]
    query_rewrite_info: QueryRewriteInfo | None = Field(description="Null if `use_query_rewriting` is false.")
    clusters: list[Cluster] = Field(description="The results, grouped by sub-query.")
    total_results: int
    processing_time_ms: float
    failures: list[FailureInfo] = Field(description="Failed calls; if not empty, the results are partial.")
    notes: Notes
    trace: list[Step]
    fusion: str = Field(description="Fusion method: rsf, rrf or combsum.")
    scored_by: str = Field(
        description="What `score` is from: the fusion method, or the order or the reranker that followed it."
    )
    rankings: list[RankingBeforeFusion]

    @classmethod
    def of(
        cls, found: SearchResult, cosines: Mapping[str, float], body: SearchRequest, asked: Asked, ms: float
    ) -> Self:
        """Converts the result of a search, whose documents have the ``cosines`` of :func:`cosines_of`."""
        reformulation = found.reformulation
        documents = DocumentsOf(asked.collections)
        results = _results(found, documents, cosines, body.limit)
        rank = {f"{result.knowledge_pool}/{result.document_id}": result.rank for result in results}
        kinds = {sub_query.text: sub_query.kind for sub_query in reformulation.sub_queries}
        return cls(
            results=results,
            query_rewrite_info=QueryRewriteInfo.of(reformulation, asked.strategy) if body.use_query_rewriting else None,
            clusters=[
                Cluster(query=text, kind=kinds.get(text, "original"), ranks=[rank[key] for key in keys if key in rank])
                for text, keys in cluster_by_sub_query(found).items()
            ],
            total_results=len(results),
            processing_time_ms=ms,
            failures=[FailureInfo.model_validate(failure) for failure in found.failures],
            notes=[*asked.notes, *found.notes],
            trace=list(found.trace),
            fusion=next(step.detail for step in found.trace if step.name == "fusion"),
            scored_by=found.fused.retriever,
            rankings=_rankings(found, documents) if body.include_rankings else [],
        )


def _results(found: SearchResult, corpus: Corpus, cosines: Mapping[str, float], limit: int) -> list[Result]:
    top = found.fused.first(limit)
    documents = fetch(corpus, top.doc_ids)
    about = searched_texts(found.reformulation)
    scored = [hit for hit in zip(top.doc_ids, top.scores, top.similarities, strict=True) if hit[0] in documents]
    return [
        Result.of(
            documents[key],
            about,
            top.spans.get(key),
            rank=rank,
            score=score,
            similarity=cosines.get(key, best),
            similarity_kind="cosine" if key in cosines else "score",
        )
        for rank, (key, score, best) in enumerate(scored, start=1)
    ]


def cosines_of(found: SearchResult, collections: tuple[Collection, ...]) -> dict[str, float]:
    """The best cosine of each document in the rankings of dense indexes."""
    scales = {one.scale for collection in collections for one in collection.all_retrievers if one.cosine}
    dense = [ranking for ranking in found.rankings if ranking.retriever in scales]
    return best_scores(pair for one in dense for pair in one.pairs)


def _rankings(found: SearchResult, corpus: Corpus) -> list[RankingBeforeFusion]:
    documents = fetch(corpus, list({key for ranking in found.rankings for key in ranking.doc_ids}))
    return [
        RankingBeforeFusion(
            query=ranking.query,
            retriever=ranking.retriever,
            documents=[
                RankedDocument(document_id=doc_id, knowledge_pool=pool, title=documents[key].title, score=score)
                for key, score in ranking.pairs
                if key in documents
                for pool, doc_id in [split_id(key)]
            ],
        )
        for ranking in found.rankings
    ]


class ClaimSource(BaseModel):
    """A claim of the answer, and the passage that supports it."""

    claim: str
    source: Passage | None = Field(description="None if no passage supports the claim.")


class Retrieval(BaseModel):
    """The steps after the first search; steps that were not needed are empty.

    ``doc_ids`` have the form knowledge_pool/document_id.
    """

    mode: str = Field(description="pipeline, or the mode that was used.")
    hops: tuple[Round, ...] = Field(description="Searches of a chain, or the iterations of self_query.")
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
        description="The reformulation of the first search; null if the search failed."
    )
    passages: list[Passage]
    model_calls: int
    skipped: list[str]
    failures: list[str]
    notes: Notes
    cached: bool
    processing_time_ms: float

    @classmethod
    def of(cls, result: RetrievalState, body: AnswerRequest, asked: Asked, ms: float) -> Self:
        """Converts a result of the pipeline."""
        made = result.reformulation
        kind = "rank" if result.confidence.retrieval is None else "cosine"
        about = searched_texts(made) if made else asked.query.text
        passages = {
            chunk.document.id: Passage.of(
                chunk.document, about, chunk.span, similarity=chunk.similarity, similarity_kind=kind
            )
            for chunk in result.chunks[:PASSAGES]
        }
        mode = body.mode if body.mode == "pipeline" else result.strategies[0]  # the mode that auto has chosen
        return cls(
            answer=well_formed(result.answer),
            confidence=result.confidence.score,
            confidence_label=result.confidence.label,
            claims=[
                ClaimSource(claim=claim.text, source=passages.get(claim.doc_id or ""))
                for claim in result.confidence.claims
            ],
            challenges=list(result.challenges),
            strategies=list(result.strategies),
            retrieval=Retrieval(mode=mode, hops=result.hops, sub_questions=result.sub_questions, path=result.path),
            query_rewrite_info=QueryRewriteInfo.of(made, asked.strategy) if made else None,
            passages=list(passages.values()),
            model_calls=result.model_calls,
            skipped=result.skipped,
            failures=[f"{failure.step}: {failure.public}" for failure in result.failures],
            notes=[*asked.notes, *(notes_of(made) if made else ())],
            cached=result.journal.cached,
            processing_time_ms=ms,
        )


class CollectionInfo(BaseModel):
    """A collection."""

    name: str
    documents: int
    retrievers: list[str]


class StrategiesResponse(BaseModel):
    """The strategies."""

    strategies: list[str]
    default: str
