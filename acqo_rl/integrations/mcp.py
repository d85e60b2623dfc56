"""An MCP (Model Context Protocol) server that offers ``search`` and ``reformulate`` as tools.

``acqo serve --mcp`` runs it. Needs ``pip install 'acqo-rl[mcp]'``.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Annotated, Any

from acqo_rl import __version__
from acqo_rl.conversations import HISTORY_SCHEMA
from acqo_rl.errors import AcqoError
from acqo_rl.integrations import missing
from acqo_rl.integrations.hits import failures, hits
from acqo_rl.retrieval.federated import split_id
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.serving.collections import DocumentsOf
from acqo_rl.serving.reading import as_query
from acqo_rl.serving.schemas import MAX_LIMIT
from acqo_rl.serving.service import Service
from acqo_rl.types import Document, well_formed

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp_types import ToolAnnotations
    from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema
except ImportError as error:
    raise missing("mcp", error) from error

_INSTRUCTIONS = """Searches documents. Give the question in the user's words, with the earlier turns of the
conversation. If needed, the question is split or disambiguated, and the results of all searches are merged.
Collections: {collections}. Strategies: {strategies}."""

_DEFAULT_LIMIT = 5


def _listed(names: Any) -> Any:
    """Models often give a single name as a text, and null or an empty text for a parameter that they omit."""
    listed = [names] if isinstance(names, str) else names or ()
    return [name for name in listed if name != ""] if isinstance(listed, (list, tuple)) else listed


def _or_none(value: Any) -> Any:
    """Models also give an empty text, list or object for a parameter that they omit."""
    return None if value in ("", [], {}) else value


Question = Annotated[str, Field(description="The question, in the user's words.")]
Limit = Annotated[
    int | None, Field(ge=1, le=MAX_LIMIT, description=f"Maximum number of documents; by default {_DEFAULT_LIMIT}.")
]
Names = Annotated[
    tuple[str, ...],
    Field(max_length=50, description="Collections to search; by default all."),
    BeforeValidator(_listed, json_schema_input_type=list[str] | str | None),
]
Strategy = Annotated[
    str | None,
    Field(description="Reformulation strategy; by default the server's first one."),
    BeforeValidator(_or_none, json_schema_input_type=str | None),
]
History = Annotated[Any, BeforeValidator(_or_none), WithJsonSchema(HISTORY_SCHEMA)]
Notes = Annotated[list[str], Field(description="Parts of the request that were shortened, dropped or replaced.")]


class SubQueryReply(BaseModel, from_attributes=True):
    """A sub-query."""

    text: str
    kind: str


class ReformulationReply(BaseModel, from_attributes=True):
    """A reformulation."""

    route: str = Field(description="pass, disambiguate, decompose or expand.")
    sub_queries: list[SubQueryReply]
    problem: str | None = Field(description="What went wrong, for example why the raw question is searched.")


class ReformulateReply(ReformulationReply):
    """A reformulation, and notes on the request."""

    notes: Notes


class DocumentReply(BaseModel):
    """A document of the result."""

    document_id: str
    collection: str
    title: str
    text: str
    score: float = Field(description="Fused score; documents are sorted by it.")
    similarity: float = Field(description="Best score in one list; measures how well the document matches.")
    found_by: list[str] = Field(description="The sub-queries that found the document.")
    metadata: dict[str, Any] = Field(description="Metadata of the document, such as URL, page and date.")

    @classmethod
    def of(cls, document: Document, details: Mapping[str, Any]) -> DocumentReply:
        """Converts a document and its details."""
        collection, doc_id = split_id(document.id)
        own: dict[str, Any] = {"text": document.text, "metadata": dict(document.metadata)}
        return cls(document_id=doc_id, collection=collection, **own, **details)


class SearchReply(BaseModel):
    """The result of a search."""

    documents: list[DocumentReply]
    reformulation: ReformulationReply
    failures: list[str] = Field(description="Failed calls; if not empty, the result is partial.")
    notes: Notes


def run(server: MCPServer[None]) -> None:
    """Serves over stdin and stdout until stdin is closed.

    Lone surrogates (JavaScript writes broken emojis in this way) are replaced by U+FFFD, because the SDK does not
    answer messages that contain them.
    """
    given, (read_end, write_end) = os.dup(0), os.pipe()
    os.dup2(read_end, 0)
    os.close(read_end)

    def forward() -> None:
        with open(given, "rb") as lines, open(write_end, "wb", buffering=0) as forwarded, suppress(BrokenPipeError):
            for line in lines:
                forwarded.write(_well_formed_json(line))

    threading.Thread(target=forward, daemon=True).start()
    server.run()


def _well_formed_json(line: bytes) -> bytes:
    if b"\\ud" not in line.lower():
        return line
    try:
        return well_formed(json.dumps(json.loads(line), ensure_ascii=False)).encode() + b"\n"
    except (ValueError, RecursionError):
        return line  # the SDK reports the error


def make_server(service: Service) -> MCPServer[None]:
    """Creates a server with the tools ``search`` and ``reformulate``; :func:`run` serves it over stdin and stdout.

    Errors such as an empty question, an unknown strategy or collection, or the failure of all searches are returned as
    tool errors with the message of the exception.

    Args:
        service: the service whose strategies and collections are offered.
    """

    def search(
        query: Question, k: Limit = None, collections: Names = (), strategy: Strategy = None, history: History = ()
    ) -> SearchReply:
        """Find documents for a question. A compound question is split; an ambiguous one is searched in each meaning."""
        chosen = service.collections.named(collections)
        asked, notes = as_query(query, history)
        found = service.searcher(service.strategy(strategy), None, chosen).search(asked, DEPTH)
        return SearchReply(
            documents=[DocumentReply.of(*hit) for hit in hits(found, DocumentsOf(chosen))[: k or _DEFAULT_LIMIT]],
            reformulation=ReformulationReply.model_validate(found.reformulation),
            failures=failures(found),
            notes=notes,
        )

    def reformulate(query: Question, strategy: Strategy = None, history: History = ()) -> ReformulateReply:
        """Return the sub-queries that a search for a question would use, without searching."""
        asked, notes = as_query(query, history)
        searcher = service.searcher(service.strategy(strategy), None, service.collections.named(()))
        made = searcher.reformulate(asked)
        return ReformulateReply(**dict(ReformulationReply.model_validate(made)), notes=notes)

    return MCPServer(
        "acqo-rl",
        version=__version__,
        instructions=_INSTRUCTIONS.format(
            collections=", ".join(collection.name for collection in service.collections),
            strategies=", ".join(service.strategies.names),
        ),
        tools=[_tool(search), _tool(reformulate)],
        log_level="WARNING",
    )


def _tool(function: Callable[..., SearchReply | ReformulateReply]) -> Tool:
    """Offers a function as a tool that reports errors of this package and refuses unknown arguments."""

    @wraps(function)
    def call(**arguments: Any) -> SearchReply | ReformulateReply:
        try:
            return function(**arguments)
        except AcqoError as error:
            raise ToolError(str(error)) from error

    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tool = Tool.from_function(call, annotations=hints)
    known = tool.fn_metadata.arg_model
    # The SDK drops unknown arguments without a word.
    strict = {**known.model_config, "extra": "forbid"}
    tool.fn_metadata.arg_model = type(known.__name__, (known,), {"model_config": strict, "__module__": __name__})
    tool.parameters = tool.fn_metadata.arg_model.model_json_schema(by_alias=True)
    return tool
