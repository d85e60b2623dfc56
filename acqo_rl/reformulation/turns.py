"""Searches the query together with the last turns; used for the first search, and as a baseline without a model."""

from collections.abc import Sequence

from acqo_rl.reformulation.pass_through import pass_through, past_small_talk
from acqo_rl.roles import Reformulator
from acqo_rl.text import drop_middle
from acqo_rl.types import Query, Reformulation, SubQuery

_TURN_CHARACTERS = 240
"""Maximum characters per turn: an encoder reads only the first 128 to 512 tokens, and the query comes last."""


class RecentTurns(Reformulator):
    """Searches the last turns and the query as one text; without a history, the raw query.

    The turns keep their speaker marks ("U:", "S:"), which gave better results.
    """

    name = "turns"

    def __init__(self, turns: int = 2) -> None:
        self.turns = turns

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order; small talk passes."""
        return past_small_talk(queries, lambda asked: [self._reformulate(query) for query in asked], self.name)

    def _reformulate(self, query: Query) -> Reformulation:
        if not query.history:
            return pass_through(query, self.name)
        text = with_last_turns(query, self.turns)
        return Reformulation(query, "disambiguate", (SubQuery(text, "reading"),), self.name)


def with_last_turns(query: Query, turns: int = 2) -> str:
    """The last turns, each shortened to 240 characters, and the query."""
    return " ".join([*(drop_middle(str(turn), _TURN_CHARACTERS) for turn in query.history[-turns:]), query.text])


def shortens_a_turn(query: Query, text: str) -> bool:
    """Whether a text contains only both ends of a turn, as :func:`with_last_turns` shortened it."""
    turns = list(map(str, query.history))
    return any(len(turn) > _TURN_CHARACTERS and drop_middle(turn, _TURN_CHARACTERS) in text for turn in turns)


def first_searches(queries: Sequence[Query]) -> list[Reformulation]:
    """The sub-queries of the first search for feedback: the raw query after its last two turns."""
    return RecentTurns().reformulate(queries)
