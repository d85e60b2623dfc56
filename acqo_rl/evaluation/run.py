"""Runs queries through a search path and measures the rankings."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.measures import MEASURES, check_measures, gold_of, judged, measurable, per_query, to_run
from acqo_rl.reformulation.pass_through import RecentTurns
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.sub_queries import DEPTH, searched_text
from acqo_rl.searching.trace import ms_of
from acqo_rl.types import Qrels, Query, Ranking, Reformulation


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of one query.

    Attributes:
        reformulation: what was searched, and how it was made.
        ranking: the fused result.
        measures: measure -> value.
        gold_ranks: relevant document -> rank from 1; ``None`` if it was not found.
        searches: number of searches, including the first search for feedback.
        kind: kind of query; empty if it is not known.
        reformulation_ms: milliseconds of the reformulation: those of the batch, divided by its queries.
        retrieval_ms: milliseconds of the searches (and of the fusion, unless the searches come from a cache).
        embedded: number of texts embedded for the searches; counted in a study only.
        reranked: number of pairs of text and document that a reranker read; counted in a study only.
        reranking_ms: milliseconds of the reranker: those of its batch, divided by the pairs of the batch.
    """

    reformulation: Reformulation
    ranking: Ranking
    measures: dict[str, float]
    gold_ranks: dict[str, int | None]
    searches: int
    kind: str
    reformulation_ms: float
    retrieval_ms: float
    embedded: int = 0
    reranked: int = 0
    reranking_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of one system on one set of queries.

    Attributes:
        name: of the system; used in tables and file names.
        results: one per query that has a relevant document, in the order of the queries.
        unmeasured: number of queries left out because they have no relevant document.
    """

    name: str
    results: tuple[QueryResult, ...]
    unmeasured: int = 0

    def scores(self, measure: str) -> NDArray[np.float64]:
        """Values of one measure, float64[queries]."""
        return np.array([result.measures[measure] for result in self.results])


def evaluate(
    searcher: SearchPath,
    queries: Sequence[Query],
    qrels: Qrels | None,
    *,
    name: str,
    measures: Sequence[str] = MEASURES,
    k: int = 100,
    batch_size: int = 64,
    kinds: Mapping[str, str] | None = None,
    progress: bool = True,
    costs: Callable[[SearchResult], dict[str, Any]] | None = None,
) -> Evaluation:
    """Searches queries and measures the rankings.

    Args:
        searcher: the system to evaluate, or another object with the same method ``search``.
        queries: queries without a relevant document in ``qrels`` are left out and counted.
        qrels: judgements; with ``None``, all queries are searched and nothing is measured.
        name: of the evaluation.
        measures: see ``acqo_rl.measures``.
        k: length of the fused ranking.
        batch_size: number of queries searched together.
        kinds: query id -> kind, which groups the results. The searcher does not see it.
        progress: shows a progress bar.
        costs: returns the costs of a result, by attribute of :class:`QueryResult`; by default those of this run.

    Raises:
        ConfigError: a measure is unknown.
        DataError: no query has a relevant document.
    """
    from tqdm import tqdm

    check_measures(measures, DEPTH)
    measured = queries if qrels is None else measurable(queries, qrels)
    relevant = judged(qrels or {})
    found: list[tuple[SearchResult, dict[str, Any]]] = []
    with tqdm(total=len(measured), desc=f"evaluate {name}", unit="query", disable=not progress) as bar:
        for start in range(0, len(measured), batch_size):
            batch = measured[start : start + batch_size]
            begin = time.perf_counter()
            results = searcher.search(batch, k)
            ms = 1000 * (time.perf_counter() - begin) / len(batch)
            for result in results:
                reformulation_ms = ms_of(result.trace, "reformulation") / len(batch)
                own = {
                    "searches": len(searched_texts(result.reformulation)),
                    "reformulation_ms": reformulation_ms,
                    "retrieval_ms": ms - reformulation_ms,
                }
                found.append((result, costs(result) if costs else own))
            bar.update(len(batch))

    rankings = {query.id: result.fused for query, (result, _) in zip(measured, found, strict=True)}
    values = per_query(measures, relevant, to_run(rankings)) if relevant else {}
    results_of_all = tuple(
        QueryResult(
            reformulation=result.reformulation,
            ranking=result.fused,
            measures={measure: value[query.id] for measure, value in values.items()},
            gold_ranks={doc_id: ranks.get(doc_id) for doc_id in gold_of(relevant, query.id)},
            kind=(kinds or {}).get(query.id, ""),
            **paid,
        )
        for query, (result, paid) in zip(measured, found, strict=True)
        for ranks in [result.fused.ranks]
    )
    return Evaluation(name, results_of_all, len(queries) - len(measured))


def searched_texts(reformulation: Reformulation) -> list[str]:
    """The distinct texts that are searched, including that of the first search for feedback."""
    first = RecentTurns().reformulate([reformulation.query]) if reformulation.query.feedback else []
    return list(dict.fromkeys(searched_text(s) for made in (*first, reformulation) for s in made.sub_queries))
