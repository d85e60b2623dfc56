"""The path that training, evaluation and serving share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from acqo_rl.errors import ConfigError
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.turns import first_searches
from acqo_rl.roles import Fusion, Reformulator
from acqo_rl.searching.choice import ARMS, Choice
from acqo_rl.searching.concurrent import ConcurrentSubQuerySearch
from acqo_rl.searching.feedback import with_feedback
from acqo_rl.searching.hop import Hops, with_name
from acqo_rl.searching.reranking import Reranking
from acqo_rl.searching.result import Failure, SearchResult, public_problem
from acqo_rl.searching.sub_queries import (
    DEPTH,
    Retrievers,
    normalise_sub_queries,
    split_retrievers,
)
from acqo_rl.searching.threshold import check_cosine, check_retry_below, fuse_similar
from acqo_rl.searching.trace import Trace
from acqo_rl.text import within_limits
from acqo_rl.types import Document, FeedbackSpec, Query, Ranking, Reformulation

T = TypeVar("T")

Reformulate = Callable[[Reformulator, Sequence[Query]], list[Reformulation]]
"""Returns one reformulation per query, in input order."""

Guard = Callable[[str, str, Callable[[], list[T]]], tuple[list[T] | None, tuple[Failure, ...]]]
"""Makes the call of a step, given the names of the step and of its component.

