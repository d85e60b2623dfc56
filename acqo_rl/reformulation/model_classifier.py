"""Classification by a language model; if it fails, the classification by rules is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar, get_args

from acqo_rl.reformulation.classify import Classification, classify, is_unsure
from acqo_rl.reformulation.strategies.strategy import ask
from acqo_rl.replies.thoughts import said_by
from acqo_rl.roles import LanguageModel
from acqo_rl.text import one_line
from acqo_rl.types import Challenge, Completion, Query, QueryType

VERSION = "2"
"""Must be increased whenever a prompt or its parsing changes."""

_TYPES = """\
What kind of question is the last one? Answer with one word:
factual - asks for a fact
how_to - asks for steps
comparison - weighs things against each other
debugging - something fails
conceptual - asks why, or for an explanation
complex - asks several things
simple - key words only"""

_TYPE_EXAMPLES = (
    ("Question: Who painted Guernica?", "factual"),
    ("Question: Explain how vaccines work", "conceptual"),
    ("Question: What is the difference between TCP and UDP?", "comparison"),
)

_CHALLENGES = """\
What does answering the last question need? Answer with every word that applies:
temporal - it depends on a date or on what is newest
multi_hop - one fact must be found before the next can be asked for
decomposition - several separate things must be found
simple - one search is enough"""

_CHALLENGE_EXAMPLES = (
    ("Question: Who is the newest member of the band that recorded Thriller's bass line?", "temporal multi_hop"),
    ("Question: How tall is the Eiffel Tower?", "simple"),
)

Label = TypeVar("Label", QueryType, Challenge)


class ModelClassifier:
    """Determines query types, and the challenges of questions for which the rules are unsure, by a language model."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    def query_types(self, queries: Sequence[Query]) -> list[Classification]:
        """Returns one classification per query, in input order: by rules, with the query type from one batched call."""
        completions = self.model.generate([ask(_TYPES, _TYPE_EXAMPLES, query) for query in queries])
        answers = []
        for query, completion in zip(queries, completions, strict=True):
            found = read_labels(completion, get_args(QueryType))[:1]
            answer = _counted(classify(query), completion, bool(found))
            answers.append(replace(answer, query_type=found[0]) if found else answer)
        return answers

    def challenges(self, queries: Sequence[Query]) -> list[Classification]:
        """Returns one classification per query, in input order: by rules, with the model's challenges if unsure."""
        answers = [classify(query) for query in queries]
        asked = [i for i, a in enumerate(answers) if is_unsure(one_line(queries[i].text), a.challenges)]
        if not asked:
            return answers
        completions = self.model.generate([ask(_CHALLENGES, _CHALLENGE_EXAMPLES, queries[i]) for i in asked])
        for i, completion in zip(asked, completions, strict=True):
            found = read_labels(completion, get_args(Challenge))
            hard = tuple(label for label in found if label != "simple")
            answers[i] = _counted(answers[i], completion, bool(found))
            if found:
                answers[i] = replace(answers[i], challenges=hard or ("simple",))
        return answers


def read_labels(completion: Completion, labels: Sequence[Label]) -> list[Label]:
    """The labels in a completion, in order of appearance, in any format: "**How-to**", "Factual question."."""
    text = re.sub(r"[\s_-]+", "_", said_by(completion).text.lower())
    places = {label: re.search(rf"(?<![a-z]){label}(?![a-z])", text) for label in labels}
    found = {label: match.start() for label, match in places.items() if match}
    return sorted(found, key=found.__getitem__)


def _counted(answer: Classification, completion: Completion, is_read: bool) -> Classification:
    seen = said_by(completion).problem or f"no label in {completion.text[:80]!r}"
    return replace(
        answer,
        calls=1,
        failed_calls=int(completion.problem is not None),
        tokens=completion.tokens,
        problem=None if is_read else f"classifier: {seen}; the rules answered",
    )
