"""Reorders the top of a fused ranking by a reranker, which reads the documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acqo_rl.errors import SearchError, check_positive
from acqo_rl.reformulation.pass_through import RecentTurns
from acqo_rl.roles import Reranker
from acqo_rl.searching.feedback import fetch
from acqo_rl.text import passage_text
from acqo_rl.types import Corpus, Ranking, Reformulation, SubQueryKind

RERANKER = "reranker"
"""Name of the scores of any reranker."""
RERANK_DEPTH = 50
"""Default number of documents that are reranked."""

_READ: frozenset[SubQueryKind] = frozenset({"part", "reading", "expansion", "hop"})
"""Kinds of sub-queries that ask for what the user wants; paraphrases and hypothetical answers add nothing to read."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """The step after the fusion.

    The reranker reads title and text of each document together with the user's query (after its last two turns if there
    is a conversation), and with each part, reading, expansion and hop. The best score of a document counts, because a
    document that answers a part of a question need not resemble the question.

    Attributes:
        reranker: scores the documents.
        corpus: document id -> document.
        depth: number of documents per query that are reranked; the others keep their order behind them.

    Raises:
        ConfigError: ``depth`` is less than 1.
    """

    reranker: Reranker
    corpus: Corpus
    depth: int = RERANK_DEPTH

    def __post_init__(self) -> None:
        check_positive("rerank_depth", self.depth)

    def __call__(self, reformulations: Sequence[Reformulation], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Returns the reordered rankings, in input order; all pairs are scored by one call.

        Raises:
            SearchError: the reranker fails.
        """
        pairs = self.pairs(reformulations, rankings)
        scores = iter(self._scores([pair for some in pairs for pair in some]))
        scored = [[next(scores) for _ in some] for some in pairs]
        return [self._reranked(ranking, some) for ranking, some in zip(rankings, scored, strict=True)]

    def _reranked(self, ranking: Ranking, scored: Sequence[float]) -> Ranking:
        best = _best_of_each(scored, min(self.depth, len(ranking.doc_ids)))
        order = sorted(range(len(best)), key=lambda place: -best[place])
        return reordered(ranking, order, [best[place] for place in order], RERANKER)

    def pairs(
        self, reformulations: Sequence[Reformulation], rankings: Sequence[Ranking]
    ) -> list[list[tuple[str, str]]]:
        """What the reranker reads for each query: each text with all documents, in the order of the ranking.

        A document that a search engine no longer has is an empty text.
        """
        tops = [ranking.doc_ids[: self.depth] for ranking in rankings]
        documents = fetch(self.corpus, [doc_id for top in tops for doc_id in top])
        passages = [[passage_text(documents[d]) if d in documents else "" for d in top] for top in tops]
        return [
            [(text, passage) for text in texts for passage in some]
            for texts, some in zip(_read_texts(reformulations), passages, strict=True)
        ]

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        scores = self.reranker.score(pairs)
        if len(scores) != len(pairs):
            raise SearchError(f"{self.reranker.name} returned {len(scores)} scores for {len(pairs)} documents.")
        return scores


def _read_texts(reformulations: Sequence[Reformulation]) -> list[list[str]]:
    said = RecentTurns().reformulate([made.query for made in reformulations])
    return [
        list(dict.fromkeys([first.sub_queries[0].text, *(s.text for s in made.sub_queries if s.kind in _READ)]))
        for first, made in zip(said, reformulations, strict=True)
    ]


def _best_of_each(scores: Sequence[float], documents: int) -> list[float]:
    """The best score of each document, from the scores of all documents for one text after the other."""
    return [max(scores[i::documents]) for i in range(documents)]


def reordered(ranking: Ranking, order: Sequence[int], scores: Sequence[float], scored_by: str) -> Ranking:
    """Puts the first documents in another order; those behind them get the lowest score.

    The ``retriever`` of the ranking becomes ``scored_by``, because scores of a fusion are not comparable to these.

    Args:
        ranking: to be reordered.
        order: places of the first documents in the ranking.
        scores: of these documents in the new order, which never rise.
        scored_by: what gave the scores.
    """
    rest = range(len(order), len(ranking.doc_ids))
    given = (*scores, *[min(scores, default=0.0)] * len(rest))
    return replace(ranking.at([*order, *rest]), scores=given, retriever=scored_by)
