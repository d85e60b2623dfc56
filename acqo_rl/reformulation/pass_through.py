"""The raw query, as every comparison's baseline."""

from __future__ import annotations

from collections.abc import Sequence

from acqo_rl.types import Query, Reformulation, SubQuery


def pass_through(query: Query, made_by: str, problem: str | None = None) -> Reformulation:
    """The query unchanged, one search."""
    return Reformulation(query, "pass", (SubQuery(query.text, "original"),), made_by, problem=problem)


class PassThrough:
    """Searches every query as it stands."""

    name = "raw"

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """The queries unchanged, position for position."""
        return [pass_through(query, self.name) for query in queries]
