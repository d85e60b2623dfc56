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
from acqo_rl.pipeline.gathering import Failure, Gathering, asked_of, reason_of
from acqo_rl.pipeline.lists import Lists
from acqo_rl.pipeline.rounds import in_rounds
from acqo_rl.pipeline.state import read_query
from acqo_rl.pipeline.trace import Step, Trace
from acqo_rl.pipeline.workers import Workers
from acqo_rl.reformulation.fallback import else_rules as put_rules_behind
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.turns import first_searches
from acqo_rl.search import (
    DEPTH,
    OriginalOnly,
    Retrievers,
    check_score_threshold,
    fuse_similar,
    searchable,
    with_snippets,
)
from acqo_rl.timed_cache import TimedCache, exact_key
from acqo_rl.types import (
    Document,
    Fusion,
    Query,
    Ranking,
    Reformulation,
    Reformulator,
    Retriever,
    feedback_of,
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


@dataclass(frozen=True, slots=True)
class Found:
    """What one query found.

    Attributes:
        reformulation: what was searched, by all rounds; see :func:`acqo_rl.pipeline.rounds.in_rounds`.
        rankings: those that came back, sub-query after sub-query, in the order of the retrievers; a composite retriever
            gives one list.
        fused: the merged ranking.
        failures: what did not come back; empty when all is well.
        trace: the steps; those of a batch are timed together.
        cached: it was found before.
    """

    reformulation: Reformulation
    rankings: tuple[Ranking, ...]
    fused: Ranking
    failures: tuple[Failure, ...]
    trace: tuple[Step, ...]
    cached: bool = False


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
        feedback_results: int | None = None,
        feedback_words: int | None = None,
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
                :class:`acqo_rl.search.OriginalOnly` searches the raw query alone, as a path of its own. For collections
                of different documents see :func:`acqo_rl.search.search`.
            fusion: merges the lists of each query.
            corpus: document id -> document; needed for feedback.
            feedback_results: results of a first search that the reformulator reads; 0 for none, by default as many as
                a policy was trained to read.
            feedback_words: words of each of them, by default likewise.
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
            score_threshold: least cosine of a document, see :func:`acqo_rl.search.fuse_similar`; nothing is found
                where no document reaches it. Off by default.

        Raises:
            ConfigError: there is no retriever, two have one name, feedback is asked for and cannot be given, or there
                is a threshold and scores are no cosines.
        """
        if else_rules and isinstance(reformulator, Policy):
            reformulator = put_rules_behind(reformulator, Lexicon.of((corpus or {}).values()))
        given = retrievers if isinstance(retrievers, Sequence) else (retrievers,)
        self.retrievers = tuple(r for r in given if not isinstance(r, OriginalOnly))
        self.originals = tuple(r.retriever for r in given if isinstance(r, OriginalOnly))
        names = [retriever.name for retriever in asked_of([*self.retrievers, *self.originals])]
        if not self.retrievers or len(set(names)) < len(names):
            raise ConfigError(f"The retrievers {names} were given; give at least one, names differing.")
        results, words = feedback_of(reformulator)
        feedback_results = results if feedback_results is None else feedback_results
        feedback_words = words if feedback_words is None else feedback_words
        if feedback_results and corpus is None:
            raise ConfigError(
                f"{reformulator.name} reads {feedback_results} results of a first search and needs their texts; "
                f"give the corpus, or feedback_results=0 to let it answer without."
            )
        if rounds < 1 or (rounds > 1 and not feedback_results):
            raise ConfigError(f"{rounds} rounds with {feedback_results} results: a second look wants something to see.")
        check_score_threshold(score_threshold, (*self.retrievers, *self.originals))
        self.reformulator = reformulator
        self.fusion = fusion
        self._score_threshold = score_threshold
        self._corpus = corpus or {}
        self._feedback = (feedback_results, feedback_words)
        self._rounds = rounds
        self._depth = depth
        self._timeouts = timeouts
        self._reformulations: TimedCache[Reformulation] = TimedCache(cache_size, cache_seconds)
        self._results: TimedCache[Found] = TimedCache(cache_size, cache_seconds)
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
    ) -> Found:
        """The best ``k`` documents for one query; arguments as in :meth:`search_many`."""
        return self.search_many([query], k, context=context, score_threshold=score_threshold)[0]

    async def asearch(
        self, query: Query | str, k: int = 10, *, context: str = "", score_threshold: float | None = None
    ) -> Found:
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
    ) -> list[Found]:
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
        threshold = self._score_threshold if score_threshold is None else score_threshold
        asked = [read_query(query) for query in queries]
        keys: list[Hashable] = [(exact_key(query), k, context, threshold, self.fingerprint) for query in asked]
        known = {key: replace(found, cached=True) for key in set(keys) if (found := self._results.get(key))}
        new = _unknown(keys, asked, known)
        if new:
            results = self._walk(list(new.values()), k, context, threshold)
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
        queries = [read_query(query)]
        first = self._first_searches(queries)
        [reformulation] = self._reformulate(queries, first, context, self._lists(self._depth), Trace())
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

    def _walk(self, queries: list[Query], k: int, context: str, score_threshold: float | None) -> list[Found]:
        """A batch along the path."""
        trace, lists = Trace(), self._lists(max(k, self._depth))
        first = self._first_searches(queries)
        reformulations = self._reformulate(queries, first, context, lists, trace)
        with trace.step("retrieval", f"{sum(len(r.sub_queries) for r in reformulations)} sub-queries"):
            rankings = lists.find(reformulations)
        with trace.step("fusion", self.fusion.name):
            fused = fuse_similar(self.fusion, rankings, k, score_threshold)
        searched = zip(first, reformulations, strict=True) if first else zip(reformulations, strict=True)
        failures = [(*_failed(rs[-1]), *lists.failures(*rs)) for rs in searched]
        return [Found(*parts, trace.steps) for parts in zip(reformulations, rankings, fused, failures, strict=True)]

    def _lists(self, depth: int) -> Lists:
        limit = self._timeouts.total
        deadline = None if limit is None else time.monotonic() + limit

        def gathering(retrievers: Sequence[Retriever]) -> Gathering:
            return Gathering(retrievers, self._workers, depth, self._timeouts.sub_query, deadline)

        return Lists(gathering(self.retrievers), gathering(self.originals) if self.originals else None)

    def _first_searches(self, queries: Sequence[Query]) -> list[Reformulation]:
        """What is searched before the reformulator is asked; nothing where it reads no results."""
        return first_searches(queries) if self._feedback[0] else []

    def _reformulate(
        self, queries: list[Query], first: Sequence[Reformulation], context: str, lists: Lists, trace: Trace
    ) -> list[Reformulation]:
        """What is searched for the queries after all rounds; ``first`` is searched before them."""

        def ask(looked: Sequence[Query]) -> list[Reformulation]:
            with trace.step("reformulation", self.reformulator.name):
                answers = self._ask(looked, lists.deadline)
            searched = searchable(answers, self.retrievers)
            for before, after in zip(answers, searched, strict=True):
                _log_repair(before, after)
            return [_with_context(one, context) for one in searched]

        def look(answers: Sequence[Reformulation]) -> list[Query]:
            results, words = self._feedback
            with trace.step("feedback", f"{results} results"):
                tops = self.fusion.fuse(lists.find(answers), results)
            return with_snippets(queries, tops, self._corpus, results, words)

        return in_rounds(look(first) if first else queries, ask, look, self._rounds)

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


def _failed(reformulation: Reformulation) -> tuple[Failure, ...]:
    """What did not come back of a reformulation; a reply that could not be used did."""
    return (Failure("reformulation", reformulation.problem or ""),) if reformulation.failed_calls else ()


def _one_each(reformulator: Reformulator, queries: list[Query]) -> list[Reformulation]:
    answers = reformulator.reformulate(queries)
    if len(answers) != len(queries):
        raise ValueError(
            f"{len(answers)} reformulations for {len(queries)} queries; a reformulator must return one per query"
        )
    return answers


def cluster_by_sub_query(found: Found) -> dict[str, tuple[str, ...]]:
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


def _for_query(found: Found, query: Query) -> Found:
    """A result that the same query of another id found."""
    there = found.reformulation.query
    if there.id == query.id:
        return found
    return replace(found, reformulation=replace(found.reformulation, query=replace(there, id=query.id)))


def _refuse_empty_handed(results: Sequence[Found]) -> None:
    lost = [found for found in results if not found.rankings]
    if lost:
        reasons = dict.fromkeys(f"{f.retriever}: {f.reason}" for found in lost for f in found.failures if f.retriever)
        raise SearchError(
            f"No search came back for {len(lost)} of {len(results)} queries ({'; '.join(reasons)}): "
            "see that the retrievers answer, or give them more time."
        )
