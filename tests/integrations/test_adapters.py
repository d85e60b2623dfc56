"""What the retrievers of all frameworks have in common."""

from __future__ import annotations

import json

import pytest
from haystack.dataclasses import ChatMessage as HaystackMessage
from haystack.dataclasses import ToolCall
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from llama_index.core.llms import ChatMessage, MessageRole, TextBlock
from pydantic import ValidationError
from small_world import CORPUS, FOUND_BY, HISTORY, QUERY, SCORES, make_searcher

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.integrations import haystack, langchain, llama_index
from acqo_rl.reformulation.turns import RecentTurns


async def in_langchain(searcher, query, k, history, awaited):
    retriever = langchain.AdaptiveRetriever(searcher=searcher, corpus=CORPUS, k=k)
    asked = {"input": query, "history": history}
    found = await retriever.ainvoke(**asked) if awaited else retriever.invoke(**asked)
    return [(document.id, document.page_content, document.metadata) for document in found]


async def in_llama_index(searcher, query, k, history, awaited):
    retriever = llama_index.AdaptiveRetriever(searcher, CORPUS, k)
    asked = llama_index.ConversationQuery(query, chat_history=history)
    found = await retriever.aretrieve(asked) if awaited else retriever.retrieve(asked)
    assert [node.score for node in found] == [node.metadata["acqo_rl"]["score"] for node in found]
    return [(node.node_id, node.text, node.metadata) for node in found]


async def in_haystack(searcher, query, k, history, awaited):
    retriever = haystack.AdaptiveRetriever(lambda: (searcher, CORPUS), k)
    asked = {"query": query, "history": history}
    found = (await retriever.run_async(**asked) if awaited else retriever.run(**asked))["documents"]
    assert [document.score for document in found] == [document.meta["acqo_rl"]["score"] for document in found]
    return [(document.id, document.content, document.meta) for document in found]


MESSAGES = {
    in_langchain: [
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "Tell me about Chad."}, {"type": "image", "url": "http://x"}]),
        AIMessage([{"type": "thinking", "thinking": "Hm."}, {"type": "tool_use", "id": "1", "name": "x", "input": {}}]),
        ToolMessage("lots of JSON", tool_call_id="1"),
        AIMessageChunk("Chad is a country."),
    ],
    in_llama_index: [
        ChatMessage("Be brief.", role=MessageRole.SYSTEM),
        ChatMessage("Tell me about Chad."),
        ChatMessage(role=MessageRole.ASSISTANT, blocks=[TextBlock(text="Chad is"), TextBlock(text="a country.")]),
        ChatMessage("a lot of JSON", role=MessageRole.TOOL),
    ],
    in_haystack: [
        HaystackMessage.from_system("Be brief."),
        HaystackMessage.from_user("Tell me about Chad."),
        HaystackMessage.from_assistant(tool_calls=[ToolCall("search", {})]),
        HaystackMessage.from_assistant("Chad is a country."),
    ],
}

ADAPTERS = pytest.mark.parametrize("ask", MESSAGES)
AWAITED = pytest.mark.parametrize("awaited", [False, True])


@ADAPTERS
@AWAITED
async def test_documents_and_details(ask, awaited, searcher):
    """Both calls are made in a running event loop."""
    found = await ask(searcher, QUERY, 4, (), awaited)
    assert [(doc_id, text) for doc_id, text, _ in found] == [(d, CORPUS[d].text) for d in FOUND_BY]
    details = [metadata.pop("acqo_rl") for *_, metadata in found]
    assert {one["doc_id"]: one["found_by"] for one in details} == FOUND_BY
    assert [one["score"] for one in details] == pytest.approx(SCORES)
    assert [(one["rank"], one["problem"], one["failures"]) for one in details] == [(i, None, []) for i in range(1, 5)]
    assert json.loads(json.dumps(details)) == details
    own = {doc_id: {**({"title": d.title} if d.title else {}), **d.metadata} for doc_id, d in CORPUS.items()}
    assert {doc_id: metadata for doc_id, _, metadata in found} == own
    assert [doc_id for doc_id, *_ in await ask(searcher, QUERY, 1, (), awaited)] == [*FOUND_BY][:1]


@ADAPTERS
@AWAITED
@pytest.mark.parametrize("native", [False, True])
async def test_the_conversation_reaches_the_reformulator(ask, awaited, native):
    history = MESSAGES[ask] if native else HISTORY
    [(_, _, metadata)] = await ask(make_searcher(RecentTurns()), "its currency?", 1, history, awaited)
    [searched] = metadata["acqo_rl"]["sub_queries"]
    assert " ".join(searched.split()) == "U: Tell me about Chad. S: Chad is a country. its currency?"


@ADAPTERS
@AWAITED
async def test_errors_are_raised(ask, awaited, searcher, broken_searcher):
    with pytest.raises(ConfigError):
        await ask(searcher, " \n", 1, (), awaited)
    with pytest.raises((ConfigError, ValidationError)):
        await ask(searcher, QUERY, 0, (), awaited)
    with pytest.raises(SearchError, match="does not answer"):
        await ask(broken_searcher, QUERY, 1, (), awaited)
