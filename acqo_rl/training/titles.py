"""Names and common phrases in the titles of a corpus.

Many titles may begin or end with the same phrase ("guest review", "FAQ"), which queries do not contain. A sub-query
with this phrase is more similar to the documents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from acqo_rl.text import one_line
from acqo_rl.types import Document

_MAX_WORDS, _MIN_LETTERS = 3, 3
"""Maximum number of words of a phrase, and minimum length of its longest word."""
_MIN_DOCUMENTS, _MIN_SHARE = 50, 0.1
"""A phrase must occur in at least this number, and at least this share, of the titles."""
_NEARLY_ALL, _MAX_PHRASES = 0.9, 2

_IN_BRACKETS = re.compile(r" ?\([^()]*\)")
_WORD = re.compile(r"\w[\w'\u2019-]*")


@dataclass(frozen=True)
class Titles:
    """The titles of a corpus.

    Attributes:
        phrases: phrases that many titles begin or end with, in lower case, the most frequent first.
    """

    phrases: tuple[str, ...] = ()

    @classmethod
    def of(cls, titles: Iterable[str]) -> Titles:
        """Counts the phrases of the given titles, one title per document."""
        ends: Counter[str] = Counter()
        documents = 0
        for title in titles:
            ends.update(_ends_of(title))
            documents += 1
        return cls(_shared_by_many(ends, documents))

    def name_in(self, title: str) -> str:
        """The name in a title: the title without bracketed text and without the common phrases."""
        name = one_line(_IN_BRACKETS.sub("", title))
        for phrase in self.phrases:
            name = re.sub(rf"(?i)^{re.escape(phrase)}(?!\w)|(?<!\w){re.escape(phrase)}$", "", name).strip(" -:,|")
        return name


def titles_by_source(documents: Iterable[Document]) -> dict[str, Titles]:
    """The titles of each source of a union; the titles of the whole corpus have the key "".

    Each source is counted separately, because a phrase that is common in one source may be rare in the whole union.
    """
    titles: dict[str, list[str]] = {"": []}
    for document in documents:
        for source in {"", source_of(document.id)}:
            titles.setdefault(source, []).append(document.title)
    return {source: Titles.of(some) for source, some in titles.items()}


def source_of(id_: str) -> str:
    """The source of a query or document of a union, by its id ``SOURCE/ID``; empty if the id names no source."""
    return id_.partition("/")[0] if "/" in id_ else ""


def _ends_of(title: str) -> set[str]:
    """The first and last one to three words of a title, in lower case, without bracketed text."""
    words = _WORD.findall(_IN_BRACKETS.sub("", title).lower())
    runs = [words[place] for n in range(1, _MAX_WORDS + 1) for place in (slice(n), slice(-n, None))]
    return {" ".join(run) for run in runs if max(map(len, run), default=0) >= _MIN_LETTERS and run != ["the"]}


def _shared_by_many(ends: Counter[str], documents: int) -> tuple[str, ...]:
    """The common phrases, the most frequent first.

    A phrase is extended ("review" to "guest review") as long as nearly all of its titles have the longer phrase.
    """
    least = max(_MIN_DOCUMENTS, _MIN_SHARE * documents)
    found = {end: number for end, number in ends.most_common() if number >= least}
    kept: list[str] = []
    for end, number in found.items():
        longer = (n for other, n in found.items() if other != end and f" {end} " in f" {other} ")
        if max(longer, default=0) < _NEARLY_ALL * number and not any(f" {k} " in f" {end} " for k in kept):
            kept.append(end)
    return tuple(kept[:_MAX_PHRASES])
