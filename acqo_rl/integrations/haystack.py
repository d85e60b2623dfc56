"""A Haystack component that searches adaptively.

    from acqo_rl.data.beir import read_corpus
    from acqo_rl.fusion import RankScoreFusion
    from acqo_rl.integrations.haystack import AdaptiveRetriever
    from acqo_rl.searching.searcher import AdaptiveSearcher
    from acqo_rl.reformulation.heuristic import Heuristic
    from acqo_rl.retrieval.build import load_retriever

    def open_demo():
        searcher = AdaptiveSearcher(Heuristic(), load_retriever("outputs/demo/index"), RankScoreFusion())
        return searcher, read_corpus("outputs/demo/data")

    for document in AdaptiveRetriever(open_demo, top_k=3).run("compare Oslo and Bergen")["documents"]:
        print(document.score, document.meta["acqo_rl"]["found_by"], document.content)

Needs ``pip install 'acqo-rl[haystack]'``.
"""

# Without "from __future__ import annotations": Haystack reads the types of run() as they stand.

from collections.abc import Callable, Mapping
from typing import Any

from acqo_rl import types
from acqo_rl.errors import ConfigError
from acqo_rl.integrations import missing
from acqo_rl.integrations.hits import hits, metadata_of
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Query

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import deserialize_callable, serialize_callable
except ImportError as error:
    raise missing("haystack", error) from error

Opened = tuple[AdaptiveSearcher, Mapping[str, types.Document]]


@component
class AdaptiveRetriever:
    """The documents of an :class:`acqo_rl.searching.searcher.AdaptiveSearcher`, as Haystack knows them.

    A document's score is the fused one, by which they are ordered. ``meta`` is its own metadata, and under the key
    ``acqo_rl`` what :func:`acqo_rl.integrations.hits.hits` tells of it. A pipeline with it is saved and loaded by the
    name of the function that opens the searcher, whose module loading has to allow:
    ``Pipeline.loads(text, allowed_modules=["acqo_rl.*", ...])``.
    """

    def __init__(self, open_searcher: Callable[[], Opened], top_k: int = 10) -> None:
        """Opens nothing yet.

        Args:
            open_searcher: gives the searcher and its documents by id; called once, before the first query.
            top_k: documents of a call that does not say how many.

        Raises:
            ConfigError: no document is asked for.
        """
        if top_k < 1:
            raise ConfigError(f"top_k is {top_k}; it must be at least 1.")
        self.open_searcher = open_searcher
        self.top_k = top_k
        self._opened: Opened | None = None

    def warm_up(self) -> None:
        """Opens the searcher, the first time."""
        self._open()

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, history: list[Any] | None = None) -> dict[str, list[Document]]:
        """The best documents for a query.

        Args:
            query: as typed.
            top_k: documents, at most.
            history: earlier turns, oldest first: ``ChatMessage`` objects, or whatever else
                :mod:`acqo_rl.conversations` reads.

        Raises:
            ConfigError: the query is empty, or ``top_k`` is less than 1.
            SearchError: no search came back.
        """
        searcher, corpus = self._open()
        found = searcher.search(Query("query", query, history), self.top_k if top_k is None else top_k)
        return {"documents": _documents(found, corpus)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, history: list[Any] | None = None
    ) -> dict[str, list[Document]]:
        """As :meth:`run`, without holding up the event loop."""
        searcher, corpus = self._open()
        found = await searcher.asearch(Query("query", query, history), self.top_k if top_k is None else top_k)
        return {"documents": _documents(found, corpus)}

    def to_dict(self) -> dict[str, Any]:
        """For a saved pipeline.

        Raises:
            SerializationError: ``open_searcher`` is no function of a module.
        """
        return default_to_dict(self, open_searcher=serialize_callable(self.open_searcher), top_k=self.top_k)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AdaptiveRetriever":
        """From a saved pipeline.

        Raises:
            DeserializationError: the function is not there, or its module is not allowed.
        """
        parameters = data["init_parameters"]
        opener = deserialize_callable(parameters["open_searcher"])
        return default_from_dict(cls, {**data, "init_parameters": {**parameters, "open_searcher": opener}})

    def _open(self) -> Opened:
        if self._opened is None:
            self._opened = self.open_searcher()
        return self._opened


def _documents(found: SearchResult, corpus: Mapping[str, types.Document]) -> list[Document]:
    return [
        Document(id=document.id, content=document.text, meta=metadata_of(document, told), score=told["score"])
        for document, told in hits(found, corpus)
    ]
