"""What a system costs a query, and which systems nobody beats at their price."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.types import Reformulation

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one query.

    Attributes:
        calls: mean number of calls of a language model.
        tokens: mean number of tokens that it wrote.
        embedded: mean number of texts embedded.
        searches: mean number of searches, a first search for feedback included.
        ms: mean milliseconds, reformulation and retrieval together.
        ms_p95: 95th percentile of them.
        reformulation_p50: median milliseconds of the reformulation.
        reformulation_p95: 95th percentile of them.
        retrieval_p50: median milliseconds of the retrieval.
        retrieval_p95: 95th percentile of them.
        problems: share of queries whose completion could not be used, so that the raw query was searched.
    """

    calls: float
    tokens: float
    embedded: float
    searches: float
    ms: float
    ms_p95: float
    reformulation_p50: float
    reformulation_p95: float
    retrieval_p50: float
    retrieval_p95: float
    problems: float


def cost_of(evaluation: Evaluation) -> Cost:
    """Means and percentiles over the queries of an evaluation."""
    results = evaluation.results
    reformulation = np.array([result.reformulation_ms for result in results])
    retrieval = np.array([result.retrieval_ms for result in results])
    return Cost(
        calls=float(np.mean([result.reformulation.calls for result in results])),
        tokens=float(np.mean([result.reformulation.tokens for result in results])),
        embedded=float(np.mean([result.embedded for result in results])),
        searches=float(np.mean([result.searches for result in results])),
        ms=float(np.mean(reformulation + retrieval)),
        ms_p95=float(np.percentile(reformulation + retrieval, 95)),
        reformulation_p50=float(np.percentile(reformulation, 50)),
        reformulation_p95=float(np.percentile(reformulation, 95)),
        retrieval_p50=float(np.percentile(retrieval, 50)),
        retrieval_p95=float(np.percentile(retrieval, 95)),
        problems=float(np.mean([fell_back(result.reformulation) for result in results])),
    )


def commonest_problems(evaluation: Evaluation, most: int = 3) -> list[tuple[str, int]]:
    """What most often failed or could not be used, in the whole or in a part, with the number of queries."""
    found = Counter(_reason(r.reformulation) for r in evaluation.results if r.reformulation.problem is not None)
    return found.most_common(most)


def fell_back(reformulation: Reformulation) -> bool:
    """Whether the raw query was searched because nothing else could be; a part of a combination may well have."""
    return reformulation.problem is not None and reformulation.route == "pass"


def _reason(reformulation: Reformulation) -> str:
    """The problem as a server told it, or without what the model wrote, which differs from query to query."""
    problem = reformulation.problem or ""
    return problem if reformulation.failed_calls else _QUOTED.sub("…", problem)


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Positions of the (cost, quality) that no other point beats, by rising cost.

    A point is beaten by one that costs no more and is no worse, and is cheaper or better.
    """
    front: list[int] = []
    best = -np.inf
    for position in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        quality = points[position][1]
        if quality > best or (front and points[front[-1]] == points[position]):
            front.append(position)
            best = quality
    return front
