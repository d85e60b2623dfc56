"""Classification of queries by the signals of their wording."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.reformulation.signals import challenges_of, query_type_of, readable
from acqo_rl.types import Challenge, Query, QueryType


@dataclass(frozen=True, slots=True)
class Classification:
    """The classification of one query.

    Attributes:
        query_type: determines the strategy.
        challenges: what makes the question hard, often several challenges; ``("simple",)`` if there are none.
        calls: number of completions requested.
        failed_calls: number of those calls that returned no text.
        tokens: number of tokens that a language model generated.
        problem: why the rules were used although a model was called; otherwise ``None``.
    """

    query_type: QueryType
    challenges: tuple[Challenge, ...]
    calls: int = 0
    failed_calls: int = 0
    tokens: int = 0
    problem: str | None = None


def classify(query: Query) -> Classification:
    """Returns type and challenges by rules."""
    text = readable(query)
    return Classification(query_type_of(text), challenges_of(text))
