"""Schemas of requests and responses.

Unknown fields, wrong types and values out of range are rejected. Texts that are too long or contain broken characters
are accepted: they are shortened or cleaned, and ``notes`` in the response report this. In optional fields, null means
the default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    WithJsonSchema,
    model_validator,
)

from acqo_rl.conversation_schema import ACCEPTED, HISTORY_SCHEMA
from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.federated import split_id
from acqo_rl.retrieval.filters import FILTER_SCHEMA, read_filter
from acqo_rl.searching.feedback import document_of, fetch
from acqo_rl.searching.result import Failure, SearchResult
from acqo_rl.searching.searcher import cluster_by_sub_query
from acqo_rl.searching.trace import Step
from acqo_rl.serving.collections import Collection
from acqo_rl.serving.shortening import MAX_CONTEXT, as_query, shortened
from acqo_rl.surrogates import well_formed
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS
from acqo_rl.types import Document, Filter, Query, Ranking, Reformulation, Scope

MAX_LIMIT = 20

Name = Annotated[str, Field(min_length=1, max_length=100)]


def _whole(value: Any) -> Any:
    """Converts a float such as 3.0 to an integer, because JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
Variants = Annotated[int, Field(ge=1, le=5), BeforeValidator(_whole)]
Position = Annotated[int, Field(ge=0), BeforeValidator(_whole)]

_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010fffd"
"""Private-use characters; not every regular expression engine supports their Unicode category."""

_QUERY = "Compare the populations of Oslo and Bergen"


def request_config(**example: Any) -> ConfigDict:
    """The configuration of a strict request with an example; the schema allows null for optional fields."""

    def extend(schema: dict[str, Any]) -> None:
        schema["examples"] = [example]
        for name, wanted in schema["properties"].items():
            if name not in schema["required"] and {"type": "null"} not in wanted.get("anyOf", []):
                moved = {key: wanted.pop(key) for key in ("title", "description", "default") if key in wanted}
                schema["properties"][name] = {"anyOf": [wanted, {"type": "null"}], **moved}

    return ConfigDict(extra="forbid", strict=True, json_schema_extra=extend)


class Body(BaseModel):
    """The JSON body of a request."""

    @model_validator(mode="wrap")
    @classmethod
    def _replace_surrogates(cls, body: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Replaces lone surrogates in all texts of the body."""
        if not isinstance(body, dict):
            return read(body)
        try:
            text = json.dumps(body, ensure_ascii=False)
        except RecursionError as error:
            raise ValueError("The body is nested too deeply.") from error
        clean = well_formed(text)
        return read(body if clean == text else json.loads(clean))


Notes = Annotated[
    list[str], Field(description="Parts of the request that were shortened, dropped or replaced; usually empty.")
]


class QueryRequest(Body):
    """A query with its conversation."""

    model_config = request_config(query=_QUERY)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, body: Any) -> Any:
        """Removes null values of optional fields."""
        if not isinstance(body, dict):
            return body
        if "messages" in body:
            raise ValueError(
                'The body has the field "messages"; send the text of the last user message as "query" and the messages'
                ' as "history".'
            )
        optional = {name for name, info in cls.model_fields.items() if not info.is_required()}
        return {name: value for name, value in body.items() if value is not None or name not in optional}

    query: str = Field(
        min_length=1,
        pattern=r"[\p{L}\p{M}\p{N}\p{P}\p{S}" + _PRIVATE + "]",
        description=f"The raw query. Of a query with more than {MAX_QUERY:,} characters, only both ends are read.",
    )
    history: Annotated[Any, WithJsonSchema(HISTORY_SCHEMA)] = Field(
        default=(),
        description=f"{ACCEPTED} Only the last {MAX_TURNS} turns are read. Of a turn with more than {MAX_TURN:,} "
        "characters, only both ends are read.",
    )


def _filter(given: object) -> Filter:
    try:
        return read_filter(given)
    except ConfigError as error:
        raise ValueError(str(error)) from error


class StrategyRequest(QueryRequest):
    """A query, the strategy that reformulates it, and the user context."""

    rewriting_strategy: Name | None = Field(
        default=None, description="One of GET /v1/strategies; by default the service's default strategy."
    )
    num_variants: Variants | None = Field(
        default=None,
        description="Number of paraphrases that multi_query writes; by default the setting of the service (initially "
        "3).",
    )
    user_context: str = Field(
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
            ConversationError: a turn has an unknown form.
        """
        query, notes = as_query(self.query, self.history)
        context, more = shortened(self.user_context, MAX_CONTEXT, "user_context")
        return query, context, notes + more


class ReformulateRequest(StrategyRequest):
    """A query to reformulate without searching."""

    model_config = request_config(query="Mercury", rewriting_strategy="rules", user_context="astronomy")


class SearchRequest(StrategyRequest):
    """A query to search, and the settings of the search."""

    model_config = request_config(query=_QUERY, limit=5, rewriting_strategy="rules")

    limit: Whole = Field(default=5, ge=1, le=MAX_LIMIT, description="Maximum number of results.")
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
            problem=reformulation.problem,
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
        fetch(documents, ranking.doc_ids[:MAX_LIMIT])
        for key, score in zip(ranking.doc_ids[:MAX_LIMIT], ranking.scores, strict=False):
            pool, doc_id = split_id(key)
            title = document_of(documents, key).title
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
        return cls(step=failure.step, reason=failure.reason, retriever=failure.retriever, sub_query=failure.sub_query)


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
