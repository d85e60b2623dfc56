"""A LangChain retriever that searches adaptively, in an index of this package or through any LangChain retriever.

Needs ``pip install 'acqo-rl[langchain]'``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from acqo_rl import types
from acqo_rl.conversations import read_history
from acqo_rl.errors import missing_package
from acqo_rl.integrations.hits import hits, metadata_of
from acqo_rl.language_models.chat import completion_of, failed
from acqo_rl.retrieval.engines.langchain import collection_of
from acqo_rl.roles import LanguageModel
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Completion, Conversation, Query

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseLanguageModel
    from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables.config import set_config_context
    from pydantic import Field, SkipValidation
except ImportError as error:
    raise missing_package("This integration", error, "langchain") from error


class AdaptiveRetriever(BaseRetriever):
    """A LangChain retriever that uses an :class:`acqo_rl.searching.searcher.AdaptiveSearcher`.

    ``invoke``, ``ainvoke`` and ``batch`` also accept ``k`` and ``history``: earlier turns, oldest first, as LangChain
    messages or in another form that :mod:`acqo_rl.conversations` reads. They raise
    :class:`acqo_rl.errors.ConfigError` if the query is empty or ``k`` is below 1, and
    :class:`acqo_rl.errors.SearchError` if all searches fail. The calls of a wrapped retriever and model are child runs
    for their callbacks. The metadata of a document contains the key ``acqo_rl``
    with the details that :func:`acqo_rl.integrations.hits.hits` returns.

    Attributes:
        searcher: runs the searches.
        corpus: document id -> document.
        k: default number of documents.
        whole: whether the texts of long documents are returned whole.
    """

    searcher: AdaptiveSearcher = Field(repr=False)
    corpus: SkipValidation[Mapping[str, types.Document]] = Field(repr=False)
    k: int = Field(default=10, ge=1)
    whole: bool = False

    @classmethod
    def from_retriever(
        cls,
        base_retriever: BaseRetriever,
        llm: BaseLanguageModel[Any] | None = None,
        *,
        strategy: str = "prompted",
        k: int = 10,
    ) -> AdaptiveRetriever:
        """Wraps a LangChain retriever; a LangChain model writes the sub-queries.

        ``base_retriever`` decides how many documents it returns per sub-query; their texts are returned whole. Use a
        vector store with ``search_kwargs={"k": 50}``. LangChain retrievers return no scores, so the ``similarity`` of a
        document is 1 divided by its best rank. The retriever and the model are called synchronously, also by
        ``ainvoke``, which waits for them in a thread.

        Args:
            base_retriever: the retriever to search. Documents without an id are identified by text and metadata;
                documents of equal ids, by their texts.
            llm: called once per query; without a model, the rules write the sub-queries.
            strategy: name of the strategy; see :func:`acqo_rl.reformulation.load.load_reformulator`.
            k: default number of documents.

        Raises:
            ConfigError: the strategy is unknown.
        """
        from acqo_rl.retrieval.engines.opening import EngineDocuments, retriever_of
        from acqo_rl.searching.assemble import open_path, open_reformulator
        from acqo_rl.searching.settings import StepSettings

        model = LangChainModel(llm) if llm else None
        [spec] = StepSettings().paths([strategy if model else "rules"], model="langchain").values()
        collection = collection_of(base_retriever)
        documents = EngineDocuments(collection)
        reformulator = open_reformulator(spec, language_model=model)
        path = open_path(spec, documents, retriever_of(collection), reformulator=reformulator)
        return cls(searcher=AdaptiveSearcher.along(path, cache_size=0), corpus=documents, k=k, whole=True)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, history: object = ()
    ) -> list[Document]:
        with set_config_context({"callbacks": run_manager.get_child()}) as context:
            found = context.run(self.searcher.search, _query(query, history), self.k if k is None else k)
        return self._documents(found)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        history: object = (),
    ) -> list[Document]:
        with set_config_context({"callbacks": run_manager.get_child()}) as context:
            search = self.searcher.asearch(_query(query, history), self.k if k is None else k)
            found = await asyncio.create_task(search, context=context)
        return self._documents(found)

    def _documents(self, found: SearchResult) -> list[Document]:
        return [
            Document(id=document.id, page_content=document.text, metadata=metadata_of(document, details))
            for document, details in hits(found, self.corpus, whole=self.whole)
        ]


def _query(text: Any, history: Any) -> Query:
    if isinstance(history, Sequence) and any(isinstance(turn, BaseMessage) for turn in history):
        history = convert_to_openai_messages(history)
    return Query("query", text, read_history(history, text))


class LangChainModel(LanguageModel):
    """Adapts a LangChain model to :class:`acqo_rl.roles.LanguageModel`. The prompts ask for JSON; no schema is sent."""

    def __init__(self, llm: BaseLanguageModel[Any]) -> None:
        self._llm = llm

    def generate(self, conversations: Sequence[Conversation], schema: types.Schema | None = None) -> list[Completion]:
        """Returns one completion per conversation, in input order; a failed call is reported in ``problem``."""
        asked: list[Any] = list(conversations)
        try:
            return [_completion(reply) for reply in self._llm.batch(asked, return_exceptions=True)]
        except Exception as error:
            return [_completion(error) for _ in asked]


def _completion(reply: BaseMessage | str | Exception) -> Completion:
    if isinstance(reply, Exception):
        return failed(f"{type(reply).__name__}: {reply}")
    text = reply if isinstance(reply, str) else reply.text
    if not text:
        return failed("the model returned no text")
    usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
    metadata = {} if isinstance(reply, str) else reply.response_metadata
    # why the reply ends, in the formats of OpenAI, Ollama and Anthropic
    reasons = {metadata.get(name) for name in ("finish_reason", "done_reason", "stop_reason")}
    return completion_of(
        text, usage["output_tokens"] if usage else 0, finished=reasons.isdisjoint({"length", "max_tokens"})
    )
