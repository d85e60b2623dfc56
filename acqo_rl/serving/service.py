"""The service without HTTP: creates searchers and pipelines for the strategies and collections of requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

from cachetools import LRUCache

from acqo_rl.pipeline.pipeline import Pipeline
from acqo_rl.retrieval.federated import FederatedFusion
from acqo_rl.roles import Fusion, LanguageModel, RemoteCorpus, Reranker
from acqo_rl.searching.corpus_words import CorpusWords
from acqo_rl.searching.names import reformulator_name
from acqo_rl.searching.reranking import DEPTH as RERANKED
from acqo_rl.searching.reranking import Reranking
from acqo_rl.searching.result import Failure
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.searching.settings import StepSettings
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.searching.workers import Workers
from acqo_rl.serving.collections import Collection, Collections, DocumentsOf, left_out, searched_apart, searched_as_one
from acqo_rl.serving.logs import log_failures
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.requests import AnswerRequest, Asked, ReformulateRequest, SearchRequest
from acqo_rl.serving.responses import QueryRewriteInfo, ReformulateResponse, SearchResponse, search_response
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Query

_SEARCHERS = 256
"""Maximum number of searchers and pipelines to keep (least recently used are dropped); each has its own cache."""

_CHANGING = 60.0
"""Lifetime in seconds of a cached result of documents that may be deleted; others are cached for an hour."""

Made = TypeVar("Made")


class Service:
    """Has one searcher and one pipeline per strategy and selection of collections; all share their threads."""

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
        threads: int = 64,
        reranker: Reranker | None = None,
        rerank_depth: int = RERANKED,
        steps: StepSettings | None = None,
        score_threshold: float | None = None,
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
            threads: maximum number of concurrent calls of each retriever and of each reformulator.
            reranker: reorders the fused lists, in searches and in the passages of answers.
            rerank_depth: number of documents per query that are reranked.
            steps: settings of the choice of the strategy ``auto``, and of the hops.
            score_threshold: see :class:`acqo_rl.searching.searcher.AdaptiveSearcher`.

        Raises:
            ConfigError: a threshold is set, but the scores of a collection are not cosines of one encoder; or the
                network of the hops cannot be loaded.
        """
        self.metrics = Metrics()
        self.collections = Collections(collections)
        self.strategies = strategies
        self.timeouts = timeouts
        self.num_variants = num_variants
        self.max_model_calls = max_model_calls
        self.answer_timeout = answer_timeout
        self._fusion = fusion
        self._answer_model = answer_model
        self._cache_size = cache_size
        self._workers = Workers(threads)
        self._reranker, self._rerank_depth = reranker, rerank_depth
        self._steps = steps or StepSettings()
        self._score_threshold = score_threshold
        self._made: LRUCache[Hashable, object] = LRUCache(_SEARCHERS)
        self._lock = threading.RLock()
        self.searcher("raw", None, self.collections.for_probes())

    def search(self, body: SearchRequest, request_id: str = "") -> SearchResponse:
        """Answers a search.

        Raises:
            ConfigError: a collection does not support the request.
            ConversationError: the history has an unknown form.
            NotFoundError: the strategy or a collection is unknown.
            SearchError: no index answered.
        """
        begin = time.perf_counter()
        asked = self._asked(body)
        if not body.use_query_rewriting:
            asked = asked._replace(strategy="raw")
        searcher = self.searcher(asked.strategy, body.num_variants, asked.collections)
        found = searcher.search(asked.query, DEPTH, context=asked.context, score_threshold=body.score_threshold)
        self.metrics.searched(found)
        log_failures(found.failures)
        ms = 1000 * (time.perf_counter() - begin)
        return search_response(found, body, asked, request_id, ms)

    def reformulate(self, body: ReformulateRequest, request_id: str = "") -> ReformulateResponse:
        """Returns the sub-queries that a search would use. Raises the errors of :meth:`search`."""
        begin = time.perf_counter()
        asked = self._asked(body)
        searcher = self.searcher(asked.strategy, body.num_variants, asked.collections)
        made = searcher.reformulate(asked.query, context=asked.context)
        seconds = time.perf_counter() - begin
        self.metrics.reformulated(made, seconds)
        if made.failed_calls:
            self.metrics.failed("reformulation", made.problem or "")
            log_failures([Failure("reformulation", made.problem or "", "")])
        return ReformulateResponse(
            query_rewrite_info=QueryRewriteInfo.of(made, asked.strategy),
            notes=asked.notes,
            processing_time_ms=1000 * seconds,
            request_id=request_id,
        )

    def pipeline_for(self, body: AnswerRequest) -> tuple[Asked, Pipeline]:
        """What a request for an answer asks, and the pipeline that answers it. Raises the errors of :meth:`search`."""
        asked = self._asked(body)
        return asked, self.pipeline(asked.strategy, body.num_variants, asked.collections)

    def _asked(self, body: ReformulateRequest) -> Asked:
        given = body.rewriting_strategy
        # The model of a policy is accepted as well: trained:demo is the strategy trained-demo.
        strategy = reformulator_name(given) if given else self.strategies.default
        chosen = self.collections.named(body.knowledge_pool_ids, body.scope())
        query, context, notes = body.read()
        if unused := left_out(chosen):
            notes.append(f"Not searched, because another collection has no such index: {', '.join(unused)}.")
        return Asked(strategy, chosen, query, context, notes)

    def searcher(
        self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]
    ) -> AdaptiveSearcher:
        """The searcher of some collections: one list per sub-query over all of them, and one fusion.

        Searching with the depth :data:`acqo_rl.searching.sub_queries.DEPTH` lets requests with any limit share a cached
        result.

        Args:
            strategy: name of the reformulation strategy.
            num_variants: number of paraphrases that ``multi_query`` writes; ``None``: the service's setting.
            collections: the collections to search.

        Raises:
            ConfigError: a threshold is set and the scores of a collection are not cosines.
            NotFoundError: the strategy is unknown.
        """
        offered = self.strategies.get(strategy, num_variants or self.num_variants)

        def make() -> AdaptiveSearcher:
            retriever, documents = searched_as_one(collections), DocumentsOf(collections)
            fusion = FederatedFusion(self._fusion) if len(collections) > 1 else self._fusion
            words = partial(self._words, collections)
            steps = self._steps.open_steps(strategy, documents, words, asks=bool(offered.calls))
            return AdaptiveSearcher(
                offered.reformulator,
                [retriever, *searched_apart(collections)],
                fusion,
                corpus=documents,
                timeouts=self.timeouts,
                workers=self._workers,
                reranking=Reranking(self._reranker, documents, self._rerank_depth) if self._reranker else None,
                score_threshold=self._score_threshold,
                **steps._asdict(),
                **self._cache_of(collections),
            )

        return self._keep((id(offered), _key(collections)), make)

    def pipeline(self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]) -> Pipeline:
        """The pipeline of some collections; its first search uses the strategy. Arguments as in :meth:`searcher`."""
        offered = self.strategies.get(strategy, num_variants or self.num_variants)

        def make() -> Pipeline:
            return Pipeline(
                self.searcher("raw", num_variants, collections),
                DocumentsOf(collections),
                self._answer_model,
                searcher=self.searcher(strategy, num_variants, collections),
                reformulation_calls=offered.calls,
                max_model_calls=self.max_model_calls,
                seconds=self.answer_timeout,
                **self._cache_of(collections),
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
        query = Query("warm up", "the first search of a process is slow")
        for name in self.strategies.names:
            self.searcher(name, None, self.collections.for_probes()).search(query, DEPTH)

    def close(self) -> None:
        """Ends the threads."""
        self._workers.close()

    def _words(self, collections: tuple[Collection, ...]) -> CorpusWords:
        """Titles and words of local documents; those of a search engine are not read."""
        if _may_change(collections):
            return CorpusWords()
        return self._keep(("words", _key(collections)), lambda: CorpusWords.of(DocumentsOf(collections)))

    def _cache_of(self, collections: Sequence[Collection]) -> dict[str, Any]:
        lifetime = {"cache_seconds": _CHANGING} if _may_change(collections) else {}
        return {"cache_size": self._cache_size, **lifetime}

    def _keep(self, key: Hashable, make: Callable[[], Made]) -> Made:
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            made: Made = self._made[key]  # type: ignore[assignment]
            return made


def _may_change(collections: Sequence[Collection]) -> bool:
    """Whether documents are those of a search engine, where they and tenants may be deleted."""
    return any(isinstance(collection.documents, RemoteCorpus) for collection in collections)


def _key(collections: Sequence[Collection]) -> Hashable:
    """What is searched: nothing that is kept for one part of the documents serves another one."""
    return tuple((collection.name, collection.scope) for collection in collections)
