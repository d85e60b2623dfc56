"""Queries by type and by difficulty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.reformulation.query_types import query_type_of
from acqo_rl.types import Query


def query_types(queries: Sequence[Query], metadata: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Query id -> ``kind`` of the data set's metadata, else the type that the rules take it for."""
    return {query.id: str(metadata.get(query.id, {}).get("kind") or query_type_of(query.text)) for query in queries}


def difficulties(baseline: Evaluation, measure: str) -> dict[str, str]:
    """Query id -> its third by the baseline's measure, named so that the hardest comes first in alphabetical order.

    Queries of equal value stay together, so the thirds are as equal as ties allow, and there may be fewer than three.
    """
    values = baseline.scores(measure)
    ordered = sorted(values)
    steps = [i for i in range(1, len(ordered)) if ordered[i] > ordered[i - 1]]
    if not steps:
        return {result.reformulation.query.id: "all alike" for result in baseline.results}
    low, high = (float(ordered[min(steps, key=lambda i: abs(i - share * len(ordered)))]) for share in (1 / 3, 2 / 3))
    names = (
        f"1 hard ({measure} < {low:.3f})",
        f"2 medium ({low:.3f} to {high:.3f})",
        f"3 easy ({measure} >= {high:.3f})",
    )
    return {
        result.reformulation.query.id: names[int(value >= low) + int(value >= high)]
        for result, value in zip(baseline.results, values, strict=True)
    }


def regroup(evaluation: Evaluation, groups: Mapping[str, str]) -> Evaluation:
    """The evaluation with another kind for each query.

    Args:
        evaluation: results of queries.
        groups: query id -> kind.
    """
    return replace(
        evaluation,
        results=tuple(replace(r, kind=groups[r.reformulation.query.id]) for r in evaluation.results),
    )
