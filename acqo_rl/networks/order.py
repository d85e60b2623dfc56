"""What the order of the first documents reads: where searches found a document, its words, and its links to others."""

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import product

import numpy as np

from acqo_rl.networks.corpus_words import WORDS_READ, CorpusWords, joined_words, title_key, whole_and_lead
from acqo_rl.networks.features import FeatureTable, View, question_of, score_ratio, shares
from acqo_rl.roles import Vectors
from acqo_rl.text import stems
from acqo_rl.types import Document, Ranking, Reformulation, SubQueryKind

_LINKED = 10
"""Number of documents whose links are read."""
_KINDS: tuple[SubQueryKind, ...] = ("original", "reading", "part", "expansion", "hop")
"""Kinds of searches whose ranks are told apart; all others count as readings."""


class Page:
    """What is read of a document: the stems of title and text, of their beginning and of the title; its words."""

    __slots__ = ("body", "key", "lead", "name", "text", "title")

    def __init__(self, document: Document) -> None:
        self.body, self.lead = whole_and_lead(document)
        self.title = frozenset(stems(document.title))
        self.name = title_key(document.title)
        self.key = f" {self.name} " if self.name else "\0"
        self.text = _spaced(f"{document.title} . {document.text[: 12 * WORDS_READ]}")


page_of = lru_cache(1024)(Page)
"""The page of a document."""


class _Asked(View):
    """A question, its searches and their rankings; *missing* words are not in the first document.

    Attributes:
        line: lower-case words of the question between spaces.
        hops: words of the names that hops searched.
        by_kind: kind of search -> rank of each document in each of its rankings.
        ranks: of all rankings.
        first: ratio of the score of each document in the first ranking to the top score.
    """

    def __init__(
        self, made: Reformulation, lists: Sequence[Ranking], fused: Ranking, pages: Sequence[Page], known: CorpusWords
    ) -> None:
        question = dict.fromkeys(stems(question_of(made)))
        super().__init__(
            known,
            question=question,
            missing_question=[word for word in question if word not in pages[0].body],
            searched=dict.fromkeys(word for sub_query in made.sub_queries for word in stems(sub_query.text)),
            first_document=pages[0].body,
        )
        self.made = made
        self.line = _spaced(question_of(made))
        self.hops = {title_key(sub_query.text) for sub_query in made.sub_queries if sub_query.kind == "hop"} - {""}
        self.scores = fused.scores
        self.similarities = fused.similarities or fused.scores
        self.pages = pages
        kinds = {sub_query.text: sub_query.kind for sub_query in made.sub_queries}
        self.by_kind: dict[SubQueryKind, list[dict[str, int]]] = defaultdict(list)
        for ranking in lists:
            kind = kinds.get(str(ranking.query), "original")
            self.by_kind[kind if kind in _KINDS else "reading"].append(ranking.ranks)
        self.ranks = [ranks for of_kind in self.by_kind.values() for ranks in of_kind]
        first = lists[0] if lists else Ranking((), ())
        self.first = {d: score_ratio(first.scores, rank) for d, rank in first.ranks.items()}


class _Document(View):
    """One of the first documents.

    Attributes:
        rank: in the fused ranking.
        ranks: in the rankings that contain it.
        rankings: number of all rankings.
        others: reciprocal rank and page of the first other documents.
    """

    def __init__(self, asked: _Asked, rank: int, doc_id: str, page: Page) -> None:
        super().__init__(
            asked.known, **asked.words, title=page.title, document=page.body, first_words_of_document=page.lead
        )
        self.asked = asked
        self.rank = rank
        self.doc_id = doc_id
        self.page = page
        self.ranks = [ranks[doc_id] for ranks in asked.ranks if doc_id in ranks]
        self.rankings = max(len(asked.ranks), 1)
        self.others = [
            (1 / place, other) for place, other in enumerate(asked.pages[:_LINKED], start=1) if place != rank
        ]

    def reciprocal_rank(self, kind: SubQueryKind) -> float:
        ranks = [ranks[self.doc_id] for ranks in self.asked.by_kind[kind] if self.doc_id in ranks]
        return max((1 / rank for rank in ranks), default=0.0)


FEATURES = FeatureTable(
    of_query={
        "question": {
            "has_conversation": lambda q: bool(q.made.query.history),
            "log_number_of_question_words": lambda q: math.log1p(len(q.words["question"])) / 4,
        },
        "searches": {
            "number_of_searches": lambda q: len(q.made.sub_queries) / 4,
            **{
                f"number_of_{kind}_searches": partial(lambda q, kind: len(q.by_kind[kind]) / 3, kind=kind)
                for kind in _KINDS[1:]
            },
        },
        "words": shares(("question", "first_document")),
    },
    of_option={},
    compared={
        "fused ranking": {
            "reciprocal_rank_in_fused_ranking": lambda d: 1 / d.rank,
            "log_rank_in_fused_ranking": lambda d: math.log1p(d.rank - 1) / 3,
            "ratio_of_fused_score_to_top_score": lambda d: score_ratio(d.asked.scores, d.rank),
            "ratio_of_similarity_to_that_of_first_document": lambda d: score_ratio(d.asked.similarities, d.rank),
        },
        "rankings": {
            "ratio_of_score_to_top_score_in_first_ranking": lambda d: d.asked.first.get(d.doc_id, 0.0),
            **{f"reciprocal_rank_in_{kind}_searches": partial(_Document.reciprocal_rank, kind=kind) for kind in _KINDS},
            "share_of_rankings_with_document": lambda d: len(d.ranks) / d.rankings,
            "mean_reciprocal_rank": lambda d: sum(1 / rank for rank in d.ranks) / d.rankings,
            "share_of_rankings_with_document_in_top_3": lambda d: sum(rank <= 3 for rank in d.ranks) / d.rankings,
        },
        "words": shares(
            *product(("question", "searched"), ("document", "first_words_of_document")),
            ("missing_question", "document"),
        ),
        "title": {
            **shares(("title", "question"), ("question", "title"), ("title", "searched")),
            "question_contains_title": lambda d: d.page.key in d.asked.line,
            "hop_searched_title": lambda d: d.page.name in d.asked.hops,
        },
        "links": {
            "sum_of_reciprocal_ranks_of_documents_that_name_its_title": lambda d: sum(
                worth for worth, other in d.others if d.page.key in other.text
            ),
            "sum_of_reciprocal_ranks_of_documents_whose_title_it_names": lambda d: sum(
                worth for worth, other in d.others if other.key in d.page.text
            ),
        },
    },
    differences={
        "_minus_best": lambda rows: rows - rows.max(axis=0),
        "_minus_mean": lambda rows: rows - rows.mean(axis=0),
    },
)


def features_of(
    made: Reformulation, lists: Sequence[Ranking], fused: Ranking, pages: Sequence[Page], known: CorpusWords
) -> Vectors:
    """The features of the first documents of a query, float32[documents, features].

    Args:
        made: what was searched.
        lists: the rankings of these searches.
        fused: their fused ranking.
        pages: its first documents.
        known: word weights of the corpus.
    """
    if not pages:
        return np.empty((0, len(FEATURES.names)), np.float32)
    asked = _Asked(made, lists, fused, pages, known)
    first = enumerate(zip(fused.doc_ids, pages, strict=False), start=1)
    return FEATURES.read(asked, [_Document(asked, rank, doc_id, page) for rank, (doc_id, page) in first])


def _spaced(text: str) -> str:
    return f" {joined_words(text)} "
