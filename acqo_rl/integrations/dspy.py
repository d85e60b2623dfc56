"""A search tool for DSPy, and for other frameworks that accept a plain function as a tool; it does not import DSPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from acqo_rl.conversations import read_history
from acqo_rl.integrations.hits import hits
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query


def make_search(
    searcher: AdaptiveSearcher, corpus: Mapping[str, Document], k: int = 5, history: object = ()
) -> Callable[..., list[str]]:
    """Creates a function ``search(query: str, k: int = k) -> list[str]``.

    It returns passages as ``title | text``, best first. It raises :class:`acqo_rl.errors.ConfigError` if the query is
    empty or ``k`` is below 1, and :class:`acqo_rl.errors.SearchError` if all searches fail. DSPy agents read the
    message of such an error and continue.

    Args:
        searcher: runs the searches.
        corpus: document id -> document.
        k: default number of passages.
        history: the conversation before the queries, in a form that :mod:`acqo_rl.conversations` reads; it is read
            again in every call. For a ``dspy.History`` of questions and answers, give the pairs:
            ``[(message["question"], message["answer"]) for message in history.messages]``.
    """

    def search(query: str, k: int = k) -> list[str]:
        """Search the document collection. Write full sentences; a query with several questions is split.

        Args:
            query: what to search for, understandable without context.
            k: number of passages to return.
        """
        return [
            f"{document.title} | {document.text}" if document.title else document.text
            for document, _ in hits(searcher.search(Query("query", query, read_history(history, query)), k), corpus)
        ]

    return search
