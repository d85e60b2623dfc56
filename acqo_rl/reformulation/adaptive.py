"""Chooses a strategy for each query by its query type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.classify import Classification, classify
from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, QueryType, Reformulation

BY_TYPE: dict[QueryType, str] = {
    "factual": "hyde",
    "how_to": "multi_query+step_back",
    "comparison": "decomposition",
    "debugging": "step_back",
    "conceptual": "step_back",
    "complex": "decomposition",
    "simple": "raw",
}
"""Query type -> default strategy; key words (``simple``) are searched as the raw query."""


class Adaptive(Reformulator):
    """Classifies a batch of queries, then calls each chosen reformulator once.

    Attributes:
        feedback: the longest feedback that one of them reads.
    """

    name = "adaptive"

    def __init__(
        self,
        reformulators: Mapping[str, Reformulator],
        *,
        by_type: Mapping[QueryType, str] = BY_TYPE,
        classifier: Callable[[Sequence[Query]], list[Classification]] | None = None,
        forced: str | None = None,
    ) -> None:
        """Creates the reformulator.

        Args:
            reformulators: strategy name -> reformulator.
            by_type: query type -> strategy name.
            classifier: classifies a batch; by default the rules.
            forced: strategy name for all queries, whatever their type.

        Raises:
            ConfigError: ``forced`` or ``by_type`` names an unknown strategy, or a type has no strategy.
        """
        if forced is None and (missing := [t for t in BY_TYPE if t not in by_type]):
            raise ConfigError(f"There is no strategy for {', '.join(missing)} queries; give one for every type.")
        for strategy in [forced] if forced is not None else by_type.values():
            if strategy not in reformulators:
                raise ConfigError(f"Unknown strategy {strategy!r}; choose one of {', '.join(reformulators)}.")
        used = {forced} if forced is not None else set(by_type.values())
        self.feedback = max((reformulators[name].feedback for name in used), key=attrgetter("results", "words"))
        self._reformulators = reformulators
        self._by_type = by_type
        self._classifier = classifier or (lambda queries: [classify(query) for query in queries])
        self._forced = forced

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; ``reasoning`` names the strategy and the query type."""
        classified = self._classifier(queries)
        chosen = [self._forced or self._by_type[c.query_type] for c in classified]
        answers: dict[int, Reformulation] = {}
        for strategy in dict.fromkeys(chosen):
            places = [i for i, name in enumerate(chosen) if name == strategy]
            made = self._reformulators[strategy].reformulate([queries[i] for i in places])
            answers |= dict(zip(places, made, strict=True))
        return [
            _with_classification(answers[i], c, strategy, self.name)
            for i, (c, strategy) in enumerate(zip(classified, chosen, strict=True))
        ]


def _with_classification(answer: Reformulation, classified: Classification, strategy: str, name: str) -> Reformulation:
    problems = [problem for problem in (classified.problem, answer.problem) if problem]
    return replace(
        answer,
        made_by=name,
        tokens=answer.tokens + classified.tokens,
        calls=answer.calls + classified.calls,
        failed_calls=answer.failed_calls + classified.failed_calls,
        problem="; ".join(problems) or None,
        query_type=classified.query_type,
        reasoning=f"Selected {strategy} for {classified.query_type} query",
    )
