"""Determines the challenges of a question by rules, and by a model if the rules are unsure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from acqo_rl.language_models.structured import example, fields, one_of, several
from acqo_rl.pipeline.context import question
from acqo_rl.pipeline.roles import BudgetedModel
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.reformulation.signals import challenges_of, is_unsure
from acqo_rl.text import one_line
from acqo_rl.types import Challenge

_REPLY = fields(challenges=several(one_of(*get_args(Challenge)), len(get_args(Challenge))))
_INSTRUCTIONS = """\
What makes the question hard to answer by one search? Reply with all that apply, as JSON:
simple - nothing
temporal - it asks for the newest, or for a time
multi_hop - something has to be found first, before the rest can be searched
decomposition - it asks several things that can be searched side by side"""
_EXAMPLES = (
    ("Question: How tall is the Eiffel Tower?", example(challenges=["simple"])),
    (
        "Question: Who is the newest member of the band that recorded the bass line of Thriller?",
        example(challenges=["temporal", "multi_hop"]),
    ),
)


class Analyzer:
    """Determines the challenges of a question."""

    name = "analyzer"

    def __init__(self, model: BudgetedModel) -> None:
        self._model = model

    def run(self, state: RetrievalState) -> None:
        """Sets the challenges of the state; makes one model call if the rules are unsure (long questions)."""
        with state.trace.step(self.name):
            text = one_line(state.query.text)
            found = challenges_of(text)
        if is_unsure(text, found):
            [reply] = self._model.ask_for(_REPLY, state, self.name, _INSTRUCTIONS, [question(state.query)], _EXAMPLES)
            found = _joined(found, reply["challenges"] if reply else ())
        state.challenges = found
        state.trace.add(self.name, ", ".join(found))


def _joined(by_rules: Sequence[Challenge], by_model: Sequence[Challenge]) -> tuple[Challenge, ...]:
    hard = [c for c in get_args(Challenge) if c != "simple" and c in (*by_rules, *by_model)]
    return tuple(hard) or ("simple",)
