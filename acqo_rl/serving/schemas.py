"""Schemas of requests and responses.

Unknown fields, wrong types and values out of range are rejected. Texts that are too long or contain broken characters
are accepted: they are shortened or cleaned, and ``notes`` in the response report this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from acqo_rl.conversations import FORMS, HISTORY_SCHEMA
from acqo_rl.errors import ConfigError
from acqo_rl.pipeline.pipeline import PipelineResult
from acqo_rl.pipeline.questions import AnyMode
from acqo_rl.pipeline.state import RetrievalStep, Round, SubQuestion
from acqo_rl.retrieval.federated import split_id
from acqo_rl.retrieval.filters import FILTER_SCHEMA, read_filter
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import Failure, SearchResult, public_problem
from acqo_rl.searching.searcher import cluster_by_sub_query
from acqo_rl.searching.trace import Step
from acqo_rl.serving.collections import Collection
from acqo_rl.serving.reading import MAX_CONTEXT, as_query, shortened
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS, one_line
from acqo_rl.types import Document, Filter, Query, Ranking, Reformulation, Scope, SubQuery, well_formed

MAX_LIMIT = 20
"""Maximum number of results, and of documents of each ranking before fusion."""

PASSAGES = 8
"""Maximum number of passages with an answer."""

_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010fffd"
"""Private-use characters; not every regular expression engine supports their Unicode category."""


def _filter(given: object) -> Filter:
    try:
        json.dumps(given, ensure_ascii=False).encode()  # raises a ValueError if a character is broken
        return read_filter(given)
    except (ConfigError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _whole(value: object) -> object:
    """Converts a number such as 3.0, which JSON Schema counts as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_words(text: str) -> str:
    if not one_line(text):
        raise ValueError("The text is empty; write at least one letter, digit or sign.")
    return text


Text = Annotated[str, BeforeValidator(lambda text: well_formed(text) if isinstance(text, str) else text)]
Whole = BeforeValidator(_whole)
Name = Annotated[Text, Field(min_length=1, max_length=100)]
Notes = Annotated[
    list[str], Field(description="Parts of the request that were shortened, dropped or replaced; usually empty.")
]


