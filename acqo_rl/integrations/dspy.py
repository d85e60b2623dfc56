"""A search tool for DSPy, and for whatever else takes a plain function with a name, a docstring and types.

    import dspy

    from acqo_rl.data.beir import read_corpus
    from acqo_rl.fusion import RankScoreFusion
    from acqo_rl.integrations.dspy import make_search
    from acqo_rl.searching.searcher import AdaptiveSearcher
    from acqo_rl.reformulation.heuristic import Heuristic
    from acqo_rl.retrieval.build import load_retriever

    searcher = AdaptiveSearcher(Heuristic(), load_retriever("outputs/demo/index"), RankScoreFusion())
    agent = dspy.ReAct("question -> answer", tools=[make_search(searcher, read_corpus("outputs/demo/data"))])

Needs no extra: DSPy is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from acqo_rl.integrations.hits import hits
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query


def make_search(
    searcher: AdaptiveSearcher, corpus: Mapping[str, Document], k: int = 5, history: object = ()
) -> Callable[..., list[str]]:
    """A function ``search(query: str, k: int = k) -> list[str]`` of passages ``title | text``, best first.

    It raises :class:`acqo_rl.errors.ConfigError` where the query is empty or ``k`` is less than 1, and
    :class:`acqo_rl.errors.SearchError` where no search came back; an agent of DSPy reads the message and goes on.

    Args:
        searcher: reformulates, searches and merges.
        corpus: document id -> document.
        k: passages of a call that does not say how many.
        history: the conversation that all queries belong to, such as a ``dspy.History`` or a list that grows; see
            :mod:`acqo_rl.conversations`. It is read at every call.
    """

    def search(query: str, k: int = k) -> list[str]:
        """Search the document collection; ask in full sentences, several questions at once are split up.

        Args:
            query: what to look for, understandable by itself.
            k: how many passages to return.
        """
        return [
            f"{document.title} | {document.text}" if document.title else document.text
            for document, _ in hits(searcher.search(Query("query", query, history), k), corpus)
        ]

    return search
