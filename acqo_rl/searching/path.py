"""The path that training, evaluation and serving share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from acqo_rl.errors import ConfigError
from acqo_rl.networks.choice import ARMS
from acqo_rl.reformulation.languages import Languages, can_read, with_language_note
from acqo_rl.reformulation.pass_through import RecentTurns, pass_through
from acqo_rl.roles import Fusion, Hop, Reformulator
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.concurrent import ConcurrentSearch, flatten
from acqo_rl.searching.feedback import with_feedback
from acqo_rl.searching.hop import Hops
from acqo_rl.searching.order import ORDERED, LearnedOrder
from acqo_rl.searching.reranking import Reranking
from acqo_rl.searching.result import Failure, SearchResult, public_problem, with_strange_texts
from acqo_rl.searching.sub_queries import (
    DEPTH,
    Retrievers,
    normalise_sub_queries,
    split_retrievers,
)
from acqo_rl.searching.threshold import check_cosine, fuse_similar
from acqo_rl.searching.trace import Trace
from acqo_rl.text import within_limits
from acqo_rl.types import Corpus, FeedbackSpec, Query, Reformulation

T = TypeVar("T")


class Calls:
    """How a run calls the components of the path: here without limits, so exceptions are raised."""

    def __init__(self, searches: ConcurrentSearch, retrievers: Retrievers) -> None:
        self.searches = searches
        self._asked, _ = split_retrievers(retrievers)

    def reformulate(self, reformulator: Reformulator, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, as :func:`normalise_sub_queries` returns them."""
        return normalise_sub_queries(one_each(reformulator, queries), self._asked)

    def attempt(self, step: str, component: str, call: Callable[[], list[T]]) -> list[T] | Failure:
        """What the call of a step returns, one value per query; the failure if it is not raised."""
        return call()


@dataclass(frozen=True)
class SearchPath:
    """First search, reformulation, search, fusion, hops if there are any, and reranking if there is a reranker.

    :func:`acqo_rl.searching.assemble.open_path` opens it from a description, and
    :class:`~acqo_rl.searching.searcher.AdaptiveSearcher` adds time-outs, partial results and caches.

    Attributes:
        reformulator: rewrites queries into sub-queries.
        retrievers: one retriever, or several over the same documents. Each is called once with the distinct sub-queries
            of a batch. Retrievers with equal names must have comparable scores, such as those of one encoder. An
            :class:`~acqo_rl.searching.sub_queries.RawQueryOnly` searches only the raw query. To search several
            collections, give one :class:`~acqo_rl.retrieval.composite.FederatedRetriever`, with a ``FederatedFusion``
            as ``fusion``.
        fusion: merges the rankings of each query.
        corpus: document id -> document; required for feedback.
        feedback: the feedback that the reformulator reads; by default the reformulator's own ``feedback``.
        hops: reads the results and searches names in them; by default nothing does.
        depth: documents per list before fusion, at least ``k``.
        score_threshold: minimum cosine of a document; see :func:`~acqo_rl.searching.threshold.fuse_similar`.
        order: orders the first documents of the fused ranking; by default nothing does.
        reranking: reorders the first documents after that; by default nothing does.
        choice: chooses the searches of each query after reading results; by default the reformulator's are used.
        retry_below: if set, only queries whose raw query finds no document with a cosine of at least this are
            reformulated, and a reformulation is kept only if it finds a higher cosine (rewrite-retrieve-read).

    Raises:
        ConfigError: feedback is enabled without a corpus, or a threshold is set and a retriever's scores are not
            cosines.
    """

    reformulator: Reformulator
    retrievers: Retrievers
    fusion: Fusion
    corpus: Corpus | None = None
    feedback: FeedbackSpec | None = None
    hops: Hops | None = None
    depth: int = DEPTH
    score_threshold: float | None = None
    order: LearnedOrder | None = None
    reranking: Reranking | None = None
    choice: Choice | None = None
    retry_below: float | None = None

    def __post_init__(self) -> None:
        if self.corpus is None and self.reads.results:
            raise ConfigError(
                f"{self.reformulator.name} reads {self.reads.results} results, but there is no corpus to "
                "take their texts from; give the corpus, or disable feedback with feedback=FeedbackSpec(0)."
            )
        asked, originals = split_retrievers(self.retrievers)
        check_cosine("score_threshold", self.score_threshold, (*asked, *originals))
        dense = [one for one in flatten(asked) if one.cosine]
        check_cosine("similarity_threshold", self.retry_below, dense or asked)

    @property
    def languages(self) -> Languages:
        """The languages that choice, hops and order read; queries in other ones pass all three."""
        steps = (self.choice, self.hops and self.hops.hop, self.order)
        return next((step.languages for step in steps if step and step.languages), None)

    @property
    def reads(self) -> FeedbackSpec:
        """The feedback that the reformulator gets."""
        return self.reformulator.feedback if self.feedback is None else self.feedback

    def search(self, queries: Sequence[Query], k: int = 10) -> list[SearchResult]:
        """Returns the best ``k`` documents per query, in input order; the batch is reformulated in one call.

        Long queries are shortened by :func:`~acqo_rl.text.within_limits`.
        """
        return self._run(queries, max(k, self.depth), lambda batch: batch.results(k, self.score_threshold))

    def with_feedback(self, queries: Sequence[Query]) -> list[Query]:
        """Returns the queries as the reformulator reads them: shortened, and with the results of a first search."""
        return self._run(queries, self.depth, lambda batch: batch.with_feedback(range(len(batch))))

    def _run(self, queries: Sequence[Query], depth: int, of_batch: Callable[[Run], list[T]]) -> list[T]:
        calls = Calls(ConcurrentSearch(self.retrievers, depth), self.retrievers)
        return run(self, calls, [within_limits(query)[0] for query in queries], of_batch)


