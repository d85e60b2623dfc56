"""Rewrite-retrieve-read: rewrites the query if the top similarity of the first search is low."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.load import REWRITE_RETRIEVE_READ
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Composite, Fusion, Reformulator, Retriever
from acqo_rl.searching.concurrent import best_score
from acqo_rl.searching.feedback import with_feedback
from acqo_rl.searching.path import search
from acqo_rl.searching.result import SearchResult
from acqo_rl.types import Document, FeedbackSpec, Query, Reformulation


class RewriteRetrieveRead(Reformulator):
    """Searches a query; if no document is similar enough, rewrites it with feedback and keeps the better search.

    It is also a reformulator. It returns the sub-queries of the search that was kept, which the caller searches again.
    """

    name = REWRITE_RETRIEVE_READ

    def __init__(
        self,
        first: Reformulator,
        second: Reformulator,
        retriever: Retriever,
        fusion: Fusion,
        corpus: Mapping[str, Document],
        *,
        threshold: float = 0.7,
        results: int = 3,
        words: int = 40,
    ) -> None:
        """Creates the reformulator.

        Args:
            first: reformulator of the first search; ``PassThrough`` searches the raw query.
            second: reformulator of the second search; reads the results of the first one as feedback.
            retriever: a single retriever, because similarities of several are not comparable.
            fusion: merges the rankings of each search.
            corpus: document id -> document, of the retriever.
            threshold: top similarity from which no rewrite is needed, in the scores of the retriever.
            results: number of feedback results.
            words: words per feedback result.
        """
        self._first = first
        self._second = second
        self._retriever = retriever
        self._fusion = fusion
        self._corpus = corpus
        self._threshold = threshold
        self._read = FeedbackSpec(results, words)

    def search(self, queries: Sequence[Query], k: int = 10) -> list[SearchResult]:
        """Returns one result per query, in input order, from at most two batched searches.

        If a query was rewritten, its reformulation has the calls and tokens of both searches, its query has the
        feedback, and its ``reasoning`` says which search was kept and why.
        """
        found = search(self._first.reformulate(queries), self._retriever, self._fusion, k)
        weak = [i for i, result in enumerate(found) if best_similarity(result) < self._threshold]
        tops = [found[i].fused for i in weak]
        asked = with_feedback([queries[i] for i in weak], tops, self._corpus, self._read)
        again = search(self._second.reformulate(asked), self._retriever, self._fusion, k) if weak else []
        for i, second in zip(weak, again, strict=True):
            found[i] = self._better(found[i], second)
        return found

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order: the sub-queries of the search that was kept."""
        found = self.search(queries)
        return [replace(result.reformulation, made_by=self.name) for result in found]

    def _better(self, first: SearchResult, second: SearchResult) -> SearchResult:
        before, after = best_similarity(first), best_similarity(second)
        kept = second if after > before else first
        both = first.reformulation, second.reformulation
        reformulation = replace(
            kept.reformulation,
            query=second.reformulation.query,
            calls=sum(r.calls for r in both),
            failed_calls=sum(r.failed_calls for r in both),
            tokens=sum(r.tokens for r in both),
            problem="; ".join(r.problem for r in both if r.problem) or None,
            reasoning=f"Best similarity {before:.3f} is below {self._threshold:g}, {after:.3f} after a rewrite: "
            f"kept the {'second' if kept is second else 'first'} search",
        )
        return replace(kept, reformulation=reformulation)


def rewrite_retrieve_read(
    rewriter: Reformulator, retriever: Retriever, fusion: Fusion, corpus: Mapping[str, Document], threshold: float
) -> RewriteRetrieveRead:
    """Creates a rewrite-retrieve-read that first searches the raw query; uses only the dense part of a hybrid.

    Args:
        rewriter: rewrites the query with feedback.
        retriever: a dense retriever, or a hybrid with a dense part.
        fusion: merges the rankings of each search.
        corpus: document id -> document, of the retriever.
        threshold: top cosine from which no rewrite is needed.

    Raises:
        ConfigError: the scores of the retriever are not cosines.
    """
    dense = _with_cosines(retriever)
    if dense is None:
        raise ConfigError(
            f"{REWRITE_RETRIEVE_READ} needs cosine scores, but the scores of {retriever.name!r} are not cosines. "
            "Search a dense index, alone or in a hybrid; several collections must have the same encoder."
        )
    return RewriteRetrieveRead(PassThrough(), rewriter, dense, fusion, corpus, threshold=threshold)


def _with_cosines(retriever: Retriever) -> Retriever | None:
    if retriever.cosine:
        return retriever
    parts = retriever.parts if isinstance(retriever, Composite) else ()
    return next((part for part in parts if part.cosine), None)


def best_similarity(result: SearchResult) -> float:
    """The highest score of a search's documents; minus infinity if there are none."""
    return best_score(result.rankings)
