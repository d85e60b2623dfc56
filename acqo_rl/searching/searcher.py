"""The searcher for serving: reformulates a query, searches its sub-queries and fuses the rankings.

Its results also report the sub-queries, the failures and the time of each step.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from acqo_rl.errors import ConfigError, SearchError, check_positive
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
from acqo_rl.roles import Fusion, Reformulator
from acqo_rl.searching.cache import TimedCache
from acqo_rl.searching.concurrent import ConcurrentSearch, flatten
from acqo_rl.searching.path import Calls, Run, SearchPath, one_each, run
from acqo_rl.searching.result import Failure, SearchResult, reason_of
from acqo_rl.searching.sub_queries import Retrievers, normalise_sub_queries, split_retrievers
from acqo_rl.searching.threshold import check_cosine
from acqo_rl.searching.workers import Workers
from acqo_rl.text import one_line, within_limits
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import Query, Reformulation

REWRITTEN, FELL_BACK = "query_rewriting_completed", "query_rewriting_fell_back"
"""Log events: a reformulation, and one that failed. They have no texts."""

_log = logging.getLogger(__name__)
T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time-outs in seconds; ``None`` means no limit.

    Attributes:
        total: limit of the whole search; should exceed ``reformulation``, so that time is left for the raw query.
        reformulation: limit of the reformulation, after which the raw query is searched.
        sub_query: limit of one sub-query at one retriever, after which the fusion uses the other rankings.
        reranking: limit of the reranker, after which the fused order is kept.
    """

    total: float | None = None
    reformulation: float | None = None
    sub_query: float | None = None
    reranking: float | None = None


