"""The LlamaIndex retriever."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.llms import ChatMessage, MessageRole, MockLLM, TextBlock
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, QueryBundle
from small_world import CORPUS, FOUND_BY, QUERY, SCORES, make_searcher

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.integrations.llama_index import AdaptiveRetriever, ConversationQuery
from acqo_rl.reformulation.turns import RecentTurns


@pytest.fixture
def retriever(searcher):
    return AdaptiveRetriever(searcher, CORPUS, similarity_top_k=4)


def test_nodes_and_details(retriever):
    found = retriever.retrieve(QUERY)
    assert [node.node_id for node in found] == list(FOUND_BY)
    assert [node.text for node in found] == [CORPUS[doc_id].text for doc_id in FOUND_BY]
    assert {node.node_id: node.metadata["acqo_rl"]["found_by"] for node in found} == FOUND_BY
    assert [node.score for node in found] == pytest.approx(SCORES)
    assert asyncio.run(retriever.aretrieve(QueryBundle(QUERY))) == found
    retriever.similarity_top_k = 1
    assert retriever.retrieve(QUERY) == found[:1]


def test_models_see_the_metadata_and_encoders_only_title_and_text(retriever):
    [franc, *_] = retriever.retrieve(QUERY)
    assert franc.metadata == {"title": "CFA franc", **CORPUS["franc"].metadata, "acqo_rl": franc.metadata["acqo_rl"]}
    shown = franc.node.get_content(MetadataMode.LLM)
    assert shown == "title: CFA franc\nurl: https://franc.example\n\nThe CFA franc is the currency of Chad."
    embedded = franc.node.get_content(MetadataMode.EMBED)
    assert embedded == "title: CFA franc\n\nThe CFA franc is the currency of Chad."


def test_both_calls_work_in_a_running_event_loop(retriever):
    async def ask():
        return retriever.retrieve(QUERY), await retriever.aretrieve(QUERY)

    assert [[node.node_id for node in found] for found in asyncio.run(ask())] == [list(FOUND_BY)] * 2


def test_the_conversation_reaches_the_reformulator():
    retriever = AdaptiveRetriever(make_searcher(RecentTurns()), CORPUS, similarity_top_k=1)
    messages = [
        ChatMessage("Be brief.", role=MessageRole.SYSTEM),
        ChatMessage("Tell me about Chad."),
        ChatMessage(role=MessageRole.ASSISTANT, blocks=[TextBlock(text="Chad is"), TextBlock(text="a country.")]),
        ChatMessage("a lot of JSON", role=MessageRole.TOOL),
    ]
    query = ConversationQuery("its currency?", chat_history=messages)
    [found] = retriever.retrieve(query)
    assert asyncio.run(retriever.aretrieve(query)) == [found]
    searched = found.node.metadata["acqo_rl"]["sub_queries"]
    assert " ".join(" ".join(searched).split()) == "U: Tell me about Chad. S: Chad is a country. its currency?"


def test_works_in_a_query_engine(retriever):
    answer = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUERY)
    assert [node.node_id for node in answer.source_nodes] == list(FOUND_BY)
    assert "Lima is the capital of Peru." in answer.response
    assert "https://franc.example" in answer.response


def test_errors_are_raised(retriever, broken_searcher):
    for ask in (retriever.retrieve, lambda query: asyncio.run(retriever.aretrieve(query))):
        with pytest.raises(ConfigError, match="empty"):
            ask(" ")
    with pytest.raises(ConfigError):
        AdaptiveRetriever(broken_searcher, CORPUS, similarity_top_k=0)
    with pytest.raises(SearchError, match="does not answer"):
        AdaptiveRetriever(broken_searcher, CORPUS).retrieve(QUERY)
