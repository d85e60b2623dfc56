"""Requests, and how their texts are read.

Unknown fields, wrong types and values out of range are rejected. Texts that are too long are shortened, and ``notes``
in the response report this. Broken characters are replaced by U+FFFD.
"""

import json
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from acqo_rl.conversations import FORMS, HISTORY_SCHEMA, read_history
from acqo_rl.errors import ConfigError, did_you_mean
from acqo_rl.pipeline.questions import AnyMode
from acqo_rl.retrieval.engines.filters import FILTER_SCHEMA, PRINTED, read_filter, whole_number
from acqo_rl.serving.collections import Collection
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS, one_line, shorten, within_limits
from acqo_rl.types import Filter, Query, Turn, well_formed

MAX_LIMIT = 20
"""Maximum number of results, and of documents of each ranking before fusion."""

MAX_CONTEXT = 500
"""Maximum number of characters of the user context."""

_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010fffd"
"""Private-use characters; not every regular expression engine supports their Unicode category."""


def _filter(given: object) -> Filter:
    try:
        json.dumps(given, ensure_ascii=False).encode()  # raises a ValueError if a character is broken
        return read_filter(given)
    except (ConfigError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _with_words(text: str) -> str:
    if not one_line(text):
        raise ValueError("The text is empty; write at least one letter, digit or sign.")
    return text


_WELL_FORMED = BeforeValidator(lambda text: well_formed(text) if isinstance(text, str) else text)
Text = Annotated[str, _WELL_FORMED]
Whole = BeforeValidator(whole_number)
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=PRINTED), _WELL_FORMED]
Notes = Annotated[list[str], Field(description="How the searches differ from the request; often empty.")]


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
        default=None,
        description="Number of paraphrases that multi_query writes; by default the service's. Other strategies "
        "ignore it.",
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
    knowledge_pool_ids: Annotated[list[Name], Field(max_length=50)] | None = Field(
        default=None,
        description="Names of the collections to search; by default all. Their results are merged.",
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        unknown = sorted(set(given) - set(cls.model_fields)) if isinstance(given, dict) else []
        if unknown:
            raise ValueError(
                f"Unknown field {unknown[0][:100]!r}{did_you_mean(unknown, cls.model_fields)}; "
                f"the fields are {', '.join(cls.model_fields)}."
            )
        return given

    def read(self) -> tuple[Query, str, list[str]]:
        """Returns the query, the user context, and notes on what was shortened or dropped.

        Raises:
            ConversationError: the history has an unknown form.
        """
        read = (Turn(turn.speaker, well_formed(turn.text)) for turn in read_history(self.history, self.query))
        query, notes = within_limits(Query("query", self.query, tuple(read)))
        context = shorten(self.user_context, MAX_CONTEXT)
        if context != self.user_context:
            notes += (f"Both ends of user_context were read, because it has more than {MAX_CONTEXT} characters.",)
        return query, context, [*notes]


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


class Asked(NamedTuple):
    """What a request asks."""

    strategy: str
    num_variants: int | None
    collections: tuple[Collection, ...]
    query: Query
    context: str
    notes: list[str]
