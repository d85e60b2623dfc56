"""What the service does, apart from HTTP: searchers and pipelines for the strategies and collections of a request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

from cachetools import LRUCache

from acqo_rl.pipeline.multi_step import MultiStepRetriever
from acqo_rl.pipeline.pipeline import Ask, Pipeline
from acqo_rl.pipeline.rewrite_retrieve_read import look_first
from acqo_rl.reformulation.logged import Logged
from acqo_rl.retrieval.federated import FederatedFusion
from acqo_rl.searching.lists import DEPTH
from acqo_rl.searching.names import reformulator_name
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.searching.threshold import check_score_threshold
from acqo_rl.searching.workers import Workers
from acqo_rl.serving.answer_schemas import AnswerMode
from acqo_rl.serving.collections import Collection, Collections, DocumentsOf, searched_apart, searched_as_one
from acqo_rl.serving.strategies import Offered, Strategies
from acqo_rl.types import EVERYTHING, Fusion, LanguageModel, Query, Reformulation, Scope

_SEARCHERS = 256
"""Combinations of strategy, variants and collections that are kept, the latest used ones; each has a cache."""

Made = TypeVar("Made")


class Service:
    """One searcher a strategy and choice of collections, and as many pipelines; all share their threads."""

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
        answer_seconds: float | None = None,
        cache_size: int = 1024,
        cache_seconds: float = 3600.0,
        threads: int = 64,
        score_threshold: float | None = None,
    ) -> None:
        """Joins the parts.

        Args:
            collections: what is searched.
            strategies: who reformulates.
            fusion: merges the lists of the sub-queries; each has one list over all collections and indexes.
            timeouts: of a search.
            answer_model: writes answers; without one, passages are found and no answer is written.
            num_variants: other wordings that ``multi_query`` writes for a request that does not say how many.
            max_model_calls: for one answer.
            answer_seconds: after which an answer begins no model call.
            cache_size: results kept by each searcher and pipeline; 0 keeps none.
            cache_seconds: how long they are kept.
            threads: calls of each retriever and of each reformulator at the same time.
            score_threshold: least cosine of a document, of searches and of the passages of answers; see
                :func:`acqo_rl.searching.threshold.fuse_similar`.

        Raises:
            ConfigError: there is a threshold, and scores of a collection are no cosines or not of one encoder.
        """
        self.collections = Collections(collections)
        self.strategies = strategies
        self.num_variants = num_variants
        self.max_model_calls = max_model_calls
        self._fusion = fusion
        self._answer_model = answer_model
        self._timeouts = timeouts
        self._answer_seconds = answer_seconds
        self._cache = (cache_size, cache_seconds)
        self._workers = Workers(threads)
        self._made: LRUCache[Hashable, object] = LRUCache(_SEARCHERS)
        self._lock = threading.Lock()
        self._score_threshold = score_threshold
        check_score_threshold(score_threshold, [r for c in self.collections for r in c.all_retrievers])
        check_score_threshold(score_threshold, [searched_as_one(tuple(self.collections))])

    def reformulate(
        self,
        query: Query,
        strategy: str,
        num_variants: int | None,
        user_context: str = "",
        scope: Scope = EVERYTHING,
    ) -> Reformulation:
        """What a search of all collections would begin with; the raw query where that fails.

        Raises:
            ConfigError: the query is empty, or a collection cannot be searched in this part.
            NotFoundError: there is no such strategy.
        """
        searcher = self._searcher(strategy, num_variants, self.collections.named((), scope))
        return searcher.reformulate(query, context=user_context)

    def search(
        self,
        query: Query,
        strategy: str,
        num_variants: int | None,
        collections: tuple[Collection, ...],
        user_context: str = "",
        score_threshold: float | None = None,
    ) -> SearchResult:
        """What the collections hold: one reformulation, one list per sub-query over all collections, one fusion.

        The fused list is as deep as the lists, so that one cached result serves every number of documents asked for.

        Args:
            query: what is asked.
            strategy: who reformulates it.
            num_variants: other wordings that ``multi_query`` writes; ``None`` for the service's setting.
            collections: what is searched.
            user_context: what is known of the user; added to each reading of an ambiguous query.
            score_threshold: in place of the service's own.

        Raises:
            ConfigError: the query is empty, or there is a threshold and scores of a collection are no cosines.
            NotFoundError: there is no such strategy.
            SearchError: nothing came back.
        """
        searcher = self._searcher(strategy, num_variants, collections)
        return searcher.search(query, DEPTH, context=user_context, score_threshold=score_threshold)

    def answerer(
        self,
        mode: AnswerMode,
        strategy: str,
        num_variants: int | None,
        collections: tuple[Collection, ...],
        user_context: str = "",
    ) -> Ask:
        """What answers from the collections, by the pipeline or by a mode of multi-step retrieval.

        ``user_context`` is used as in :meth:`search`.

        Raises:
            NotFoundError: there is no such strategy.
        """
        if mode == "pipeline":
            return partial(self.pipeline(strategy, num_variants, collections).ask, context=user_context)
        parts = self._answering(strategy, num_variants, collections)
        key = ("multi-step", id(self._offered(strategy, num_variants)), _key(collections))
        return partial(self._keep(key, lambda: MultiStepRetriever(**parts)).ask, mode=mode, context=user_context)

    def pipeline(self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]) -> Pipeline:
        """The pipeline that answers from the collections; its first search is that of the strategy.

        Raises:
            NotFoundError: there is no such strategy.
        """
        parts = self._answering(strategy, num_variants, collections)
        size, seconds = self._cache
        key = ("pipeline", id(self._offered(strategy, num_variants)), _key(collections))
        return self._keep(key, lambda: Pipeline(**parts, cache_size=size, cache_seconds=seconds))

    def is_ready(self, seconds: float = 2.0) -> bool:
        """Whether every retriever answers in so many seconds."""
        probed = self.collections.for_probes()
        retrievers = [retriever for collection in probed for retriever in collection.all_retrievers]
        outcomes = self._workers.run([(r.name, partial(r.search, ["ready"], 1)) for r in retrievers], seconds)
        return not any(isinstance(outcome, Exception) for outcome in outcomes)

    def warm_up(self) -> None:
        """Asks every index and every strategy once, since the first call of a process is slow.

        Raises:
            SearchError: an index does not answer.
        """
        query, collections = Query("warm up", "the first search of a process is slow"), self.collections.for_probes()
        for name in self.strategies.names:
            self.search(query, name, None, collections)

    def close(self) -> None:
        """Lets the threads end."""
        self._workers.close()

    def strategy(self, given: str | None) -> str:
        """The name of the strategy that a request gives; the default where it gives none.

        A policy is known by its model, too: ``trained:demo`` is ``trained-demo``.
        """
        return reformulator_name(given) if given else self.strategies.default

    def _offered(self, strategy: str, num_variants: int | None) -> Offered:
        return self.strategies.get(strategy, num_variants or self.num_variants)

    def _searcher(
        self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]
    ) -> AdaptiveSearcher:
        offered = self._offered(strategy, num_variants)
        size, seconds = self._cache

        def make() -> AdaptiveSearcher:
            retriever, documents = searched_as_one(collections), DocumentsOf(collections)
            fusion = FederatedFusion(self._fusion) if len(collections) > 1 else self._fusion
            reformulator = offered.reformulator
            if offered.threshold is not None:
                reformulator = Logged(look_first(reformulator, retriever, fusion, documents, offered.threshold))
            return AdaptiveSearcher(
                reformulator,
                [retriever, *searched_apart(collections)],
                fusion,
                corpus=documents,
                timeouts=self._timeouts,
                cache_size=size,
                cache_seconds=seconds,
                workers=self._workers,
                score_threshold=self._score_threshold,
            )

        return self._keep((id(offered), _key(collections)), make)

    def _answering(
        self, strategy: str, num_variants: int | None, collections: tuple[Collection, ...]
    ) -> dict[str, Any]:
        """What pipeline and multi-step retrieval are made of."""
        return {
            "retriever": self._searcher("raw", num_variants, collections),
            "corpus": DocumentsOf(collections),
            "model": self._answer_model,
            "searcher": self._searcher(strategy, num_variants, collections),
            "reformulation_calls": self._offered(strategy, num_variants).calls,
            "max_model_calls": self.max_model_calls,
            "seconds": self._answer_seconds,
        }

    def _keep(self, key: Hashable, make: Callable[[], Made]) -> Made:
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            made: Made = self._made[key]  # type: ignore[assignment]
            return made


def _key(collections: Sequence[Collection]) -> Hashable:
    """What is searched: nothing that is kept for one part of the documents serves another one."""
    return tuple((collection.name, collection.scope) for collection in collections)
