"""Does a reformulator choose the route that a kind of query needs, and what does a wrong one cost?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.types import Route

FITTING: dict[str, Route] = {"simple": "pass", "ambiguous": "disambiguate", "compound": "decompose"}
"""Kind of query -> the route that it needs."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """Queries of one kind that were sent on another route than they need.

    Attributes:
        kind: of the queries.
        route: that was chosen.
        queries: number of them.
        compared: how many of them another system sent on the fitting route.
        lost: mean measure of those other systems, minus this one's; ``None`` where there is none to compare with.
        wasted: mean number of searches, minus that of those others.
    """

    kind: str
    route: str
    queries: int
    compared: int
    lost: float | None
    wasted: float | None


@dataclass(frozen=True, slots=True)
class Routing:
    """Of one reformulator: share of queries on the fitting route, and each confusion."""

    accuracy: float
    queries: int
    confusions: tuple[Confusion, ...]


def routing_of(evaluation: Evaluation, others: Sequence[Evaluation], measure: str) -> Routing | None:
    """Accuracy of the route and the cost of every confusion.

    Args:
        evaluation: whose routes are judged.
        others: of the same queries with the same retriever and fusion; what the fitting route would have given is
            read from those that took it.
        measure: what is lost.

    Returns:
        ``None`` if no query is of a kind that says which route it needs.
    """
    judged = [result for result in evaluation.results if result.kind in FITTING]
    if not judged:
        return None
    fitting: dict[str, list[QueryResult]] = defaultdict(list)
    for other in others:
        for result in other.results:
            if FITTING.get(result.kind) == result.reformulation.route:
                fitting[result.reformulation.query.id].append(result)
    wrong: dict[tuple[str, str], list[QueryResult]] = defaultdict(list)
    for result in judged:
        if result.reformulation.route != FITTING[result.kind]:
            wrong[result.kind, result.reformulation.route].append(result)
    confusions = [_confusion(*chosen, results, fitting, measure) for chosen, results in sorted(wrong.items())]
    right = len(judged) - sum(confusion.queries for confusion in confusions)
    return Routing(right / len(judged), len(judged), tuple(confusions))


def _confusion(
    kind: str, route: str, results: Sequence[QueryResult], fitting: dict[str, list[QueryResult]], measure: str
) -> Confusion:
    pairs = [(result, fitting[result.reformulation.query.id]) for result in results]
    pairs = [(result, right) for result, right in pairs if right]
    lost = [_mean([r.measures[measure] for r in right]) - result.measures[measure] for result, right in pairs]
    wasted = [result.searches - _mean([r.searches for r in right]) for result, right in pairs]
    return Confusion(
        kind, route, len(results), len(pairs), _mean(lost) if pairs else None, _mean(wasted) if pairs else None
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
