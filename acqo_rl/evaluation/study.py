"""A study: many systems on the same queries, with corrected significance, groups of queries and routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import holm
from acqo_rl.evaluation.summary import Comparison, compare
from acqo_rl.evaluation.systems import Evaluations, System
from acqo_rl.types import Route

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

    def comparisons(
        self, axis: Axis = "reformulator", measures: Sequence[str] | None = None
    ) -> dict[System, Comparison]:
        """Compares every system with the one that has the reference's value on an axis and is otherwise equal.

        The p-values of a measure are corrected by Holm's method over these comparisons.
        """
        first = getattr(self.reference, axis)
        pairs = {s: replace(s, **{axis: first}) for s in self.evaluations if getattr(s, axis) != first}
        known = {system: against for system, against in pairs.items() if against in self.evaluations}
        return self._comparisons(known, measures or self.measures)

    def against_reference(self) -> dict[System, Comparison]:
        """Compares every other system with the reference in the first measure, corrected over all of them."""
        others = (system for system in self.evaluations if system != self.reference)
        return self._comparisons(dict.fromkeys(others, self.reference), self.measures[:1])

    def _comparisons(self, pairs: Mapping[System, System], measures: Sequence[str]) -> dict[System, Comparison]:
        named = {system: replace(e, name=self.name(system)) for system, e in self.evaluations.items()}
        found = [compare(named[system], named[against], measures) for system, against in pairs.items()]
        corrected = {m: holm([comparison.differences[m].p for comparison in found]) for m in measures}
        return {
            system: replace(comparison, corrected={m: corrected[m][position] for m in measures})
            for position, (system, comparison) in enumerate(zip(pairs, found, strict=True))
        }
