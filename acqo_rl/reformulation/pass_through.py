"""Searches the raw query; the baseline of all comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from acqo_rl.roles import Reformulator
from acqo_rl.types import Query, Reformulation, SubQuery


def pass_through(query: Query, made_by: str, problem: str | None = None) -> Reformulation:
    """A reformulation whose only sub-query is the raw query."""
    return Reformulation(query, "pass", (SubQuery(query.text, "original"),), made_by, problem=problem)


class PassThrough(Reformulator):
    """Searches every raw query."""

    name = "raw"

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order: the raw query."""
        return [pass_through(query, self.name) for query in queries]
