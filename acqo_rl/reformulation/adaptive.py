"""Chooses a strategy for each query by its query type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.classify import Classifier
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
"""Query type -> default strategy; key words (``simple``) and unsure types are searched as the raw query."""


class Adaptive(Reformulator):
    """Classifies a batch of queries, then calls each chosen reformulator once.

    Attributes:
        feedback: the longest feedback that one of them reads.
        retry_below: the threshold that all of them have, if any.
    """

    name = "adaptive"

    def __init__(
        self,
        reformulators: Mapping[str, Reformulator],
        *,
        by_type: Mapping[QueryType, str] = BY_TYPE,
        classifier: Reformulator | None = None,
    ) -> None:
        """Creates the reformulator.

        Args:
            reformulators: strategy name -> reformulator.
            by_type: query type -> strategy name.
            classifier: sets the query type of each query; by default the trained one.

        Raises:
            ConfigError: a type has no strategy, or an unknown one.
        """
        if missing := [t for t in BY_TYPE if by_type.get(t) not in reformulators]:
            raise ConfigError(
                f"The strategy for {missing[0]} queries is {by_type.get(missing[0])!r}; choose one of "
                f"{', '.join(reformulators)}."
            )
        used = [reformulators[name] for name in by_type.values()]
        self.feedback = max((one.feedback for one in used), key=attrgetter("results", "words"))
        below, *others = {one.retry_below for one in used}
        self.retry_below = None if others else below
        self._reformulators = reformulators
        self._by_type = by_type
        self._classifier = classifier or Classifier()

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; ``reasoning`` names the strategy and the query type."""
        classified = self._classifier.reformulate(queries)
        chosen = [self._by_type[one.query_type or "simple"] for one in classified]
        answers: dict[int, Reformulation] = {}
        for strategy in dict.fromkeys(chosen):
            places = [i for i, name in enumerate(chosen) if name == strategy]
            made = self._reformulators[strategy].reformulate([queries[i] for i in places])
            answers |= dict(zip(places, made, strict=True))
        return [
            replace(
                _with_costs(answers[i], one),
                query_type=one.query_type,
                reasoning=f"Selected {strategy} for {one.query_type or 'unsure'} query",
            )
            for i, (one, strategy) in enumerate(zip(classified, chosen, strict=True))
        ]


def _with_costs(answer: Reformulation, before: Reformulation) -> Reformulation:
    """A reformulation with the costs and problems of the one made before it."""
    return replace(
        answer,
        completion=answer.completion or before.completion,
        tokens=before.tokens + answer.tokens,
        calls=before.calls + answer.calls,
        failed_calls=before.failed_calls + answer.failed_calls,
        problem="; ".join(filter(None, (before.problem, answer.problem))) or None,
    )
