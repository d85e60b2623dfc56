"""The lists of each query: of its sub-queries, and of the raw query where a retriever searches that alone."""

from __future__ import annotations

from collections.abc import Sequence

from acqo_rl.pipeline.gathering import Failure, Gathering
from acqo_rl.search import find_lists, searched_text
from acqo_rl.types import Ranking, Reformulation


class Lists:
    """What the retrievers of a searcher find for a batch of queries."""

    def __init__(self, of_sub_queries: Gathering, of_originals: Gathering | None) -> None:
        """Takes what searches.

        Args:
            of_sub_queries: searches every sub-query.
            of_originals: searches the raw queries only; each of its lists is a path of its own.
        """
        self._of_sub_queries = of_sub_queries
        self._of_originals = of_originals

    @property
    def deadline(self) -> float | None:
        """Time of ``time.monotonic`` at which all waiting ends."""
        return self._of_sub_queries.deadline

    def find(self, reformulations: Sequence[Reformulation]) -> list[tuple[Ranking, ...]]:
        """The lists of each reformulation that came back: those of the sub-queries, then those of the raw query."""
        find_originals = self._of_originals.find if self._of_originals else None
        return find_lists(reformulations, self._of_sub_queries.find, find_originals)

    def failures(self, *searched: Reformulation) -> tuple[Failure, ...]:
        """What did not come back of all that was searched for one query."""
        texts = dict.fromkeys(searched_text(s) for reformulation in searched for s in reformulation.sub_queries)
        failures = self._of_sub_queries.failures(texts)
        raw = searched[0].query.text
        return (*failures, *self._of_originals.failures([raw])) if self._of_originals else failures
