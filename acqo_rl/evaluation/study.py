"""A study: many systems on the same queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.summary import Comparison, compare
from acqo_rl.evaluation.systems import Evaluations, System
from acqo_rl.types import Route

FITTING: dict[str, Route] = {"simple": "pass", "ambiguous": "disambiguate", "compound": "decompose"}
"""Kind of query -> the route that it needs."""


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

    def comparisons(self) -> dict[System, Comparison]:
        """Compares every system with the baseline that has the same retriever and fusion."""
        named = {system: replace(e, name=self.name(system)) for system, e in self.evaluations.items()}
        pairs = {s: replace(s, reformulator=self.baseline) for s in named if s.reformulator != self.baseline}
        return {s: compare(named[s], named[other], self.measures) for s, other in pairs.items() if other in named}
