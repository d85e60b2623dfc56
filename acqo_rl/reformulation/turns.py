"""The last turns before the query: the first search of a conversation, and a baseline that needs no model."""

from __future__ import annotations

from collections.abc import Sequence

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.small_talk import past_small_talk
from acqo_rl.text import drop_middle
from acqo_rl.types import Query, Reformulation, SubQuery

_TURN_CHARACTERS = 240
"""Of a turn at most, both ends: an encoder reads the first 128 to 512 tokens, and the query stands last."""


class RecentTurns:
    """Searches the last turns of the conversation and the query as one text; without a conversation, the query.

    The turns keep their marks ("U:", "S:"), with which more was found.
    """

    name = "turns"

    def __init__(self, turns: int = 2) -> None:
        self.turns = turns

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation per query, in input order; small talk passes."""
        return past_small_talk(queries, lambda asked: [self._reformulate(query) for query in asked], self.name)

    def _reformulate(self, query: Query) -> Reformulation:
        if not query.history:
            return pass_through(query, self.name)
        turns = (drop_middle(str(turn), _TURN_CHARACTERS) for turn in query.history[-self.turns :])
        return Reformulation(query, "disambiguate", (SubQuery(" ".join([*turns, query.text]), "reading"),), self.name)


def first_searches(queries: Sequence[Query]) -> list[Reformulation]:
    """What is searched before a policy that reads results is asked: the raw query, behind its last two turns."""
    return RecentTurns().reformulate(queries)
