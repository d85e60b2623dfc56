"""The one path from reformulations to fused rankings, walked by training, evaluation and serving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from acqo_rl.text import distinct, one_line
from acqo_rl.types import Document, Fusion, Passage, Query, Ranking, Reformulation, Retriever, Snippet, SubQuery

DEPTH = 100
"""Documents fetched for each sub-query; the reward looks at the first 100 of the fused ranking."""

_TITLE_CHARACTERS, _WORD_CHARACTERS = 200, 16
"""Of feedback at most: a title, and the mean word of a text with its space, so that no document fills the prompt."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one query found.

    Attributes:
        reformulation: what was searched.
        rankings: one a distinct sub-query and retriever, in the order of the sub-queries, then of the retrievers.
        fused: the merged ranking.
    """

    reformulation: Reformulation
    rankings: tuple[Ranking, ...]
    fused: Ranking


@dataclass(frozen=True, slots=True)
class OriginalOnly:
    """A retriever that searches the query as it was asked and nothing that is made of it.

    Its list is a path of its own, behind those of the sub-queries: words that a model wrote help an index of meanings
    more often than an index of words (S2-11).
    """

    retriever: Retriever


Retrievers = Retriever | Sequence[Retriever | OriginalOnly]
"""One retriever, or several whose lists are merged."""

_Key = tuple[bool, str]


def search_each(
    reformulations: Sequence[Reformulation], retriever: Retrievers, depth: int = DEPTH
) -> list[tuple[Ranking, ...]]:
    """The rankings of every distinct sub-query, from one call of each retriever over the distinct texts of the batch.

    Several retrievers search at the same time, and each one's list is a path of its own (S0-09).
    """
    given = retriever if isinstance(retriever, Sequence) else [retriever]
    wanted = [_wanted(one, given) for one in reformulations]
    texts: list[dict[_Key, str]] = [{} for _ in given]
    for row in wanted:
        for place, sub_query in row:
            texts[place].setdefault(_key(sub_query), searched_text(sub_query))
    asked = [(r.retriever if isinstance(r, OriginalOnly) else r, t) for r, t in zip(given, texts, strict=True)]
    found = _search_all(asked, depth)
    return [tuple(replace(found[i][_key(s)], weight=s.weight, query=s.text) for i, s in row) for row in wanted]


def _wanted(reformulation: Reformulation, retrievers: Sequence[Retriever | OriginalOnly]) -> list[tuple[int, SubQuery]]:
    """What is searched, each with the position of the retriever that searches it."""
    sub_queries = distinct(reformulation.sub_queries) or _blank_but_for_punctuation(reformulation)
    everything = [i for i, r in enumerate(retrievers) if not isinstance(r, OriginalOnly)]
    row = [(i, sub_query) for sub_query in sub_queries for i in everything]
    if len(everything) < len(retrievers) and one_line(reformulation.query.text):
        weight = next((s.weight for s in sub_queries if s.kind == "original"), 1.0)
        asked = SubQuery(reformulation.query.text, "original", weight)
        row += [(i, asked) for i, r in enumerate(retrievers) if isinstance(r, OriginalOnly)]
    return row


def _key(sub_query: SubQuery) -> _Key:
    """The same words are searched once as a query and once as a passage."""
    return sub_query.kind == "hypothetical", sub_query.text


def _search_all(asked: Sequence[tuple[Retriever, dict[_Key, str]]], depth: int) -> list[dict[_Key, Ranking]]:
    """The rankings of each retriever. A failure of one is raised."""

    def answer(retriever: Retriever, texts: dict[_Key, str]) -> dict[_Key, Ranking]:
        return dict(zip(texts, retriever.search(list(texts.values()), depth), strict=True)) if texts else {}

    if len(asked) == 1:
        return [answer(*asked[0])]
    with ThreadPoolExecutor(len(asked)) as pool:
        return list(pool.map(lambda one: answer(*one), asked))


def searched_text(sub_query: SubQuery) -> str:
    """The text of a sub-query as a retriever is given it."""
    return Passage(sub_query.text) if sub_query.kind == "hypothetical" else sub_query.text


def _blank_but_for_punctuation(reformulation: Reformulation) -> tuple[SubQuery, ...]:
    """The raw query "???" is searched, though it holds no word."""
    return tuple(s for s in reformulation.sub_queries if s.kind == "original" and one_line(s.text))[:1]


def search(
    reformulations: Sequence[Reformulation],
    retriever: Retrievers,
    fusion: Fusion,
    k: int = 10,
    depth: int = DEPTH,
) -> list[SearchResult]:
    """Searches the sub-queries of a batch in one call and merges each query's rankings.

    A single list is merged like several, so that scores mean the same on every route.

    Args:
        reformulations: one a query.
        retriever: one, or several over one corpus or over several; each is asked once, for ``depth`` documents a
            distinct sub-query. Retrievers of one name are those whose scores compare, such as one encoder's. An
            :class:`OriginalOnly` is asked for the query as it stands alone.
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
        words: words of each document's text; one without spaces ends after 16 characters a word.
    """
    if results == 0:
        return list(queries)
    rankings = retriever.search([q.text for q in queries], results)
    return [
        replace(query, feedback=snippets(ranking, corpus, results, words))
        for query, ranking in zip(queries, rankings, strict=True)
    ]


def snippets(ranking: Ranking, corpus: Mapping[str, Document], results: int, words: int) -> tuple[Snippet, ...]:
    """Title and first ``words`` words of the first ``results`` documents of a ranking."""
    return tuple(_snippet(corpus[doc_id], words) for doc_id in ranking.doc_ids[:results])


def _snippet(document: Document, words: int) -> Snippet:
    first_words = " ".join(one_line(document.text).split(" ")[:words])
    return Snippet(one_line(document.title)[:_TITLE_CHARACTERS], first_words[: words * _WORD_CHARACTERS])
