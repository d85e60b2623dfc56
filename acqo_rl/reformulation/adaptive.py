"""Chooses a strategy for each query by its query type, which a trained classifier or a language model determines."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import get_args

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.structured import fields, one_of, problem_of, read_reply
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.prompted import ask, complete
from acqo_rl.reformulation.query_types import query_type_of
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.types import Query, QueryType, Reformulation

BY_TYPE: dict[QueryType, str] = {
    "factual": "hyde",
    "how_to": "multi_query+step_back",
    "comparison": "decomposition",
    "debugging": "step_back",
    "conceptual": "step_back",
    "complex": "multi_query+hyde",
    "simple": "raw",
}
"""Query type -> default strategy; key words (``simple``) and unsure types are searched as the raw query."""

_TYPE = fields(type=one_of(*get_args(QueryType)))
_TASK = """\
What kind of question is the last one? Reply with its type, as JSON:
factual - asks for a fact
how_to - asks for steps
comparison - weighs things against each other
debugging - something fails
conceptual - asks why, or for an explanation
complex - asks several things
simple - key words only"""

_EXAMPLES = {
    "Question: Who painted Guernica?": {"type": "factual"},
    "Question: Explain how vaccines work": {"type": "conceptual"},
    "Question: What is the difference between TCP and UDP?": {"type": "comparison"},
}

PROMPT = repr((_TASK, _EXAMPLES, _TYPE.model_json_schema()))
"""The prompt for the query type, for cache keys."""


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
        self._reformulators = reformulators
        self._by_type = by_type
        self._classifier = classifier or Classifier()
        self.max_calls = self._classifier.max_calls + max(one.max_calls for one in used)

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; ``reasoning`` names the strategy and the query type."""
        classified = self._classifier.reformulate(queries)
        chosen = [self._by_type[one.query_type or "simple"] for one in classified]
        answers: dict[int, Reformulation] = {}
        for strategy in dict.fromkeys(chosen):
            places = [i for i, name in enumerate(chosen) if name == strategy]
            made = self._reformulators[strategy].reformulate([queries[i] for i in places])
            answers |= dict(zip(places, made, strict=True))
        in_order = (answers[i] for i in range(len(queries)))
        return [
            replace(
                answer,
                completion=answer.completion or one.completion,
                tokens=one.tokens + answer.tokens,
                calls=one.calls + answer.calls,
                failed_calls=one.failed_calls + answer.failed_calls,
                problem="; ".join(filter(None, (one.problem, answer.problem))) or None,
                query_type=one.query_type,
                reasoning=f"Selected {strategy} for {one.query_type or 'unsure'} query",
            )
            for one, strategy, answer in zip(classified, chosen, in_order, strict=True)
        ]


class Classifier(Reformulator):
    """Passes every query, with its query type."""

    name = "classifier"

    def __init__(self, model: LanguageModel | None = None) -> None:
        """Creates the classifier; without a model, or if its reply cannot be read, the trained classifier answers."""
        self._model = model
        self.max_calls = int(model is not None)

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, from at most one batched model call."""
        types = [query_type_of(query.text, query.history) for query in queries]
        passed = [replace(pass_through(q, self.name), query_type=t) for q, t in zip(queries, types, strict=True)]
        if self._model is None or not queries:
            return passed
        completions = complete(self._model, [ask(_TASK, _EXAMPLES, query) for query in queries], _TYPE)
        replies = [read_reply(completion, _TYPE) for completion in completions]
        return [
            replace(
                one,
                query_type=reply["type"] if reply else one.query_type,
                calls=1,
                failed_calls=int(completion.problem is not None),
                tokens=completion.tokens,
                problem=None if reply else f"classifier: {problem_of(completion)}; the trained classifier answered",
            )
            for one, completion, reply in zip(passed, completions, replies, strict=True)
        ]
