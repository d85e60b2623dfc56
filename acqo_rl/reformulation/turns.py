"""The last turns before the query: the rival in conversations that costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.small_talk import past_small_talk
from acqo_rl.types import Query, Reformulation, SubQuery


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
        text = " ".join([*map(str, query.history[-self.turns :]), query.text])
        return Reformulation(query, "disambiguate", (SubQuery(text, "reading"),), self.name)
