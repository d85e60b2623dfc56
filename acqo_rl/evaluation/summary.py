"""Means and costs of one evaluation, and paired differences of two."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from acqo_rl.errors import DataError
from acqo_rl.evaluation.run import Evaluation, QueryResult, searched_texts
from acqo_rl.evaluation.significance import (
    Difference,
    NonInferiority,
    mean_difference,
    non_inferiority,
    paired_bootstrap,
)
from acqo_rl.text import distinct, normalised
from acqo_rl.types import Reformulation

TIMED = ("reformulation", "retrieval", "reranking")
"""The steps whose milliseconds are measured."""
EQUAL = 1e-9
"""Differences of a measure below this count as zero."""
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


QUANTITIES: dict[str, Callable[[QueryResult], float]] = {
    "sub_queries": lambda r: len(distinct(r.reformulation.sub_queries)),
    # Distinct texts searched, including the first search for feedback. ``searches`` counts them for each index.
    "texts": lambda r: len(searched_texts(r.reformulation)),
    "searches": lambda r: r.searches,
    "embedded": lambda r: r.embedded,
    "reranked": lambda r: r.reranked,
    "calls": lambda r: r.reformulation.calls,
    "tokens": lambda r: r.reformulation.tokens,
    "copies": lambda r: _searches_raw_text(r),
    # The completion could not be used, so the raw query was searched.
    "problems": lambda r: r.reformulation.problem is not None and r.reformulation.route == "pass",
    **{f"{step}_ms": attrgetter(f"{step}_ms") for step in TIMED},
}
"""Quantity -> its value for one query. Report and files contain the means; of a yes or no, the share of queries."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of queries: their number, and the means of measures and ``QUANTITIES``."""

    queries: int
    measures: dict[str, float]
    quantities: dict[str, float]


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over the queries of one evaluation.

    Attributes:
        overall: all queries.
        by_kind: kind -> its queries, in alphabetical order.
        by_route: route that the reformulator chose -> its queries.
        confusion: kind -> route -> number of queries.
        ms: step, or ``all`` -> median and 95th percentile of the milliseconds, measured in batches.
    """

    overall: Group
    by_kind: dict[str, Group]
    by_route: dict[str, Group]
    confusion: dict[str, dict[str, int]]
    ms: dict[str, tuple[float, float]]


def summarise(evaluation: Evaluation) -> Summary:
    """Means over the queries of one evaluation."""
    results = evaluation.results
    by_kind = _grouped(results, lambda result: result.kind)
    by_route = _grouped(results, lambda result: result.reformulation.route)
    times = {step: np.array([QUANTITIES[f"{step}_ms"](result) for result in results]) for step in TIMED}
    times["all"] = np.sum(list(times.values()), axis=0)
    return Summary(
        overall=_group(results),
        by_kind={kind: _group(group) for kind, group in by_kind.items()},
        by_route={route: _group(group) for route, group in by_route.items()},
        confusion={kind: dict(Counter(r.reformulation.route for r in group)) for kind, group in by_kind.items()},
        ms={step: (float(np.median(ms)), float(np.percentile(ms, 95))) for step, ms in times.items()},
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """A system and a baseline on the same queries.

    Attributes:
        system: name of the system.
        baseline: name of the baseline.
        differences: measure -> mean paired difference.
        by_kind: kind -> mean paired difference of the first measure.
        helped: share of queries whose first measure is higher.
        hurt: share of queries whose first measure is lower.
    """

    system: str
    baseline: str
    differences: dict[str, Difference]
    by_kind: dict[str, Difference]
    helped: float
    hurt: float


@dataclass(frozen=True, slots=True)
class Change:
    """One query with the baseline and with the system, and the gain in one measure."""

    before: QueryResult
    after: QueryResult
    gain: float


def changes_of(system: Evaluation, baseline: Evaluation, measure: str) -> list[Change]:
    """The change of each query.

    Raises:
        DataError: the two were evaluated on different queries.
    """
    if [*map(_id, system.results)] != [*map(_id, baseline.results)]:
        raise DataError(
            f"{system.name} ({len(system.results)} queries) and {baseline.name} ({len(baseline.results)} queries) "
            "cannot be compared in pairs: evaluate both on the same queries, in the same order."
        )
    return [
        Change(before, after, after.measures[measure] - before.measures[measure])
        for before, after in zip(baseline.results, system.results, strict=True)
    ]


def compare(system: Evaluation, baseline: Evaluation, measures: Sequence[str]) -> Comparison:
    """Paired differences of a system and a baseline; for the first measure also by kind.

    Raises:
        DataError: the two were evaluated on different queries.
    """
    changes = changes_of(system, baseline, measures[0])
    kinds = sorted({change.after.kind for change in changes if change.after.kind})
    return Comparison(
        system=system.name,
        baseline=baseline.name,
        differences={m: paired_bootstrap(baseline.scores(m), system.scores(m)) for m in measures},
        by_kind={kind: mean_difference([c.gain for c in changes if c.after.kind == kind]) for kind in kinds},
        helped=_mean([change.gain > EQUAL for change in changes]),
        hurt=_mean([change.gain < -EQUAL for change in changes]),
    )


@dataclass(frozen=True, slots=True)
class NonInferiorityResult:
    """Whether a system can replace another one, such as a model with 8-bit weights the original.

    Attributes:
        system: name of the system.
        baseline: name of the system that it replaces.
        measure: of the test.
        test: paired test of non-inferiority.
        unchanged: share of queries with the same searches.
    """

    system: str
    baseline: str
    measure: str
    test: NonInferiority
    unchanged: float

    def __str__(self) -> str:
        verdict = "is excluded" if self.test.shown else "is not excluded"
        return (
            f"{self.system} against {self.baseline}, {self.measure}: the mean difference is {self.test.mean:+.4f} over"
            f" {self.test.queries} queries, and above {self.test.bound:+.4f} with 95 % confidence. A loss of more than"
            f" {self.test.margin:g} {verdict}. The searches of {self.unchanged:.1%} of the queries are the same."
        )


def non_inferiority_of(system: Evaluation, baseline: Evaluation, measure: str, margin: float) -> NonInferiorityResult:
    """Tests whether a system loses at most ``margin`` of a measure against the system that it replaces.

    Raises:
        DataError: the two were evaluated on different queries.
    """
    changes = changes_of(system, baseline, measure)
    test = non_inferiority(baseline.scores(measure), system.scores(measure), margin)
    unchanged = _mean([c.before.reformulation.sub_queries == c.after.reformulation.sub_queries for c in changes])
    return NonInferiorityResult(system.name, baseline.name, measure, test, unchanged)


def commonest_problems(evaluation: Evaluation, most: int = 3) -> list[tuple[str, int]]:
    """The most frequent problems, with the number of queries."""
    found = Counter(_reason(r.reformulation) for r in evaluation.results if r.reformulation.problem is not None)
    return found.most_common(most)


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Positions of the points (cost, quality) on the Pareto front, by rising cost.

    A point is not on the front if another one costs no more and is no worse, and is cheaper or better.
    """
    front: list[int] = []
    best = -np.inf
    for position in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        quality = points[position][1]
        if quality > best or (front and points[front[-1]] == points[position]):
            front.append(position)
            best = quality
    return front


def _reason(reformulation: Reformulation) -> str:
    """The problem, without quoted completions, which differ from query to query."""
    problem = reformulation.problem or ""
    return problem if reformulation.failed_calls else _QUOTED.sub("…", problem)


def _group(results: Sequence[QueryResult]) -> Group:
    return Group(
        queries=len(results),
        measures={measure: _mean([result.measures[measure] for result in results]) for measure in results[0].measures},
        quantities={name: _mean([value(result) for result in results]) for name, value in QUANTITIES.items()},
    )


def _grouped(results: Sequence[QueryResult], name_of: Callable[[QueryResult], str]) -> dict[str, list[QueryResult]]:
    """Name -> results, in alphabetical order, without those that have no name."""
    names = sorted({name for result in results if (name := name_of(result))})
    return {name: [result for result in results if name_of(result) == name] for name in names}


def _searches_raw_text(result: QueryResult) -> bool:
    raw = normalised(result.reformulation.query.text)
    return any(normalised(sub_query.text) == raw for sub_query in result.reformulation.sub_queries)


def _id(result: QueryResult) -> str:
    return result.reformulation.query.id


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
