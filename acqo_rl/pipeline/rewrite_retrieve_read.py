"""Rewrite-retrieve-read: look at the best similarity, and rewrite once more where it is low."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.load import LOOKS_FIRST
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.searching.feedback import snippets
from acqo_rl.searching.path import search
from acqo_rl.searching.result import SearchResult
from acqo_rl.types import (
    CompositeRetriever,
    Document,
    FeedbackSpec,
    Fusion,
    Query,
    Reformulation,
    Reformulator,
    Retriever,
    has_cosines,
)


class RewriteRetrieveRead:
    """Searches; where nothing is similar enough, rewrites from the first results and keeps the better search.

    It is a reformulator as well: of the search that was kept, which is then made once more on the one path.
    """

    name = LOOKS_FIRST

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
        """Names the parts.

        Args:
            first: of the first search; ``PassThrough`` searches the query as it stands.
            second: of the second one; reads the first results as the query's feedback.
            retriever: one, since similarities of two cannot be compared.
            fusion: merges the rankings of each search.
            corpus: document id -> document, of the retriever.
            threshold: a best similarity that is good enough, on the retriever's own scale (cosine by default).
            results: first results that the second reformulator reads.
            words: words of each of them.
        """
        self._first = first
        self._second = second
        self._retriever = retriever
        self._fusion = fusion
        self._corpus = corpus
        self._threshold = threshold
        self._read = FeedbackSpec(results, words)

    def search(self, queries: Sequence[Query], k: int = 10) -> list[SearchResult]:
        """One result a query, position for position, from at most two batched searches.

        The reformulation of a query that was rewritten counts the calls and tokens of both, its query bears the first
        results that were read for it, and its ``reasoning`` says which search was kept, and why.
        """
        found = search(self._first.reformulate(queries), self._retriever, self._fusion, k)
        weak = [i for i, result in enumerate(found) if best_similarity(result) < self._threshold]
        asked = [replace(queries[i], feedback=snippets(found[i].fused, self._corpus, self._read)) for i in weak]
        again = search(self._second.reformulate(asked), self._retriever, self._fusion, k) if weak else []
        for i, second in zip(weak, again, strict=True):
            found[i] = self._better(found[i], second)
        return found

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """What the search searched that was kept, one reformulation per query, in input order."""
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


def look_first(
    rewriter: Reformulator, retriever: Retriever, fusion: Fusion, corpus: Mapping[str, Document], threshold: float
) -> RewriteRetrieveRead:
    """Rewrite-retrieve-read that searches the raw query first, by a dense index alone where the retriever is a hybrid.

    Args:
        rewriter: rewrites with the first results.
        retriever: dense, or a hybrid with a dense part.
        fusion: merges the rankings of each search.
        corpus: document id -> document, of the retriever.
        threshold: least cosine of a best document that is good enough.

    Raises:
        ConfigError: the retriever has no cosines.
    """
    dense = _with_cosines(retriever)
    if dense is None:
        raise ConfigError(
            f"{LOOKS_FIRST} compares cosines, and {retriever.name!r} gives none; search a dense index, alone or in a "
            "hybrid, and of several collections those of one encoder."
        )
    return RewriteRetrieveRead(PassThrough(), rewriter, dense, fusion, corpus, threshold=threshold)


def _with_cosines(retriever: Retriever) -> Retriever | None:
    if has_cosines(retriever):
        return retriever
    parts = retriever.parts if isinstance(retriever, CompositeRetriever) else ()
    return next((part for part in parts if has_cosines(part)), None)


def best_similarity(result: SearchResult) -> float:
    """The greatest similarity of a search's documents; minus infinity where it found none."""
    return max((ranking.scores[0] for ranking in result.rankings if ranking.scores), default=float("-inf"))
