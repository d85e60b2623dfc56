"""A LlamaIndex retriever that searches adaptively. Needs ``pip install 'acqo-rl[llama-index]'``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acqo_rl.conversations import read_history
from acqo_rl.integrations import missing
from acqo_rl.integrations.hits import KEY, hits, metadata_of
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query

try:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing("llama-index", error) from error


@dataclass
class ConversationQuery(QueryBundle):
    """A query in a conversation: ``retriever.retrieve(ConversationQuery("and its price?", chat_history=...))``.

    Attributes:
        chat_history: earlier turns, oldest first, as LlamaIndex messages or in another form that
            :mod:`acqo_rl.conversations` reads.
    """

    chat_history: Any = ()


class AdaptiveRetriever(BaseRetriever):
    """A LlamaIndex retriever that uses an :class:`acqo_rl.searching.searcher.AdaptiveSearcher`.

    The score of a node is its fused score, not a similarity. Instead of a ``similarity_cutoff``, set the
    ``score_threshold`` of the searcher. The metadata of a node contains the key ``acqo_rl`` with the details that
    :func:`acqo_rl.integrations.hits.hits` returns. Language models see text, title and the document's other metadata,
    so that they can cite its URL or page. Encoders see text and title.
    """

    def __init__(
        self,
        searcher: AdaptiveSearcher,
        corpus: Mapping[str, Document],
        similarity_top_k: int = 10,
    ) -> None:
        """Creates the retriever.

        Args:
            searcher: runs the searches.
            corpus: document id -> document.
            similarity_top_k: maximum number of nodes per query.
        """
        self.similarity_top_k = similarity_top_k
        self._searcher = searcher
        self._corpus = corpus
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(self._searcher.search(_query(query_bundle), self.similarity_top_k))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(await self._searcher.asearch(_query(query_bundle), self.similarity_top_k))

    def _nodes(self, found: SearchResult) -> list[NodeWithScore]:
        nodes = []
        for document, details in hits(found, self._corpus):
            metadata = metadata_of(document, details)
            node = TextNode(
                id_=document.id,
                text=document.text,
                metadata=metadata,
                excluded_llm_metadata_keys=[KEY],
                excluded_embed_metadata_keys=[key for key in metadata if key != "title"],
            )
            nodes.append(NodeWithScore(node=node, score=details["score"]))
        return nodes


def _query(bundle: QueryBundle) -> Query:
    history = getattr(bundle, "chat_history", ())
    if history and all(isinstance(turn, ChatMessage) for turn in history):
        history = [{"role": turn.role.value, "content": turn.content} for turn in history]
    return Query("query", bundle.query_str, read_history(history, bundle.query_str))
