"""What a question needs: rules first, and a model only where they say too little."""

from __future__ import annotations

import re
from typing import get_args

from acqo_rl.pipeline.challenges import Challenge, find_challenges
from acqo_rl.pipeline.roles import Asker, PassageSearch
from acqo_rl.pipeline.state import RetrievalState

_INSTRUCTIONS = """\
What makes the question hard to answer by one search? Reply with one or more of these words and nothing else:
simple - nothing
temporal - it asks for the newest, or for a time
multi_hop - something has to be found first, before the rest can be searched
decomposition - it asks several things that can be searched side by side"""

_LABEL = re.compile(r"\b(simple|temporal|multi[ _-]?hop|decomposition)\b", re.I)
_LONG, _VERY_LONG = 12, 20


class Analyzer:
    """Finds the challenges of a question (S4-09..12)."""

    name = "analyzer"

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def run(self, state: RetrievalState) -> None:
        """Sets the challenges; one model call for long questions without a sign, and for very long ones."""
        with state.trace.step(self.name):
            found = find_challenges(state.query.text)
        words = len(state.query.text.split())
        if words > _VERY_LONG or (words > _LONG and found == ("simple",)):
            [reply] = self._asker.ask(state, self.name, _INSTRUCTIONS, [f"Question: {state.query.text}"])
            found = _joined(found, _read(reply or ""))
        state.challenges = found
        state.trace.add(self.name, ", ".join(found))


class InitialSearch:
    """Searches the question as it stands."""

    name = "initial"

    def __init__(self, search: PassageSearch, k: int = 10) -> None:
        self._search = search
        self._k = k

    def run(self, state: RetrievalState) -> None:
        """Adds the first passages."""
        self._search.search(state, self.name, [state.query.text], self._k)


def _read(reply: str) -> tuple[Challenge, ...]:
    """The labels of a reply, however they are dressed."""
    names = {re.sub(r"[ -]|(?<=multi)(?=hop)", "_", label.lower()) for label in _LABEL.findall(reply)}
    return tuple(challenge for challenge in get_args(Challenge) if challenge in names)


def _joined(by_rules: tuple[Challenge, ...], by_model: tuple[Challenge, ...]) -> tuple[Challenge, ...]:
    hard = [c for c in get_args(Challenge) if c != "simple" and c in (*by_rules, *by_model)]
    return tuple(hard) or ("simple",)
