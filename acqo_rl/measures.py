"""Measures with trec_eval semantics, named as ir_measures names them: ``nDCG@10``, ``AP@10``, ``R@100``, ``RR@10``.

Every query that has a relevant document counts; one without a result counts zero. Ties are broken before anything is
measured, so that every measure sees one and the same order of documents.

One measure is ours: ``AllGold@k`` is 1 when *every* relevant document of a query is among the first k, else 0. A
compound question is answered only when all of its needs are met, which recall blurs and ``Success@k`` (one is enough)
hides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from acqo_rl.errors import ConfigError, DataError
from acqo_rl.types import Qrels, Ranking, Run

MEASURES = ("nDCG@10", "AP@10", "R@10", "R@100", "RR@10", "Success@10", "AllGold@10")
"""What is reported unless the configuration asks for something else. ``Success@10`` is the hit rate."""

COMPARED = ("nDCG@10", "nDCG@5", "nDCG@3", "R@10", "R@5", "R@3", "P@5", "RR@10", "AllGold@10")
"""What ``scripts/compare.py`` reports: several cutoffs, of which the first measure decides."""

_ALL_GOLD = re.compile(r"AllGold@([1-9]\d*)")


def to_run(rankings: Mapping[str, Ranking]) -> Run:
    """Rankings by query id as a run whose scores fall strictly with the position.

    The scores of a fusion tie or are not comparable with anything; only the order of a ranking is evaluated.
    """
    return {query_id: _scored(ranking.doc_ids) for query_id, ranking in rankings.items()}


def gold_of(qrels: Qrels, query_id: str) -> list[str]:
    """Ids of the relevant documents of a query."""
    return [doc_id for doc_id, relevance in qrels[query_id].items() if relevance > 0]


def judged(qrels: Qrels) -> Qrels:
    """The judgements of queries with a relevant document; the others cannot be measured and are left out."""
    return {query_id: documents for query_id, documents in qrels.items() if gold_of(qrels, query_id)}


def check_measures(measures: Sequence[str], depth: int) -> None:
    """Refuses unknown measures before anything is computed.

    Args:
        measures: names.
        depth: documents of a ranking; no measure can look deeper.

    Raises:
        ConfigError: a measure is unknown, looks too deep or cannot be computed here, or there is none.
    """
    if not measures:
        raise ConfigError(f"No measure is given; give names such as {', '.join(MEASURES)}.")
    for name in measures:
        cutoff = _parse(name).params.get("cutoff")
        if cutoff is not None and not 1 <= cutoff <= depth:
            raise ConfigError(f"{name} looks at {cutoff} documents; a ranking has 1 to {depth} of them.")


def per_query(measures: Sequence[str], qrels: Qrels, run: Run) -> dict[str, dict[str, float]]:
    """Value of every measure for every query that has a relevant document.

    Args:
        measures: names that ir_measures parses, or ``AllGold@k``.
        qrels: judgements; queries without a relevant document are left out.
        run: results; tied documents are ordered as trec_eval does it, by document id from z to a.

    Returns:
        Measure -> query id -> value, queries in the order of ``qrels``.

    Raises:
        ConfigError: a measure is unknown or cannot be computed here.
        DataError: no query has a relevant document.
    """
    import ir_measures

    wanted = judged(qrels)
    if not wanted:
        raise DataError(f"None of the {len(qrels)} judged queries has a relevant document, so nothing can be measured.")
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


def mean(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Mean over the queries of each measure that ``per_query`` returned."""
    return {measure: sum(by_query.values()) / len(by_query) for measure, by_query in values.items()}


def _parse(name: str) -> Any:
    """The measure of ir_measures behind a name; ``AllGold@k`` is where ``R@k`` is exactly one."""
    import ir_measures

    all_gold = _ALL_GOLD.fullmatch(name)
    try:
        measure = ir_measures.parse_measure(f"R@{all_gold[1]}" if all_gold else name)
        supported = ir_measures.DefaultPipeline.supports(measure)
    except (ValueError, NameError, TypeError, AssertionError, KeyError) as error:
        raise ConfigError(
            f"{name!r} is no measure: {error}. Give names such as {', '.join(MEASURES)} (see https://ir-measur.es)."
        ) from error
    if not supported:
        raise ConfigError(
            f"{name} cannot be computed with what is installed; see https://ir-measur.es for what it needs."
        )
    return measure


def _break_ties(scores: Mapping[str, float]) -> dict[str, float]:
    return _scored(sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True))


def _scored(doc_ids: Sequence[str]) -> dict[str, float]:
    return {doc_id: float(len(doc_ids) - position) for position, doc_id in enumerate(doc_ids)}
