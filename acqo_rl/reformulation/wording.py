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
class Wording:
    """Statistics of all sub-queries except the raw query.

    Attributes:
        searches: number of sub-queries.
        words: mean number of generated words per sub-query; an expansion contains the query without generating it.
        repeating: share of sub-queries with a word (four letters or more) that occurs at least twice more often than in
            the query.
        stuffed: share of sub-queries with such a word that occurs at least three times more often than in the query.
        dropped: share of queries whose completion has repeated words that the parser drops.
    """

    searches: int = 0
    words: float = 0.0
    repeating: float = 0.0
    stuffed: float = 0.0
    dropped: float = 0.0

    @classmethod
    def of(cls, reformulations: Sequence[Reformulation]) -> Wording:
        """Computes the statistics of reformulations; all zeros if there are no sub-queries."""
        written = [(s, r.query.text) for r in reformulations for s in r.sub_queries if s.kind != "original"]
        most = [_most_repeated(s.text, query) for s, query in written]
        words = [len(s.text.split()) - (len(query.split()) if s.kind == "expansion" else 0) for s, query in written]
        return cls(
            searches=len(written),
            words=_mean(words),
            repeating=_mean([times >= 2 for times in most]),
            stuffed=_mean([times >= 3 for times in most]),
            dropped=_mean([repeats_words(r.completion, r.query) for r in reformulations]),
        )


def _most_repeated(text: str, query: str) -> int:
    """The largest excess of a word's count in the text over its count in the query."""
    asked, counts = _counts(query), _counts(text)
    return max((times - asked[word] for word, times in counts.items()), default=0)


def _counts(text: str) -> Counter[str]:
    return Counter(key for key in map(word_key, text.split()) if len(key) >= _LETTERS)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