class AdaptiveSearcher:
    """Reformulates a query, searches all sub-queries at all retrievers concurrently, and fuses the rankings.

    A sub-query that fails or times out is skipped and reported in the result. If the reformulation fails, the raw query
    is searched. Reformulations are cached under the exact text of the query; results are not, because documents change.
    """

    def __init__(
        self,
        reformulator: Reformulator,
        retrievers: Retrievers,
        fusion: Fusion,
        *,
        timeouts: Timeouts = Timeouts(),
        cache_size: int = 1024,
        cache_seconds: float = 3600.0,
        workers: Workers | None = None,
        **path: Any,
    ) -> None:
        """Creates a searcher around a new :class:`~acqo_rl.searching.path.SearchPath`, its ``path``.

        Args:
            reformulator: rewrites queries into sub-queries.
            retrievers: as of a path; their names must differ.
            fusion: merges the rankings of each query.
            timeouts: see :class:`Timeouts`.
            cache_size: maximum number of cached reformulations; 0 disables the cache.
            cache_seconds: lifetime of a cached reformulation.
            workers: threads shared by several searchers; retrievers with equal names share a pool, and ``close`` does
                not stop them. By default the searcher creates its own.
            path: further attributes of the path: ``corpus``, ``hops``, ``reranking``, ``score_threshold`` and others.

        Raises:
            ConfigError: there is no retriever, two retrievers have the same name, or the path is not valid.
        """
        asked, originals = split_retrievers(retrievers)
        self._retrievers = (*asked, *originals)
        names = [retriever.name for retriever in flatten(self._retrievers)]
        if not asked or len(set(names)) < len(names):
            raise ConfigError(f"The retrievers are {names}; give at least one, each with a different name.")
        self.path = SearchPath(reformulator, retrievers, fusion, **path)
        self._timeouts = timeouts
        self._cache: TimedCache[Reformulation] = TimedCache(cache_size, cache_seconds)
        self._workers = workers or Workers()
        self._owns_workers = workers is None

    @classmethod
    def along(cls, path: SearchPath, **settings: Any) -> AdaptiveSearcher:
        """Creates a searcher around a path; ``settings`` are time-outs, caches and workers."""
        return cls(**vars(path), **settings)

    @property
    def fingerprint(self) -> str:
        """The fingerprints of all retrievers, joined by spaces; it changes with their documents."""
        return " ".join(retriever.fingerprint for retriever in self._retrievers)

    @property
    def cosine(self) -> bool:
        """Whether the scores of all retrievers are cosines."""
        return all(retriever.cosine for retriever in self._retrievers)

    @property
    def max_calls(self) -> int:
        """Maximum number of model calls per query."""
        return self.path.reformulator.max_calls

    def search(
        self, query: Query | str, k: int = 10, *, context: str = "", score_threshold: float | None = None
    ) -> SearchResult:
        """Returns the best ``k`` documents for one query; arguments as in :meth:`search_many`."""
        return self.search_many([query], k, context=context, score_threshold=score_threshold)[0]

    async def asearch(
        self, query: Query | str, k: int = 10, *, context: str = "", score_threshold: float | None = None
    ) -> SearchResult:
        """Like :meth:`search`, without blocking the event loop."""
        return await asyncio.to_thread(self.search, query, k, context=context, score_threshold=score_threshold)

    def search_many(
        self,
        queries: Sequence[Query | str],
        k: int = 10,
        *,
        context: str = "",
        score_threshold: float | None = None,
    ) -> list[SearchResult]:
        """Returns the best ``k`` documents per query, in input order; the batch is reformulated in one call.

        Args:
            queries: a ``str`` is a query without history.
            k: documents per fused ranking.
            context: information about the user; appended to the sub-queries of the route ``disambiguate``.
            score_threshold: replaces the searcher's own threshold.

        Raises:
            ConfigError: a query is empty, ``k`` is less than 1, or a threshold is set and a retriever's scores are not
                cosines.
            SearchError: all searches of a query failed.
        """
        check_positive("k", k)
        check_cosine("score_threshold", score_threshold, self._retrievers)
        threshold = self.path.score_threshold if score_threshold is None else score_threshold
        asked, shortened = zip(*map(read_query, queries), strict=True) if queries else ((), ())
        calls = _LimitedCalls(self, max(k, self.path.depth), context)
        with limited(TimeLimit(self._timeouts.total)):
            results = run(self.path, calls, asked, lambda batch: batch.results(k, threshold))
        _raise_if_all_failed(results)
        return [
            replace(found, reformulation=_with_notes(found.reformulation, notes))
            for found, notes in zip(results, shortened, strict=True)
        ]

    def reformulate(self, query: Query | str, *, context: str = "") -> Reformulation:
        """Returns the sub-queries that a search would use; ``context`` as in :meth:`search_many`.

        If the reformulation fails, this is the raw query.

        Raises:
            ConfigError: the query is empty.
        """
        asked, notes = read_query(query)
        calls = _LimitedCalls(self, self.path.depth, context)
        with limited(TimeLimit(self._timeouts.total)):
            [made] = run(self.path, calls, [asked], Run.reformulate)
        return _with_notes(made, notes)

    def without_reformulation(self) -> AdaptiveSearcher:
        """The same search for raw queries, with the same threads."""
        other = copy(self)
        other.path = replace(
            self.path, reformulator=PassThrough(), feedback=None, choice=None, order=None, retry_below=None
        )
        other._cache = TimedCache(0)
        return other

    def without_limits(self) -> AdaptiveSearcher:
        """The same search without time-outs, with the same threads and cache."""
        other = copy(self)
        other._timeouts = Timeouts()
        return other

    def close(self) -> None:
        """Shuts down the threads; running calls are not interrupted."""
        if self._owns_workers:
            self._workers.close()


