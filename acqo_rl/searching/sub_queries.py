"""Searches the sub-queries of a batch: each retriever is called once with the distinct texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.roles import Retriever
from acqo_rl.text import distinct, normalised, one_line
from acqo_rl.types import Passage, Ranking, Reformulation, SubQuery, search_key

DEPTH = 100
"""Default number of documents per sub-query. The reward uses the first 100 documents of the fused ranking."""


@dataclass(frozen=True, slots=True)
class RawQueryOnly:
    """Marks a retriever that searches only the raw query, and none of the sub-queries.

    Its ranking is an additional input of the fusion, after those of the sub-queries. This suits BM25, for which
    generated words help less often than for a dense index.
    """

    retriever: Retriever


Retrievers = Retriever | Sequence[Retriever | RawQueryOnly]
"""One retriever, or several whose rankings are merged."""

SearchTexts = Callable[[list[str]], Sequence[Sequence[Ranking]]]
"""Searches distinct texts; returns the rankings of each, in input order."""


def split_retrievers(given: Retrievers) -> tuple[list[Retriever], list[Retriever]]:
    """Returns the retrievers that search every sub-query, and those that search only the raw query."""
    several = given if isinstance(given, Sequence) else [given]
    originals = [r.retriever for r in several if isinstance(r, RawQueryOnly)]
    return [r for r in several if not isinstance(r, RawQueryOnly)], originals


def normalise_sub_queries(
    reformulations: Sequence[Reformulation], retrievers: Sequence[Retriever]
) -> list[Reformulation]:
    """Keeps only the sub-queries that are searched; used in both evaluation and serving.

    Drops empty and repeated sub-queries. Also drops sub-queries with a ``min_margin`` if any retriever's scores are not
    cosines: BM25 scores grow with the number of words, and fused scores depend only on ranks. If no sub-query is left,
    the raw query is searched. If the only sub-query is the raw query, the route is ``pass``.
    """
    cosines = all(part.cosine for part in retrievers)
    return [_searchable(reformulation, cosines=cosines) for reformulation in reformulations]


def _searchable(made: Reformulation, *, cosines: bool) -> Reformulation:
    raw = pass_through(made.query, "").sub_queries
    searched = distinct(s for s in made.sub_queries if cosines or s.min_margin is None) or raw
    is_raw = len(searched) == 1 and normalised(searched[0].text) == normalised(made.query.text)
    route = "pass" if is_raw else made.route
    same = (searched, route) == (made.sub_queries, made.route)
    return made if same else replace(made, sub_queries=searched, route=route)


def search_sub_queries(
    reformulations: Sequence[Reformulation], search: SearchTexts, search_raw: SearchTexts | None = None
) -> list[tuple[Ranking, ...]]:
    """Searches the sub-queries of a batch with the given search functions.

    Args:
        reformulations: one per query, as returned by :func:`normalise_sub_queries`; blank sub-queries are not searched.
        search: called once with the distinct texts of the batch. A text and a hypothetical passage with the same words
            are distinct.
        search_raw: called once with the distinct raw queries of the batch.

    Returns:
        The rankings of each reformulation, in input order: first those of its sub-queries, then those of
        ``search_raw``. A sub-query that does not reach its ``min_margin`` gets an empty ranking.
    """
    lists = _by_sub_query(reformulations, search)
    if search_raw is None:
        return lists
    of_raw_queries = _by_sub_query([_original_of(r) for r in reformulations], search_raw)
    return [(*some, *others) for some, others in zip(lists, of_raw_queries, strict=True)]


def _by_sub_query(reformulations: Sequence[Reformulation], search: SearchTexts) -> list[tuple[Ranking, ...]]:
    wanted = [[s for s in r.sub_queries if one_line(s.text)] for r in reformulations]
    texts = {_key(s): searched_text(s) for sub_queries in wanted for s in sub_queries}
    found = dict(zip(texts, search(list(texts.values())), strict=True)) if texts else {}
    return [_by_margin([(s, _found_by(s, r)) for s in sub_queries for r in found[_key(s)]]) for sub_queries in wanted]


def _by_margin(found: Sequence[tuple[SubQuery, Ranking]]) -> tuple[Ranking, ...]:
    """The rankings; those of sub-queries that do not reach their ``min_margin`` are empty."""
    best: dict[str, float] = {}
    for sub_query, ranking in found:
        if sub_query.min_margin is None and ranking.scores:
            best[ranking.retriever] = max(ranking.scores[0], best.get(ranking.retriever, -math.inf))

    def counts(sub_query: SubQuery, ranking: Ranking) -> bool:
        if sub_query.min_margin is None or not ranking.scores:
            return True
        return ranking.scores[0] - best.get(ranking.retriever, -math.inf) > sub_query.min_margin

    return tuple(ranking if counts(sub_query, ranking) else ranking.first(0) for sub_query, ranking in found)


def _key(sub_query: SubQuery) -> tuple[bool, str]:
    return search_key(searched_text(sub_query))


def _found_by(sub_query: SubQuery, ranking: Ranking) -> Ranking:
    same = (type(ranking.query), ranking.query, ranking.weight) == (str, sub_query.text, sub_query.weight)
    return ranking if same else replace(ranking, query=sub_query.text, weight=sub_query.weight)


def _original_of(reformulation: Reformulation) -> Reformulation:
    """The raw query as the only sub-query, with the weight that it has among the sub-queries."""
    weight = next((s.weight for s in reformulation.sub_queries if s.kind == "original"), 1.0)
    return replace(reformulation, sub_queries=(SubQuery(reformulation.query.text, "original", weight),))


def searched_text(sub_query: SubQuery) -> str:
    """The text that retrievers receive for a sub-query; hypothetical documents become a :class:`Passage`.

    The character NUL becomes a space, because databases and C libraries reject it.
    """
    text = sub_query.text.replace("\x00", " ")
    return Passage(text) if sub_query.kind == "hypothetical" else text
