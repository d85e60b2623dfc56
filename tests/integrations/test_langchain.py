"""The LangChain retriever, with LangChain's standard tests and our own."""

import asyncio
import json

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from pydantic import ValidationError
from small_world import CORPUS, FOUND_BY, HISTORY, PARTS, QUERY, SCORES, make_searcher

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.integrations.langchain import AdaptiveRetriever
from acqo_rl.language_models.structured import example
from acqo_rl.reformulation.pass_through import PassThrough, RecentTurns
from acqo_rl.retrieval.engines.langchain import collection_of
from acqo_rl.retrieval.engines.opening import retriever_of


@pytest.fixture
def store():
    """A retriever of LangChain that finds documents by their words."""
    return AdaptiveRetriever(searcher=make_searcher(PassThrough()), corpus=CORPUS, k=1)


async def ask(awaited, searcher, query, k, history=()):
    retriever = AdaptiveRetriever(searcher=searcher, corpus=CORPUS, k=k)
    return await retriever.ainvoke(query, history=history) if awaited else retriever.invoke(query, history=history)


AWAITED = pytest.mark.parametrize("awaited", [False, True])
MESSAGES = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "Tell me about Chad."}, {"type": "image", "url": "http://x"}]),
    AIMessage([{"type": "thinking", "thinking": "Hm."}, {"type": "tool_use", "id": "1", "name": "x", "input": {}}]),
    ToolMessage("lots of JSON", tool_call_id="1"),
    AIMessageChunk("Chad is a country."),
]


@AWAITED
async def test_documents_and_details(awaited, searcher):
    """Both calls are made in a running event loop."""
    found = await ask(awaited, searcher, QUERY, 4)
    assert [(document.id, document.page_content) for document in found] == [(d, CORPUS[d].text) for d in FOUND_BY]
    details = [document.metadata.pop("acqo_rl") for document in found]
    assert {one["doc_id"]: one["found_by"] for one in details} == FOUND_BY
    assert [one["score"] for one in details] == pytest.approx(SCORES)
    assert [(one["rank"], one["problem"], one["failures"]) for one in details] == [(i, None, []) for i in range(1, 5)]
    assert json.loads(json.dumps(details)) == details
    own = {doc_id: {**({"title": d.title} if d.title else {}), **d.metadata} for doc_id, d in CORPUS.items()}
    assert {document.id: document.metadata for document in found} == own


@AWAITED
@pytest.mark.parametrize("history", [MESSAGES, HISTORY])
async def test_the_conversation_reaches_the_reformulator(awaited, history):
    [document] = await ask(awaited, make_searcher(RecentTurns()), "its currency?", 1, history)
    [searched] = document.metadata["acqo_rl"]["sub_queries"]
    assert " ".join(searched.split()) == "U: Tell me about Chad. S: Chad is a country. its currency?"


@AWAITED
async def test_errors_are_raised(awaited, searcher, broken_searcher):
    with pytest.raises(ConfigError):
        await ask(awaited, searcher, " \n", 1)
    with pytest.raises(ValidationError):
        await ask(awaited, searcher, QUERY, 0)
    with pytest.raises(SearchError, match="does not answer"):
        await ask(awaited, broken_searcher, QUERY, 1)


class Recorder(BaseCallbackHandler):
    """Keeps what each retriever is asked, its run and the parent of that."""

    def __init__(self):
        self.begun = []

    def on_retriever_start(self, _, query, *, run_id, parent_run_id=None, **__):
        self.begun.append((query, run_id, parent_run_id))


def test_callbacks_see_the_calls_of_what_is_wrapped(store):
    retriever = AdaptiveRetriever.from_retriever(store)
    for invoke in (retriever.invoke, lambda *given: asyncio.run(retriever.ainvoke(*given))):
        recorder = Recorder()
        invoke(QUERY, {"callbacks": [recorder]})
        (query, outer, _), *inner = recorder.begun
        assert (query, {text for text, _, _ in inner} >= set(PARTS)) == (QUERY, True)
        assert outer in {parent for _, _, parent in inner}


@pytest.mark.parametrize(
    ("llm", "strategy", "searched"),
    [
        (
            FakeListLLM(responses=[example(searches=["Peru capital", "Peru money"])]),
            "multi_query",
            [QUERY, "Peru capital", "Peru money"],
        ),
        (None, "prompted", PARTS),
    ],
)
def test_a_completion_model_or_without_a_model_the_rules(store, llm, strategy, searched):
    [first, *_] = AdaptiveRetriever.from_retriever(store, llm, strategy=strategy).invoke(QUERY)
    assert first.metadata["acqo_rl"]["sub_queries"] == searched


def test_if_the_model_fails_the_raw_query_is_searched(store):
    class Down(FakeListChatModel):
        def _call(self, *_, **__):
            raise ConnectionError("the model does not answer")

    [first, *_] = AdaptiveRetriever.from_retriever(store, Down(responses=["never"])).invoke(QUERY)
    assert "the model does not answer" in first.metadata["acqo_rl"]["problem"]
    assert first.metadata["acqo_rl"]["sub_queries"] == [QUERY]


class Listed(BaseRetriever):
    """Returns the same documents for every query."""

    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


HEAD = "The same header. " * 200


@pytest.mark.parametrize(
    "documents",
    [
        [Document(HEAD + end) for end in ("one", "two", "one")],
        [Document("", metadata={"page": p, "rank": score}) for p, score in ((1, 0.9), (2, 0.8), (1, 0.7))],
        [Document(id="parent", page_content=chunk) for chunk in ("one", "two", "one")],
    ],
    ids=["full texts", "metadata but fractions, which are scores", "chunks with the id of their parent"],
)
def test_equal_documents_are_one_and_others_stay_apart(documents):
    found = AdaptiveRetriever.from_retriever(Listed(documents=documents)).invoke("compare Peru and Chad")
    assert [document.page_content for document in found] == [d.page_content for d in documents[:2]]
    assert len({document.metadata["acqo_rl"]["doc_id"] for document in found}) == 2
    [best] = retriever_of(collection_of(Listed(documents=documents))).search(["compare"], 1)
    assert len(best.doc_ids) == 1


class SyncOnly(BaseRetriever):
    """Supports only synchronous calls; the other kind fails as in vector stores."""

    store: BaseRetriever

    def _get_relevant_documents(self, query, *, run_manager):
        return self.store.invoke(query)

    async def _aget_relevant_documents(self, query, *, run_manager):
        raise NotImplementedError


def test_synchronous_components_work_with_both_kinds_of_call(store):
    """Outside an event loop, inside one, and in threads while one runs."""
    llm = FakeListChatModel(responses=[example(kind="compound", searches=["capital of Peru", "currency of Chad"])])
    retriever = AdaptiveRetriever.from_retriever(SyncOnly(store=store), llm, k=2)
    found = retriever.invoke(QUERY)
    assert {document.id for document in found} == {"lima", "franc"}
    assert found[0].metadata["acqo_rl"]["problem"] is None

    async def in_a_loop():
        return [
            retriever.invoke(QUERY),
            await retriever.ainvoke(QUERY),
            await asyncio.to_thread(retriever.invoke, QUERY),
            *await retriever.abatch([QUERY, QUERY]),
            *retriever.batch([QUERY, QUERY]),
        ]

    assert asyncio.run(in_a_loop()) == [found] * 7
