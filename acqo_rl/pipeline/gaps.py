"""Searching for what is missing: search, ask whether the passages suffice, search for what they lack."""

from dataclasses import dataclass, replace
from typing import Literal

from acqo_rl.language_models.structured import BOOLEAN, fields, several, text
from acqo_rl.pipeline.calls import BudgetedModel, PassageSearch, Task
from acqo_rl.pipeline.context import asked, numbered
from acqo_rl.pipeline.state import RetrievalState, Round
from acqo_rl.reformulation.strategies import question_text

_READ_CHUNKS, _READ_CHARACTERS = 8, 300
_MOST: dict[Literal["multi_hop", "self_query"], int] = {"multi_hop": 1, "self_query": 5}
"""Maximum number of searches that the model writes in one call."""

GAPS = Task(
    """\
Do the passages hold all that is needed to answer the question? If something is missing, write one complete search for
each gap, the most important first. Name in it what the passages already tell. Do not answer the question. Reply with
JSON: whether they are complete, and the searches for what is missing.""",
    fields(complete=BOOLEAN, missing=several(text(), max(_MOST.values()), least=0)),
    (
        (
            "Passages:\n(1) Eiffel Tower: The tower stands in Paris and is 330 metres tall.\n\n"
            "Question: How tall is the Eiffel Tower?",
            {"complete": True, "missing": []},
        ),
        (
            "Passages:\n(1) Jaws: Jaws is a film of 1975 by Steven Spielberg.\n\n"
            "Question: Where was the director of Jaws born?",
            {"complete": False, "missing": ["Steven Spielberg place of birth"]},
        ),
    ),
)


@dataclass(frozen=True)
class GapSearch:
    """Follows a chain of facts: each round makes one search, and one model call that finds the next one.

    The hops of the first search are the first rounds, without a model call. ``multi_hop`` reads one gap per round.
    ``self_query`` reads several, and searches the first that is new.

    Attributes:
        name: which kind.
        rounds: maximum number of searches, including the first one and hops.
        k: passages per search.
    """

    name: Literal["multi_hop", "self_query"]
    search: PassageSearch
    model: BudgetedModel
    rounds: int = 3
    k: int = 3

    def run(self, state: RetrievalState) -> None:
        """Adds rounds and passages until nothing is missing, there is no new gap, or the limit is reached."""
        if not state.has_searched(state.query.text):
            self.search.search(state, f"{self.name} 1", [state.query.text], self.k)
        rounds = state.hops = state.hops or [Round(1, state.query.text, tuple(c.document.id for c in state.chunks))]
        while len(rounds) < self.rounds:
            [reply] = self.model.ask(state, self.name, GAPS, [_seen(state)])
            if reply is None:
                return
            complete, missing = reply["complete"], tuple(reply["missing"][: _MOST[self.name]])
            rounds[-1] = replace(rounds[-1], complete=complete, missing=missing)
            text = next((gap for gap in missing if not state.has_searched(gap)), "")
            if complete or not text:
                state.trace.add(self.name, "stopped: complete" if complete else f"stopped: no new gap in {missing}")
                return
            number = len(rounds) + 1
            [found] = self.search.search(state, f"{self.name} {number}", [text], self.k)
            rounds.append(Round(number, text, tuple(chunk.document.id for chunk in found)))
        state.trace.add(self.name, f"stopped: the limit of {self.rounds} searches is reached")


def _seen(state: RetrievalState) -> str:
    chunks = state.chunks[:_READ_CHUNKS]
    passages = numbered(chunks, asked(state), _READ_CHARACTERS * len(chunks))
    return f"Passages:\n{passages}\n\n{question_text(state.query)}"
