"""Reorders the top of a fused ranking by a reranker, which reads the documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

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
        asked = [pair for its in pairs for pair in its]
        scores = self.reranker.score(asked)
        if len(scores) != len(asked):
            raise SearchError(f"{self.reranker.name} returned {len(scores)} scores for {len(asked)} documents.")
        rest = iter(scores)
        reranked = []
        for ranking, its in zip(rankings, pairs, strict=True):
            scored = list(islice(rest, len(its)))  # of all documents for one text after the other
            documents = min(self.depth, len(ranking.doc_ids))
            best = [max(scored[place::documents]) for place in range(documents)]
            order = sorted(range(documents), key=lambda place: -best[place])
            reranked.append(reordered(ranking, order, [best[place] for place in order], RERANKER))
        return reranked

    def pairs(
        self, reformulations: Sequence[Reformulation], rankings: Sequence[Ranking]
    ) -> list[list[tuple[str, str]]]:
        """What the reranker reads for each query: each text with all documents, in the order of the ranking.

        A document that a search engine no longer has is an empty text.
        """
        tops = [ranking.doc_ids[: self.depth] for ranking in rankings]
        documents = fetch(self.corpus, [doc_id for top in tops for doc_id in top])
        passages = [[passage_text(documents[d]) if d in documents else "" for d in top] for top in tops]
        said = RecentTurns().reformulate([made.query for made in reformulations])
        pairs = []
        for made, with_turns, its in zip(reformulations, said, passages, strict=True):
            texts = [with_turns.sub_queries[0].text, *(s.text for s in made.sub_queries if s.kind in _READ)]
            pairs.append([(text, passage) for text in dict.fromkeys(texts) for passage in its])
        return pairs


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
