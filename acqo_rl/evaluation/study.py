"""A study: many systems on the same queries, with corrected significance, groups of queries and routes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.evaluation.significance import Difference, holm, mean_difference
from acqo_rl.evaluation.summary import Comparison, NonInferiorityResult, compare, non_inferiority_of
from acqo_rl.evaluation.systems import Evaluations, System
from acqo_rl.types import Route

ALPHA = 0.05
"""Results with a corrected p-value below it are marked."""

FITTING: dict[str, Route] = {"simple": "pass", "ambiguous": "disambiguate", "compound": "decompose"}
"""Kind of query -> the route that it needs."""

FOLDS = 5
"""Number of folds of the cross-validation of a choice."""

Axis = Literal["reformulator", "retriever", "fusion"]


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A system compared with another one.

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
        names = dict.fromkeys([self.baseline, *(system.reformulator for system in self.evaluations)])
        systems = [replace(self.reference, reformulator=name) for name in names]
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

    def _comparisons(self, pairs: Sequence[tuple[System, System]], measures: Sequence[str]) -> list[PairedComparison]:
        comparisons = [compare(self.evaluations[s], self.evaluations[against], measures) for s, against in pairs]
        corrected = {m: holm([comparison.differences[m].p for comparison in comparisons]) for m in measures}
        return [
            PairedComparison(*pair, comparison, {m: corrected[m][position] for m in measures})
            for position, (pair, comparison) in enumerate(zip(pairs, comparisons, strict=True))
        ]


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
    results = tuple(replace(r, kind=groups[r.reformulation.query.id]) for r in evaluation.results)
    return replace(evaluation, results=results)


@dataclass(frozen=True, slots=True)
class Choice:
    """The system with the highest mean of the first measure.

    Attributes:
        system: its name.
        gain: its difference to the reference on the queries that chose it, which overestimates the gain.
        unseen: the same by cross-validation: each fold is measured with the choice of the other folds.
    """

    system: str
    gain: Difference
    unseen: Difference


def choose(study: Study, seed: int = 0) -> Choice:
    """Chooses among all systems, the reference among them, and estimates the gain on queries that were not used.

    Args:
        study: at least two systems.
        seed: of the folds.
    """
    measure, systems = study.measures[0], list(study.evaluations)
    table = np.array([study.evaluations[system].scores(measure) for system in systems])
    first, best = systems.index(study.reference), int(table.mean(axis=1).argmax())
    fold = np.random.default_rng(seed).permutation(np.arange(table.shape[1]) % FOLDS)
    unseen = table[first].copy()
    for number in range(min(FOLDS, table.shape[1])):
        others = fold != number
        chosen = int(table[:, others].mean(axis=1).argmax()) if others.any() else first
        unseen[~others] = table[chosen, ~others]
    gain, estimate = (mean_difference(after - table[first]) for after in (table[best], unseen))
    return Choice(study.name(systems[best]), gain, estimate)


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


def confusions_of(evaluation: Evaluation, others: Sequence[Evaluation], measure: str) -> list[Confusion]:
    """The wrong routes of a system and what they cost.

    Args:
        evaluation: the system whose routes are judged.
        others: systems on the same queries with the same retriever and fusion. They show what the fitting route finds.
        measure: of the loss.
    """
    fitting: dict[str, list[QueryResult]] = defaultdict(list)
    for result in (result for other in others for result in other.results):
        if FITTING.get(result.kind) == result.reformulation.route:
            fitting[result.reformulation.query.id].append(result)
    wrong: dict[tuple[str, str], list[QueryResult]] = defaultdict(list)
    for result in evaluation.results:
        if result.kind in FITTING and result.reformulation.route != FITTING[result.kind]:
            wrong[result.kind, result.reformulation.route].append(result)
    confusions = []
    for (kind, route), results in sorted(wrong.items()):
        pairs = [(result, right) for result in results if (right := fitting[result.reformulation.query.id])]
        lost = [_mean([r.measures[measure] for r in right]) - result.measures[measure] for result, right in pairs]
        wasted = [result.searches - _mean([r.searches for r in right]) for result, right in pairs]
        costs = (_mean(lost), _mean(wasted)) if pairs else (None, None)
        confusions.append(Confusion(kind, route, len(results), len(pairs), *costs))
    return confusions


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
