"""Measures with trec_eval semantics and the names of ir_measures: ``nDCG@10``, ``AP@10``, ``R@100``, ``RR@10``.

Every query that has a relevant document is counted; a query without results scores 0. Ties are broken before measures
are computed, so that all measures use the same order of documents.

``AllGold@k`` is an additional measure: 1 if *every* relevant document of a query is among the first k, else 0. A
compound question is answered only if all of its parts are found. Recall averages over the parts, and ``Success@k``
needs only one of them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from acqo_rl.errors import ConfigError, DataError
from acqo_rl.types import Qrels, Query, Ranking, Run

MEASURES = ("nDCG@10", "AP@10", "R@10", "R@100", "RR@10", "Success@10", "AllGold@10")
"""The measures reported by default. ``Success@10`` is the hit rate."""

_ALL_GOLD = re.compile(r"AllGold@([1-9]\d*)")


def to_run(rankings: Mapping[str, Ranking]) -> Run:
    """Converts rankings (by query id) to a run whose scores strictly decrease with rank.

    Fused scores may tie, so only the order of a ranking is evaluated.
    """
    return {query_id: _scored(ranking.doc_ids) for query_id, ranking in rankings.items()}


def gold_of(qrels: Qrels, query_id: str) -> list[str]:
    """Ids of the relevant documents of a query; none if it was not judged."""
    return [doc_id for doc_id, relevance in qrels.get(query_id, {}).items() if relevance > 0]


def judged(qrels: Qrels) -> Qrels:
    """The judgements without queries that have no relevant document, because those cannot be measured."""
    return {query_id: documents for query_id, documents in qrels.items() if gold_of(qrels, query_id)}


def measurable(queries: Sequence[Query], qrels: Qrels) -> list[Query]:
    """The queries that have a relevant document.

    Raises:
        DataError: there are none.
    """
    relevant = judged(qrels)
    kept = [query for query in queries if query.id in relevant]
    if not kept:
        raise DataError(
            f"None of the {len(queries)} queries has a relevant document in the judgements of {len(qrels)} queries: "
            "check that queries and qrels are of the same data set and split, and that some scores are above 0."
        )
    return kept


def check_measures(measures: Sequence[str], depth: int) -> None:
    """Checks the names of measures before anything is computed.

    Args:
        measures: names.
        depth: number of documents per ranking; the largest allowed cutoff.

    Raises:
        ConfigError: the list is empty, or a measure is unknown, has too large a cutoff or needs a missing package.
    """
    if not measures:
        raise ConfigError(f"No measures are given; give names such as {', '.join(MEASURES)}.")
    for name in measures:
        cutoff = _parse(name).params.get("cutoff")
        if cutoff is not None and not 1 <= cutoff <= depth:
            raise ConfigError(
                f"{name} has the cutoff {cutoff}; rankings here have {depth} documents, so use 1 to {depth}."
            )


def per_query(measures: Sequence[str], qrels: Qrels, run: Run) -> dict[str, dict[str, float]]:
    """Computes each measure for each query that has a relevant document.

    Args:
        measures: names that ir_measures can parse, or ``AllGold@k``.
        qrels: judgements; queries without a relevant document are skipped.
        run: results; tied documents are ordered as in trec_eval, by document id from z to a.

    Returns:
        Measure -> query id -> value, with queries in the order of ``qrels``.

    Raises:
        ConfigError: a measure is unknown or needs a missing package.
        DataError: no query has a relevant document.
    """
    import ir_measures

    wanted = judged(qrels)
    if not wanted:
        raise DataError(
            f"None of the {len(qrels)} judged queries has a relevant document; give qrels with a relevance above 0."
        )
    ranked = {query_id: _break_ties(run[query_id]) for query_id in wanted if run.get(query_id)}
    parsed = {name: _parse(name) for name in measures}
    evaluator = ir_measures.evaluator(set(parsed.values()), wanted)
    values: dict[Any, dict[str, float]] = {measure: dict.fromkeys(wanted, 0.0) for measure in parsed.values()}
    for metric in evaluator.iter_calc(ranked):
        values[metric.measure][metric.query_id] = float(metric.value)
    return {
        name: {query_id: float(value == 1.0) for query_id, value in values[measure].items()}
        if _ALL_GOLD.fullmatch(name)
        else values[measure]
        for name, measure in parsed.items()
    }


def _parse(name: str) -> Any:
    """The ir_measures object for a name; ``AllGold@k`` uses ``R@k``, because it is 1 exactly where ``R@k`` is 1."""
    import ir_measures

    all_gold = _ALL_GOLD.fullmatch(name)
    try:
        measure = ir_measures.parse_measure(f"R@{all_gold[1]}" if all_gold else name)
        supported = ir_measures.DefaultPipeline.supports(measure)
    except (ValueError, NameError, TypeError, AssertionError, KeyError) as error:
        raise ConfigError(
            f"{name!r} is not a measure: {error}. Use names such as {', '.join(MEASURES)} (see https://ir-measur.es)."
        ) from error
    if not supported:
        raise ConfigError(
            f"{name} needs a package that is not installed; see https://ir-measur.es for its requirements."
        )
    return measure


def _break_ties(scores: Mapping[str, float]) -> dict[str, float]:
    return _scored(sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True))


def _scored(doc_ids: Sequence[str]) -> dict[str, float]:
    return {doc_id: float(len(doc_ids) - position) for position, doc_id in enumerate(doc_ids)}
