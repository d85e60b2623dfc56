"""An MCP (Model Context Protocol) server that offers ``search`` and ``reformulate`` as tools.

``acqo serve --mcp`` runs it. Needs ``pip install 'acqo-rl[mcp]'``.
"""

import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from acqo_rl import __version__
from acqo_rl.errors import AcqoError, ConfigError, missing_package
from acqo_rl.serving.requests import ReformulateRequest, SearchRequest
from acqo_rl.serving.service import Service
from acqo_rl.time_limit import in_thread
from acqo_rl.types import well_formed

try:
    import anyio
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        INVALID_PARAMS,
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        TextContent,
        Tool,
        ToolAnnotations,
    )
    from pydantic import ValidationError
except ImportError as error:
    raise missing_package("This integration", error, "mcp") from error

_INSTRUCTIONS = """Searches documents. Give the question in the user's words, with the earlier turns of the
conversation. If needed, the question is split or disambiguated, and the results of all searches are merged.
Collections: {collections}. Strategies: {strategies}."""

_SEARCH = "Find documents for a question. A compound question is split; an ambiguous one is searched in each meaning."
_REFORMULATE = "Return the sub-queries that a search for a question would use, without searching."

_ARGUMENTS = ("query", "history", "rewriting_strategy", "knowledge_pool_ids", "limit")
"""Fields of the service's requests that language models write; a tenant is not among them."""

_FIELDS = {"results", "query_rewrite_info", "failures", "notes"}
"""Fields of the service's responses that language models read."""


def run(server: Server[Any]) -> None:
    """Serves over stdin and stdout until stdin is closed."""

    async def serve() -> None:
        async with stdio_server(stdin=_lines()) as (read, write):  # type: ignore[arg-type]
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


async def _lines() -> AsyncIterator[str]:
    """The messages, in which lone surrogates (JavaScript writes broken emojis so) are replaced by U+FFFD.

    The SDK does not answer messages that contain them.
    """
    async for line in anyio.wrap_file(sys.stdin.buffer):
        text = line.decode(errors="replace")
        try:
            yield well_formed(json.dumps(json.loads(text), ensure_ascii=False))
        except (ValueError, RecursionError):
            yield text  # the SDK reports the error


def make_server(service: Service) -> Server[Any]:
    """Creates a server with the tools ``search`` and ``reformulate``; :func:`run` serves it over stdin and stdout.

    The arguments of the tools are fields of the HTTP requests; ``null`` is the default of each, and numbers and lists
    may be texts of JSON, as some models write them. Errors such as an empty question, an unknown argument, strategy or
    collection, or the failure of all searches are returned as tool errors. A call that is cancelled ends.

    Args:
        service: the service whose strategies and collections are offered.
    """
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    calls: dict[str, tuple[type[ReformulateRequest], Callable[[Any], Any]]] = {
        "search": (SearchRequest, service.find),
        "reformulate": (ReformulateRequest, service.reformulate),
    }
    schemas = {name: _schema(form) for name, (form, _) in calls.items()}
    tools = [
        Tool(name=name, description=text, input_schema=schemas[name], annotations=hints)
        for name, text in (("search", _SEARCH), ("reformulate", _REFORMULATE))
    ]

    async def offer(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call(_: Any, asked: CallToolRequestParams) -> CallToolResult:
        if asked.name not in calls:
            raise MCPError(INVALID_PARAMS, f"There is no tool {asked.name[:100]!r}; the tools are {', '.join(calls)}.")
        form, answer = calls[asked.name]
        properties = schemas[asked.name]["properties"]
        given = {
            name: _typed(value, properties.get(name, {}))
            for name, value in (asked.arguments or {}).items()
            if value is not None
        }
        try:
            if unknown := sorted(given.keys() - set(_ARGUMENTS)):
                raise ConfigError(f"Unknown argument {unknown[0]!r}; the arguments are {', '.join(_ARGUMENTS)}.")
            reply = await in_thread(lambda: answer(form(**given)), service.timeouts.total)
        except (AcqoError, ValidationError) as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        fields = reply.model_dump(mode="json", include=_FIELDS)
        return CallToolResult(content=[TextContent(text=json.dumps(fields))], structured_content=fields)

    return Server(
        "acqo-rl",
        version=__version__,
        instructions=_INSTRUCTIONS.format(
            collections=", ".join(one.name for one in service.collections),
            strategies=", ".join(service.strategies.names),
        ),
        on_list_tools=offer,
        on_call_tool=call,
    )


def _schema(form: type[ReformulateRequest]) -> dict[str, Any]:
    """The schema of the arguments."""
    fields = form.model_json_schema()["properties"]
    properties = {name: field for name, field in fields.items() if name in _ARGUMENTS}
    return {"type": "object", "properties": properties, "required": ["query"], "additionalProperties": False}


def _typed(value: Any, schema: dict[str, Any]) -> Any:
    """The value of an argument; one that is a text where its schema has more than texts is read as JSON."""
    types = {one.get("type") for one in schema.get("anyOf", [schema])}
    if not isinstance(value, str) or types <= {"string", "null"}:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value if "array" not in types or "string" in types else [value]
