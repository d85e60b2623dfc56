"""The one path from reformulations to fused rankings, walked by training, evaluation and serving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from acqo_rl.text import distinct, one_line
from acqo_rl.types import Document, Fusion, Query, Ranking, Reformulation, Retriever, Snippet, SubQuery

DEPTH = 100
"""Documents fetched for each sub-query; the reward looks at the first 100 of the fused ranking."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one query found.

    Attributes:
        reformulation: what was searched.
        rankings: one a distinct sub-query, in its order.
        fused: the merged ranking.
    """

    reformulation: Reformulation
    rankings: tuple[Ranking, ...]
    fused: Ranking


def search_each(
    reformulations: Sequence[Reformulation], retriever: Retriever, depth: int = DEPTH
) -> list[tuple[Ranking, ...]]:
    """The rankings of every distinct sub-query, from one retriever call over the distinct texts of the batch."""
    wanted = [distinct(r.sub_queries) or _blank_but_for_punctuation(r) for r in reformulations]
    texts = list(dict.fromkeys(s.text for sub_queries in wanted for s in sub_queries))
    found = dict(zip(texts, retriever.search(texts, depth), strict=True)) if texts else {}
    return [tuple(replace(found[s.text], weight=s.weight, query=s.text) for s in subs) for subs in wanted]


def _blank_but_for_punctuation(reformulation: Reformulation) -> tuple[SubQuery, ...]:
    """The raw query "???" is searched, though it holds no word."""
    return tuple(s for s in reformulation.sub_queries if s.kind == "original" and one_line(s.text))[:1]


def search(
    reformulations: Sequence[Reformulation], retriever: Retriever, fusion: Fusion, k: int = 10, depth: int = DEPTH
) -> list[SearchResult]:
    """Searches the sub-queries of a batch in one call and merges each query's rankings.

    A single list is merged like several, so that scores mean the same on every route.

    Args:
        reformulations: one a query.
        retriever: asked once, for ``depth`` documents a distinct sub-query.
        fusion: merges the lists of each query.
        k: documents in each fused ranking.
        depth: documents in each list before fusion.

    Returns:
        One result a reformulation, position for position.
    """
    rankings = search_each(reformulations, retriever, depth)
    fused = fusion.fuse(rankings, k)
    return [SearchResult(*parts) for parts in zip(reformulations, rankings, fused, strict=True)]


def add_feedback(
    queries: Sequence[Query], retriever: Retriever, corpus: Mapping[str, Document], results: int, words: int
) -> list[Query]:
    """The queries with title and first words of what a first search with the raw query finds.

    Args:
        queries: searched in one batch.
        retriever: its document ids are keys of ``corpus``.
        corpus: document id -> document.
        results: snippets a query; 0 leaves the queries as they are.
        words: words of each document's text.
    """
    if results == 0:
        return list(queries)
    rankings = retriever.search([q.text for q in queries], results)
    return [
        replace(query, feedback=tuple(snippet(corpus[doc_id], words) for doc_id in ranking.doc_ids[:results]))
        for query, ranking in zip(queries, rankings, strict=True)
    ]


def snippet(document: Document, words: int) -> Snippet:
    """Title and first words of a document, as a policy reads them."""
    return Snippet(one_line(document.title), " ".join(one_line(document.text).split(" ")[:words]))
