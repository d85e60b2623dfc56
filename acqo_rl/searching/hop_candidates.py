"""Candidates of a hop: the names in the best results, each with features for the scorer.

A name is the title of a result, a title of the corpus or a capitalised phrase in the text of a result, a name in the
question whose words occur in documents, or a rare phrase. All features are relative (shares, ranks, ratios to the best
score), so that one scorer works for BM25 scores and cosines, and for corpora on which it was not trained.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from acqo_rl.searching.corpus_words import (
    IN_BRACKETS,
    LONGEST_TITLE,
    WORDS_READ,
    CorpusWords,
    joined_words,
    title_key,
    whole_and_lead,
)
from acqo_rl.searching.feedback import fetch
from acqo_rl.text import stem, stems, word_spans
from acqo_rl.types import Document, Ranking, Reformulation

READ = 5
"""Number of results whose text is read."""
MOST = 32
"""Maximum number of candidates per query."""

_WINDOW = 12
"""Words before and after a name that count as its surroundings."""
_PHRASES = 2
"""Rare phrases per passage."""

OWN, WHOLE = 31, 16
"""Number of features of a name, and of the query and its results."""
RELATIVE = slice(5, OWN)
"""The features of a name that are given once more, less their maximum over all names."""
FEATURES = 1 + WHOLE + OWN + (OWN - 5)
"""Number of columns of the features."""

SOURCES = ("title", "text", "span", "question", "phrase")
"""Where a name was found, in order of preference."""


class _Words:
    """Words of a text with their places and stems."""

    __slots__ = ("ends", "lower", "starts", "stems", "text")

    def __init__(self, text: str) -> None:
        found = word_spans(text[: 12 * WORDS_READ])[:WORDS_READ]
        self.text = text
        self.starts, self.ends = [start for start, _ in found], [end for _, end in found]
        self.lower = [text[start:end].lower() for start, end in found]
        self.stems = [stem(word) for word in self.lower]

    def spelled(self, first: int, last: int) -> str:
        return self.text[self.starts[first] : self.ends[last]]

    def is_capital(self, i: int) -> bool:
        first = self.text[self.starts[i]]
        return first.isupper() or first.isdecimal()


@dataclass(slots=True)
class _Found:
    name: str
    source: int
    rank: int
    place: float
    doc_id: str | None
    around: set[str]
    passages: set[int] = field(default_factory=set)
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class HopOptions:
    """The options of one hop.

    Attributes:
        names: texts to search.
        features: float32[1 + names, features]; row 0 is the option to stop.
    """

    names: tuple[str, ...]
    features: NDArray[np.float32]


class CandidateReader:
    """Finds candidates in results."""

    def __init__(self, corpus: Mapping[str, Document], words: CorpusWords) -> None:
        self._corpus = corpus
        self._words = words
        self._stems = lru_cache(4096)(whole_and_lead)

    def read(self, searched: Sequence[Reformulation], fused: Sequence[Ranking]) -> list[HopOptions]:
        """Returns the candidates of each query.

        Args:
            searched: the searches so far, including those of earlier hops.
            fused: the fused results of these searches.
        """
        documents = fetch(self._corpus, [doc_id for ranking in fused for doc_id in ranking.doc_ids[:READ]])
        tops = [[documents[doc_id] for doc_id in r.doc_ids[:READ] if doc_id in documents] for r in fused]
        return [self._of(*each) for each in zip(searched, fused, tops, strict=True)]

    def _of(self, made: Reformulation, fused: Ranking, tops: Sequence[Document]) -> HopOptions:
        question = question_of(made)
        searched = {title_key(s.text) for s in made.sub_queries} | {title_key(made.query.text)}
        found = {key: one for key, one in self._find(question, tops).items() if key not in searched}
        chosen = sorted(found.values(), key=lambda one: (one.source in (2, 4), one.rank, one.place))[:MOST]
        return HopOptions(tuple(one.name for one in chosen), self._features(made, question, fused, tops, chosen))

    def _find(self, question: str, tops: Sequence[Document]) -> dict[str, _Found]:
        found: dict[str, _Found] = {}

        def add(name: str, source: int, rank: int, place: float, doc_id: str | None, around: Iterable[str]) -> None:
            one = found.setdefault(joined_words(name), _Found(name, source, rank, place, doc_id, set()))
            one.around |= set(around)
            if rank:
                one.passages.add(rank)
            one.mentions += 1

        asked = _Words(question)
        for rank, document in enumerate(tops, start=1):
            title = " ".join(IN_BRACKETS.sub("", document.title).split()) or document.title
            if title:
                add(title, 0, rank, 0.0, document.id, ())
            text = _Words(document.text)
            length = max(len(text.stems), 1)
            for source, spans in ((1, self._titles_in(text)), (2, self._spans(text)), (4, self._phrases(text, asked))):
                for first, last in spans:
                    around = text.stems[max(0, first - _WINDOW) : last + 1 + _WINDOW]
                    add(text.spelled(first, last), source, rank, first / length, document.id, around)
        for first, last in [*self._titles_in(asked), *self._spans(asked, of_question=True)]:
            if not self._words.may_find(asked.stems[first : last + 1]):
                continue
            add(asked.spelled(first, last), 3, 0, first / max(len(asked.stems), 1), None, ())
        return found

    def _titles_in(self, text: _Words) -> list[tuple[int, int]]:
        """First and last word of each capitalised title of the corpus in a text; the longest at each place."""
        spans, i, titles = [], 0, self._words.titles
        while titles and i < len(text.lower):
            last = -1
            if text.is_capital(i):
                for end in range(min(i + LONGEST_TITLE, len(text.lower)), i, -1):
                    if " ".join(text.lower[i:end]) in titles:
                        last = end - 1
                        break
            if last > i or (last == i and not self._words.is_common(text.stems[i])):
                spans.append((i, last))
            i = max(last, i) + 1
        return spans

    def _spans(self, text: _Words, *, of_question: bool = False) -> list[tuple[int, int]]:
        """First and last word of each capitalised phrase; it may contain a short word ("University of Oslo").

        A phrase of the question does not begin with the first word of a sentence: this word may be rare in the corpus
        only because the corpus contains no questions.
        """
        spans, i, size = [], 0, len(text.lower)
        while i < size:
            if not text.is_capital(i):
                i += 1
                continue
            begins, common = self._begins(text, i), self._words.is_common(text.stems[i])
            if (begins and (common or of_question)) or (common and self._next(text, i) is None):
                i += 1
                continue
            last = i
            while (following := self._next(text, last)) is not None:
                last = following
            if last > i or not (begins or common or text.lower[i].isdecimal()):
                spans.append((i, last))
            i = last + 1
        return spans

    def _begins(self, text: _Words, i: int) -> bool:
        """Whether a word begins a sentence, so that its capital says nothing."""
        before = text.text[: text.starts[i]].rstrip()
        return not before or before[-1] in '.?!:"'

    def _next(self, text: _Words, i: int) -> int | None:
        for following in (i + 1, i + 2, i + 3):
            if following >= len(text.lower) or set(text.text[text.ends[i] : text.starts[following]]) & set('.,;:()?!"'):
                return None
            if text.is_capital(following):
                return following
            if len(text.lower[following]) > 3:
                return None
        return None

    def _phrases(self, text: _Words, asked: _Words) -> list[tuple[int, int]]:
        """The rarest pairs of adjacent words that the question does not contain."""
        said, weight = set(asked.stems), self._words.weight
        pairs = [
            (weight(one) + weight(other), i)
            for i, (one, other) in enumerate(zip(text.stems, text.stems[1:], strict=False))
            if one not in said and other not in said and not text.is_capital(i) and not text.is_capital(i + 1)
            and text.starts[i + 1] == text.ends[i] + 1
        ]  # fmt: skip
        return [(i, i + 1) for _, i in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:_PHRASES]]

    def _features(
        self,
        made: Reformulation,
        question: str,
        fused: Ranking,
        read: Sequence[Document],
        chosen: Sequence[_Found],
    ) -> NDArray[np.float32]:

        weight, share = self._words.weight, self._words.share
        stems_of = {document.id: self._stems(document) for document in read}
        asked = dict.fromkeys(stems(question))
        tops = [stems_of[document.id][0] for document in read]
        seen: set[str] = set()
        shares = [share(asked, seen := seen | top) for top in tops]
        first = tops[0] if tops else frozenset()
        rest = [word for word in asked if word not in first]
        rank_of = {doc_id: rank for rank, doc_id in enumerate(fused.doc_ids, start=1)}
        best = fused.similarities or fused.scores
        top_score = best[0] if best and best[0] > 0 else 1.0
        ratio = [best[i] / top_score if i < len(best) else 0.0 for i in (1, 2, 4, 9, 19)]
        said = {word for s in made.sub_queries for word in stems(s.text)}
        titles = [set(stems(document.title)) for document in read]
        whole = [
            math.log1p(len(asked)) / 4, len(rest) / max(len(asked), 1), *_padded(shares, (0, 1, 2, 4)),
            *ratio, math.log(len(made.sub_queries)), float(bool(made.query.history)), len(chosen) / MOST,
            float(bool(self._words.titles)), max((share(title, asked) for title in titles), default=0.0),
        ]  # fmt: skip
        rows = []
        for one in chosen:
            words = stems(one.name)
            ids = self._words.titles.get(title_key(one.name), ())
            texts = {doc_id: self._stems(self._corpus[doc_id]) for doc_id in ids}
            named = max(ids, key=lambda doc_id: share(asked, texts[doc_id][0]), default=None)
            body, lead = texts[named] if named is not None else (frozenset(), frozenset())
            source = stems_of[one.doc_id][0] if one.doc_id else frozenset()
            source_title = titles[one.rank - 1] if one.rank else set()
            without = [word for word in asked if word not in words]
            unknown = [word for word in rest if word not in words]
            rank = rank_of.get(named, 0) if named is not None else 0
            rows.append([
                *(float(one.source == i) for i in range(len(SOURCES))),
                1 / one.rank if one.rank else 0.0, len(one.passages) / READ, math.log1p(one.mentions) / 2, one.place,
                math.log1p(len(words)), sum(map(weight, words)) / max(len(words), 1),
                max(map(weight, words), default=0.0),
                share(words, asked), share(words, said),
                share(asked, one.around), share(without, one.around), share(unknown, one.around), share(asked, source),
                float(named is not None), math.log1p(len(ids)) / 2, 1 / rank if rank else 0.0, float(rank > 10),
                best[rank - 1] / top_score if rank else 0.0,
                share(asked, body), share(without, body), share(unknown, body), share(without, lead),
                share(asked, body | source), share(source_title, body), share(rest, body - source),
                float(named in fused.doc_ids[:READ]) if named is not None else 0.0,
            ])  # fmt: skip
        return _table(rows, whole)


def _table(rows: Sequence[Sequence[float]], whole: Sequence[float]) -> NDArray[np.float32]:
    """The features of stopping and of each name: those of the query, its own, and its distance to the best name."""
    own = np.array(rows, np.float32).reshape(len(rows), OWN)
    best = own[:, RELATIVE].max(axis=0, initial=0.0)
    stop = np.concatenate([[1.0], whole, np.zeros(OWN), best])
    names = [np.concatenate([[0.0], whole, one, one[RELATIVE] - best]) for one in own]
    return np.array([stop, *names], np.float32)


def _padded(values: Sequence[float], places: Iterable[int]) -> list[float]:
    return [values[min(i, len(values) - 1)] if values else 0.0 for i in places]


def question_of(made: Reformulation) -> str:
    """The text whose words a hop looks for: the query, or in a conversation the first sub-query."""
    return made.sub_queries[0].text if made.query.history else made.query.text