def request_config(**example: Any) -> ConfigDict:
    """The configuration of a request with an example."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [example]})


class ReformulateRequest(BaseModel):
    """A query, its conversation, and the strategy that reformulates it."""

    model_config = request_config(query="Mercury", rewriting_strategy="rules", user_context="astronomy")

    query: Annotated[Text, AfterValidator(_with_words)] = Field(
        json_schema_extra={"pattern": r"[\p{L}\p{M}\p{N}\p{P}\p{S}" + _PRIVATE + "]"},
        description=f"The raw query. Of a query with more than {MAX_QUERY:,} characters, only both ends are read.",
    )
    history: Annotated[Any, WithJsonSchema(HISTORY_SCHEMA)] = Field(
        default=(),
        description=f"Earlier turns, oldest first: {FORMS}. Only the last {MAX_TURNS} turns are read. Of a turn with "
        f"more than {MAX_TURN:,} characters, only both ends are read.",
    )
    rewriting_strategy: Name | None = Field(
        default=None, description="One of GET /v1/strategies; by default the service's default strategy."
    )
    num_variants: Annotated[int, Field(ge=1, le=5), Whole] | None = Field(
        default=None, description="Number of paraphrases that multi_query writes; by default the service's."
    )
    user_context: Text = Field(
        default="",
        description="A few words about the user, added to each reading of an ambiguous query. Of a text with more than"
        f" {MAX_CONTEXT} characters, only both ends are read.",
    )
    filter: Annotated[Any, AfterValidator(_filter), WithJsonSchema(FILTER_SCHEMA)] = Field(
        default={},
        description="Conditions on the metadata of documents, all of which must be true: a value, allowed values, or"
        " bounds (gt, gte, lt, lte). Requires collections of search engines.",
    )
    tenant: Name | None = Field(
        default=None, description="Only documents of this tenant; required if a collection has tenants."
    )
    knowledge_pool_ids: list[Name] = Field(
        default=[],
        max_length=50,
        description="Ids or names of the collections to search; by default all. Their results are merged.",
    )

    def scope(self) -> Scope:
        """The part of the documents that the request searches."""
        return Scope(self.filter or (), self.tenant)

    def read(self) -> tuple[Query, str, list[str]]:
        """Returns the query, the user context, and notes on texts that were shortened or contain broken characters.

        Raises:
            ConversationError: the history has an unknown form.
        """
        query, notes = as_query(self.query, self.history)
        context, more = shortened(self.user_context, MAX_CONTEXT, "user_context")
        return query, context, notes + more


class SearchRequest(ReformulateRequest):
    """A query to search, and the settings of the search."""

    model_config = request_config(
        query="Compare the populations of Oslo and Bergen", limit=5, rewriting_strategy="rules"
    )

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), Whole] = Field(default=5, description="Maximum number of results.")
    score_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Minimum cosine similarity of a result; by default the setting of the service. If no document "
        "reaches it, the result is empty. Requires dense indexes of one encoder.",
    )
    use_query_rewriting: bool = Field(default=True, description="False searches the raw query.")
    include_rankings: bool = Field(default=False, description="Also return the rankings before fusion.")


class AnswerRequest(ReformulateRequest):
    """A question to answer from the documents; the first search uses the reformulation of the strategy."""

    model_config = request_config(query="How did the harbour of Bergen influence its growth?", mode="auto")

    mode: AnyMode = Field(
        default="pipeline",
        description="pipeline chooses its steps by the question; the other modes fix them: simple "
        "searches once; recursive splits the question and follows references in passages; multi_hop searches for "
        "missing information; self_query searches for each gap; auto chooses one of these four.",
    )


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
    request_id: str


class FoundDocument(BaseModel):
    """A document that was found."""

    document_id: str
    knowledge_pool: str
    title: str


def shown(document: Document) -> dict[str, Any]:
    """The fields of a document whose id begins with its collection."""
    pool, doc_id = split_id(document.id)
    own = {"title": document.title, "text": document.text, "metadata": dict(document.metadata)}
    return {"document_id": doc_id, "knowledge_pool": pool, **own}


class Passage(FoundDocument):
    """A passage that was used for an answer."""

    text: str
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
        rows = [RankedDocument(**shown(document), score=score) for document, score in scored]
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


class SearchResponse(BaseModel):
    """The result of a search."""

    results: list[Result]
    query_rewrite_info: QueryRewriteInfo | None = Field(description="Null if `use_query_rewriting` is false.")
    clusters: list[Cluster] = Field(description="The results, grouped by sub-query.")
    total_results: int
    processing_time_ms: float
    failures: list[FailureInfo] = Field(description="Failed calls; if not empty, the results are partial.")
    trace: list[Step]
    cached: bool
    fusion: str = Field(description="Fusion method: rsf, rrf, combsum or combmnz.")
    rankings: list[RankingBeforeFusion]
    notes: Notes
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
    def of(cls, result: PipelineResult, mode: str, strategy: str, notes: list[str], request_id: str, ms: float) -> Self:
        """Converts a result of the pipeline."""
        made = result.reformulation
        kind: Literal["rank", "cosine"] = "rank" if result.confidence.retrieval is None else "cosine"
        passages = {
            chunk.document.id: Passage(**shown(chunk.document), similarity=chunk.similarity, similarity_kind=kind)
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
            query_rewrite_info=QueryRewriteInfo.of(made, strategy) if made else None,
            passages=list(passages.values())[:PASSAGES],
            model_calls=result.model_calls,
            skipped=list(result.skipped),
            failures=[f"{failure.step}: {failure.public}" for failure in result.failures],
            notes=notes,
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
