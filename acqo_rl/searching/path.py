"""The path that training, evaluation and serving share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.turns import first_searches
from acqo_rl.searching.feedback import with_feedback
from acqo_rl.searching.lists import DEPTH, Retrievers, search_each, searchable, split_retrievers
from acqo_rl.searching.result import Failure, SearchResult
from acqo_rl.searching.threshold import check_score_threshold, fuse_similar
from acqo_rl.searching.trace import Trace
from acqo_rl.text import distinct
from acqo_rl.types import (
    Document,
    FeedbackSpec,
    Fusion,
    Query,
    Ranking,
    Reformulation,
    Reformulator,
    feedback_of,
)

Reformulate = Callable[[Sequence[Query]], list[Reformulation]]
"""Returns one reformulation per query, in input order."""


class Lists(Protocol):
    """Searches for one batch of queries."""

    def find(self, reformulations: Sequence[Reformulation]) -> list[tuple[Ranking, ...]]:
        """The rankings of each reformulation, in input order."""
        ...

    def failures(self, *searched: Reformulation) -> tuple[Failure, ...]:
        """What failed of all that was searched for one query."""
        ...


@dataclass(frozen=True, slots=True)
class _PlainLists:
    """Calls the retrievers in this thread; an exception of theirs ends the search."""

    retrievers: Retrievers
    depth: int

    def find(self, reformulations: Sequence[Reformulation]) -> list[tuple[Ranking, ...]]:
        return search_each(reformulations, self.retrievers, self.depth)

    def failures(self, *_: Reformulation) -> tuple[Failure, ...]:
        return ()


@dataclass(frozen=True)
class SearchPath:
    """First search, reformulation, search, fusion.

    :class:`~acqo_rl.searching.searcher.AdaptiveSearcher` adds time-outs, partial results and caches.

    Attributes:
        reformulator: writes the searches.
        retrievers: see :func:`search`.
        fusion: merges the rankings of each query.
        corpus: document id -> document; required for feedback.
        feedback: what the reformulator reads of a first search; by default what it says itself.
        rounds: how often the reformulator is asked. From the second time on it reads what its searches found, and adds
            searches unless it passes the query.
        depth: documents in each list before fusion, or ``k`` where that is more.
        score_threshold: least cosine of a document; see :func:`~acqo_rl.searching.threshold.fuse_similar`.

    Raises:
        ConfigError: feedback is asked for without a corpus, there are several rounds without feedback, or there is a
            threshold and a retriever's scores are no cosines.
    """

    reformulator: Reformulator
    retrievers: Retrievers
    fusion: Fusion
    corpus: Mapping[str, Document] | None = None
    feedback: FeedbackSpec | None = None
    rounds: int = 1
    depth: int = DEPTH
    score_threshold: float | None = None
    _reads: FeedbackSpec = field(init=False)

    def __post_init__(self) -> None:
        reads = feedback_of(self.reformulator) if self.feedback is None else self.feedback
        object.__setattr__(self, "_reads", reads)
        if reads.results and self.corpus is None:
            raise ConfigError(
                f"{self.reformulator.name} reads {reads.results} results of a first search and needs their texts; "
                f"give the corpus, or feedback=FeedbackSpec(0) to ask it without them."
            )
        if self.rounds < 1 or (self.rounds > 1 and not reads.results):
            raise ConfigError(
                f"rounds is {self.rounds} and feedback.results is {reads.results}: there must be at least one round, "
                f"and several need at least one result to read."
            )
        asked, originals = split_retrievers(self.retrievers)
        check_score_threshold(self.score_threshold, (*asked, *originals))

    def search(self, queries: Sequence[Query], k: int = 10) -> list[SearchResult]:
        """The best ``k`` documents of each query, in input order, from one reformulation of the batch."""
        lists = _PlainLists(self.retrievers, max(k, self.depth))
        return self.walk(queries, k, lists, self._reformulate, Trace(), self.score_threshold)

    def walk(
        self,
        queries: Sequence[Query],
        k: int,
        lists: Lists,
        ask: Reformulate,
        trace: Trace,
        score_threshold: float | None,
    ) -> list[SearchResult]:
        """The path with parts of the caller's.

        Args:
            queries: of one batch.
            k: documents in each fused ranking.
            lists: searches.
            ask: reformulates; returns only what is searched (:func:`~acqo_rl.searching.lists.searchable`).
            trace: gets the steps.
            score_threshold: in place of the path's own.
        """
        first, reformulations = self.reformulate(queries, lists, ask, trace)
        with trace.step("retrieval", f"{sum(len(r.sub_queries) for r in reformulations)} sub-queries"):
            rankings = lists.find(reformulations)
        with trace.step("fusion", self.fusion.name):
            fused = fuse_similar(self.fusion, rankings, k, score_threshold)
        searched = zip(first, reformulations, strict=True) if first else zip(reformulations, strict=True)
        failures = [(*_failed(made[-1]), *lists.failures(*made)) for made in searched]
        return [
            SearchResult(*parts, trace.steps) for parts in zip(reformulations, rankings, fused, failures, strict=True)
        ]

    def reformulate(
        self, queries: Sequence[Query], lists: Lists, ask: Reformulate, trace: Trace
    ) -> tuple[list[Reformulation], list[Reformulation]]:
        """The first searches (empty without feedback), and what is searched after all rounds."""

        def ask_timed(asked: Sequence[Query]) -> list[Reformulation]:
            with trace.step("reformulation", self.reformulator.name):
                return ask(asked)

        def read(searched: Sequence[Reformulation]) -> list[Query]:
            with trace.step("feedback", f"{self._reads.results} results"):
                tops = self.fusion.fuse(lists.find(searched), self._reads.results)
            return with_feedback(queries, tops, self.corpus or {}, self._reads)

        first = first_searches(queries) if self._reads.results else []
        answers = ask_timed(read(first) if first else queries)
        for _ in range(self.rounds - 1):
            answers = list(map(_joined, answers, ask_timed(read(answers))))
        return first, answers

    def _reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        return searchable(self.reformulator.reformulate(queries), split_retrievers(self.retrievers)[0])


def search(
    reformulations: Sequence[Reformulation],
    retriever: Retrievers,
    fusion: Fusion,
    k: int = 10,
    depth: int = DEPTH,
    score_threshold: float | None = None,
) -> list[SearchResult]:
    """The second half of the path: searches the sub-queries of a batch in one call and merges each query's rankings.

    A single list is merged like several, so that scores mean the same on every route.

    Args:
        reformulations: one per query.
        retriever: one, or several over the same documents; each is called once, for ``depth`` documents per distinct
            sub-query. Retrievers of one name are those whose scores compare, such as one encoder's. An
            :class:`~acqo_rl.searching.lists.OriginalOnly` searches the raw query alone. Collections of different
            documents are one :class:`~acqo_rl.retrieval.federated.FederatedRetriever`, and ``fusion`` is its
            ``FederatedFusion`` then.
        fusion: merges the rankings of each query.
        k: documents in each fused ranking.
        depth: documents in each list before fusion, or ``k`` where that is more.
        score_threshold: see :func:`~acqo_rl.searching.threshold.fuse_similar`.

    Returns:
        One result per reformulation, in input order.

    Raises:
        ConfigError: there is a threshold, and a retriever's scores are no cosines.
    """
    asked, originals = split_retrievers(retriever)
    check_score_threshold(score_threshold, (*asked, *originals))
    reformulations = searchable(reformulations, asked)
    rankings = search_each(reformulations, retriever, max(k, depth))
    fused = fuse_similar(fusion, rankings, k, score_threshold)
    return [SearchResult(*parts) for parts in zip(reformulations, rankings, fused, strict=True)]


def add_feedback(
    queries: Sequence[Query],
    retriever: Retrievers,
    fusion: Fusion,
    corpus: Mapping[str, Document],
    feedback: FeedbackSpec,
) -> list[Query]:
    """The queries with the top results of a first search, which has the last two turns of a conversation.

    Args:
        queries: searched in one batch.
        retriever: as in :func:`search`; its document ids are keys of ``corpus``.
        fusion: as in :func:`search`.
        corpus: document id -> document.
        feedback: how many results, and how much of each; 0 results leave the queries as they are.
    """
    if not feedback.results:
        return list(queries)
    found = search(first_searches(queries), retriever, fusion, feedback.results)
    return with_feedback(queries, [result.fused for result in found], corpus, feedback)


def _failed(reformulation: Reformulation) -> tuple[Failure, ...]:
    """A model that did not answer; one whose reply cannot be used did."""
    return (Failure("reformulation", reformulation.problem or ""),) if reformulation.failed_calls else ()


def _joined(first: Reformulation, second: Reformulation) -> Reformulation:
    more = second.sub_queries if second.route != "pass" else ()
    last_with_lead = sorted([*first.sub_queries, *more], key=lambda sub_query: sub_query.lead is not None)
    return replace(
        first,
        route=second.route if first.route == "pass" else first.route,
        sub_queries=distinct(last_with_lead) or first.sub_queries,
        completion=f"{first.completion}\n{second.completion}",
        tokens=first.tokens + second.tokens,
        calls=first.calls + second.calls,
        failed_calls=first.failed_calls + second.failed_calls,
        problem=first.problem or second.problem,
    )
