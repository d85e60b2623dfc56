"""The Haystack component."""

from __future__ import annotations

import asyncio

import pytest
from haystack import Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.core.errors import DeserializationError, PipelineRuntimeError, SerializationError
from haystack.dataclasses import ChatMessage, ToolCall
from small_world import CORPUS, FOUND_BY, HISTORY, QUERY, SCORES, make_searcher

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.integrations.haystack import AdaptiveRetriever
from acqo_rl.reformulation.turns import RecentTurns


def open_small_world():
    return make_searcher(), CORPUS


def open_world_with_turns():
    return make_searcher(RecentTurns()), CORPUS


@component
class Memory:
    """Passes its messages on, like a memory."""

    @component.output_types(messages=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):
        return {"messages": messages}


@pytest.fixture
def pipeline():
    pipeline = Pipeline()
    pipeline.add_component("retriever", AdaptiveRetriever(open_small_world, top_k=4))
    template = "{% for document in documents %}{{ document.content }}\n{% endfor %}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables=["documents"]))
    pipeline.connect("retriever.documents", "prompt.documents")
    return pipeline


def test_documents_and_details():
    retriever = AdaptiveRetriever(open_small_world, top_k=4)
    found = retriever.run(QUERY)["documents"]
    assert [document.id for document in found] == list(FOUND_BY)
    assert [document.content for document in found] == [CORPUS[doc_id].text for doc_id in FOUND_BY]
    assert {document.id: document.meta["acqo_rl"]["found_by"] for document in found} == FOUND_BY
    assert [document.score for document in found] == pytest.approx(SCORES)
    assert asyncio.run(retriever.run_async(QUERY, top_k=1)) == retriever.run(QUERY, top_k=1) == {"documents": found[:1]}


def test_documents_keep_the_metadata_of_the_corpus():
    [franc] = AdaptiveRetriever(open_small_world, top_k=1).run(QUERY)["documents"]
    assert franc.meta == {"title": "CFA franc", **CORPUS["franc"].metadata, "acqo_rl": franc.meta["acqo_rl"]}


def test_both_calls_work_in_a_running_event_loop():
    retriever = AdaptiveRetriever(open_small_world)

    async def ask():
        return retriever.run(QUERY), await retriever.run_async(QUERY)

    one, other = asyncio.run(ask())
    assert one == other
    assert [document.id for document in one["documents"]] == list(FOUND_BY)


def test_the_searcher_is_opened_once_before_the_first_query():
    opened = []

    def opener():
        opened.append(True)
        return open_small_world()

    retriever = AdaptiveRetriever(opener)
    assert not opened
    retriever.warm_up()
    retriever.run(QUERY)
    assert opened == [True]


def test_the_conversation_reaches_the_reformulator():
    retriever = AdaptiveRetriever(lambda: (make_searcher(RecentTurns()), CORPUS), top_k=1)
    [found] = retriever.run("its currency?", history=HISTORY)["documents"]
    assert (found.id, found.meta["acqo_rl"]["route"]) == ("franc", "disambiguate")


def test_haystack_messages_reach_the_reformulator_in_a_pipeline():
    messages = [
        ChatMessage.from_system("Be brief."),
        ChatMessage.from_user("Tell me about Chad."),
        ChatMessage.from_assistant(tool_calls=[ToolCall("search", {})]),
        ChatMessage.from_assistant("Chad is a country."),
    ]
    pipeline = Pipeline()
    pipeline.add_component("memory", Memory())
    pipeline.add_component("retriever", AdaptiveRetriever(open_world_with_turns, top_k=1))
    pipeline.connect("memory.messages", "retriever.history")
    done = pipeline.run({"memory": {"messages": messages}, "retriever": {"query": "its currency?"}})
    [found] = done["retriever"]["documents"]
    assert found.meta["acqo_rl"]["sub_queries"] == ["U: Tell me about Chad. S: Chad is a country. its currency?"]


def test_a_pipeline_is_saved_and_loaded(pipeline):
    texts = "".join(f"{CORPUS[doc_id].text}\n" for doc_id in FOUND_BY)
    assert pipeline.run({"retriever": {"query": QUERY}}) == {"prompt": {"prompt": texts}}
    saved = pipeline.dumps()
    assert "test_haystack.open_small_world" in saved
    loaded = Pipeline.loads(saved, allowed_modules=["acqo_rl.*", "test_haystack"])
    assert loaded == pipeline
    assert loaded.run({"retriever": {"query": QUERY}}) == pipeline.run({"retriever": {"query": QUERY}})
    with pytest.raises(DeserializationError):
        Pipeline.loads(saved)


def test_a_lambda_cannot_be_saved():
    with pytest.raises(SerializationError, match="lambda"):
        AdaptiveRetriever(lambda: open_small_world()).to_dict()


def test_errors_are_raised(pipeline, broken_searcher):
    retriever = AdaptiveRetriever(open_small_world)
    for query, top_k in ((" ", 1), (QUERY, 0)):
        with pytest.raises(ConfigError):
            retriever.run(query, top_k)
        with pytest.raises(ConfigError):
            asyncio.run(retriever.run_async(query, top_k))
    with pytest.raises(ConfigError):
        AdaptiveRetriever(open_small_world, top_k=0)
    with pytest.raises(SearchError, match="does not answer"):
        AdaptiveRetriever(lambda: (broken_searcher, CORPUS)).run(QUERY)
    with pytest.raises(PipelineRuntimeError):
        pipeline.run({"retriever": {"query": ""}})
