"""The words of a corpus: its titles, and how rare each word is."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from acqo_rl.text import stems, words
from acqo_rl.types import Corpus, Document

WORDS_READ, LEAD = 150, 30
"""Words read of a passage, and words of its beginning."""
LONGEST_TITLE = 7
"""Maximum number of words of a title that is looked up."""
_IN_BRACKETS = re.compile(r" ?\([^()]*\)")

_SAME_TITLE = 8
"""Maximum number of documents with the same title that are compared."""
_SAMPLE = 10_000
"""Number of documents whose words are counted."""
_COMMON, _FEW = 0.02, 3
"""A word in more than this share and more than this number of the counted documents is no name on its own."""


@dataclass(frozen=True)
class CorpusWords:
    """What the networks need to know about a corpus.

    Attributes:
        titles: words of a title, joined by spaces -> ids of the documents; empty if the corpus cannot be read.
        weights: word -> logarithm of the inverse share of documents with the word. Words that are not in it occur in
            no counted document.
        highest: weight of a word in no document.
        all_counted: whether all documents were counted, so that the words read of them have weights.
    """

    titles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    highest: float = 1.0
    all_counted: bool = False

    @classmethod
    def of(cls, corpus: Corpus) -> CorpusWords:
        """Reads the titles of a corpus, and counts the words of an evenly spaced sample of 10,000 documents."""
        titles: dict[str, list[str]] = {}
        for document in corpus.values():
            if key := title_key(title_of(document)):
                titles.setdefault(key, []).append(document.id)
        step = max(1, len(corpus) // _SAMPLE)
        sample = list(islice(corpus.values(), 0, None, step))
        counts = Counter(word for document in sample for word in set(_read_stems(document)))
        highest = math.log(1 + len(sample))
        weights = {word: math.log((1 + len(sample)) / (1 + count)) for word, count in counts.items()}
        return cls({key: tuple(ids[:_SAME_TITLE]) for key, ids in titles.items()}, weights, highest, step == 1)

    def weight(self, word: str) -> float:
        """Weight of a stemmed word, 0 to 1: how rare it is."""
        return self.weights.get(word, self.highest) / self.highest

    def share(self, words: Collection[str], by: Container[str]) -> float:
        """The share of some stemmed words, by weight, that a text contains."""
        total = sum(map(self.weight, words))
        return sum(self.weight(word) for word in words if word in by) / total if total else 0.0

    def may_find(self, words: Iterable[str]) -> bool:
        """Whether documents may contain each of some stemmed words."""
        return not self.all_counted or all(word in self.weights for word in words)

    def is_common(self, word: str) -> bool:
        """Whether a stemmed word occurs in many documents."""
        most = max(_FEW, _COMMON * math.expm1(self.highest))
        return self.weights.get(word, self.highest) < self.highest - math.log1p(most)


def title_of(document: Document) -> str:
    """The title without what is in brackets, "My Cousin" of "My Cousin (2017 film)"."""
    return " ".join(_IN_BRACKETS.sub("", document.title).split()) or document.title


def joined_words(text: str) -> str:
    """The words of a text in lower case, joined by spaces."""
    return " ".join(words(text.lower()))


def title_key(title: str) -> str:
    """The words of a title, joined by spaces; empty if it is too long to be looked up."""
    title_words = words(title.lower())
    return " ".join(title_words) if len(title_words) <= LONGEST_TITLE else ""


def _read_stems(document: Document) -> list[str]:
    return stems(f"{document.title} {document.text[: 12 * WORDS_READ]}")[:WORDS_READ]


@lru_cache(4096)
def whole_and_lead(document: Document) -> tuple[frozenset[str], frozenset[str]]:
    """The stemmed words that are read of a document, and those of its beginning."""
    read = _read_stems(document)
    return frozenset(read), frozenset(read[:LEAD])
