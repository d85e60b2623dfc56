"""Means and costs of one evaluation, paired differences of two, and a study: many systems on the same queries."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

import numpy as np

from acqo_rl.errors import DataError
from acqo_rl.evaluation.run import Evaluation, QueryResult, searched_texts
from acqo_rl.evaluation.significance import Difference, paired_bootstrap
from acqo_rl.evaluation.systems import Evaluations, System
from acqo_rl.text import distinct

Part = Literal["reformulator", "retriever", "fusion"]
"""The parts of a system."""
TIMED = ("reformulation", "retrieval", "reranking")
"""The steps whose milliseconds are measured."""
EQUAL = 1e-9
"""Differences of a measure below this count as zero."""


QUANTITIES: dict[str, Callable[[QueryResult], float]] = {
    "sub_queries": lambda r: len(distinct(r.reformulation.sub_queries)),
    # Distinct texts searched, including the first search for feedback. ``searches`` counts them for each index.
    "texts": lambda r: len(searched_texts(r.reformulation)),
    "searches": lambda r: r.searches,
    "embedded": lambda r: r.embedded,
    "reranked": lambda r: r.reranked,
    "calls": lambda r: r.reformulation.calls,
    "tokens": lambda r: r.reformulation.tokens,
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
    helped: Difference
    hurt: Difference


def compare(system: Evaluation, baseline: Evaluation, measures: Sequence[str]) -> Comparison:
    """Paired differences of a system and a baseline; for the first measure also by kind.

    Raises:
        DataError: the two were evaluated on different queries.
    """
    if [*map(_id, system.results)] != [*map(_id, baseline.results)]:
        raise DataError(
            f"{system.name} ({len(system.results)} queries) and {baseline.name} ({len(baseline.results)} queries) "
            "cannot be compared in pairs: evaluate both on the same queries, in the same order."
        )
    gains = system.scores(measures[0]) - baseline.scores(measures[0])
    kinds = np.array([result.kind for result in system.results])
    return Comparison(
        system=system.name,
        baseline=baseline.name,
        differences={m: paired_bootstrap(system.scores(m) - baseline.scores(m)) for m in measures},
        by_kind={str(kind): paired_bootstrap(gains[kinds == kind]) for kind in np.unique(kinds) if kind},
        helped=paired_bootstrap(gains > EQUAL),
        hurt=paired_bootstrap(gains < -EQUAL),
    )


@dataclass(frozen=True, slots=True)
class Study:
    """The contents of a report.

    Attributes:
        evaluations: of every system on the queries as they are.
        variants: name of a robustness set -> evaluations on it.
        baseline: reformulator that the others are compared to.
        measures: the first one is the primary measure.
    """

    evaluations: Evaluations
    variants: Mapping[str, Evaluations]
    baseline: str
    measures: Sequence[str]

    @property
    def reference(self) -> System:
        """The baseline with the first retriever and the first fusion."""
        return replace(next(iter(self.evaluations)), reformulator=self.baseline)

    @property
    def one_path(self) -> bool:
        """Whether all systems share retriever and fusion."""
        return len({(system.retriever, system.fusion) for system in self.evaluations}) == 1

    def name(self, system: System) -> str:
        """The reformulator if all systems share retriever and fusion, else all three names."""
        return system.reformulator if self.one_path else system.name

    def with_same_retrieval(self) -> list[Evaluation]:
        """The reference, then the other systems with its retriever and fusion; named by their reformulators."""
        systems = [
            replace(self.reference, reformulator=name)
            for name in dict.fromkeys([self.baseline, *(system.reformulator for system in self.evaluations)])
        ]
        return [replace(self.evaluations[s], name=s.reformulator) for s in systems if s in self.evaluations]

    def comparisons(self, part: Part = "reformulator") -> dict[System, Comparison]:
        """Compares every system with the one that differs in this part only: it has that of the reference."""
        first = getattr(self.reference, part)
        named = {system: replace(e, name=self.name(system)) for system, e in self.evaluations.items()}
        pairs = {s: replace(s, **{part: first}) for s in named if getattr(s, part) != first}
        return {s: compare(named[s], named[other], self.measures) for s, other in pairs.items() if other in named}


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


def _id(result: QueryResult) -> str:
    return result.reformulation.query.id


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
