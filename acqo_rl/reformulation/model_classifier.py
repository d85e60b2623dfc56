"""Classification by a language model; if it fails, the classification by rules is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from acqo_rl.language_models.structured import fields, one_of, problem_of, read_reply
from acqo_rl.reformulation.classify import Classification, classify
from acqo_rl.reformulation.strategies import ask
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion, Query, QueryType

VERSION = "3"
"""Must be increased whenever a prompt or its schema changes."""

_TYPE = fields(type=one_of(*get_args(QueryType)))
_TYPES = """\
What kind of question is the last one? Reply with its type, as JSON:
factual - asks for a fact
how_to - asks for steps
comparison - weighs things against each other
debugging - something fails
conceptual - asks why, or for an explanation
complex - asks several things
simple - key words only"""

_TYPE_EXAMPLES = {
    "Question: Who painted Guernica?": {"type": "factual"},
    "Question: Explain how vaccines work": {"type": "conceptual"},
    "Question: What is the difference between TCP and UDP?": {"type": "comparison"},
}


class ModelClassifier:
    """Determines query types by a language model."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    def query_types(self, queries: Sequence[Query]) -> list[Classification]:
        """Returns one classification per query, in input order: by rules, with the query type from one batched call."""
        completions = self.model.generate([ask(_TYPES, _TYPE_EXAMPLES, query) for query in queries], _TYPE)
        answers = []
        for query, completion in zip(queries, completions, strict=True):
            reply = read_reply(completion, _TYPE)
            answer = _counted(classify(query), completion, is_read=reply is not None)
            answers.append(replace(answer, query_type=reply["type"]) if reply else answer)
        return answers


def _counted(answer: Classification, completion: Completion, *, is_read: bool) -> Classification:
    return replace(
        answer,
        calls=1,
        failed_calls=int(completion.problem is not None),
        tokens=completion.tokens,
        problem=None if is_read else f"classifier: {problem_of(completion)}; the rules answered",
    )
