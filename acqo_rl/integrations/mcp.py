"""A server of the Model Context Protocol: a service's ``search`` and ``reformulate`` as tools of a language model.

    from acqo_rl.integrations.mcp import make_server, run
    from acqo_rl.reformulation.load import StrategySettings
    from acqo_rl.serving.load import ServiceSettings, load_service

    settings = ServiceSettings(["demo=outputs/demo/data,outputs/demo/index"], strategies=["rules"])
    run(make_server(load_service(settings, StrategySettings())))  # over stdin and stdout

acqo mcp does this from a file of settings. Needs ``pip install 'acqo-rl[mcp]'``.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from acqo_rl import __version__
from acqo_rl.conversations import ACCEPTED, HISTORY_SCHEMA
from acqo_rl.errors import AcqoError
from acqo_rl.integrations import missing
from acqo_rl.integrations.hits import failures, hits
from acqo_rl.retrieval.federated import split_id
from acqo_rl.serving.collections import DocumentsOf
from acqo_rl.serving.schemas import MAX_LIMIT
from acqo_rl.serving.service import Service
from acqo_rl.serving.shortening import as_query
from acqo_rl.surrogates import well_formed
from acqo_rl.types import Document, Reformulation

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations
    from pydantic import BaseModel, Field, WithJsonSchema
except ImportError as error:
    raise missing("mcp", error) from error

_INSTRUCTIONS = """Searches documents. Give a question as the user put it, with the earlier turns of the conversation:
it is split, disambiguated or left alone as needed, and what its parts find is merged.
Collections: {collections}. Strategies: {strategies}."""

P = ParamSpec("P")
T = TypeVar("T")

Asked = Annotated[str, Field(description="The question, as the user put it.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Documents, at most.")]
Names = Annotated[tuple[str, ...], Field(max_length=50, description="Collections to search; all by default.")]
Strategy = Annotated[str | None, Field(description="Who reformulates; the server's first strategy by default.")]
History = Annotated[Any, WithJsonSchema({**HISTORY_SCHEMA, "description": ACCEPTED})]
Notes = Annotated[list[str], Field(description="What of the request was shortened, left out or replaced.")]


class SubQueryReply(BaseModel):
    """One text that is searched."""

    text: str
    kind: str


class ReformulationReply(BaseModel):
    """How a question is searched."""

    route: str = Field(description="pass, disambiguate, decompose or expand.")
    sub_queries: list[SubQueryReply]
    problem: str | None = Field(description="Why the question is searched as it stands, where that was not wanted.")

    @classmethod
    def of(cls, reformulation: Reformulation) -> ReformulationReply:
        """A reformulation."""
        return cls(
            route=reformulation.route,
            sub_queries=[SubQueryReply(text=s.text, kind=s.kind) for s in reformulation.sub_queries],
            problem=reformulation.problem,
        )


class ReformulateReply(ReformulationReply):
    """How a question would be searched, and what of it was read."""

    notes: Notes


class DocumentReply(BaseModel):
    """A document that was found."""

    document_id: str
    collection: str
    title: str
    text: str
    score: float = Field(description="How the lists agree; the order of the documents.")
    similarity: float = Field(description="The best score in one list: how well the document fits.")
    found_by: list[str] = Field(description="The searches that found it.")
    metadata: dict[str, Any] = Field(description="What else the corpus knows of it, such as its URL, page and date.")

    @classmethod
    def of(cls, document: Document, told: Mapping[str, Any]) -> DocumentReply:
        """A document and what is known of it."""
        collection, doc_id = split_id(document.id)
        return cls(
            document_id=doc_id,
            collection=collection,
            title=document.title,
            text=document.text,
            score=told["score"],
            similarity=told["similarity"],
            found_by=told["found_by"],
            metadata=dict(document.metadata),
        )


class SearchReply(BaseModel):
    """What a search found."""

    documents: list[DocumentReply]
    reformulation: ReformulationReply
    failures: list[str] = Field(description="What did not come back; empty when all is well.")
    notes: Notes


def run(server: MCPServer[None]) -> None:
    """Serves over stdin and stdout until stdin ends.

    The SDK does not answer a message with half a surrogate pair, which is how JavaScript writes a broken emoji. Here
    it is replaced by U+FFFD.
    """
    given, (read_end, write_end) = os.dup(0), os.pipe()
    os.dup2(read_end, 0)
    os.close(read_end)

    def pass_on() -> None:
        with open(given, "rb") as lines, open(write_end, "wb", buffering=0) as kept, suppress(BrokenPipeError):
            for line in lines:
                kept.write(_well_formed_json(line))

    threading.Thread(target=pass_on, daemon=True).start()
    server.run()


def _well_formed_json(line: bytes) -> bytes:
    if b"\\ud" not in line.lower():
        return line
    try:
        return well_formed(json.dumps(json.loads(line), ensure_ascii=False)).encode() + b"\n"
    except (ValueError, RecursionError):
        return line  # the SDK says what is wrong with it


def make_server(service: Service) -> MCPServer[None]:
    """A server with the tools ``search`` and ``reformulate``; :func:`run` speaks over stdin and stdout.

    What the caller can put right (an empty question, an unknown strategy or collection, no search that came back) is
    an error of the tool with the message of the exception.

    Args:
        service: its strategies and collections are offered.
    """
    server: MCPServer[None] = MCPServer(
        "acqo-rl",
        version=__version__,
        instructions=_INSTRUCTIONS.format(
            collections=", ".join(collection.name for collection in service.collections),
            strategies=", ".join(service.strategies.names),
        ),
        log_level="WARNING",
    )
    read_only = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

    @server.tool(annotations=read_only)
    @_with_tool_errors
    def search(
        query: Asked, k: Limit = 5, collections: Names = (), strategy: Strategy = None, history: History = ()
    ) -> SearchReply:
        """Find documents for a question; a compound question is split, an ambiguous one is searched in its readings."""
        chosen = service.collections.named(collections)
        asked, notes = as_query(query, history)
        found = service.search(asked, service.strategy(strategy), None, chosen)
        return SearchReply(
            documents=[DocumentReply.of(*hit) for hit in hits(found, DocumentsOf(chosen))[:k]],
            reformulation=ReformulationReply.of(found.reformulation),
            failures=failures(found),
            notes=notes,
        )

    @server.tool(annotations=read_only)
    @_with_tool_errors
    def reformulate(query: Asked, strategy: Strategy = None, history: History = ()) -> ReformulateReply:
        """Tell what a search for a question would search, without searching."""
        asked, notes = as_query(query, history)
        made = service.reformulate(asked, service.strategy(strategy), None)
        return ReformulateReply(**dict(ReformulationReply.of(made)), notes=notes)

    return server


def _with_tool_errors(tool: Callable[P, T]) -> Callable[P, T]:
    @wraps(tool)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return tool(*args, **kwargs)
        except AcqoError as error:
            raise ToolError(str(error)) from error

    return call
