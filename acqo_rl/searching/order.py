"""Learning to rank: a small trained network orders the first documents of the fused ranking.

A fusion knows only ranks. The network also reads which kinds of searches found a document, how much of the query and of
the searches its title and text contain, and which of the first documents name each other. All features are relative, so
one network works for BM25 scores and cosines, and for corpora on which it was not trained.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from acqo_rl.searching.corpus_words import WORDS_READ, CorpusWords, joined_words, title_key, whole_and_lead
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.hop_candidates import question_of
from acqo_rl.searching.reranking import reordered
from acqo_rl.searching.scorer import Scorer
from acqo_rl.text import stems
from acqo_rl.types import Document, Ranking, Reformulation, SubQueryKind

KIND = "order 1"
"""Kind of the scorer, with the version of its features."""
ORDER = "order"
"""Name of the scores of any order."""
ORDERED = 20
"""Number of documents that are ordered; the others keep their places behind them."""
_LINKED = 10
"""Number of documents whose links are read."""
_TOP = 3
_KINDS: tuple[SubQueryKind, ...] = ("original", "reading", "part", "expansion", "hop")
"""Kinds of searches whose ranks are told apart; all others count as readings."""


class LearnedOrder:
    """Orders the first documents of a fused ranking by a trained scorer."""

    name = "learned"

    def __init__(self, scorer: Scorer | None, corpus: Mapping[str, Document], words: CorpusWords) -> None:
        """Creates the order.

        Args:
            scorer: scores the documents; ``None`` to read features only.
            corpus: document id -> document.
            words: word weights of the corpus.
        """
        self.languages = scorer.languages if scorer else None
        self._scorer = scorer
        self._corpus = corpus
        self._words = words
        self._read = lru_cache(1024)(_Page)

    def __call__(
        self, made: Sequence[Reformulation], lists: Sequence[Sequence[Ranking]], fused: Sequence[Ranking]
    ) -> list[Ranking]:
        """Returns the ordered rankings, in input order; arguments as in :meth:`features`."""
        return [
            reordered(ranking, self.scores(features), ORDER) if len(features) else ranking
            for ranking, features in zip(fused, self.features(made, lists, fused), strict=True)
        ]

    def scores(self, features: NDArray[np.float32]) -> list[float]:
        """The score of each document, from the features in the order of the fused ranking.

        It is that of the network less the place, so that unsure scores leave the order as it is.
        """
        if self._scorer is None:
            raise ValueError("This order has no scorer; it only reads features.")
        scores: list[float] = (self._scorer.score(features) - np.arange(len(features))).tolist()
        return scores

    def features(
        self, made: Sequence[Reformulation], lists: Sequence[Sequence[Ranking]], fused: Sequence[Ranking]
    ) -> list[NDArray[np.float32]]:
        """The features of the first documents of each query, float32[documents, features].

        Args:
            made: what was searched.
            lists: the rankings of these searches.
            fused: their fused ranking.
        """
        documents = fetch(self._corpus, [doc_id for ranking in fused for doc_id in ranking.doc_ids[:ORDERED]])
        return [self._of(*one, documents) for one in zip(made, lists, fused, strict=True)]

    def _of(
        self, made: Reformulation, lists: Sequence[Ranking], fused: Ranking, documents: Mapping[str, Document]
    ) -> NDArray[np.float32]:
        doc_ids = fused.doc_ids[:ORDERED]
        empty = Document("", "", "")
        pages = [self._read(documents.get(doc_id, empty)) for doc_id in doc_ids]
        share, question = self._words.share, question_of(made)
        line = _spaced(question)
        asked = dict.fromkeys(stems(question))
        said = dict.fromkeys(word for one in made.sub_queries for word in stems(one.text))
        rest = [word for word in asked if pages and word not in pages[0].body]
        names = {title_key(one.text) for one in made.sub_queries if one.kind == "hop"} - {""}
        places = _Places(made, lists)
        best = fused.similarities or fused.scores
        rows = [
            [
                1 / (i + 1), math.log1p(i) / 3, _ratio(fused.scores, i), _ratio(best, i), *places.of(doc_id),
                share(asked, page.body), share(asked, page.lead), share(said, page.body), share(said, page.lead),
                share(page.title, asked), share(asked, page.title), share(page.title, said),
                float(page.key in line), float(page.name in names),
                *_links(pages, i), share(rest, page.body),
            ]
            for i, (doc_id, page) in enumerate(zip(doc_ids, pages, strict=True))
        ]  # fmt: skip
        if not rows:
            return np.empty((0, 0), np.float32)
        own = np.array(rows, np.float32)
        whole = [
            len(made.sub_queries) / 4, float(bool(made.query.history)), *places.sizes(), math.log1p(len(asked)) / 4,
            share(asked, pages[0].body),
        ]  # fmt: skip
        shared = np.tile(np.array(whole, np.float32), (len(own), 1))
        return np.concatenate([own, own - own.max(axis=0), own - own.mean(axis=0), shared], axis=1)


class _Page:
    """What is read of a document: the stems of title and text, of their beginning and of the title; its words."""

    __slots__ = ("body", "key", "lead", "name", "text", "title")

    def __init__(self, document: Document) -> None:
        self.body, self.lead = whole_and_lead(document)
        self.title = frozenset(stems(document.title))
        self.name = title_key(document.title)
        self.key = f" {self.name} " if self.name else "\0"
        self.text = _spaced(f"{document.title} . {document.text[: 12 * WORDS_READ]}")


class _Places:
    """The places of documents in the rankings of a query."""

    def __init__(self, made: Reformulation, lists: Sequence[Ranking]) -> None:
        kinds = {one.text: one.kind for one in made.sub_queries}
        self._by_kind: dict[SubQueryKind, list[dict[str, int]]] = defaultdict(list)
        for ranking in lists:
            kind = kinds.get(str(ranking.query), "original")
            ranks = {doc_id: rank for rank, doc_id in enumerate(ranking.doc_ids, start=1)}
            self._by_kind[kind if kind in _KINDS else "reading"].append(ranks)
        self._all = [ranks for some in self._by_kind.values() for ranks in some]
        first = lists[0] if lists else Ranking((), ())
        self._score = {doc_id: _ratio(first.scores, i) for i, doc_id in enumerate(first.doc_ids)}

    def of(self, doc_id: str) -> list[float]:
        """Ratio of the score in the first ranking, best place by kind of search, and shares of all rankings."""
        found = [ranks[doc_id] for ranks in self._all if doc_id in ranks]
        count = max(len(self._all), 1)
        return [
            self._score.get(doc_id, 0.0),
            *(max((1 / r[doc_id] for r in self._by_kind[kind] if doc_id in r), default=0.0) for kind in _KINDS),
            len(found) / count, sum(1 / rank for rank in found) / count, sum(rank <= _TOP for rank in found) / count,
        ]  # fmt: skip

    def sizes(self) -> list[float]:
        """Numbers of rankings by kind of search."""
        return [len(self._by_kind[kind]) / 3 for kind in _KINDS[1:]]


def _links(pages: Sequence[_Page], place: int) -> tuple[float, float]:
    """How many of the first documents name a document by its title, and how many it names, by their places."""
    page = pages[place]
    others = [(1 / (1 + i), other) for i, other in enumerate(pages[:_LINKED]) if i != place]
    return (
        sum(worth for worth, other in others if page.key in other.text),
        sum(worth for worth, other in others if other.key in page.text),
    )


def _spaced(text: str) -> str:
    return f" {joined_words(text)} "


def _ratio(scores: Sequence[float], place: int) -> float:
    """A score relative to the first one."""
    first = scores[0] if scores and scores[0] > 0 else 1.0
    return scores[place] / first
