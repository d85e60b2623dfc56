"""Loads the service from settings, for HTTP and MCP."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from annotated_types import Ge

from acqo_rl.addresses import Address
from acqo_rl.pipeline.pipeline import ESSENTIAL
from acqo_rl.reformulation.load import lexicon_for
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import Encoder
from acqo_rl.searching.settings import SearcherSettings
from acqo_rl.serving.service import Service
from acqo_rl.serving.strategies import Strategies, batched
from acqo_rl.settings import group, setting
from acqo_rl.types import Amount, Count, Positive, Seconds

_INDEX_THREADS = 4
"""Maximum number of concurrent calls of a local index, so that one call that hangs does not block the others."""


@dataclass
class TimeoutSettings:
    """Time limits of a service in seconds."""

    search: Seconds = 10.0
    reformulation: Seconds = 5.0
    sub_query: Seconds = 3.0
    reranking: Seconds = 3.0
    answer: Seconds = 60.0


@dataclass
class LimitSettings:
    """Limits of the requests of a server."""

    body_bytes: Positive = setting("Maximum size of a request body; larger ones get 413.", 262_144)
    concurrency: Positive = setting(
        "Maximum number of requests processed at once; answers are counted separately, so that a slow "
        "language model does not block searches.",
        32,
    )
    max_queued: Count = setting("Maximum number of waiting requests; further ones get 429.", 64)
    queue_timeout: Amount = setting("Seconds that a request may wait; then it gets 429.", 5.0)


@dataclass
class ServiceSettings(SearcherSettings):
    """Collections, strategies and limits of a service."""

    collections: list[Address] = setting(
        "NAME=DATA,INDEX: a BEIR folder and its index. NAME=DATA,DENSE+BM25: a hybrid index. "
        "NAME=DATA,DENSE,BM25@original: the BM25 index is searched only with the raw query. "
        "NAME=http+json:TEMPLATE.yaml: a collection of a search engine.",
        [],
    )
    strategies: list[str] = setting(
        "NAME, NAME=MODEL or a policy such as trained:demo. The first one is the default. raw is always offered.",
        ["auto"],
    )
    answer_model: Address | None = setting(
        "Language model that writes answers; without it, only passages are returned.", None
    )
    max_model_calls: Annotated[int, Ge(ESSENTIAL)] = setting(
        "Maximum number of model calls per answer.", 20, of="answer_model"
    )
    answer_tokens: Positive = setting("Maximum tokens of each completion.", 256, of="answer_model")
    timeouts: TimeoutSettings = group(
        "Time limits in seconds: of a search, of its reformulation (then the raw query is searched), of each sub-query "
        "(later rankings are not used), of the reranking (then the fused order is kept), of an answer (its model calls "
        "end then).",
        TimeoutSettings,
    )
    result_cache_size: Count = setting("Number of cached reformulations and answers; 0 disables the caches.", 1024)
    cache_ttl: Amount = setting(
        "Seconds for which reformulations and answers are cached; 0 disables the caches.",
        3600.0,
        of=("result_cache_size",),
    )
    batch_size: Positive = setting("Maximum number of queries, or texts, per call of a local model or index.", 32)


def load_service(settings: ServiceSettings, strategies: StrategySettings) -> Service:
    """Opens collections and models, and calls each once, because the first call in a process is slow.

    Args:
        settings: settings of the service.
        strategies: settings of the reformulators.

    Raises:
        ConfigError: a collection, model or setting is invalid.
        DataError: documents cannot be read.
        IndexMismatchError: an index was built from other documents.
        SearchError: an index does not answer.
    """
    from acqo_rl.language_models.load import load_language_model
    from acqo_rl.retrieval.rerankers import load_reranker
    from acqo_rl.searching.assemble import check_path
    from acqo_rl.searching.searcher import Timeouts
    from acqo_rl.serving.batching import Batcher
    from acqo_rl.serving.collections import Collection, open_collection

    limits = settings.timeouts
    batcher = partial(Batcher, size=settings.batch_size)
    of_indexes = partial(batcher, threads=_INDEX_THREADS) if settings.batch_size > 1 else None
    paths = settings.paths([*dict.fromkeys([*settings.strategies, "raw"])], strategies)
    for spec in paths.values():
        check_path(spec)
    reranker = load_reranker(settings.reranker, limits.reranking) if settings.reranker else None
    encoders: dict[str, Encoder] = {}

    def opened(place: str) -> Collection:
        return open_collection(place, limits.sub_query, of_indexes, settings.open_index, encoders)

    collections = [opened(place) for place in settings.collections]
    places = {one.name: place for one, place in zip(collections, settings.collections, strict=True)}
    read = [collection.documents for collection in collections if not collection.has_tenants]
    answer_model = settings.answer_model and load_language_model(
        settings.answer_model,
        max_new_tokens=settings.answer_tokens,
        timeout=strategies.timeout,
        max_retries=strategies.max_retries,
        concurrency=strategies.concurrency,
    )
    service = Service(
        collections,
        Strategies(paths, batcher, lexicon_for((spec.reformulator for spec in paths.values()), read)),
        Timeouts(limits.search, limits.reformulation, limits.sub_query, limits.reranking),
        answer_model=batched(answer_model, batcher) if answer_model else None,
        max_model_calls=settings.max_model_calls,
        answer_timeout=limits.answer,
        cache_size=settings.result_cache_size,
        cache_ttl=settings.cache_ttl,
        reranker=reranker,
    )
    try:
        service.warm_up()
        service.watch(lambda name: opened(places[name]))
    except BaseException:
        service.close()
        raise
    return service
