"""The one path from reformulations to fused rankings, walked by training, evaluation and serving."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.turns import first_searches
from acqo_rl.retrieval.parallel import search_all
from acqo_rl.text import distinct, normalised, one_line
from acqo_rl.types import (
    Document,
    Fusion,
    Passage,
    Query,
    Ranking,
    Reformulation,
    Retriever,
    Snippet,
    SubQuery,
    has_cosines,
    search_key,
)

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
    more often than an index of words.
    """

    retriever: Retriever


Retrievers = Retriever | Sequence[Retriever | OriginalOnly]
"""One retriever, or several whose lists are merged."""

Find = Callable[[list[str]], Sequence[Sequence[Ranking]]]
"""Searches distinct texts; returns the rankings of each, in input order."""


def search_each(
    reformulations: Sequence[Reformulation], retriever: Retrievers, depth: int = DEPTH
) -> list[tuple[Ranking, ...]]:
    """The rankings of every distinct sub-query, from one call of each retriever over the distinct texts of the batch.

    Several retrievers search at the same time, and each one's list is a path of its own.
    """
    given = retriever if isinstance(retriever, Sequence) else [retriever]
    asked = _of_sub_queries(retriever)
    originals = [r.retriever for r in given if isinstance(r, OriginalOnly)]
    return find_lists(
        searchable(reformulations, asked),
        partial(search_all, asked, k=depth),
        partial(search_all, originals, k=depth) if originals else None,
    )


def _of_sub_queries(retriever: Retrievers) -> list[Retriever]:
    given = retriever if isinstance(retriever, Sequence) else [retriever]
    return [r for r in given if not isinstance(r, OriginalOnly)]


def searchable(reformulations: Sequence[Reformulation], retrievers: Sequence[Retriever]) -> list[Reformulation]:
    """The reformulations with exactly those sub-queries that are searched, in evaluation as in serving.

    Empty and repeated sub-queries are left out. So are those that want a lead where the scores of a retriever are no
    cosines: one word more gives every document more of BM25, and fused scores go in steps. Without any sub-query left
    the raw query is searched. Where it is the only one, the route is ``pass``.
    """
    leads = all(map(has_cosines, retrievers))
    return [_searchable(reformulation, leads=leads) for reformulation in reformulations]


def _searchable(made: Reformulation, *, leads: bool) -> Reformulation:
    raw = pass_through(made.query, "").sub_queries
    searched = distinct(s for s in made.sub_queries if leads or s.lead is None) or raw
    is_raw = len(searched) == 1 and normalised(searched[0].text) == normalised(made.query.text)
    route = "pass" if is_raw else made.route
    same = (searched, route) == (made.sub_queries, made.route)
    return made if same else replace(made, sub_queries=searched, route=route)


def find_lists(
    reformulations: Sequence[Reformulation], find: Find, find_originals: Find | None = None
) -> list[tuple[Ranking, ...]]:
    """The rankings of every distinct sub-query, in the order of the sub-queries, then those of the raw query alone.

    Args:
        reformulations: one per query, of :func:`searchable`; a blank query is not searched.
        find: called once for the distinct texts of the batch. The same words are two texts if they are a question in
            one place and a hypothetical passage in another.
        find_originals: called once for the distinct raw queries of the batch.

    Returns:
        The rankings per reformulation, in input order; that of a sub-query without the lead it wants is empty.
    """
    lists = _by_sub_query(reformulations, find)
    if find_originals is None:
        return lists
    of_originals = _by_sub_query([_original_of(r) for r in reformulations], find_originals)
    return [(*some, *others) for some, others in zip(lists, of_originals, strict=True)]


def _by_sub_query(reformulations: Sequence[Reformulation], find: Find) -> list[tuple[Ranking, ...]]:
    wanted = [[s for s in r.sub_queries if one_line(s.text)] for r in reformulations]
    texts = {_key(s): searched_text(s) for sub_queries in wanted for s in sub_queries}
    found = dict(zip(texts, find(list(texts.values())), strict=True)) if texts else {}
    return [_by_lead([(s, _found_by(s, r)) for s in sub_queries for r in found[_key(s)]]) for sub_queries in wanted]


def _by_lead(found: Sequence[tuple[SubQuery, Ranking]]) -> tuple[Ranking, ...]:
    """The rankings, those without documents that do not have the lead that their sub-query wants."""
    best: dict[str, float] = {}
    for sub_query, ranking in found:
        if sub_query.lead is None and ranking.scores:
            best[ranking.retriever] = max(ranking.scores[0], best.get(ranking.retriever, -math.inf))

    def counts(sub_query: SubQuery, ranking: Ranking) -> bool:
        if sub_query.lead is None or not ranking.scores:
            return True
        return ranking.scores[0] - best.get(ranking.retriever, -math.inf) > sub_query.lead

    return tuple(ranking if counts(sub_query, ranking) else ranking.first(0) for sub_query, ranking in found)


def _key(sub_query: SubQuery) -> tuple[bool, str]:
    return search_key(searched_text(sub_query))


def _found_by(sub_query: SubQuery, ranking: Ranking) -> Ranking:
    same = (type(ranking.query), ranking.query, ranking.weight) == (str, sub_query.text, sub_query.weight)
    return ranking if same else replace(ranking, query=sub_query.text, weight=sub_query.weight)


def _original_of(reformulation: Reformulation) -> Reformulation:
    """The query as it was asked, with the weight that it has among the sub-queries."""
    weight = next((s.weight for s in reformulation.sub_queries if s.kind == "original"), 1.0)
    return replace(reformulation, sub_queries=(SubQuery(reformulation.query.text, "original", weight),))


def searched_text(sub_query: SubQuery) -> str:
    """The text of a sub-query as a retriever is given it."""
    return Passage(sub_query.text) if sub_query.kind == "hypothetical" else sub_query.text


