"""Schemas of requests.

Unknown fields, wrong types and values out of range are rejected. Texts that are too long or contain broken characters
are accepted: they are shortened or cleaned, and ``notes`` in the response report this. In optional fields, null means
the default.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

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

from acqo_rl.conversations import FORMS, HISTORY_SCHEMA
from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.filters import FILTER_SCHEMA, read_filter
from acqo_rl.serving.shortening import MAX_CONTEXT, as_query, shortened
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS
from acqo_rl.types import Filter, Query, Scope, well_formed

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
        description=f"Earlier turns, oldest first: {FORMS}. Only the last {MAX_TURNS} turns are read. Of a turn with "
        f"more than {MAX_TURN:,} characters, only both ends are read.",
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
            ConversationError: the history has an unknown form.
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
