"""Statistics of sub-queries: number of words, and share of repeated words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from acqo_rl.reformulation.grammar import repeats_words
from acqo_rl.text import word_key
from acqo_rl.types import Reformulation

_LETTERS = 4
"""Minimum length of a counted word; shorter words such as "of" and "the" may be repeated."""


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """Statistics of all sub-queries except the raw query.

    Attributes:
        searches: number of sub-queries.
        words: mean number of generated words per sub-query; an expansion contains the query without generating it.
        repeated_twice: share of sub-queries with a word (four letters or more) that occurs at least twice more often
            than in the query.
        repeated_3_times: share of sub-queries with such a word that occurs at least three times more often than in the
            query.
        repetitions_removed: share of queries whose completion has repeated words that the parser drops.
    """

    searches: int = 0
    words: float = 0.0
    repeated_twice: float = 0.0
    repeated_3_times: float = 0.0
    repetitions_removed: float = 0.0

    @classmethod
    def of(cls, reformulations: Sequence[Reformulation]) -> WordStatistics:
        """Computes the statistics of reformulations; all zeros if there are no sub-queries."""
        written = [(s, r.query.text) for r in reformulations for s in r.sub_queries if s.kind != "original"]
        most = [_most_repeated(s.text, query) for s, query in written]
        words = [len(s.text.split()) - (len(query.split()) if s.kind == "expansion" else 0) for s, query in written]
        return cls(
            searches=len(written),
            words=_mean(words),
            repeated_twice=_mean([times >= 2 for times in most]),
            repeated_3_times=_mean([times >= 3 for times in most]),
            repetitions_removed=_mean([repeats_words(r.completion, r.query) for r in reformulations]),
        )


def _most_repeated(text: str, query: str) -> int:
    """The largest excess of a word's count in the text over its count in the query."""
    asked, counts = _counts(query), _counts(text)
    return max((times - asked[word] for word, times in counts.items()), default=0)


def _counts(text: str) -> Counter[str]:
    return Counter(key for key in map(word_key, text.split()) if len(key) >= _LETTERS)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