def search(
    reformulations: Sequence[Reformulation],
    retriever: Retrievers,
    fusion: Fusion,
    k: int = 10,
    depth: int = DEPTH,
    score_threshold: float | None = None,
) -> list[SearchResult]:
    """Searches the sub-queries of a batch in one call and merges each query's rankings.

    A single list is merged like several, so that scores mean the same on every route.

    Args:
        reformulations: one a query.
        retriever: one, or several over the same documents; each is asked once, for ``depth`` documents a distinct
            sub-query. Retrievers of one name are those whose scores compare, such as one encoder's. An
            :class:`OriginalOnly` is asked for the query as it stands alone. Collections of different documents are one
            :class:`~acqo_rl.retrieval.federated.FederatedRetriever`, and ``fusion`` is its ``FederatedFusion`` then.
        fusion: merges the lists of each query.
        k: documents in each fused ranking.
        depth: documents in each list before fusion, or ``k`` where that is more.
        score_threshold: see :func:`fuse_similar`.

    Returns:
        One result a reformulation, position for position.

    Raises:
        ConfigError: there is a threshold, and a retriever's scores are no cosines.
    """
    given = retriever if isinstance(retriever, Sequence) else [retriever]
    check_score_threshold(score_threshold, [r.retriever if isinstance(r, OriginalOnly) else r for r in given])
    reformulations = searchable(reformulations, _of_sub_queries(retriever))
    rankings = search_each(reformulations, retriever, max(k, depth))
    fused = fuse_similar(fusion, rankings, k, score_threshold)
    return [SearchResult(*parts) for parts in zip(reformulations, rankings, fused, strict=True)]


def fuse_similar(
    fusion: Fusion, batch: Sequence[Sequence[Ranking]], k: int, score_threshold: float | None
) -> list[Ranking]:
    """One ranking per query of at most ``k`` documents that are similar enough to a sub-query.

    Args:
        fusion: merges the rankings of each query.
        batch: the rankings of each query.
        k: documents in each merged ranking.
        score_threshold: least cosine of a document, the best one over the sub-queries; where no document reaches it,
            nothing is found. ``None``: every document is similar enough.
    """
    if score_threshold is None:
        return fusion.fuse(batch, k)
    every = [sum(len(ranking.doc_ids) for ranking in rankings) for rankings in batch]
    return [_at_least(fused, score_threshold).first(k) for fused in fusion.fuse(batch, max(every, default=0))]


def _at_least(fused: Ranking, similarity: float) -> Ranking:
    kept = [i for i, its in enumerate(fused.similarities) if its >= similarity]
    return replace(
        fused,
        doc_ids=tuple(fused.doc_ids[i] for i in kept),
        scores=tuple(fused.scores[i] for i in kept),
        similarities=tuple(fused.similarities[i] for i in kept),
    )


def check_score_threshold(score_threshold: float | None, retrievers: Sequence[Retriever]) -> None:
    """Refuses a threshold that cannot be one of cosines.

    Raises:
        ConfigError: it is not between -1 and 1, or the scores of a retriever are no cosines, or not of one encoder.
    """
    if score_threshold is None:
        return
    if not -1 <= score_threshold <= 1:
        raise ConfigError(f"score_threshold is {score_threshold}; it is a cosine, between -1 and 1.")
    if without := [retriever.name for retriever in retrievers if not has_cosines(retriever)]:
        raise ConfigError(
            f"score_threshold compares cosines, and {without[0]!r} gives none; search dense indexes of one encoder"
            " alone, or leave score_threshold out."
        )


def add_feedback(
    queries: Sequence[Query],
    retriever: Retrievers,
    fusion: Fusion,
    corpus: Mapping[str, Document],
    results: int,
    words: int,
) -> list[Query]:
    """The queries with title and first words of what a first search finds; a conversation is searched with its turns.

    Args:
        queries: searched in one batch.
        retriever: as in :func:`search`; its document ids are keys of ``corpus``.
        fusion: as in :func:`search`.
        corpus: document id -> document.
        results: snippets a query; 0 leaves the queries as they are.
        words: words of each document's text; one without spaces ends after 16 characters a word.
    """
    if results == 0:
        return list(queries)
    found = search(first_searches(queries), retriever, fusion, results)
    return with_snippets(queries, [result.fused for result in found], corpus, results, words)


def with_snippets(
    queries: Sequence[Query], tops: Sequence[Ranking], corpus: Mapping[str, Document], results: int, words: int
) -> list[Query]:
    """The queries with the top of a ranking each as their feedback; see :func:`snippets`."""
    return [
        replace(query, feedback=snippets(top, corpus, results, words)) for query, top in zip(queries, tops, strict=True)
    ]


def snippets(ranking: Ranking, corpus: Mapping[str, Document], results: int, words: int) -> tuple[Snippet, ...]:
    """Title and first ``words`` words of the first ``results`` documents of a ranking."""
    return tuple(_snippet(document_of(corpus, doc_id), words) for doc_id in ranking.doc_ids[:results])


def document_of(corpus: Mapping[str, Document], doc_id: str) -> Document:
    """The document that a search found.

    Raises:
        IndexMismatchError: it is not in the corpus.
    """
    try:
        return corpus[doc_id]
    except KeyError:
        raise IndexMismatchError(
            f"The index found the document {doc_id!r}, which is not in the corpus ({len(corpus):,} documents): the two"
            " are of different versions; build the index again from this corpus."
        ) from None


def _snippet(document: Document, words: int) -> Snippet:
    first_words = " ".join(one_line(document.text).split(" ")[:words])
    return Snippet(one_line(document.title)[:_TITLE_CHARACTERS], first_words[: words * _WORD_CHARACTERS])
