"""What goes over the wire.

Requests are strict: an unknown field, a wrong type or a value out of range is refused. Texts that are too long or
broken are not: they are shortened or cleaned, and ``notes`` in the answer say so. A field that may be left out may be
null, which is the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self
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

from acqo_rl.conversations import ACCEPTED, HISTORY_SCHEMA
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
    """JSON knows one kind of number: 3.0 is the integer 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
Variants = Annotated[int, Field(ge=1, le=5), BeforeValidator(_whole)]
Position = Annotated[int, Field(ge=0), BeforeValidator(_whole)]

_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010fffd"
"""Characters for private use, which not every reader of a pattern knows by their category."""

_QUERY = "Compare the populations of Oslo and Bergen"


def request_config(**example: Any) -> ConfigDict:
    """Strict, with an example; the schema says that null stands for a default."""

    def extend(schema: dict[str, Any]) -> None:
        schema["examples"] = [example]
        for name, wanted in schema["properties"].items():
            if name not in schema["required"] and {"type": "null"} not in wanted.get("anyOf", []):
                told = {key: wanted.pop(key) for key in ("title", "description", "default") if key in wanted}
                schema["properties"][name] = {"anyOf": [wanted, {"type": "null"}], **told}

    return ConfigDict(extra="forbid", strict=True, json_schema_extra=extend)