Returns what the call returns, one value per query, or ``None`` and the failure.
"""


def unguarded(_step: str, _component: str, call: Callable[[], list[T]]) -> tuple[list[T], tuple[Failure, ...]]:
    """Calls directly; exceptions are raised."""
    return call(), ()


@dataclass(frozen=True)
class SearchPath:
    """First search, reformulation, search, fusion, hops if there are any, and reranking if there is a reranker.

    :class:`~acqo_rl.searching.searcher.AdaptiveSearcher` adds time-outs, partial results and caches.

    Attributes:
        reformulator: rewrites queries into sub-queries.
        retrievers: see :func:`search`.
        fusion: merges the rankings of each query.
        corpus: document id -> document; required for feedback.
        feedback: the feedback that the reformulator reads; by default the reformulator's own ``feedback``.
        hops: reads the results and searches names in them; by default nothing does.
        depth: documents per list before fusion, at least ``k``.
        score_threshold: minimum cosine of a document; see :func:`~acqo_rl.searching.threshold.fuse_similar`.
        reranking: reorders the fused ranking; by default nothing does.
        choice: chooses the searches of each query after reading results; by default the reformulator's are used.

    Raises:
        ConfigError: feedback is enabled without a corpus, or a threshold is set and a retriever's scores are not
            cosines.
    """

    reformulator: Reformulator
    retrievers: Retrievers
    fusion: Fusion
    corpus: Mapping[str, Document] | None = None
    feedback: FeedbackSpec | None = None
    hops: Hops | None = None
    depth: int = DEPTH
    score_threshold: float | None = None
    reranking: Reranking | None = None
    choice: Choice | None = None
    _reads: FeedbackSpec = field(init=False)

    def __post_init__(self) -> None:
        reads = self.reformulator.feedback if self.feedback is None else self.feedback
        object.__setattr__(self, "_reads", reads)
        if reads.results and self.corpus is None:
            raise ConfigError(
                f"{self.reformulator.name} reads {reads.results} results of a first search, but there is no corpus to "
                f"take their texts from; give the corpus, or disable feedback with feedback=FeedbackSpec(0)."
            )
        asked, originals = split_retrievers(self.retrievers)
        check_cosine("score_threshold", self.score_threshold, (*asked, *originals))
        check_retry_below(self.reformulator.retry_below, asked)

    def search(self, queries: Sequence[Query], k: int = 10) -> list[SearchResult]:
        """Returns the best ``k`` documents per query, in input order; the batch is reformulated in one call.

        Long queries are shortened by :func:`~acqo_rl.text.within_limits`.
        """
        queries = list(map(within_limits, queries))
        searches = ConcurrentSubQuerySearch.direct(self.retrievers, max(k, self.depth))
        threshold = self.score_threshold
        return self.run(queries, k, searches, self._reformulate, Trace(), threshold, unguarded)

    def run(
        self,
        queries: Sequence[Query],
        k: int,
        searches: ConcurrentSubQuerySearch,
        reformulate: Reformulate,
        trace: Trace,
        score_threshold: float | None,
        guard: Guard[Any],
    ) -> list[SearchResult]:
        """Runs the path with the caller's own search and reformulation calls.

        Args:
            queries: one batch.
            k: documents per fused ranking.
            searches: runs the searches.
            reformulate: returns one reformulation per query, as returned by
                :func:`~acqo_rl.searching.sub_queries.normalise_sub_queries`.
            trace: records the steps.
            score_threshold: replaces the path's own threshold; ``None`` disables it.
            guard: calls the choice, the hops and the reranking; if one fails, the results so far are kept.
        """
        before, reformulations, failed = self.reformulate(queries, searches, reformulate, trace, guard)
        if self.hops:
            reformulations, failures = self._hop(self.hops, reformulations, searches, guard, trace)
            failed += failures
        depth = max(k, self.reranking.depth) if self.reranking else k
        rankings, fused = _search(reformulations, searches, self.fusion, depth, score_threshold, trace)
        if self.reranking:
            name, call = self.reranking.reranker.name, partial(self.reranking, reformulations, fused)
            with trace.step("reranking", name):
                reranked, failures = guard("reranking", name, call)
            failed += failures
            fused = [ranking.first(k) for ranking in reranked or fused]
        of_each = [
            (*_failed(made), *searches.failures(*earlier, made), *failed)
            for earlier, made in zip(before, reformulations, strict=True)
        ]
        return [
            SearchResult(*parts, trace.steps) for parts in zip(reformulations, rankings, fused, of_each, strict=True)
        ]

    def _hop(
        self,
        hops: Hops,
        reformulations: Sequence[Reformulation],
        searches: ConcurrentSubQuerySearch,
        guard: Guard[str | None],
        trace: Trace,
    ) -> tuple[list[Reformulation], tuple[Failure, ...]]:
        """Adds the searches of the hops; each reads the results of all searches before it."""
        made, going = list(reformulations), list(range(len(reformulations)))
        for _ in range(hops.most):
            with trace.step("hop", hops.hop.name):
                searched = [made[i] for i in going]
                fused = self.fusion.fuse(searches.search(searched), DEPTH)
                names, failures = guard("hop", hops.hop.name, partial(hops.hop.choose, searched, fused))
            chosen = {i: name for i, name in zip(going, names or [None] * len(going), strict=True) if name is not None}
            made = [with_name(one, chosen[i]) if i in chosen else one for i, one in enumerate(made)]
            going = list(chosen)
            if failures or not going:
                return made, failures
        return made, ()

    def reformulate(
        self,
        queries: Sequence[Query],
        searches: ConcurrentSubQuerySearch,
        reformulate: Reformulate,
        trace: Trace,
        guard: Guard[Any],
    ) -> tuple[list[tuple[Reformulation, ...]], list[Reformulation], tuple[Failure, ...]]:
        """Returns what was searched before, what to search (without hops), and the failures of the choice.

        With ``retry_below`` of the reformulator, the raw queries are searched before, and those that find a similar
        document pass.
        """
        if self.choice:
            return self._choose(self.choice, queries, searches, reformulate, trace, guard)
        first, answers = self._retry_below(queries, searches, reformulate, trace)
        return [(one,) for one in first] if first else [()] * len(queries), answers, ()

    def _choose(
        self,
        choice: Choice,
        queries: Sequence[Query],
        searches: ConcurrentSubQuerySearch,
        reformulate: Reformulate,
        trace: Trace,
        guard: Guard[Any],
    ) -> tuple[list[tuple[Reformulation, ...]], list[Reformulation], tuple[Failure, ...]]:
        """Reads the results of searches without a model, and asks the reformulator only for some of the queries."""
        with trace.step("first searches", ", ".join(ARMS[:-1])):
            arms = [reformulate(one, queries) for one in choice.reformulators]
            made = list(zip(*arms, strict=True))
            searches.search([one for some in made for one in some])
            call = partial(choice.choose, made, searches.search, self.fusion, may_ask=choice.asks)
            found, failures = guard("choice", choice.name, call)
        chosen: list[Reformulation | None] = found or [None if choice.asks else one[0] for one in made]
        asked = [i for i, one in enumerate(chosen) if one is None]
        before = dict(enumerate(made))
        if asked:
            first, answers = self._reformulate_all([queries[i] for i in asked], searches, reformulate, trace)
            for i, feedback in zip(asked, first, strict=False):
                before[i] = (*made[i], feedback)
            with trace.step("choice", f"{len(asked)} of {len(queries)} queries asked the model"):
                searches.search(answers)
                several = [(*made[i], answer) for i, answer in zip(asked, answers, strict=True)]
                call = partial(choice.choose, several, searches.search, self.fusion, may_ask=False)
                picked, more = guard("choice", choice.name, call)
            for i, answer, one in zip(asked, answers, picked or answers, strict=True):
                chosen[i] = _with_costs_of(answer, one)
            failures += more
        return list(before.values()), [one for one in chosen if one is not None], failures

    def _retry_below(
        self, queries: Sequence[Query], searches: ConcurrentSubQuerySearch, reformulate: Reformulate, trace: Trace
    ) -> tuple[list[Reformulation], list[Reformulation]]:
        """Returns the reformulations of the first search (empty without feedback) and those to search."""
        below = self.reformulator.retry_below
        if below is None:
            return self._reformulate_all(queries, searches, reformulate, trace)
        raw = [pass_through(query, self.reformulator.name) for query in queries]
        with trace.step("raw query", f"reformulated if the best cosine is below {below:g}"):
            best = searches.best_cosines(raw)
        asked = {i: queries[i] for i, cosine in enumerate(best) if cosine < below}
        first, answers = (
            self._reformulate_all(list(asked.values()), searches, reformulate, trace) if asked else ([], [])
        )
        again = searches.best_cosines(answers)
        answers = [_better(*made) for made in zip(answers, [best[i] for i in asked], again, strict=True)]
        answered = dict(zip(asked, answers, strict=True))
        searched = dict(zip(asked, first, strict=True)) if first else {}
        return (
            [searched.get(i, one) for i, one in enumerate(raw)],
            [answered.get(i, one) for i, one in enumerate(raw)],
        )

    def _reformulate_all(
        self, queries: Sequence[Query], searches: ConcurrentSubQuerySearch, reformulate: Reformulate, trace: Trace
    ) -> tuple[list[Reformulation], list[Reformulation]]:
        """Does the same for queries that are all reformulated."""
        first, asked = first_searches(queries) if self._reads.results else [], queries
        if first:
            with trace.step("feedback", f"{self._reads.results} results"):
                tops = self.fusion.fuse(searches.search(first), self._reads.results)
            asked = with_feedback(queries, tops, self.corpus or {}, self._reads)
        with trace.step("reformulation", self.reformulator.name):
            return first, reformulate(self.reformulator, asked)

    def _reformulate(self, reformulator: Reformulator, queries: Sequence[Query]) -> list[Reformulation]:
        return normalise_sub_queries(one_each(reformulator, queries), split_retrievers(self.retrievers)[0])


def _with_costs_of(answer: Reformulation, chosen: Reformulation) -> Reformulation:
    """What was chosen, with the costs and the problem of the model that was asked."""
    return replace(
        chosen,
        completion=answer.completion,
        tokens=answer.tokens,
        problem=answer.problem,
        calls=answer.calls,
        failed_calls=answer.failed_calls,
    )


def one_each(reformulator: Reformulator, queries: Sequence[Query]) -> list[Reformulation]:
    """Calls a reformulator.

    Raises:
        ValueError: it does not return one reformulation per query.
    """
    answers = reformulator.reformulate(queries)
    if len(answers) != len(queries):
        raise ValueError(
            f"{reformulator.name} returned {len(answers)} reformulations for {len(queries)} queries; it must return one"
            f" per query."
        )
    return answers


def search(
    reformulations: Sequence[Reformulation],
    retriever: Retrievers,
    fusion: Fusion,
    k: int = 10,
    depth: int = DEPTH,
    score_threshold: float | None = None,
) -> list[SearchResult]:
    """Searches the sub-queries of a batch and merges the rankings of each query (the second half of the path).

    A single ranking is fused as well, so that scores have the same meaning on every route.

    Args:
        reformulations: one per query.
        retriever: one retriever, or several over the same documents. Each is called once with the distinct sub-queries
            of the batch. Retrievers with equal names must have comparable scores, such as those of one encoder. An
            :class:`~acqo_rl.searching.sub_queries.RawQueryOnly` searches only the raw query. To search several
            collections, give one :class:`~acqo_rl.retrieval.federated.FederatedRetriever`, with a ``FederatedFusion``
            as ``fusion``.
        fusion: merges the rankings of each query.
        k: documents per fused ranking.
        depth: documents per list before fusion, at least ``k``.
        score_threshold: see :func:`~acqo_rl.searching.threshold.fuse_similar`.

    Returns:
        One result per reformulation, in input order.

    Raises:
        ConfigError: a threshold is set and a retriever's scores are not cosines.
    """
    asked, originals = split_retrievers(retriever)
    check_cosine("score_threshold", score_threshold, (*asked, *originals))
    reformulations = normalise_sub_queries(reformulations, asked)
    searches = ConcurrentSubQuerySearch.direct(retriever, max(k, depth))
    rankings, fused = _search(reformulations, searches, fusion, k, score_threshold, Trace())
    return [SearchResult(*parts) for parts in zip(reformulations, rankings, fused, strict=True)]


def _search(
    reformulations: Sequence[Reformulation],
    searches: ConcurrentSubQuerySearch,
    fusion: Fusion,
    k: int,
    score_threshold: float | None,
    trace: Trace,
) -> tuple[list[tuple[Ranking, ...]], list[Ranking]]:
    """The rankings and the fused ranking of each reformulation."""
    with trace.step("retrieval", f"{sum(len(r.sub_queries) for r in reformulations)} sub-queries"):
        rankings = searches.search(reformulations)
    with trace.step("fusion", fusion.name):
        return rankings, fuse_similar(fusion, rankings, k, score_threshold)


def add_feedback(
    queries: Sequence[Query],
    retriever: Retrievers,
    fusion: Fusion,
    corpus: Mapping[str, Document],
    feedback: FeedbackSpec,
) -> list[Query]:
    """Adds the top results of a first search to queries; see :func:`~acqo_rl.reformulation.turns.first_searches`.

    Args:
        queries: searched in one batch.
        retriever: as in :func:`search`; its document ids are keys of ``corpus``.
        fusion: as in :func:`search`.
        corpus: document id -> document.
        feedback: number and length of the results; with 0 results the queries are returned unchanged.
    """
    if not feedback.results:
        return list(queries)
    found = search(first_searches(queries), retriever, fusion, feedback.results)
    return with_feedback(queries, [result.fused for result in found], corpus, feedback)


def _better(made: Reformulation, before: float, after: float) -> Reformulation:
    """A reformulation, or its raw query if that finds as similar a document."""
    kept = made if after > before else pass_through(made.query, made.made_by)
    reasoning = (
        f"Best cosine {before:.3f} of the raw query, {after:.3f} of the reformulation: "
        f"kept the {'second' if kept is made else 'first'} search"
    )
    return replace(made, route=kept.route, sub_queries=kept.sub_queries, reasoning=reasoning)


def _failed(reformulation: Reformulation) -> tuple[Failure, ...]:
    """The failure of a model call that returned no text; a reply that could not be parsed is not a failure."""
    problem = reformulation.problem or ""
    return (Failure("reformulation", problem, public_problem(problem)),) if reformulation.failed_calls else ()
