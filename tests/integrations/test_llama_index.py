"""The LlamaIndex retriever in LlamaIndex."""

import pytest
from llama_index.core.llms import ChatMessage, MessageRole, MockLLM, TextBlock
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from small_world import CORPUS, FOUND_BY, HISTORY, QUERY, SCORES, make_searcher

from acqo_rl.errors import SearchError
from acqo_rl.integrations.llama_index import AdaptiveRetriever, ConversationQuery
from acqo_rl.reformulation.turns import RecentTurns

MESSAGES = [
    ChatMessage("Be brief.", role=MessageRole.SYSTEM),
    ChatMessage("Tell me about Chad."),
    ChatMessage(role=MessageRole.ASSISTANT, blocks=[TextBlock(text="Chad is"), TextBlock(text="a country.")]),
    ChatMessage("a lot of JSON", role=MessageRole.TOOL),
]


def test_models_see_the_metadata_and_encoders_only_title_and_text(searcher):
    """In a query engine, the model reads what it may cite."""
    retriever = AdaptiveRetriever(searcher, CORPUS, similarity_top_k=4)
    answer = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUERY)
    assert [node.node_id for node in answer.source_nodes] == list(FOUND_BY)
    assert [node.score for node in answer.source_nodes] == pytest.approx(SCORES)
    shown = "title: CFA franc\nurl: https://franc.example\n\nThe CFA franc is the currency of Chad."
    assert shown in answer.response
    embedded = answer.source_nodes[0].node.get_content(MetadataMode.EMBED)
    assert embedded == "title: CFA franc\n\nThe CFA franc is the currency of Chad."


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("history", [MESSAGES, HISTORY])
async def test_the_conversation_reaches_the_reformulator(awaited, history):
    """Both calls are made in a running event loop."""
    retriever = AdaptiveRetriever(make_searcher(RecentTurns()), CORPUS, similarity_top_k=1)
    asked = ConversationQuery("its currency?", chat_history=history)
    [found] = await retriever.aretrieve(asked) if awaited else retriever.retrieve(asked)
    [searched] = found.node.metadata["acqo_rl"]["sub_queries"]
    assert " ".join(searched.split()) == "U: Tell me about Chad. S: Chad is a country. its currency?"


def test_errors_are_raised(broken_searcher):
    with pytest.raises(SearchError, match="does not answer"):
        AdaptiveRetriever(broken_searcher, CORPUS).retrieve(QUERY)