class Body(BaseModel):
    """The JSON of a request."""

    @model_validator(mode="wrap")
    @classmethod
    def _without_halves_of_characters(cls, body: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Replaces lone surrogates anywhere in the body, since no validated text may hold one."""
        if not isinstance(body, dict):
            return read(body)
        try:
            text = json.dumps(body, ensure_ascii=False)
        except RecursionError as error:
            raise ValueError("The body is nested too deeply.") from error
        clean = well_formed(text)
        return read(body if clean == text else json.loads(clean))


Notes = Annotated[
    list[str], Field(description="What of the request was shortened, left out or replaced; mostly empty.")
]


class QueryRequest(Body):
    """A query in its conversation."""

    model_config = request_config(query=_QUERY)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, body: Any) -> Any:
        """Leaves a null out where the field has a default."""
        if not isinstance(body, dict):
            return body
        optional = {name for name, info in cls.model_fields.items() if not info.is_required()}
        return {name: value for name, value in body.items() if value is not None or name not in optional}

    query: str = Field(
        min_length=1,
        pattern=r"[\p{L}\p{M}\p{N}\p{P}\p{S}" + _PRIVATE + "]",
        description=f"What is asked, as typed; of more than {MAX_QUERY:,} characters, both ends are read.",
    )
    history: Annotated[Any, WithJsonSchema(HISTORY_SCHEMA)] = Field(
        default=(),
        description=f"{ACCEPTED} The last {MAX_TURNS} are read, of more than {MAX_TURN:,} characters both ends.",
    )


def _filter(given: object) -> Filter:
    try:
        return read_filter(given)
    except ConfigError as error:
        raise ValueError(str(error)) from error


class StrategyRequest(QueryRequest):
    """A query, who reformulates it, and what is known of the user."""

    rewriting_strategy: Name | None = Field(
        default=None, description="One of GET /v1/strategies; the service's default where it is left out."
    )
    num_variants: Variants | None = Field(
        default=None,
        description="Other wordings that multi_query writes; by default the service's setting, which is 3 at first.",
    )
    user_context: str = Field(
        default="",
        description="What is known of the user, in a few words: added to each reading of an ambiguous query; of more"
        f" than {MAX_CONTEXT} characters, both ends are read.",
    )
    filter: Annotated[Any, AfterValidator(_filter), WithJsonSchema(FILTER_SCHEMA)] = Field(
        default={},
        description="Conditions on the metadata of documents, which all must hold: a value, allowed values, or"
        " bounds (gt, gte, lt, lte). For collections of search engines.",
    )
    tenant: Name | None = Field(
        default=None, description="Only documents of this tenant; needed where a collection has tenants."
    )

    def scope(self) -> Scope:
        """The part of the documents that the request searches."""
        return Scope(self.filter or (), self.tenant)

    def read(self) -> tuple[Query, str, list[str]]:
        """The query and what is known of the user, within the limits, and notes on what was shortened or is broken.

        Raises:
            ConversationError: a turn is of no shape that is read.
        """
        query, notes = as_query(self.query, self.history)
        context, more = shortened(self.user_context, MAX_CONTEXT, "user_context")
        return query, context, notes + more


class ReformulateRequest(StrategyRequest):
    """A query that is reformulated, and not searched."""

    model_config = request_config(query="Mercury", rewriting_strategy="rules", user_context="astronomy")


class SearchRequest(StrategyRequest):
    """A query, what is searched, and how."""

    model_config = request_config(query=_QUERY, limit=5, rewriting_strategy="rules")

    knowledge_pool_ids: list[Name] = Field(
        default=[], max_length=50, description="Ids or names of collections, merged in one fusion; all by default."
    )
    limit: Whole = Field(default=5, ge=1, le=MAX_LIMIT, description="Results at most.")
    score_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Least cosine similarity of a result, in place of the service's setting: where no document reaches "
        "it, nothing is found. For dense indexes of one encoder only.",
    )
    use_query_rewriting: bool = Field(default=True, description="False searches the query as it stands.")
    include_rankings: bool = Field(default=False, description="Tell each list before the fusion.")


class Variant(BaseModel):
    """One text that was searched."""

    text: str
    kind: str
    weight: float
    lead: float | None = Field(description="Its list counts where its best score leads by this; None: always.")


class QueryRewriteInfo(BaseModel):
    """What was made of a query."""

    original_query: str
    strategy: str
    route: str
    query_type: str | None
    reasoning: str
    variants: list[Variant]
    problem: str | None = Field(description="Why the query was searched as it stands, where that was not wanted.")
    model_calls: int

    @classmethod
    def of(cls, reformulation: Reformulation, strategy: str) -> QueryRewriteInfo:
        """A reformulation."""
        return cls(
            original_query=reformulation.query.text,
            strategy=strategy,
            route=reformulation.route,
            query_type=reformulation.query_type,
            reasoning=reformulation.reasoning,
            variants=[
                Variant(text=s.text, kind=s.kind, weight=s.weight, lead=s.lead) for s in reformulation.sub_queries
            ],
            problem=reformulation.problem,
            model_calls=reformulation.calls,
        )


Metadata = Annotated[dict[str, Any], Field(description="Of the document, as the corpus has it: URL, page, date, ...")]


class Place(BaseModel):
    """Where one list had a document."""

    ranking: int = Field(description="Position of the list in `rankings`, from 0.")
    rank: int
    score: float


class Result(BaseModel):
    """A document that was found."""

    document_id: str
    knowledge_pool_id: UUID
    knowledge_pool: str
    title: str
    text: str
    rank: int
    score: float = Field(description="Of the fusion: how the lists agree.")
    similarity: float = Field(description="The best score of a retriever: how well the document fits.")
    metadata: Metadata
    places: list[Place] = Field(description="In the lists before the fusion, where these are asked for.")


class Listed(BaseModel):
    """A document in a list before the fusion."""

    document_id: str
    knowledge_pool: str
    title: str
    score: float


class ListBefore(BaseModel):
    """One list before the fusion."""

    query: str
    retriever: str
    documents: list[Listed]

    @classmethod
    def of(cls, ranking: Ranking, documents: Mapping[str, Document]) -> ListBefore:
        """The top of a ranking."""
        rows = []
        fetch(documents, ranking.doc_ids[:MAX_LIMIT])
        for key, score in zip(ranking.doc_ids[:MAX_LIMIT], ranking.scores, strict=False):
            pool, doc_id = split_id(key)
            title = document_of(documents, key).title
            rows.append(Listed(document_id=doc_id, knowledge_pool=pool, title=title, score=score))
        return cls(query=ranking.query, retriever=ranking.retriever, documents=rows)


class Failed(BaseModel):
    """A call that did not come back; the result is without it."""

    step: str
    reason: str
    retriever: str
    sub_query: str

    @classmethod
    def of(cls, failure: Failure) -> Failed:
        """A failure."""
        return cls(step=failure.step, reason=failure.reason, retriever=failure.retriever, sub_query=failure.sub_query)


class Traced(BaseModel):
    """A step and its milliseconds."""

    name: str
    ms: float
    detail: str

    @classmethod
    def of(cls, step: Step) -> Traced:
        """A step."""
        return cls(name=step.name, ms=step.ms, detail=step.detail)


class ReformulateResponse(BaseModel):
    """What was made of a query."""

    query_rewrite_info: QueryRewriteInfo
    notes: Notes
    processing_time_ms: float
    request_id: str


class Cluster(BaseModel):
    """The results that one sub-query ranks best of all sub-queries: those of one reading, or of one part."""

    query: str
    kind: str = Field(description="What the sub-query is for: reading, part, variant, original, ...")
    ranks: list[int] = Field(
        description="`rank` of each of its results; empty where another sub-query ranks all higher."
    )

    @classmethod
    def all_of(cls, found: SearchResult, results: Sequence[str]) -> list[Cluster]:
        """One cluster a sub-query, in their order.

        Args:
            found: of a search.
            results: ids of the documents that the response holds, best first.
        """
        kinds = {s.text: s.kind for s in found.reformulation.sub_queries}
        rank = {key: number for number, key in enumerate(results, start=1)}
        return [
            cls(query=text, kind=kinds.get(text, "original"), ranks=[rank[key] for key in keys if key in rank])
            for text, keys in cluster_by_sub_query(found).items()
        ]


class SearchResponse(BaseModel):
    """What a query found."""

    results: list[Result]
    query_rewrite_info: QueryRewriteInfo | None = Field(description="None where the query was to be left alone.")
    clusters: list[Cluster] = Field(description="The results by reading or sub-query.")
    total_results: int
    processing_time_ms: float
    failures: list[Failed] = Field(description="Empty when all is well; else the results are partial.")
    trace: list[Traced]
    cached: bool
    fusion: str = Field(description="What merged the lists: rsf, rrf, combsum or combmnz.")
    rankings: list[ListBefore]
    notes: Notes
    request_id: str


class PoolInfo(BaseModel):
    """A collection."""

    id: UUID
    name: str
    documents: int
    retrievers: list[str]

    @classmethod
    def of(cls, collection: Collection) -> PoolInfo:
        """A collection."""
        return cls(
            id=collection.id,
            name=collection.name,
            documents=len(collection.documents),
            retrievers=[retriever.name for retriever in collection.all_retrievers],
        )


class CollectionsResponse(BaseModel):
    """What can be searched."""

    collections: list[PoolInfo]


class StrategiesResponse(BaseModel):
    """Who can reformulate."""

    strategies: list[str]
    default: str


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str