class _LimitedCalls(Calls):
    """The calls of one batch within the time-outs; failures are logged and reported in the results."""

    def __init__(self, searcher: AdaptiveSearcher, depth: int, context: str) -> None:
        self.path = searcher.path
        self._workers = searcher._workers
        self._timeouts = searcher._timeouts
        self._cache = searcher._cache
        self._context = context
        retrievers = self.path.retrievers
        limit = self._timeouts.sub_query
        super().__init__(ConcurrentSearch(retrievers, depth, self._workers, limit), retrievers)

    def reformulate(self, reformulator: Reformulator, queries: Sequence[Query]) -> list[Reformulation]:
        """Only the reformulations of the path's own reformulator are cached and have a time-out."""
        own = reformulator is self.path.reformulator
        answers = self._cached(reformulator, queries) if own else one_each(reformulator, queries)
        return [_with_context(one, self._context) for one in normalise_sub_queries(answers, self._asked)]

    def attempt(self, step: str, component: str, call: Callable[[], list[T]]) -> list[T] | Failure:
        """What a call returns, or its failure."""
        limit = self._timeouts.reranking if step == "reranking" else None
        [outcome] = self._workers.run([(f"{step} by {component}", call)], limit)
        if not isinstance(outcome, Exception):
            return outcome
        _log.warning(f"{step}_failed", extra={"component": component, "error": type(outcome).__name__})
        return Failure.of(step, outcome)

    def _cached(self, reformulator: Reformulator, queries: Sequence[Query]) -> list[Reformulation]:
        """Reformulations from the cache or from one call; if the call fails, the raw queries with ``failed_calls``."""
        keys = [replace(query, id="") for query in queries]
        known = {key: replace(r, calls=0, tokens=0, cached=True) for key in keys if (r := self._cache.get(key))}
        new = {key: query for key, query in zip(keys, queries, strict=True) if key not in known}
        if new:
            name = reformulator.name
            call = partial(one_each, reformulator, list(new.values()))
            begin = time.perf_counter()
            [outcome] = self._workers.run([(f"reformulation by {name}", call)], self._timeouts.reformulation)
            if isinstance(outcome, Exception):
                _log.warning(FELL_BACK, extra={"strategy": name, "error": type(outcome).__name__, "queries": len(new)})
                raw = [pass_through(query, name, reason_of(outcome)) for query in new.values()]
                outcome = [replace(one, failed_calls=1) for one in raw]
            _log_rewritten(name, outcome, 1000 * (time.perf_counter() - begin) / len(new))
            known |= zip(new, outcome, strict=True)
            for key, made in zip(new, outcome, strict=True):
                if not made.failed_calls:
                    self._cache.put(key, made)
        return [replace(known[key], query=query) for key, query in zip(keys, queries, strict=True)]


def _log_rewritten(asked: str, made: Sequence[Reformulation], milliseconds: float) -> None:
    """Logs one event per reformulation; ``milliseconds`` is the mean of the batch."""
    for one in made:
        fields = {
            "asked": asked,
            "strategy": one.made_by,
            "query_type": one.query_type,
            "num_variants": len(one.sub_queries),
            "original_query_length": len(one.query.text),
            "rewriting_duration_ms": milliseconds,
            "model_calls": one.calls,
            "failed": one.problem is not None,
        }
        _log.info(REWRITTEN, extra=fields)


def read_query(given: Query | str) -> tuple[Query, tuple[str, ...]]:
    """Applies :func:`acqo_rl.text.within_limits`; a ``str`` becomes a query without history.

    Raises:
        ConfigError: the query is empty.
    """
    query, notes = within_limits(given if isinstance(given, Query) else Query("query", given))
    if not one_line(query.text):
        raise ConfigError("A query is empty; give at least one word.")
    return query, notes


def cluster_by_sub_query(found: SearchResult) -> dict[str, tuple[str, ...]]:
    """Assigns each fused document to the sub-query that ranks it best.

    Returns:
        Sub-query text -> document ids, in the order of the fused ranking.
    """
    clusters: dict[str, list[str]] = {s.text: [] for s in found.reformulation.sub_queries}
    for doc_id in found.fused.doc_ids:
        having = (ranking for ranking in found.rankings if doc_id in ranking.doc_ids)
        best = min(having, key=lambda ranking: ranking.doc_ids.index(doc_id))
        clusters.setdefault(best.query, []).append(doc_id)
    return {text: tuple(doc_ids) for text, doc_ids in clusters.items()}


def _with_context(reformulation: Reformulation, context: str) -> Reformulation:
    if not context:
        return reformulation
    subs = (replace(s, text=f"{s.text} {context}") if s.kind == "reading" else s for s in reformulation.sub_queries)
    return replace(reformulation, sub_queries=tuple(subs))


def _with_notes(made: Reformulation, notes: tuple[str, ...]) -> Reformulation:
    return replace(made, notes=(*notes, *made.notes))


def _raise_if_all_failed(results: Sequence[SearchResult]) -> None:
    lost = [found for found in results if not found.rankings]
    if lost:
        failed = [f for found in lost for f in found.failures if f.retriever]

        def message(reasons: Iterable[str]) -> str:
            return (
                f"All searches failed for {len(lost)} of {len(results)} queries ({'; '.join(dict.fromkeys(reasons))})."
                " Check that the retrievers respond, or raise the time-outs."
            )

        public = message(f"{f.retriever}: {f.public}" for f in failed)
        raise SearchError(message(f"{f.retriever}: {f.reason}" for f in failed), public=public)
