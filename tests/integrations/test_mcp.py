"""The MCP server, tested with the official client, in process and over stdio."""

import io
import json
import sys
import threading
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from shared import ACQO, ENVIRONMENT
from small_world import CORPUS, FOUND_BY, HISTORY, PARTS, QUERY, SCORES

from acqo_rl import time_limit
from acqo_rl.integrations.mcp import _lines, make_server
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.serving.load import ServiceSettings, load_service


@pytest.fixture(scope="module")
def service(folder):
    settings = ServiceSettings([f"world={folder}/data,{folder}/index"], strategies=["rules", "turns"])
    service = load_service(settings, StrategySettings())
    yield service
    service.close()


@asynccontextmanager
async def process(folder, *arguments):
    """A client of an acqo serve --mcp process."""
    server = StdioServerParameters(
        command=sys.executable,
        args=[*ACQO[1:], "serve", "--mcp", "--collections", f"world={folder}/data,{folder}/index", *arguments],
        env=ENVIRONMENT,
    )
    async with Client(server, read_timeout_seconds=60) as client:
        yield client


def variants_of(reply):
    return [variant["text"] for variant in reply["query_rewrite_info"]["variants"]]


@pytest.mark.slow
async def test_a_process_over_stdio(folder):
    async with process(folder, "--strategies", "rules", "turns") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search", "reformulate"}
        assert tools["search"].input_schema["required"] == ["query"]
        assert tools["search"].annotations.read_only_hint
        answer = await client.call_tool("search", {"query": QUERY, "limit": 4})
        reply = answer.structured_content
        assert not answer.is_error
        assert {document["document_id"] for document in reply["results"]} == set(FOUND_BY)
        assert [document["score"] for document in reply["results"]] == pytest.approx(SCORES)
        [franc] = [document for document in reply["results"] if document["document_id"] == "franc"]
        assert (franc["knowledge_pool"], franc["text"]) == ("world", CORPUS["franc"].text)
        assert (reply["query_rewrite_info"]["route"], variants_of(reply)) == ("decompose", PARTS)
        made = (await client.call_tool("reformulate", {"query": QUERY})).structured_content
        assert made == {name: reply[name] for name in ("query_rewrite_info", "notes")}


async def test_a_broken_emoji_is_replaced(monkeypatch):
    """As an escape of JavaScript clients, and as bytes that are not valid UTF-8."""
    lines = b"".join(b'{"query": "%s"}\n' % half for half in (b"\\ud83d", b"\xed\xa0\xbd"))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    assert ["\ufffd" in line async for line in _lines()] == [True, True]


async def test_collection_strategy_and_conversation_are_used(service):
    async with Client(make_server(service)) as client:
        assert "Collections: world. Strategies: rules, turns, raw." in client.instructions
        settings = {"limit": 1, "rewriting_strategy": "turns", "knowledge_pool_ids": ["world"], "history": HISTORY}
        reply = (await client.call_tool("search", {"query": "its currency?", **settings})).structured_content
        assert [document["document_id"] for document in reply["results"]] == ["franc"]
        assert reply["query_rewrite_info"]["route"] == "disambiguate"
        reply = (await client.call_tool("search", {"query": QUERY, "rewriting_strategy": "raw"})).structured_content
        assert variants_of(reply) == [QUERY]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"query": " "}, "query"),
        ({"rewriting_strategy": "none"}, "rules, turns, raw"),
        ({"history": [{"role": "user"}]}, "role and content"),
        ({"limit": 21}, "limit"),
        ({"tenant": "a"}, "query, history, rewriting_strategy, knowledge_pool_ids, limit"),
        ({"knowledge_pool_ids": ["elsewhere"]}, "world"),
    ],
)
async def test_errors_are_returned_to_the_model(service, arguments, named):
    async with Client(make_server(service)) as client:
        answer = await client.call_tool("search", {"query": QUERY, **arguments})
    assert answer.is_error
    assert named in answer.content[0].text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"limit": "2"}, {"limit": 2}),
        ({"limit": "1.0"}, {"limit": 1}),
        ({"knowledge_pool_ids": '["world"]'}, {"knowledge_pool_ids": ["world"]}),
        ({"knowledge_pool_ids": "world"}, {"knowledge_pool_ids": ["world"]}),
        ({"history": json.dumps(HISTORY)}, {"history": HISTORY}),
        ({"history": "null", "query": "7"}, {"query": "7"}),
    ],
)
async def test_numbers_and_lists_may_be_texts_of_json(service, written, meant):
    async with Client(make_server(service)) as client:
        replies = [await client.call_tool("search", {"query": QUERY, **given}) for given in (written, meant)]
    assert not replies[0].is_error
    assert replies[0].structured_content["results"] == replies[1].structured_content["results"]


async def test_an_unknown_tool_is_named_with_the_tools(service):
    async with Client(make_server(service)) as client:
        with pytest.raises(MCPError, match="'nope'; the tools are search, reformulate") as caught:
            await client.call_tool("nope", {})
    assert caught.value.code == INVALID_PARAMS


async def test_a_call_that_is_cancelled_ends(service, monkeypatch):
    """The time limit of its searches ends, so that model calls on servers end too."""
    ended = threading.Event()

    def stalled(body):
        with time_limit.current().ending(ended.set):
            ended.wait(20)

    monkeypatch.setattr(service, "find", stalled)
    async with Client(make_server(service)) as client:
        with anyio.move_on_after(0.3):
            await client.call_tool("search", {"query": QUERY})
        await anyio.to_thread.run_sync(ended.wait, 5)
    assert ended.is_set()
