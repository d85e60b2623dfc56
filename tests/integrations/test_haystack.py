"""The Haystack component in a pipeline."""

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.core.errors import DeserializationError, SerializationError
from haystack.dataclasses import ChatMessage, ToolCall
from small_world import CORPUS, FOUND_BY, HISTORY, QUERY, make_searcher

from acqo_rl.integrations.haystack import AdaptiveRetriever
from acqo_rl.reformulation.turns import RecentTurns

MESSAGES = [
    ChatMessage.from_system("Be brief."),
    ChatMessage.from_user("Tell me about Chad."),
    ChatMessage.from_assistant(tool_calls=[ToolCall("search", {})]),
    ChatMessage.from_assistant("Chad is a country."),
]


def open_small_world():
    return make_searcher(), CORPUS


def test_a_pipeline_is_saved_and_loaded():
    pipeline = Pipeline()
    pipeline.add_component("retriever", AdaptiveRetriever(open_small_world, top_k=4))
    template = "{% for document in documents %}{{ document.content }}\n{% endfor %}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables=["documents"]))
    pipeline.connect("retriever.documents", "prompt.documents")
    texts = "".join(f"{CORPUS[doc_id].text}\n" for doc_id in FOUND_BY)
    saved = pipeline.dumps()
    loaded = Pipeline.loads(saved, allowed_modules=["acqo_rl.*", "test_haystack"])
    assert loaded == pipeline
    for one in (pipeline, loaded):
        assert one.run({"retriever": {"query": QUERY}}) == {"prompt": {"prompt": texts}}
    with pytest.raises(DeserializationError):
        Pipeline.loads(saved)
    with pytest.raises(SerializationError, match="lambda"):
        AdaptiveRetriever(lambda: open_small_world()).to_dict()


def test_the_searcher_is_opened_once_before_the_first_query():
    opened = []
    retriever = AdaptiveRetriever(lambda: opened.append(True) or open_small_world())
    assert not opened
    retriever.warm_up()
    retriever.run(QUERY)
    assert opened == [True]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("history", [MESSAGES, HISTORY])
async def test_the_conversation_reaches_the_reformulator(awaited, history):
    """Both calls are made in a running event loop."""
    retriever = AdaptiveRetriever(lambda: (make_searcher(RecentTurns()), CORPUS), top_k=1)
    asked = {"query": "its currency?", "history": history}
    [found] = (await retriever.run_async(**asked) if awaited else retriever.run(**asked))["documents"]
    [searched] = found.meta["acqo_rl"]["sub_queries"]
    assert found.score == found.meta["acqo_rl"]["score"]
    assert " ".join(searched.split()) == "U: Tell me about Chad. S: Chad is a country. its currency?"
