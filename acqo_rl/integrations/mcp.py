"""An MCP (Model Context Protocol) server that offers ``search`` and ``reformulate`` as tools.

``acqo serve --mcp`` runs it. Needs ``pip install 'acqo-rl[mcp]'``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Annotated, Any

from acqo_rl import __version__
from acqo_rl.conversations import HISTORY_SCHEMA
from acqo_rl.errors import AcqoError
from acqo_rl.integrations import missing
from acqo_rl.serving.requests import MAX_LIMIT, KnownFields, ReformulateRequest, SearchRequest
from acqo_rl.serving.service import Service
from acqo_rl.types import well_formed

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp_types import ToolAnnotations
    from pydantic import Field, ValidationError, WithJsonSchema
except ImportError as error:
    raise missing("mcp", error) from error

_INSTRUCTIONS = """Searches documents. Give the question in the user's words, with the earlier turns of the
conversation. If needed, the question is split or disambiguated, and the results of all searches are merged.
Collections: {collections}. Strategies: {strategies}."""


Question = Annotated[str, Field(description="The question, in the user's words.")]
Limit = Annotated[int | None, Field(ge=1, le=MAX_LIMIT, description="Maximum number of documents; by default 5.")]
Names = Annotated[list[str] | None, Field(max_length=50, description="Collections to search; by default all.")]
Strategy = Annotated[str | None, Field(description="Reformulation strategy; by default the server's first one.")]
History = Annotated[Any, WithJsonSchema(HISTORY_SCHEMA)]

_FIELDS = {"results", "query_rewrite_info", "failures", "notes"}
"""Fields of the service's responses that language models read."""


def run(server: MCPServer[None]) -> None:
    """Serves over stdin and stdout until stdin is closed.

    Lone surrogates (JavaScript writes broken emojis in this way) are replaced by U+FFFD, because the SDK does not
    answer messages that contain them.
    """
    read_end, write_end = os.pipe()
    given, sys.stdin = sys.stdin.buffer, os.fdopen(read_end)

    def forward() -> None:
        with os.fdopen(write_end, "wb", buffering=0) as forwarded, suppress(BrokenPipeError):
            for line in given:
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
        query: Question, k: Limit = None, collections: Names = None, strategy: Strategy = None, history: History = ()
    ) -> dict[str, Any]:
        """Find documents for a question. A compound question is split; an ambiguous one is searched in each meaning."""
        body = SearchRequest(
            query=query,
            history=history or (),
            rewriting_strategy=strategy,
            knowledge_pool_ids=collections or [],
            limit=k or 5,
        )
        return service.search(body).model_dump(mode="json", include=_FIELDS)

    def reformulate(query: Question, strategy: Strategy = None, history: History = ()) -> dict[str, Any]:
        """Return the sub-queries that a search for a question would use, without searching."""
        body = ReformulateRequest(query=query, history=history or (), rewriting_strategy=strategy)
        return service.reformulate(body).model_dump(mode="json", include=_FIELDS)

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


def _tool(function: Callable[..., dict[str, Any]]) -> Tool:
    """Offers a function as a tool that reports errors of this package and refuses unknown arguments."""

    @wraps(function)
    def call(**arguments: Any) -> dict[str, Any]:
        try:
            return function(**arguments)
        except ValidationError as error:
            raise ToolError("; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())) from error
        except AcqoError as error:
            raise ToolError(str(error)) from error

    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tool = Tool.from_function(call, annotations=hints)
    known = tool.fn_metadata.arg_model
    # The SDK drops unknown arguments without a word.
    strict = {"model_config": {**known.model_config, "extra": "forbid"}, "__module__": __name__}
    tool.fn_metadata.arg_model = type(known.__name__, (KnownFields, known), strict)
    tool.parameters = tool.fn_metadata.arg_model.model_json_schema(by_alias=True)
    return tool
