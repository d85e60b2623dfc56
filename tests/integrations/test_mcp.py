"""The MCP server: through the official client, in process and as a process over stdio."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.mcpserver import MCPServer
from mcp_types import PromptMessage, TextContent
from serving_stand_ins import Words
from small_world import CORPUS, FOUND_BY, HISTORY, PARTS, QUERY, SCORES
from stand_ins import BrokenRetriever

from acqo_rl.conversations import ACCEPTED
from acqo_rl.integrations.mcp import make_server
from acqo_rl.reformulation.load import StrategySettings
from acqo_rl.serving.load import ServiceSettings, load_service

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def service(folder):
    settings = ServiceSettings([f"world={folder}/data,{folder}/index"], strategies=["rules", "turns"])
    service = load_service(settings, StrategySettings())
    yield service
    service.close()


@asynccontextmanager
async def process(folder, *arguments):
    """A client of scripts/serve_mcp.py as a process."""
    server = StdioServerParameters(
        command=sys.executable,
        args=[
            str(ROOT / "scripts" / "serve_mcp.py"),
            "--collections",
            f"world={folder}/data,{folder}/index",
            *arguments,
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    async with Client(server, read_timeout_seconds=60) as client:
        yield client


async def refused(client, tool, **arguments):
    """The message of a call that is an error of the tool."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text


@pytest.mark.slow
async def test_a_process_over_stdio(folder):
    async with process(folder, "--strategies", "rules", "turns") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search", "reformulate"}
        assert tools["search"].input_schema["required"] == ["query"]
        assert tools["search"].annotations.read_only_hint
        answer = await client.call_tool("search", {"query": QUERY, "k": 4})
        told = answer.structured_content
        assert not answer.is_error
        assert {document["document_id"]: document["found_by"] for document in told["documents"]} == FOUND_BY
        assert [document["score"] for document in told["documents"]] == pytest.approx(SCORES)
        assert told["documents"][0] == {
            **told["documents"][0],
            "collection": "world",
            "title": "CFA franc",
            "text": CORPUS["franc"].text,
            "metadata": {"url": "https://franc.example"},
        }
        assert told["failures"] == []
        made = (await client.call_tool("reformulate", {"query": QUERY})).structured_content
        parts = [{"text": part, "kind": "part"} for part in PARTS]
        assert made == told["reformulation"] == {"route": "decompose", "sub_queries": parts, "problem": None}
        assert "there are: rules, turns, raw" in await refused(client, "search", query=QUERY, strategy="none")


async def test_collections_strategies_and_the_conversation(service):
    async with Client(make_server(service)) as client:
        assert "Collections: world. Strategies: rules, turns, raw." in client.instructions
        settings = {"query": "its currency?", "k": 1, "strategy": "turns", "collections": ["world"], "history": HISTORY}
        told = (await client.call_tool("search", settings)).structured_content
        assert [document["document_id"] for document in told["documents"]] == ["franc"]
        assert told["reformulation"]["route"] == "disambiguate"
        told = (await client.call_tool("search", {"query": QUERY, "strategy": "raw"})).structured_content
        assert told["reformulation"]["sub_queries"] == [{"text": QUERY, "kind": "original"}]


async def test_messages_of_the_protocol_are_earlier_turns(service):
    said = [
        PromptMessage(role="user", content=TextContent(text="Tell me about Chad.")),
        PromptMessage(role="assistant", content=TextContent(text="Chad is a country.")),
    ]
    async with Client(make_server(service)) as client:
        settings = {"query": "its currency?", "strategy": "turns"}
        told = []
        for history in ([message.model_dump(mode="json") for message in said], HISTORY):
            answer = await client.call_tool("reformulate", {**settings, "history": history})
            told.append(answer.structured_content["sub_queries"])
        schema = {tool.name: tool for tool in (await client.list_tools()).tools}["search"].input_schema
        bad = await refused(client, "reformulate", **settings, history=[{"role": "user"}])
    assert (
        told[0]
        == told[1]
        == [{"text": "U: Tell me about Chad. S: Chad is a country. its currency?", "kind": "reading"}]
    )
    assert schema["properties"]["history"]["description"] == ACCEPTED
    assert "role and content" in bad


async def test_errors_reach_the_model(service):
    async with Client(make_server(service)) as client:
        assert "A query is empty" in await refused(client, "search", query=" ")
        assert "A query is empty" in await refused(client, "reformulate", query="")
        assert "greater than or equal to 1" in await refused(client, "search", query=QUERY, k=0)
        assert "there are: world" in await refused(client, "search", query=QUERY, collections=["elsewhere"])
        assert "there are: rules, turns, raw" in await refused(client, "reformulate", query=QUERY, strategy="none")


async def test_a_retriever_that_fails(service, monkeypatch):
    [collection] = service.collections
    monkeypatch.setattr(collection.retrievers[0], "retriever", BrokenRetriever())
    async with Client(make_server(service)) as client:
        assert "the search server does not answer" in await refused(client, "search", query="Where is Lima?")
        monkeypatch.setattr(collection.retrievers[0], "retriever", Words(CORPUS))
        partly = {"query": "What is the capital of Peru, and what is broken in Chad?"}
        told = (await client.call_tool("search", partly)).structured_content
        assert told["documents"][0]["document_id"] == "lima"
        assert told["failures"] == ["retrieval world/bm25: ConnectionError: the index is down"]


def test_the_example(run_example, monkeypatch):
    served = []
    monkeypatch.setattr(MCPServer, "run", lambda server: served.append(server))
    run_example("mcp")
    assert [server.name for server in served] == ["acqo-rl"]
