"""A study: many systems on the same queries, with corrected significance, groups of queries and routes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.evaluation.significance import holm
from acqo_rl.evaluation.summary import Comparison, NonInferiorityResult, compare, cost_of, non_inferiority_of
from acqo_rl.evaluation.systems import Evaluations, System
from acqo_rl.types import Route

ALPHA = 0.05
"""Results with a corrected p-value below it are marked."""

FITTING: dict[str, Route] = {"simple": "pass", "ambiguous": "disambiguate", "compound": "decompose"}
"""Kind of query -> the route that it needs."""

Axis = Literal["reformulator", "retriever", "fusion"]


@dataclass(frozen=True, slots=True)
class Study:
    """The contents of a report.

    Attributes:
        evaluations: of every system on the queries as they are.
        variants: name of a robustness set -> evaluations on it.
        baseline: reformulator that the others are compared to.
        measures: the first one is the primary measure.
        gold: query id -> gold answers; ``None`` if no answer is known.
    """

    evaluations: Evaluations
    variants: Mapping[str, Evaluations]
    baseline: str
    measures: Sequence[str]
    gold: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)

    @property
    def reference(self) -> System:
        """The baseline with the first retriever and the first fusion."""
        return replace(next(iter(self.evaluations)), reformulator=self.baseline)

    def name(self, system: System) -> str:
        """The reformulator if all systems share retriever and fusion, else all three names."""
        return system.reformulator if self.varies_alone("reformulator") else system.name

    def varies_alone(self, axis: Axis) -> bool:
        """Whether the systems differ in nothing but this axis."""
        others = [{**_axes(system), axis: ""} for system in self.evaluations]
        return all(other == others[0] for other in others)

    def with_same_retrieval(self, reference: System | None = None) -> list[Evaluation]:
        """The reference, then the other systems with its retriever and fusion; named by their reformulators."""
        reference = reference or self.reference
        names = dict.fromkeys([reference.reformulator, *(system.reformulator for system in self.evaluations)])
        systems = [replace(reference, reformulator=name) for name in names]
        return [replace(self.evaluations[s], name=s.reformulator) for s in systems if s in self.evaluations]

    def comparisons(self, axis: Axis = "reformulator", measures: Sequence[str] | None = None) -> list[PairedComparison]:
        """Compares every system with the one that has the reference's value on an axis and is otherwise equal.

        The p-values of a measure are corrected by Holm's method over these comparisons.
        """
        first = getattr(self.reference, axis)
        pairs = [(s, replace(s, **{axis: first})) for s in self.evaluations if getattr(s, axis) != first]
        return self._comparisons([pair for pair in pairs if pair[1] in self.evaluations], measures or self.measures)

    def against_reference(self) -> list[PairedComparison]:
        """Compares every other system with the reference in the first measure, corrected over all of them."""
        pairs = [(system, self.reference) for system in self.evaluations if system != self.reference]
        return self._comparisons(pairs, self.measures[:1])

    def non_inferiority(self, margin: float) -> list[NonInferiorityResult]:
        """Tests whether each system loses at most ``margin`` of the first measure to the baseline."""
        named = {system: replace(one, name=self.name(system)) for system, one in self.evaluations.items()}
        pairs = [(gain.system, gain.against) for gain in self.comparisons(measures=self.measures[:1])]
        return [non_inferiority_of(named[system], named[to], self.measures[0], margin) for system, to in pairs]

    def failing(self) -> dict[str, float]:
        """Reformulators for which most completions could not be used, with the share."""
        shares = {system.reformulator: cost_of(one).problems for system, one in self.evaluations.items()}
        return {name: share for name, share in shares.items() if share > 0.5}

    def _comparisons(self, pairs: Sequence[tuple[System, System]], measures: Sequence[str]) -> list[PairedComparison]:
        comparisons = [compare(self.evaluations[s], self.evaluations[against], measures) for s, against in pairs]
        corrected = {m: holm([comparison.differences[m].p for comparison in comparisons]) for m in measures}
        return [
            PairedComparison(*pair, comparison, {m: corrected[m][position] for m in measures})
            for position, (pair, comparison) in enumerate(zip(pairs, comparisons, strict=True))
        ]


def _axes(system: System) -> dict[str, str]:
    return {"reformulator": system.reformulator, "retriever": system.retriever, "fusion": system.fusion}


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A system and another one.

    Attributes:
        system: the system.
        against: the other one.
        comparison: differences, system minus the other one.
        corrected: measure -> corrected p-value.
    """

    system: System
    against: System
    comparison: Comparison
    corrected: Mapping[str, float]

    def significant(self, measure: str) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.corrected[measure] < ALPHA


def difficulties(baseline: Evaluation, measure: str) -> dict[str, str]:
    """Query id -> third of the queries by the baseline's measure; the names sort from hard to easy.

    Queries with equal values are in the same third, so the thirds may differ in size, or there may be fewer.
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


def with_kinds(evaluation: Evaluation, groups: Mapping[str, str]) -> Evaluation:
    """The evaluation with another kind for each query; ``groups`` is query id -> kind."""
    return replace(
        evaluation,
        results=tuple(replace(r, kind=groups[r.reformulation.query.id]) for r in evaluation.results),
    )


@dataclass(frozen=True, slots=True)
class Confusion:
    """Queries of one kind on another route than they need.

    Attributes:
        kind: of the queries.
        route: the chosen route.
        queries: their number.
        compared: number of them that another system sent on the fitting route.
        lost: mean measure of those other systems, minus that of this one; ``None`` if there is nothing to compare.
        wasted: mean number of searches of this one, minus that of those others.
    """

    kind: str
    route: str
    queries: int
    compared: int
    lost: float | None
    wasted: float | None


@dataclass(frozen=True, slots=True)
class Routing:
    """Share of a reformulator's queries on the fitting route, and the others by kind and route."""

    accuracy: float
    queries: int
    confusions: tuple[Confusion, ...]


def routing_of(evaluation: Evaluation, others: Sequence[Evaluation], measure: str) -> Routing | None:
    """Accuracy of the routes, and the cost of each confusion.

    Args:
        evaluation: the system whose routes are judged.
        others: systems on the same queries with the same retriever and fusion. They show what the fitting route finds.
        measure: of the loss.

    Returns:
        ``None`` if no query has a kind of ``FITTING``.
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
