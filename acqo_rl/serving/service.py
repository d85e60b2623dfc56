"""The service without HTTP: loads strategies, and creates searchers and pipelines for the requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from cachetools import LRUCache, cachedmethod

from acqo_rl.errors import ConfigError, NotFoundError
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.roles import LanguageModel, RemoteCorpus, Reranker
from acqo_rl.searching.assemble import open_path
from acqo_rl.searching.names import reformulator_name
from acqo_rl.searching.result import Failure, notes_of
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.searching.workers import Workers
from acqo_rl.serving.collections import Collection, DocumentsOf, left_out, searched_apart, searched_as_one
from acqo_rl.serving.logs import log_failures
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.requests import Asked, ReformulateRequest, SearchRequest
from acqo_rl.serving.responses import QueryRewriteInfo, ReformulateResponse, SearchResponse, cosines_of
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Query, Scope

_SEARCHERS = 256
"""Maximum number of searchers and pipelines to keep (least recently used are dropped); each has its own cache."""

_log = logging.getLogger(__name__)

Made = TypeVar("Made", bound=Callable[..., Any])

_CHANGING = 60.0
"""Lifetime in seconds of a cached answer from documents that may be deleted; others are cached for an hour."""


def _kept(kind: str) -> Callable[[Made], Made]:
    """Keeps what a method makes for a strategy and for what is searched; makes it once for concurrent requests."""

    def key(service: Service, *asked: Any) -> Hashable:
        *strategy, collections = asked
        # Nothing that is kept for one part of the documents serves another one.
        parts = tuple((collection.name, collection.scope, collection.states) for collection in collections)
        return kind, id(service.strategies.get(*strategy)) if strategy else None, parts

    return cachedmethod(  # type: ignore[return-value]
        lambda service: service._made, key, condition=lambda service: service._making
    )


@dataclass(eq=False)
class Service:
    """Has one searcher and one pipeline per strategy and selection of collections; all share their threads.

    Attributes:
        collections: the collections; at least one, with distinct names.
        strategies: the reformulation strategies and their search paths; each sub-query has one list over all
            collections and indexes.
        timeouts: time limits of a search.
        answer_model: writes answers; without it, only passages are returned.
        max_model_calls: maximum number of model calls per answer.
        answer_timeout: time limit of an answer, in seconds.
        cache_size: number of cached reformulations per searcher, and of answers per pipeline; 0 disables the caches.
        cache_ttl: lifetime of cached reformulations and answers, in seconds; 0 disables the caches.
        reranker: reorders the fused lists, in searches and in the passages of answers.

    Raises:
        ConfigError: there are no collections, or two have the same name; a threshold is set, but the scores of a
            collection are not cosines of one encoder; or the network of the hops cannot be loaded.
    """

    collections: Sequence[Collection]
    strategies: Strategies
    timeouts: Timeouts
    answer_model: LanguageModel | None = None
    max_model_calls: int = 20
    answer_timeout: float | None = None
    cache_size: int = 1024
    cache_ttl: float = 3600.0
    reranker: Reranker | None = None

    def __post_init__(self) -> None:
        names = [collection.name for collection in self.collections]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"The collections are {names}; give at least one, with distinct names.")
        self.metrics = Metrics()
        self._workers = Workers(64)  # calls of each retriever and of each reformulator at once
        self._made: LRUCache[Hashable, Any] = LRUCache(_SEARCHERS)
        self._making = threading.Condition()
        self._closed = threading.Event()
        self._probed = _probed(self.collections)
        self.searcher("raw", None, self._probed)

    def find(self, body: SearchRequest) -> SearchResponse:
        """Answers a search.

        Raises:
            ConfigError: a collection does not support the request.
            ConversationError: the history has an unknown form.
            NotFoundError: the strategy or a collection is unknown.
            SearchError: no index answered.
        """
        begin = time.perf_counter()
        asked = self.asked(body)
        searcher = self.searcher(asked.strategy, asked.num_variants, asked.collections)
        found = searcher.search(asked.query, DEPTH, context=asked.context, score_threshold=body.score_threshold)
        cosines = cosines_of(found, asked.collections)
        self.metrics.searched(found, cosines.values(), asked.strategy)
        log_failures(found.failures)
        return SearchResponse.of(found, cosines, body, asked, 1000 * (time.perf_counter() - begin))

    def reformulate(self, body: ReformulateRequest) -> ReformulateResponse:
        """Returns the sub-queries that a search would use. Raises the errors of :meth:`find`."""
        begin = time.perf_counter()
        asked = self.asked(body)
        searcher = self.searcher(asked.strategy, asked.num_variants, asked.collections)
        made = searcher.reformulate(asked.query, context=asked.context)
        seconds = time.perf_counter() - begin
        self.metrics.reformulated(made, seconds, asked.strategy, "reformulate")
        if made.failed_calls:
            self.metrics.failed("reformulation", made.problem or "")
            log_failures([Failure("reformulation", made.problem or "", "")])
        return ReformulateResponse(
            query_rewrite_info=QueryRewriteInfo.of(made, asked.strategy),
            notes=[*asked.notes, *notes_of(made)],
            processing_time_ms=1000 * seconds,
        )

    def asked(self, body: ReformulateRequest) -> Asked:
        """What a request asks. Raises the errors of :meth:`find`, except ``SearchError``."""
        given = body.rewriting_strategy
        # The model of a policy is accepted as well: trained:demo is the strategy trained-demo.
        strategy = reformulator_name(given) if given else self.strategies.default
        if isinstance(body, SearchRequest) and not body.use_query_rewriting:
            strategy = "raw"
        known = [collection.name for collection in self.collections]
        names = body.knowledge_pool_ids or known
        if missing := sorted(set(names).difference(known)):
            raise NotFoundError(f"Unknown collection {missing[0]!r}; choose from {', '.join(known)}.")
        scope = Scope(body.filter or (), body.tenant)
        chosen = tuple(one.restrict(scope) for one in self.collections if one.name in names)
        query, context, notes = body.read()
        if unused := left_out(chosen):
            notes.append(f"Not searched, because another collection has no such index: {', '.join(unused)}.")
        num_variants = body.num_variants
        if num_variants and not self.strategies.has_variants(strategy):
            notes.append(f"num_variants was ignored, because the strategy {strategy} does not use it.")
            num_variants = None
        return Asked(strategy, num_variants, chosen, query, context, notes)

    @_kept("searcher")
    def searcher(
        self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]
    ) -> AdaptiveSearcher:
        """The searcher of some collections: one list per sub-query over all of them, and one fusion.

        Args:
            strategy: name of the reformulation strategy.
            num_variants: number of paraphrases that ``multi_query`` writes; ``None``: the service's setting.
            collections: the collections to search.

        Raises:
            ConfigError: a threshold is set and the scores of a collection are not cosines.
            NotFoundError: the strategy is unknown.
        """
        reformulator = self.strategies.get(strategy, num_variants)
        names = {collection.name for collection in collections}
        path = open_path(
            replace(self.strategies.paths[strategy], federated=len(collections) > 1),
            DocumentsOf(collections),
            [searched_as_one(collections), *searched_apart(collections)],
            reformulator=reformulator,
            reranker=self.reranker,
            words=partial(self._words, tuple(one for one in self.collections if one.name in names)),
        )
        cache = self._cache_of(collections)
        return AdaptiveSearcher.along(path, timeouts=self.timeouts, workers=self._workers, **cache)

    @_kept("pipeline")
    def pipeline(self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]) -> Pipeline:
        """The pipeline of some collections; its first search uses the strategy. Arguments as in :meth:`searcher`."""
        return Pipeline(
            self.searcher(strategy, num_variants, collections),
            DocumentsOf(collections),
            self.answer_model,
            max_model_calls=self.max_model_calls,
            seconds=self.answer_timeout,
            **self._cache_of(collections),
        )

    def is_ready(self, seconds: float = 2.0) -> bool:
        """Whether every retriever answers within the given time."""
        retrievers = [retriever for collection in self._probed for retriever in collection.all_retrievers]
        calls = [(retriever.name, partial(retriever.search, ["ready"], 1)) for retriever in retrievers]
        return not any(isinstance(outcome, Exception) for outcome in self._workers.run(calls, seconds))

    def warm_up(self) -> None:
        """Calls every index and every strategy once, without time limits: the first call in a process is slow.

        Raises:
            SearchError: an index does not answer.
        """
        query = Query("warm up", "the first search of a process is slow")
        for name in self.strategies.names:
            self.searcher(name, None, self._probed).without_limits().search(query, DEPTH)

    def watch(self, reopen: Callable[[str], Collection], seconds: float = 5.0) -> None:
        """Opens the new states of indexes, in a thread; requests that have begun end with the old ones.

        Args:
            reopen: opens a collection by its name.
            seconds: time between two looks.
        """

        def look() -> None:
            while not self._closed.wait(seconds):
                for collection in self.collections:
                    self._renew(collection, reopen)

        threading.Thread(target=look, daemon=True).start()

    def _renew(self, collection: Collection, reopen: Callable[[str], Collection]) -> None:
        """Replaces a collection by its present state; if this cannot be opened, the old one stays."""
        try:
            if collection.present is None or collection.present() == collection.states:
                return
            fresh = reopen(collection.name)
            others = [one for one in self.collections if one is not collection]
            self.strategies.read([one.documents for one in (*others, fresh) if not one.has_tenants])
        except Exception as error:
            _log.warning("the new state of the collection %s cannot be opened: %s", collection.name, error)
            return
        self.collections = tuple(fresh if one is collection else one for one in self.collections)
        self._probed = _probed(self.collections)
        with self._making:
            self._made.clear()
        _log.info("the collection %s has a new state of %s documents", fresh.name, f"{len(fresh.documents):,}")

    def close(self) -> None:
        """Ends the threads."""
        self._closed.set()
        self._workers.close()

    @_kept("words")
    def _words(self, collections: tuple[Collection, ...]) -> CorpusWords:
        """Titles and words of local documents without tenants; those of a search engine are not read."""
        is_read = not _may_change(collections) and not any(one.has_tenants for one in collections)
        return CorpusWords.of(DocumentsOf(collections)) if is_read else CorpusWords()

    def _cache_of(self, collections: Sequence[Collection]) -> dict[str, Any]:
        seconds = min(self.cache_ttl, _CHANGING) if _may_change(collections) else self.cache_ttl
        return {"cache_size": self.cache_size, "cache_seconds": seconds}


def _probed(collections: Sequence[Collection]) -> tuple[Collection, ...]:
    """The collections as they are probed; those with tenants as one sees them that has no documents."""
    return tuple(one.restrict(Scope(tenant="" if one.has_tenants else None)) for one in collections)


def _may_change(collections: Sequence[Collection]) -> bool:
    """Whether documents are those of a search engine, where they and tenants may be deleted."""
    return any(isinstance(collection.documents, RemoteCorpus) for collection in collections)
