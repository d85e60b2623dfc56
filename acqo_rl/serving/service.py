"""The service without HTTP: creates searchers and pipelines for the strategies and collections of requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

from cachetools import LRUCache

from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.retrieval.engines.documents import EngineDocuments
from acqo_rl.retrieval.federated import FederatedFusion
from acqo_rl.roles import Fusion, LanguageModel, RemoteCorpus, Reranker
from acqo_rl.searching.hop import Hops, HopScorer, HopSettings, LearnedHop
from acqo_rl.searching.hop_candidates import CorpusWords
from acqo_rl.searching.names import reformulator_name
from acqo_rl.searching.reranking import DEPTH as RERANKED
from acqo_rl.searching.reranking import Reranking
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.searching.threshold import check_cosine, check_reformulate_below
from acqo_rl.searching.workers import Workers
from acqo_rl.serving.collections import Collection, Collections, DocumentsOf, searched_apart, searched_as_one
from acqo_rl.serving.strategies import ServedStrategy, Strategies
from acqo_rl.types import Query, Reformulation

_SEARCHERS = 256
"""Maximum number of searchers and pipelines to keep (least recently used are dropped); each has its own cache."""

_CHANGING = 60.0
"""Lifetime in seconds of a cached result of documents that may be deleted."""

Made = TypeVar("Made")


class Service:
    """Runs requests; has one searcher and one pipeline per strategy and selection of collections.

    All searchers and pipelines share their threads.
    """

    def __init__(
        self,
        collections: Sequence[Collection],
        strategies: Strategies,
        fusion: Fusion,
        timeouts: Timeouts,
        *,
        answer_model: LanguageModel | None = None,
        num_variants: int = 3,
        max_model_calls: int = 20,
        answer_timeout: float | None = None,
        cache_size: int = 1024,
        cache_seconds: float = 3600.0,
        threads: int = 64,
        score_threshold: float | None = None,
        reranker: Reranker | None = None,
        rerank_depth: int = RERANKED,
        reformulate_below: float | None = None,
        hops: HopSettings | None = None,
    ) -> None:
        """Creates the service.

        Args:
            collections: the collections.
            strategies: the reformulation strategies.
            fusion: merges the lists of the sub-queries; each sub-query has one list over all collections and indexes.
            timeouts: time limits of a search.
            answer_model: writes answers; without it, only passages are returned.
            num_variants: default number of paraphrases that ``multi_query`` writes.
            max_model_calls: maximum number of model calls per answer.
            answer_timeout: time limit of an answer, in seconds.
            cache_size: number of cached results per searcher and per pipeline; 0 disables the caches.
            cache_seconds: lifetime of a cached result; at most a minute for collections of search engines, where
                tenants and documents may be deleted.
            threads: maximum number of concurrent calls of each retriever and of each reformulator.
            score_threshold: minimum cosine of a document, in searches and in the passages of answers; see
                :func:`acqo_rl.searching.threshold.fuse_similar`.
            reranker: reorders the fused lists, in searches and in the passages of answers.
            rerank_depth: number of documents per query that are reranked.
            reformulate_below: a query is reformulated only if the best cosine that the raw query finds is below this
                value; by default every query is.
            hops: searches names in the results; by default nothing does.

        Raises:
            ConfigError: a threshold is set, but the scores of a collection are not cosines of one encoder; or the
                network of the hops cannot be loaded.
        """
        self.collections = Collections(collections)
        self.strategies = strategies
        self.num_variants = num_variants
        self.max_model_calls = max_model_calls
        self._fusion = fusion
        self._answer_model = answer_model
        self.timeouts = timeouts
        self.answer_timeout = answer_timeout
        self._cache_size = cache_size
        self._cache_seconds = cache_seconds
        self._workers = Workers(threads)
        self._made: LRUCache[Hashable, object] = LRUCache(_SEARCHERS)
        self._lock = threading.Lock()
        self._score_threshold = score_threshold
        self._reranker = reranker
        self._rerank_depth = rerank_depth
        self._reformulate_below = reformulate_below
        self._hops = hops.hops if hops else 0
        self._scorer = HopScorer.load(hops.hop) if hops and hops.hops else None
        together = searched_as_one(tuple(self.collections))
        check_cosine("score_threshold", score_threshold, [r for c in self.collections for r in c.all_retrievers])
        check_cosine("score_threshold", score_threshold, [together])
        for collection in self.collections:
            check_reformulate_below(reformulate_below, [searched_as_one((collection,))])

    def reformulate(
        self,
        query: Query,
        strategy: str,
        num_variants: int | None,
        collections: tuple[Collection, ...],
        user_context: str = "",
    ) -> Reformulation:
        """Reformulates a query as in :meth:`search`; falls back to the raw query if this fails.

        Raises:
            ConfigError: the query is empty.
            NotFoundError: the strategy is unknown.
        """
        return self._searcher(strategy, num_variants, collections).reformulate(query, context=user_context)

    def search(
        self,
        query: Query,
        strategy: str,
        num_variants: int | None,
        collections: tuple[Collection, ...],
        user_context: str = "",
        score_threshold: float | None = None,
    ) -> SearchResult:
        """Searches collections: one reformulation, one list per sub-query over all collections, one fusion.

        The fused list has the full depth, so that a cached result can be used for requests with any limit.

        Args:
            query: the query.
            strategy: name of the reformulation strategy.
            num_variants: number of paraphrases that ``multi_query`` writes; ``None``: the service's setting.
            collections: the collections to search.
            user_context: a few words about the user, added to each reading of an ambiguous query.
            score_threshold: minimum cosine; ``None``: the service's setting.

        Raises:
            ConfigError: the query is empty, or a threshold is set and the scores of a collection are not cosines.
            NotFoundError: the strategy is unknown.
            SearchError: all searches failed.
        """
        searcher = self._searcher(strategy, num_variants, collections)
        return searcher.search(query, DEPTH, context=user_context, score_threshold=score_threshold)

    def pipeline(self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]) -> Pipeline:
        """Returns the pipeline for some collections; its first search uses the strategy.

        Raises:
            NotFoundError: the strategy is unknown.
        """
        offered, cache = self._offered(strategy, num_variants), self._cache_of(collections)
        raw = self._searcher("raw", num_variants, collections)
        searcher = self._searcher(strategy, num_variants, collections)

        def make() -> Pipeline:
            return Pipeline(
                raw,
                DocumentsOf(collections),
                self._answer_model,
                searcher=searcher,
                reformulation_calls=offered.calls,
                max_model_calls=self.max_model_calls,
                seconds=self.answer_timeout,
                **cache,
            )

        return self._keep(("pipeline", id(offered), _key(collections)), make)

    def is_ready(self, seconds: float = 2.0) -> bool:
        """Whether every retriever answers within the given time."""
        probed = self.collections.for_probes()
        retrievers = [retriever for collection in probed for retriever in collection.all_retrievers]
        outcomes = self._workers.run([(r.name, partial(r.search, ["ready"], 1)) for r in retrievers], seconds)
        return not any(isinstance(outcome, Exception) for outcome in outcomes)

    def warm_up(self) -> None:
        """Calls every index and every strategy once, because the first call in a process is slow.

        Raises:
            SearchError: an index does not answer.
        """
        query, collections = Query("warm up", "the first search of a process is slow"), self.collections.for_probes()
        for name in self.strategies.names:
            self.search(query, name, None, collections)

    def close(self) -> None:
        """Ends the threads."""
        self._workers.close()

    def strategy(self, given: str | None) -> str:
        """Resolves the strategy of a request; ``None`` means the default.

        The model of a policy is accepted as well: ``trained:demo`` is the strategy ``trained-demo``.
        """
        return reformulator_name(given) if given else self.strategies.default

    def _offered(self, strategy: str, num_variants: int | None) -> ServedStrategy:
        return self.strategies.get(strategy, num_variants or self.num_variants)

    def _searcher(
        self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]
    ) -> AdaptiveSearcher:
        offered = self._offered(strategy, num_variants)
        cache, documents = self._cache_of(collections), DocumentsOf(collections)
        hops = Hops(LearnedHop(self._scorer, documents, self._words(collections)), self._hops) if self._scorer else None

        def make() -> AdaptiveSearcher:
            retriever = searched_as_one(collections)
            fusion = FederatedFusion(self._fusion) if len(collections) > 1 else self._fusion
            return AdaptiveSearcher(
                offered.reformulator,
                [retriever, *searched_apart(collections)],
                fusion,
                corpus=documents,
                hops=hops,
                timeouts=self.timeouts,
                **cache,
                workers=self._workers,
                score_threshold=self._score_threshold,
                reranking=Reranking(self._reranker, documents, self._rerank_depth) if self._reranker else None,
                reformulate_below=self._reformulate_below,
            )

        return self._keep((id(offered), _key(collections)), make)

    def _words(self, collections: tuple[Collection, ...]) -> CorpusWords:
        """Titles and words of local documents; those of a search engine are not read."""
        if any(isinstance(collection.documents, RemoteCorpus) for collection in collections):
            return CorpusWords()
        return self._keep(("words", _key(collections)), lambda: CorpusWords.of(DocumentsOf(collections)))

    def _cache_of(self, collections: Sequence[Collection]) -> dict[str, Any]:
        may_change = any(isinstance(collection.documents, EngineDocuments) for collection in collections)
        seconds = min(self._cache_seconds, _CHANGING) if may_change else self._cache_seconds
        return {"cache_size": self._cache_size, "cache_seconds": seconds}

    def _keep(self, key: Hashable, make: Callable[[], Made]) -> Made:
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            made: Made = self._made[key]  # type: ignore[assignment]
            return made


def _key(collections: Sequence[Collection]) -> Hashable:
    """What is searched: nothing that is kept for one part of the documents serves another one."""
    return tuple((collection.name, collection.scope) for collection in collections)
