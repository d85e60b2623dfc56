"""A comparison of many systems: which differs from which, and is it more than luck?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acqo_rl.evaluation.compare import Comparison, compare
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import holm
from acqo_rl.evaluation.systems import Evaluations, System

ALPHA = 0.05
"""A corrected p-value below it is marked."""

Axis = Literal["reformulator", "retriever", "fusion"]


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that a report on several systems is written from.

    Attributes:
        evaluations: of every system on the queries as they are.
        variants: name of a robustness set -> evaluations on it.
        baseline: reformulator that the others are compared to.
        measures: the first one decides what helps and hurts.
    """

    evaluations: Evaluations
    variants: Mapping[str, Evaluations]
    baseline: str
    measures: Sequence[str]

    @property
    def reference(self) -> System:
        """The baseline with the first retriever and the first fusion."""
        return replace(next(iter(self.evaluations)), reformulator=self.baseline)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A system against one that differs in one part.

    Attributes:
        system: what is compared.
        against: the other one.
        comparison: differences of the queries, system minus the other one.
        corrected: measure -> p-value, corrected for all contrasts that were made with this one.
    """

    system: System
    against: System
    comparison: Comparison
    corrected: Mapping[str, float]

    def mark(self, measure: str) -> str:
        """An arrow up or down where the corrected p-value is below 0.05, else nothing."""
        if self.corrected[measure] >= ALPHA:
            return ""
        return "▲" if self.comparison.differences[measure].mean > 0 else "▼"


def contrasts(evaluations: Evaluations, axis: Axis, baseline: str, measures: Sequence[str]) -> list[Contrast]:
    """Every system against the one that has the baseline on one axis and all else alike, where there is one.

    P-values of a measure are corrected by Holm's method over all of these.
    """
    pairs = [(s, replace(s, **{axis: baseline})) for s in evaluations if getattr(s, axis) != baseline]
    pairs = [(system, against) for system, against in pairs if against in evaluations]
    comparisons = [compare(evaluations[system], evaluations[against], measures) for system, against in pairs]
    corrected = {m: holm([comparison.differences[m].p for comparison in comparisons]) for m in measures}
    return [
        Contrast(*pair, comparison, {m: corrected[m][position] for m in measures})
        for position, (pair, comparison) in enumerate(zip(pairs, comparisons, strict=True))
    ]


def beside(evaluations: Evaluations, reference: System) -> list[Evaluation]:
    """The reference and the systems with its retriever and fusion, named by their reformulators; it comes first."""
    names = dict.fromkeys([reference.reformulator, *(system.reformulator for system in evaluations)])
    systems = [replace(reference, reformulator=name) for name in names]
    return [replace(evaluations[s], name=s.reformulator) for s in systems if s in evaluations]
