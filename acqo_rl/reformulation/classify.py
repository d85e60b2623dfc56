"""Query types, from the trained classifier or from a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from acqo_rl.language_models.structured import fields, one_of, problem_of, read_reply
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.prompted import complete
from acqo_rl.reformulation.query_types import query_type_of
from acqo_rl.reformulation.strategies import ask
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.types import Completion, Query, QueryType, Reformulation

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

PROMPT = repr((_TASK, _EXAMPLES, _TYPE))
"""The prompt for the query type, for cache keys."""


class Classifier(Reformulator):
    """Passes every query, with its query type."""

    name = "classifier"

    def __init__(self, model: LanguageModel | None = None) -> None:
        """Creates the classifier; without a model, or if its reply cannot be read, the trained classifier answers."""
        self._model = model

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, from at most one batched model call."""
        passed = [replace(pass_through(query, self.name), query_type=query_type_of(query.text)) for query in queries]
        if self._model is None or not queries:
            return passed
        completions = complete(self._model, [ask(_TASK, _EXAMPLES, query) for query in queries], _TYPE)
        return [_with_type(*pair) for pair in zip(passed, completions, strict=True)]


def _with_type(passed: Reformulation, completion: Completion) -> Reformulation:
    reply = read_reply(completion, _TYPE)
    return replace(
        passed,
        query_type=reply["type"] if reply else passed.query_type,
        calls=1,
        failed_calls=int(completion.problem is not None),
        tokens=completion.tokens,
        problem=None if reply else f"classifier: {problem_of(completion)}; the trained classifier answered",
    )
