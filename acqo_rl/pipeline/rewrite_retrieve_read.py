"""Rewrite-retrieve-read: rewrites the query if the top similarity of the first search is low."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.load import REWRITE_RETRIEVE_READ
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.roles import Fusion, Reformulator, Retriever
from acqo_rl.searching.concurrent import best_score, dense_parts
from acqo_rl.searching.feedback import with_feedback
from acqo_rl.searching.path import search
from acqo_rl.searching.result import SearchResult
from acqo_rl.types import Document, FeedbackSpec, Query, Reformulation

_READS = FeedbackSpec(results=3, words=40)


class RewriteRetrieveRead(Reformulator):
    """Searches the raw query; if no document is similar enough, rewrites it with feedback and keeps the better search.

    It returns the sub-queries of the search that was kept, which the caller searches again.
    """

    name = REWRITE_RETRIEVE_READ

    def __init__(
        self,
        rewriter: Reformulator,
        retriever: Retriever,
        fusion: Fusion,
        corpus: Mapping[str, Document],
        threshold: float = 0.7,
    ) -> None:
        """Creates the reformulator.

        Args:
            rewriter: rewrites the query; reads the first results as feedback.
            retriever: a dense retriever, or a hybrid, whose dense part is used.
            fusion: merges the rankings of each search.
            corpus: document id -> document, of the retriever.
            threshold: top cosine from which no rewrite is needed.

        Raises:
            ConfigError: the scores of the retriever are not cosines.
        """
        dense = [retriever] if retriever.cosine else dense_parts([retriever])
        if not dense:
            raise ConfigError(
                f"{self.name} needs cosine scores, but the scores of {retriever.name!r} are not cosines. Search a dense"
                " index, alone or in a hybrid; several collections must have the same encoder."
            )
        self._rewriter = rewriter
        self._retriever = dense[0]
        self._fusion = fusion
        self._corpus = corpus
        self._threshold = threshold

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, from at most two batched searches.

        If a query was rewritten, its query has the feedback, and ``reasoning`` says which search was kept and why.
        """
        found = self._search([pass_through(query, self.name) for query in queries])
        weak = [i for i, result in enumerate(found) if best_score(result.rankings) < self._threshold]
        answers = [result.reformulation for result in found]
        if weak:
            tops = [found[i].fused for i in weak]
            asked = with_feedback([queries[i] for i in weak], tops, self._corpus, _READS)
            for i, second in zip(weak, self._search(self._rewriter.reformulate(asked)), strict=True):
                answers[i] = self._better(found[i], second)
        return answers

    def _search(self, reformulations: Sequence[Reformulation]) -> list[SearchResult]:
        return search(reformulations, self._retriever, self._fusion)

    def _better(self, first: SearchResult, second: SearchResult) -> Reformulation:
        before, after = best_score(first.rankings), best_score(second.rankings)
        kept = second if after > before else first
        rewritten = second.reformulation
        return replace(
            rewritten,
            route=kept.reformulation.route,
            sub_queries=kept.reformulation.sub_queries,
            made_by=self.name,
            reasoning=f"Best similarity {before:.3f} is below {self._threshold:g}, {after:.3f} after a rewrite: "
            f"kept the {'second' if kept is second else 'first'} search",
        )
