"""The front door: a question in, one fused ranking out, with what was searched, what failed and how long it took."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Container, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.reformulation.fallback import else_rules as put_rules_behind
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.policy import Policy
from acqo_rl.searching.gathering import GatheredLists, Gathering, asked_of, reason_of
from acqo_rl.searching.lists import DEPTH, Retrievers, searchable, split_retrievers
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.threshold import check_score_threshold
from acqo_rl.searching.trace import Trace
from acqo_rl.searching.workers import Workers
from acqo_rl.text import one_line, within_limits
from acqo_rl.timed_cache import TimedCache, exact_key
from acqo_rl.types import (
    Document,
    FeedbackSpec,
    Fusion,
    Query,
    Reformulation,
    Reformulator,
    Retriever,
    fingerprint_of,
    has_cosines,
)

REPAIRED, FELL_BACK = "query_rewriting_repaired", "query_rewriting_fell_back"
"""Log events, for review: a reformulation that was changed before it was searched, and one that failed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; ``None`` waits for ever.

    Attributes:
        total: for a search; give the reformulation less, so that the raw query can still be searched.
        reformulation: then the raw query is searched.
        sub_query: for one sub-query at one retriever; the fusion goes on with the others.
    """

    total: float | None = None
    reformulation: float | None = None
    sub_query: float | None = None


class AdaptiveSearcher:
    """Reformulates, searches every sub-query at every retriever at the same time, and merges what came back.

    A sub-query that fails or is late is left out and named; a reformulation that fails falls back to the raw query.
    Only complete results are cached, each for the query exactly as it was typed. The cache belongs to one searcher, so
    that reformulator, retrievers and fusion are the same for all it holds; a retriever whose documents change says so
    by an attribute ``fingerprint``.
    """

    def __init__(
        self,
        reformulator: Reformulator,
        retrievers: Retrievers,
        fusion: Fusion,
        *,
        corpus: Mapping[str, Document] | None = None,
        feedback: FeedbackSpec | None = None,
        rounds: int = 1,
        depth: int = DEPTH,
        timeouts: Timeouts = Timeouts(),
        cache_size: int = 1024,
        cache_seconds: float = 3600.0,
        threads: int = 32,
        workers: Workers | None = None,
        else_rules: bool = True,
        score_threshold: float | None = None,
    ) -> None:
        """Joins the parts.

        Args:
            reformulator: writes the searches.
            retrievers: one or several over the same documents, names differing; an
                :class:`acqo_rl.searching.lists.OriginalOnly` searches the raw query alone, as a path of its own.
                For collections of different documents see :func:`acqo_rl.searching.path.search`.
            fusion: merges the lists of each query.
            corpus: document id -> document; needed for feedback.
            feedback: what the reformulator reads of a first search; by default what it says itself, which is what a
                policy was trained with.
            rounds: times that the reformulator looks at what was found and writes searches; a later one that passes
                adds none.
            depth: documents in each list before fusion, or ``k`` where that is more.
            timeouts: see :class:`Timeouts`.
            cache_size: reformulations, and results, that are kept; 0 keeps none.
            cache_seconds: how long they are kept.
            threads: calls of the reformulator, of each retriever and of ``asearch`` at the same time over all queries;
                a call that hangs holds one.
            workers: threads that several searchers share, which none of them ends; retrievers of one name share
                theirs. Own ones by default.
            else_rules: asks the rules about what a trained policy passes; they know the names of ``corpus``, which
                takes about two seconds for 35,000 passages. Other reformulators are asked alone.
            score_threshold: least cosine of a document, see :func:`acqo_rl.searching.threshold.fuse_similar`; nothing
                is found where no document reaches it. Off by default.

        Raises:
            ConfigError: there is no retriever, two have one name, feedback is asked for and cannot be given, or there
                is a threshold and scores are no cosines.
        """
        if else_rules and isinstance(reformulator, Policy):
            reformulator = put_rules_behind(reformulator, Lexicon.of((corpus or {}).values()))
        self.retrievers, self.originals = map(tuple, split_retrievers(retrievers))
        names = [retriever.name for retriever in asked_of([*self.retrievers, *self.originals])]
        if not self.retrievers or len(set(names)) < len(names):
            raise ConfigError(f"The retrievers {names} were given; give at least one, names differing.")
        self.reformulator = reformulator
        self.fusion = fusion
        self._path = SearchPath(reformulator, retrievers, fusion, corpus, feedback, rounds, depth, score_threshold)
        self._timeouts = timeouts
        self._reformulations: TimedCache[Reformulation] = TimedCache(cache_size, cache_seconds)
        self._results: TimedCache[SearchResult] = TimedCache(cache_size, cache_seconds)
        self._workers = workers or Workers(threads)
        self._owns_workers = workers is None
        self._callers = ThreadPoolExecutor(threads, thread_name_prefix="acqo-asearch")

    @property
    def fingerprint(self) -> str:
        """Changes with the documents of any retriever that says so."""
        return " ".join(map(fingerprint_of, (*self.retrievers, *self.originals)))

    @property
    def cosine(self) -> bool:
        """Whether the scores of all retrievers are cosines."""
        return all(map(has_cosines, (*self.retrievers, *self.originals)))

    def search(
        self, query: Query | str, k: int = 10, *, context: str = "", score_threshold: float | None = None
    ) -> SearchResult:
        """The best ``k`` documents for one query; arguments as in :meth:`search_many`."""
        return self.search_many([query], k, context=context, score_threshold=score_threshold)[0]

    async def asearch(
        self, query: Query | str, k: int = 10, *, context: str = "", score_threshold: float | None = None
    ) -> SearchResult:
        """As :meth:`search`, without holding up the event loop."""
        search = partial(self.search, query, k, context=context, score_threshold=score_threshold)
        call = partial(copy_context().run, search)
        return await asyncio.get_running_loop().run_in_executor(self._callers, call)

    def search_many(
        self,
        queries: Sequence[Query | str],
        k: int = 10,
        *,
        context: str = "",
        score_threshold: float | None = None,
    ) -> list[SearchResult]:
        """The best ``k`` documents a query, position for position, from one reformulation of the batch.

        Args:
            queries: a text is a query without conversation.
            k: documents in each fused ranking.
            context: what is known of the user; added to each reading of an ambiguous query.
            score_threshold: in place of the searcher's own.

        Raises:
            ConfigError: a query is empty, ``k`` is less than 1, or there is a threshold and scores are no cosines.
            SearchError: for some query nothing came back; what the others found is in the cache.
        """
        if k < 1:
            raise ConfigError(f"{k} documents are asked for; ask for at least 1.")
        check_score_threshold(score_threshold, (*self.retrievers, *self.originals))
        threshold = self._path.score_threshold if score_threshold is None else score_threshold
        asked = [read_query(query) for query in queries]
        keys: list[Hashable] = [(exact_key(query), k, context, threshold, self.fingerprint) for query in asked]
        known = {key: replace(found, cached=True) for key in set(keys) if (found := self._results.get(key))}
        new = _unknown(keys, asked, known)
        if new:
            lists = self._lists(max(k, self._path.depth))
            ask = partial(self._reformulate, lists, context)
            results = self._path.walk(list(new.values()), k, lists, ask, Trace(), threshold)
            complete = {key: f for key, f in zip(new, results, strict=True) if not f.failures}
            for key, found in complete.items():
                self._results.put(key, found)
            known |= zip(new, results, strict=True)
            _refuse_empty_handed(results)
        return [_for_query(known[key], query) for key, query in zip(keys, asked, strict=True)]

    def reformulate(self, query: Query | str, *, context: str = "") -> Reformulation:
        """What a search would search; the raw query where reformulating fails. ``context`` as in :meth:`search_many`.

        Raises:
            ConfigError: the query is empty.
        """
        lists = self._lists(self._path.depth)
        ask = partial(self._reformulate, lists, context)
        _, [reformulation] = self._path.reformulate([read_query(query)], lists, ask, Trace())
        return reformulation

    def clear_cache(self) -> None:
        """Forgets all reformulations and results."""
        self._reformulations.clear()
        self._results.clear()

    def close(self) -> None:
        """Lets the threads end."""
        if self._owns_workers:
            self._workers.close()
        self._callers.shutdown(wait=False, cancel_futures=True)

    def _lists(self, depth: int) -> GatheredLists:
        limit = self._timeouts.total
        deadline = None if limit is None else time.monotonic() + limit

        def gathering(retrievers: Sequence[Retriever]) -> Gathering:
            return Gathering(retrievers, self._workers, depth, self._timeouts.sub_query, deadline)

        return GatheredLists(gathering(self.retrievers), gathering(self.originals) if self.originals else None)

    def _reformulate(self, lists: GatheredLists, context: str, queries: Sequence[Query]) -> list[Reformulation]:
        """What is searched for the queries, in one round."""
        answers = self._ask(queries, lists.deadline)
        searched = searchable(answers, self.retrievers)
        for before, after in zip(answers, searched, strict=True):
            _log_repair(before, after)
        return [_with_context(one, context) for one in searched]

    def _ask(self, queries: Sequence[Query], deadline: float | None) -> list[Reformulation]:
        """From the cache, else from one call; if that fails, the raw queries, which say so."""
        keys = [exact_key(query) for query in queries]
        known = {key: replace(r, calls=0, tokens=0) for key in keys if (r := self._reformulations.get(key))}
        new = _unknown(keys, queries, known)
        if new:
            limits = [self._timeouts.reformulation, None if deadline is None else deadline - time.monotonic()]
            timeout = min((limit for limit in limits if limit is not None), default=None)
            call = partial(_one_each, self.reformulator, list(new.values()))
            [outcome] = self._workers.run([(f"reformulation by {self.reformulator.name}", call)], timeout)
            if isinstance(outcome, Exception):
                told = {"strategy": self.reformulator.name, "error": type(outcome).__name__, "queries": len(new)}
                _log.warning(FELL_BACK, extra=told)
                raw = [pass_through(query, self.reformulator.name, reason_of(outcome)) for query in new.values()]
                outcome = [replace(one, failed_calls=1) for one in raw]
            known |= zip(new, outcome, strict=True)
            for key, reformulation in zip(new, outcome, strict=True):
                if reformulation.problem is None:
                    self._reformulations.put(key, reformulation)
        return [replace(known[key], query=query) for key, query in zip(keys, queries, strict=True)]


def _one_each(reformulator: Reformulator, queries: list[Query]) -> list[Reformulation]:
    answers = reformulator.reformulate(queries)
    if len(answers) != len(queries):
        raise ValueError(
            f"{len(answers)} reformulations for {len(queries)} queries; a reformulator must return one per query"
        )
    return answers


def read_query(given: Query | str) -> Query:
    """The query within the limits of :func:`acqo_rl.text.within_limits`; a text is one without conversation.

    Raises:
        ConfigError: it is empty.
    """
    query = within_limits(given if isinstance(given, Query) else Query("query", given))
    if not one_line(query.text):
        raise ConfigError("A query is empty; give some words.")
    return query


def cluster_by_sub_query(found: SearchResult) -> dict[str, tuple[str, ...]]:
    """The fused documents of each sub-query: each under the one that ranks it best, in fused order."""
    rank: dict[str, tuple[int, str]] = {}
    for ranking in found.rankings:
        for position, doc_id in enumerate(ranking.doc_ids):
            if doc_id not in rank or position < rank[doc_id][0]:
                rank[doc_id] = (position, ranking.query)
    clusters: dict[str, list[str]] = {s.text: [] for s in found.reformulation.sub_queries}
    for doc_id in found.fused.doc_ids:
        clusters.setdefault(rank[doc_id][1], []).append(doc_id)
    return {text: tuple(doc_ids) for text, doc_ids in clusters.items()}


def _unknown(keys: Sequence[Hashable], queries: Sequence[Query], known: Container[Hashable]) -> dict[Hashable, Query]:
    """The first query of each key that is not known yet, in order."""
    new: dict[Hashable, Query] = {}
    for key, query in zip(keys, queries, strict=True):
        if key not in known:
            new.setdefault(key, query)
    return new


def _log_repair(before: Reformulation, after: Reformulation) -> None:
    """Logs what was changed, without the texts."""
    left_out = any(s.lead is None and s not in after.sub_queries for s in before.sub_queries)
    if before.route == after.route and not left_out:
        return
    reason = "sub-queries were left out" if left_out else "the only sub-query is the query itself"
    told = {"strategy": before.made_by, "reason": reason, "route": after.route, "route_before": before.route}
    counts = {"num_variants": len(after.sub_queries), "num_variants_before": len(before.sub_queries)}
    _log.info(REPAIRED, extra={**told, **counts})


def _with_context(reformulation: Reformulation, context: str) -> Reformulation:
    if not context:
        return reformulation
    subs = (replace(s, text=f"{s.text} {context}") if s.kind == "reading" else s for s in reformulation.sub_queries)
    return replace(reformulation, sub_queries=tuple(subs))


def _for_query(found: SearchResult, query: Query) -> SearchResult:
    """A result that the same query of another id found."""
    there = found.reformulation.query
    if there.id == query.id:
        return found
    return replace(found, reformulation=replace(found.reformulation, query=replace(there, id=query.id)))


def _refuse_empty_handed(results: Sequence[SearchResult]) -> None:
    lost = [found for found in results if not found.rankings]
    if lost:
        reasons = dict.fromkeys(f"{f.retriever}: {f.reason}" for found in lost for f in found.failures if f.retriever)
        raise SearchError(
            f"No search came back for {len(lost)} of {len(results)} queries ({'; '.join(reasons)}): "
            "see that the retrievers answer, or give them more time."
        )
