"""A Haystack component that searches adaptively. Needs ``pip install 'acqo-rl[haystack]'``."""

# No "from __future__ import annotations": Haystack needs the annotations of run() as types, not as strings.

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from acqo_rl import types
from acqo_rl.conversations import read_history
from acqo_rl.integrations import missing
from acqo_rl.integrations.hits import hits, metadata_of
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Query

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ChatMessage
    from haystack.utils import deserialize_callable, serialize_callable
except ImportError as error:
    raise missing("haystack", error) from error

Opened = tuple[AdaptiveSearcher, Mapping[str, types.Document]]


@component
class AdaptiveRetriever:
    """A Haystack retriever that uses an :class:`acqo_rl.searching.searcher.AdaptiveSearcher`.

    The score of a document is its fused score. ``meta`` contains the metadata of the document, and under the key
    ``acqo_rl`` the details that :func:`acqo_rl.integrations.hits.hits` returns. A saved pipeline contains the name of
    the function that opens the searcher. To load it, allow the module of that function:
    ``Pipeline.loads(text, allowed_modules=["acqo_rl.*", ...])``.
    """

    def __init__(self, open_searcher: Callable[[], Opened], top_k: int = 10) -> None:
        """Stores the settings; the searcher is opened later.

        Args:
            open_searcher: returns the searcher and its corpus (document id -> document); called once, before the first
                query.
            top_k: default number of documents.
        """
        self.open_searcher = open_searcher
        self.top_k = top_k

    @cached_property
    def _opened(self) -> Opened:
        return self.open_searcher()

    def warm_up(self) -> None:
        """Opens the searcher, if it is not open yet."""
        _ = self._opened

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, history: list[Any] | None = None) -> dict[str, list[Document]]:
        """Returns the best documents for a query.

        Args:
            query: the raw query.
            top_k: maximum number of documents.
            history: earlier turns, oldest first: ``ChatMessage`` objects, or another form that
                :mod:`acqo_rl.conversations` reads.

        Raises:
            ConfigError: the query is empty, or ``top_k`` is below 1.
            SearchError: all searches failed.
        """
        searcher, corpus = self._opened
        found = searcher.search(_query(query, history), self.top_k if top_k is None else top_k)
        return {"documents": _documents(found, corpus)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, history: list[Any] | None = None
    ) -> dict[str, list[Document]]:
        """Like :meth:`run`, without blocking the event loop."""
        searcher, corpus = self._opened
        found = await searcher.asearch(_query(query, history), self.top_k if top_k is None else top_k)
        return {"documents": _documents(found, corpus)}

    def to_dict(self) -> dict[str, Any]:
        """Serialises the component.

        Raises:
            SerializationError: ``open_searcher`` is not a function at the top level of a module.
        """
        return default_to_dict(self, open_searcher=serialize_callable(self.open_searcher), top_k=self.top_k)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AdaptiveRetriever":
        """Deserialises the component.

        Raises:
            DeserializationError: the function does not exist, or its module is not allowed.
        """
        parameters = data["init_parameters"]
        opener = deserialize_callable(parameters["open_searcher"])
        return default_from_dict(cls, {**data, "init_parameters": {**parameters, "open_searcher": opener}})


def _query(text: str, history: list[Any] | None) -> Query:
    if history and all(isinstance(turn, ChatMessage) for turn in history):
        history = [{"role": turn.role.value, "content": "\n".join(turn.texts)} for turn in history]
    return Query("query", text, read_history(history, text))


def _documents(found: SearchResult, corpus: Mapping[str, types.Document]) -> list[Document]:
    return [
        Document(id=document.id, content=document.text, meta=metadata_of(document, details), score=details["score"])
        for document, details in hits(found, corpus)
    ]