def run(path: SearchPath, calls: Calls, queries: Sequence[Query], of_batch: Callable[[Run], list[T]]) -> list[T]:
    """Runs the queries whose language the networks of a path read, and then the others, without these networks.

    Returns:
        What ``of_batch`` returns, one value per query, in input order.
    """
    found: dict[int, T] = {}
    for its in (path, replace(path, choice=None, hops=None, order=None)):
        reads = its is path
        numbers = [i for i, query in enumerate(queries) if can_read(query, path.languages) is reads]
        if numbers:
            batch = Run(its, calls, [queries[i] for i in numbers], path.languages)
            found |= zip(numbers, of_batch(batch), strict=True)
    return [found[i] for i in range(len(queries))]


class Run:
    """One batch on its way along a path."""

    def __init__(self, path: SearchPath, calls: Calls, queries: Sequence[Query], languages: Languages = None) -> None:
        self._path = path
        self._calls = calls
        self._queries = queries
        self._languages = languages
        self._searches = calls.searches
        self._trace = Trace()
        self._searched: list[list[Reformulation]] = [[] for _ in queries]
        self._failed: list[Failure] = []

    def __len__(self) -> int:
        return len(self._queries)

    def results(self, k: int, score_threshold: float | None) -> list[SearchResult]:
        """Returns the best ``k`` documents per query.

        If the choice, a hop, the order or the reranking fails, the results so far are kept.
        """
        path = self._path
        made = self.reformulate()
        if path.hops:
            made = path.hops.added(made, partial(self._names, path.hops.hop))
        depth = max(k, path.reranking.depth if path.reranking else 0, ORDERED if path.order else 0)
        with self._trace.step("retrieval", f"{sum(len(one.sub_queries) for one in made)} sub-queries"):
            rankings = self._searches.rankings(made)
        with self._trace.step("fusion", path.fusion.name):
            plain = fused = fuse_similar(path.fusion, rankings, depth, score_threshold)
        if path.order:
            with self._trace.step("order", path.order.name):
                fused = self._attempt("order", path.order.name, partial(path.order, made, rankings, fused)) or fused
        if path.reranking:
            name = path.reranking.reranker.name
            with self._trace.step("reranking", name):
                fused = self._attempt("reranking", name, partial(path.reranking, made, fused)) or fused
        fused = [ranking.first(k) for ranking in fused]
        searched = [(*before, one) for before, one in zip(self._searched, made, strict=True)]
        failures = [(*_failed(some[-1]), *self._searches.failures(*some), *self._failed) for some in searched]
        return [
            SearchResult(
                with_strange_texts(some[-1], lists), lists, best, failed, self._trace.steps, some,
                before.doc_ids.index(best.doc_ids[0]) + 1 if best.doc_ids else 1,
            )
            for some, lists, best, failed, before in zip(searched, rankings, fused, failures, plain, strict=True)
        ]  # fmt: skip

    def reformulate(self) -> list[Reformulation]:
        """Returns what is searched for each query, without hops."""
        if self._path.choice:
            return self._choose(self._path.choice)
        below = self._path.retry_below
        made = self._ask(range(len(self._queries))) if below is None else self._retry(below)
        return [with_language_note(one, self._languages) for one in made]

    def _attempt(self, step: str, component: str, call: Callable[[], list[T]]) -> list[T] | None:
        """What a call returns; ``None`` if it fails."""
        found = self._calls.attempt(step, component, call)
        if not isinstance(found, Failure):
            return found
        self._failed.append(found)
        return None

    def _ask(self, numbers: Sequence[int]) -> list[Reformulation]:
        """The reformulations of some queries, after a first search if the reformulator reads its results."""
        if not numbers:
            return []
        queries = self.with_feedback(numbers)
        reformulator = self._path.reformulator
        with self._trace.step("reformulation", reformulator.name):
            return self._calls.reformulate(reformulator, queries)

    def with_feedback(self, numbers: Sequence[int]) -> list[Query]:
        """Some queries, with the results of a first search if the reformulator reads them."""
        path = self._path
        queries = [self._queries[i] for i in numbers]
        if not path.reads.results:
            return queries
        first = RecentTurns().reformulate(queries)
        for i, made in zip(numbers, first, strict=True):
            self._searched[i].append(made)
        with self._trace.step("feedback", f"{path.reads.results} results"):
            tops = path.fusion.fuse(self._searches.rankings(first), path.reads.results)
        return with_feedback(queries, tops, path.corpus or {}, path.reads)

    def _ask_again(self, numbers: Sequence[int]) -> list[Reformulation]:
        """Asks, and records the answers as searched, because another reformulation may become the result."""
        answers = self._ask(numbers)
        for i, answer in zip(numbers, answers, strict=True):
            self._searched[i].append(answer)
        return answers

    def _retry(self, below: float) -> list[Reformulation]:
        """Raw queries that find a similar document pass; of the others, the better search is kept."""
        made = [pass_through(query, self._path.reformulator.name) for query in self._queries]
        with self._trace.step("raw query", f"reformulated if the best cosine is below {below:g}"):
            best = self._searches.best_cosines(made)
        for before, one in zip(self._searched, made, strict=True):
            before.append(one)
        asked = [i for i, cosine in enumerate(best) if cosine < below]
        answers = self._ask_again(asked)
        for i, answer, cosine in zip(asked, answers, self._searches.best_cosines(answers), strict=True):
            made[i] = _better(answer, best[i], cosine)
        return made

    def _choose(self, choice: Choice) -> list[Reformulation]:
        """Reads the results of searches without a model, and asks the reformulator only for some of the queries."""
        search = self._searches.rankings
        fusion = self._path.fusion
        with self._trace.step("first searches", ", ".join(ARMS[:-1])):
            arms = [self._calls.reformulate(one, self._queries) for one in choice.reformulators]
            made = list(zip(*arms, strict=True))
            for before, some in zip(self._searched, made, strict=True):
                before += some
            search([one for some in made for one in some])
            found = self._attempt(
                "choice", choice.name, partial(choice.choose, made, search, fusion, may_ask=choice.asks)
            )
        chosen: list[Reformulation | None] = found or [None if choice.asks else some[0] for some in made]
        asked = [i for i, one in enumerate(chosen) if one is None]
        if asked:
            answers = self._ask_again(asked)
            with self._trace.step("choice", f"{len(asked)} of {len(chosen)} queries asked the model"):
                search(answers)
                several = [(*made[i], answer) for i, answer in zip(asked, answers, strict=True)]
                picked = self._attempt(
                    "choice", choice.name, partial(choice.choose, several, search, fusion, may_ask=False)
                )
            for i, answer, one in zip(asked, answers, picked or answers, strict=True):
                chosen[i] = _with_costs_of(answer, one or answer)
        return [one for one in chosen if one is not None]

    def _names(self, hop: Hop, searched: Sequence[Reformulation]) -> list[str | None]:
        """The names that a hop chooses; it stops everywhere if it fails."""
        with self._trace.step("hop", hop.name):
            fused = self._path.fusion.fuse(self._searches.rankings(searched), DEPTH)
            names = self._attempt("hop", hop.name, partial(hop.choose, searched, fused))
        return names or [None] * len(searched)


def _with_costs_of(answer: Reformulation, chosen: Reformulation) -> Reformulation:
    """What was chosen, with the costs and the problem of the model that was asked; its notes if its texts are searched.

    The texts are those of an earlier option if the model wrote nothing new.
    """
    return replace(
        chosen,
        completion=answer.completion,
        tokens=answer.tokens,
        problem=answer.problem,
        calls=answer.calls,
        failed_calls=answer.failed_calls,
        cached=answer.cached,
        notes=answer.notes if set(answer.sub_queries) <= set(chosen.sub_queries) else chosen.notes,
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
