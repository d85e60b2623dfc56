"""Walk a set of queries along the one path and measure where their relevant documents end up."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from acqo_rl.errors import DataError
from acqo_rl.evaluation.leaks import leaks_answer
from acqo_rl.measures import MEASURES, check_measures, judged, per_query, to_run
from acqo_rl.reformulation.turns import first_searches
from acqo_rl.searching.lists import DEPTH, searched_text
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.trace import ms_of
from acqo_rl.text import within_limits
from acqo_rl.types import Qrels, Query, Ranking, Reformulation

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What became of one query.

    Attributes:
        reformulation: what was searched, and how it was made.
        ranking: the fused result.
        measures: measure -> value.
        gold_ranks: relevant document -> its rank from 1, ``None`` where it was not found.
        searches: number of searches, a first search for feedback included.
        embedded: number of texts embedded for them; only a comparison of retrievers counts them.
        leaks: whether a search holds an answer that the reformulator was not told; ``None`` where that cannot be said.
        kind: kind of query by the data set's metadata; empty where it has none.
        reformulation_ms: milliseconds of the batch's reformulation, divided by its queries.
        retrieval_ms: milliseconds of the batch's retrieval and fusion (and first search), divided by its queries.
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
    leaks: bool | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One reformulator on one set of queries.

    Attributes:
        name: of the reformulator; names the row of a table and the files.
        results: one a query that has a relevant document, in the order of the queries.
        unmeasured: number of queries that were left out because they have no relevant document.
    """

    name: str
    results: tuple[QueryResult, ...]
    unmeasured: int = 0

    def scores(self, measure: str) -> NDArray[np.float64]:
        """Value of one measure for each query, float64[queries]."""
        return np.array([result.measures[measure] for result in self.results])


class Searcher(Protocol):
    """What is evaluated: :class:`~acqo_rl.searching.path.SearchPath`, or what searches in a way of its own."""

    def search(self, queries: Sequence[Query], k: int) -> list[SearchResult]:
        """One result per query, in input order."""
        ...


def evaluate(
    searcher: Searcher,
    queries: Sequence[Query],
    qrels: Qrels,
    *,
    name: str,
    measures: Sequence[str] = MEASURES,
    k: int = 100,
    batch_size: int = 64,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
    progress: bool = True,
) -> Evaluation:
    """Search and measure.

    Args:
        searcher: what is evaluated.
        queries: those without a relevant document in ``qrels`` are left out and counted.
        qrels: judgements.
        name: of the evaluation.
        measures: see ``acqo_rl.measures``.
        k: length of the fused ranking.
        batch_size: queries that are searched together.
        metadata: query id -> metadata, of which ``kind`` groups the results and ``answer`` or ``answers`` tell
            answers written from memory; no reformulator sees it.
        progress: shows a bar.

    Raises:
        ConfigError: a measure is unknown.
        DataError: no query has a relevant document.
    """
    from tqdm import tqdm

    metadata = metadata or {}
    check_measures(measures, DEPTH)
    relevant = judged(qrels)
    measured = [within_limits(query) for query in queries if query.id in relevant]
    if not measured:
        raise DataError(
            f"None of the {len(queries)} queries has a relevant document in the judgements of {len(qrels)} queries: "
            "check that queries and qrels are of the same data set and split."
        )
    outcomes: list[tuple[SearchResult, float, float]] = []
    with tqdm(total=len(measured), desc=f"evaluate {name}", unit="query", disable=not progress) as bar:
        for start in range(0, len(measured), batch_size):
            batch = measured[start : start + batch_size]
            begin = time.perf_counter()
            found = searcher.search(batch, k)
            ms = 1000 * (time.perf_counter() - begin) / len(batch)
            for result in found:
                reformulation = ms_of(result.trace, "reformulation") / len(batch)
                outcomes.append((result, reformulation, ms - reformulation))
            bar.update(len(batch))

    rankings = {query.id: outcome[0].fused for query, outcome in zip(measured, outcomes, strict=True)}
    values = per_query(measures, {query.id: relevant[query.id] for query in measured}, to_run(rankings))
    results = tuple(
        QueryResult(
            reformulation=found.reformulation,
            ranking=found.fused,
            measures={measure: values[measure][query.id] for measure in measures},
            gold_ranks=_gold_ranks(found.fused, relevant[query.id]),
            searches=len(searched_texts(found.reformulation)),
            kind=str(metadata.get(query.id, {}).get("kind", "")),
            reformulation_ms=reformulation_ms,
            retrieval_ms=retrieval_ms,
            leaks=leaks_answer(found.reformulation, metadata.get(query.id, {})),
        )
        for query, (found, reformulation_ms, retrieval_ms) in zip(measured, outcomes, strict=True)
    )
    return Evaluation(name, results, len(queries) - len(measured))


def searched_texts(reformulation: Reformulation) -> list[str]:
    """Distinct texts that are searched, that of the first search for feedback among them."""
    first = first_searches([reformulation.query]) if reformulation.query.feedback else []
    return list(dict.fromkeys(searched_text(s) for made in (*first, reformulation) for s in made.sub_queries))


def _gold_ranks(ranking: Ranking, judgements: Mapping[str, int]) -> dict[str, int | None]:
    rank = {doc_id: position for position, doc_id in enumerate(ranking.doc_ids, start=1)}
    return {doc_id: rank.get(doc_id) for doc_id, relevance in judgements.items() if relevance > 0}
