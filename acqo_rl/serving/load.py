"""The service that settings describe, for every protocol that it is offered by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from acqo_rl.reformulation.load import ENGINE_HELP, Engine, StrategySettings, lexicon_for, on_this_machine
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.serving.service import Service
from acqo_rl.types import FusionName

_INDEX_THREADS = 4
"""Calls of an index of this process at the same time: one that hangs leaves the others."""


@dataclass
class ServiceSettings(IndexSettings):
    """What a service searches and who reformulates."""

    collections: list[str] = field(
        metadata={
            "help": "NAME=DATA,INDEX: a BEIR folder and an index of it; DENSE+BM25 searches with both, and "
            "NAME=DATA,DENSE,BM25@original searches the raw query alone by words. Paths may hold commas. "
            "A search engine has the documents itself: NAME=qdrant://HOST:PORT/COLLECTION."
        }
    )
    strategies: list[str] = field(
        default_factory=lambda: ["rules"],
        metadata={
            "help": "NAME, NAME=MODEL or a policy such as trained:demo. The first is the default (a policy with "
            "the rules behind it); the policy alone and raw are offered as well."
        },
    )
    model: str | None = field(default=None, metadata={"help": "Model of those strategies that are given without one."})
    engine: Engine = field(default="auto", metadata={"help": ENGINE_HELP})
    answer_model: str | None = field(default=None, metadata={"help": "Writes answers; without it, none is written."})
    answer_tokens: int = field(default=256, metadata={"help": "Limit of each of its completions."})
    max_model_calls: int = field(default=20, metadata={"help": "Model calls of an answer, at most."})
    fusion: FusionName = field(default="rsf", metadata={"help": "How rankings are merged."})
    rrf_k: float = field(default=60.0, metadata={"help": "Rank constant of rrf."})
    score_threshold: float | None = field(
        default=None,
        metadata={"help": "Least cosine of a document; nothing is found where none reaches it. Dense indexes only."},
    )
    total_seconds: float = field(default=10.0, metadata={"help": "For a search."})
    reformulation_seconds: float = field(default=5.0, metadata={"help": "Then the query is searched as it stands."})
    sub_query_seconds: float = field(default=3.0, metadata={"help": "For one list; a late one is left out."})
    answer_seconds: float = field(default=60.0, metadata={"help": "Then an answer begins no model call."})
    result_cache_size: int = field(default=1024, metadata={"help": "Results kept; 0 keeps none."})
    result_cache_seconds: float = field(default=3600.0, metadata={"help": "How long they are kept."})
    batch_size: int = field(
        default=32, metadata={"help": "Queries, or texts, of one call of a model or an index here."}
    )
    batch_wait_ms: float = field(default=2.0, metadata={"help": "Milliseconds that the first waits for others."})
    threads: int = field(default=64, metadata={"help": "Calls of each strategy and remote index at the same time."})


def load_service(
    settings: ServiceSettings, strategies: StrategySettings, on_batch: Callable[[int], None] = lambda _: None
) -> Service:
    """Opens collections and models, and asks each once, since the first call of a process is slow.

    Args:
        settings: of the service.
        strategies: of those that ask a language model.
        on_batch: is told the size of each batch that a model gets.

    Raises:
        ConfigError: a collection, model or setting is wrong.
        DataError: documents cannot be read.
        IndexMismatchError: an index is not of its documents.
        SearchError: an index does not answer.
    """
    from acqo_rl.batching import Batcher
    from acqo_rl.fusion import fusion_named
    from acqo_rl.searching.names import name_reformulators
    from acqo_rl.searching.searcher import Timeouts
    from acqo_rl.serving.collections import open_collection
    from acqo_rl.serving.strategies import Strategies, load_answer_model, offered_names

    wait = settings.batch_wait_ms / 1000
    limits: dict[str, Any] = {"size": settings.batch_size, "wait": wait, "timeout": settings.sub_query_seconds}
    batcher = partial(Batcher, threads=_INDEX_THREADS, **limits) if settings.batch_size > 1 else None
    batches: dict[str, Any] = {
        "batch_size": settings.batch_size,
        "batch_wait": wait,
        "on_batch": on_batch,
    }
    models = {
        name: on_this_machine(name, model, settings.engine)
        for name, model in name_reformulators(settings.strategies, settings.model).items()
    }
    fusion = fusion_named(settings.fusion, settings.rrf_k)
    collections = [
        open_collection(one, settings.sub_query_seconds, batcher, settings.open_index) for one in settings.collections
    ]
    open_to_all = (collection for collection in collections if not collection.has_tenants)
    documents = (document for collection in open_to_all for document in collection.documents.values())
    lexicon = lexicon_for(offered_names(models), documents)
    service = Service(
        collections,
        Strategies(models, strategies, timeout=settings.reformulation_seconds, lexicon=lexicon, **batches),
        fusion,
        Timeouts(settings.total_seconds, settings.reformulation_seconds, settings.sub_query_seconds),
        answer_model=load_answer_model(settings.answer_model, settings.answer_tokens, strategies, **batches)
        if settings.answer_model
        else None,
        num_variants=strategies.num_variants,
        max_model_calls=settings.max_model_calls,
        answer_seconds=settings.answer_seconds,
        cache_size=settings.result_cache_size,
        cache_seconds=settings.result_cache_seconds,
        threads=settings.threads,
        score_threshold=settings.score_threshold,
    )
    service.warm_up()
    return service
