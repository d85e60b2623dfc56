"""What searches look like: how many words are written, and how many of them only repeat others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from acqo_rl.reformulation.grammar import repeats_words
from acqo_rl.text import word_key
from acqo_rl.types import Reformulation

_LETTERS = 4
"""A shorter word may be repeated without being stuffed in: "of", "the"."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What is searched beside the raw query.

    Attributes:
        searches: how many of them there are.
        words: mean number of words that were written for each; an expansion repeats the query without writing it.
        repeating: share that holds a word of four letters or more twice beyond its occurrences in the query.
        stuffed: share that holds one three times or more beyond these.
        dropped: share of all queries for which words were written that reading the completion dropped as repetitions.
    """

    searches: int = 0
    words: float = 0.0
    repeating: float = 0.0
    stuffed: float = 0.0
    dropped: float = 0.0

    @classmethod
    def of(cls, reformulations: Sequence[Reformulation]) -> Wording:
        """The wording of some reformulations; zeros where there is nothing to count."""
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
    """How often the most repeated word stands in a text beyond how often it stands in the query."""
    asked, counts = _counts(query), _counts(text)
    return max((times - asked[word] for word, times in counts.items()), default=0)


def _counts(text: str) -> Counter[str]:
    return Counter(key for key in map(word_key, text.split()) if len(key) >= _LETTERS)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
