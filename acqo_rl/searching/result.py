"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.searching.trace import Step
from acqo_rl.types import Ranking, Reformulation


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed or was late.

    Attributes:
        step: ``reformulation`` or ``retrieval``.
        reason: the exception, or that it was too late.
        retriever: name of the retriever; empty for a reformulation.
        sub_query: the text that was searched; empty for a reformulation.
    """

    step: str
    reason: str
    retriever: str = ""
    sub_query: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of one query.

    Attributes:
        reformulation: what was searched, in all rounds together.
        rankings: one per distinct sub-query and retriever, in the order of the sub-queries, then of the retrievers;
            those that failed are missing. A composite retriever gives one ranking.
        fused: the merged ranking.
        failures: empty when all is well.
        trace: the steps; those of a batch are timed together.
        cached: whether the result comes from a cache.
    """

    reformulation: Reformulation
    rankings: tuple[Ranking, ...]
    fused: Ranking
    failures: tuple[Failure, ...] = ()
    trace: tuple[Step, ...] = ()
    cached: bool = False
