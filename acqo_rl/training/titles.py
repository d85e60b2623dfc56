"""What the titles of a corpus share, and what each of them names.

A query lacks the words that many titles begin or end with ("guest review", "FAQ"): with them it is like a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from acqo_rl.data.union import source_of
from acqo_rl.text import one_line
from acqo_rl.types import Document

_WORDS, _LETTERS = 3, 3
"""Words of a phrase at most, and letters of its longest word at least."""
_DOCUMENTS, _SHARE = 50, 0.1
"""A phrase of titles is one that so many documents have, and such a share of all."""
_NEARLY, _MOST = 0.9, 2

_IN_BRACKETS = re.compile(r" ?\([^()]*\)")
_WORD = re.compile(r"\w[\w'\u2019-]*")


@dataclass(frozen=True)
class Titles:
    """The titles of a corpus.

    Attributes:
        phrases: words that many titles begin or end with, in lower case, the most frequent first.
    """

    phrases: tuple[str, ...] = ()

    @classmethod
    def of(cls, titles: Iterable[str]) -> Titles:
        """Of one title a document."""
        ends: Counter[str] = Counter()
        documents = 0
        for title in titles:
            ends.update(_ends_of(title))
            documents += 1
        return cls(_shared_by_many(ends, documents))

    def name_in(self, title: str) -> str:
        """What a title names: without what is in brackets, and without the phrases that many titles share."""
        name = one_line(_IN_BRACKETS.sub("", title))
        for phrase in self.phrases:
            name = re.sub(rf"(?i)^{re.escape(phrase)}(?!\w)|(?<!\w){re.escape(phrase)}$", "", name).strip(" -:,|")
        return name


def titles_by_source(documents: Iterable[Document]) -> dict[str, Titles]:
    """The titles of each source of a union, and those of the whole corpus under "".

    Sources are counted apart, because a phrase that every title of one source ends with may be rare in the whole union.
    """
    titles: dict[str, list[str]] = {"": []}
    for document in documents:
        for source in {"", source_of(document.id)}:
            titles.setdefault(source, []).append(document.title)
    return {source: Titles.of(some) for source, some in titles.items()}


def _ends_of(title: str) -> set[str]:
    """The first and last one to three words of a title, in lower case, without what is in brackets."""
    words = _WORD.findall(_IN_BRACKETS.sub("", title).lower())
    runs = [words[place] for n in range(1, _WORDS + 1) for place in (slice(n), slice(-n, None))]
    return {" ".join(run) for run in runs if max(map(len, run), default=0) >= _LETTERS and run != ["the"]}


def _shared_by_many(ends: Counter[str], documents: int) -> tuple[str, ...]:
    """The ends of enough titles, the most frequent first: as long as nearly all of them have it, and no longer."""
    least = max(_DOCUMENTS, _SHARE * documents)
    found = {end: number for end, number in ends.most_common() if number >= least}
    kept: list[str] = []
    for end, number in found.items():
        longer = (n for other, n in found.items() if other != end and f" {end} " in f" {other} ")
        if max(longer, default=0) < _NEARLY * number and not any(f" {k} " in f" {end} " for k in kept):
            kept.append(end)
    return tuple(kept[:_MOST])
