"""Opens the indexes and models of the systems that ``acqo evaluate`` is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from acqo_rl import __version__
from acqo_rl.batching import BatchedModel, BatchedReformulator, BatchedRetriever, Batcher
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import (
    Cache,
    CachedReformulator,
    CachedReranker,
    CachedRetriever,
    fingerprint,
    reformulator_key,
)
from acqo_rl.evaluation.pipeline import WHOLE, WITHOUT_MODEL, CachedStep, Components
from acqo_rl.evaluation.systems import IndexParts, StudyComponents, System
from acqo_rl.fusion import fusion_named
from acqo_rl.reformulation.load import (
    REWRITE_RETRIEVE_READ,
    StrategySettings,
    lexicon_for,
    load_reformulator,
    load_strategy_model,
    prompts_model,
)
from acqo_rl.retrieval.remote import describe
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.roles import LanguageModel, Reformulator, Reranker
from acqo_rl.searching.names import ORIGINAL, RERANKED, name_indexes, name_reformulators
from acqo_rl.types import Document, Qrels, Query

if TYPE_CHECKING:
    from acqo_rl.cli.evaluate import EvaluateConfig

_WARM_UP = "The first call of a process is slow and is not measured."


def open_components(
    config: EvaluateConfig,
    strategies: StrategySettings,
    cache: Cache,
    corpus: Mapping[str, Document],
    qrels: Qrels,
    metadata: Mapping[str, Mapping[str, Any]],
) -> StudyComponents:
    """Opens the components of all systems; a model is loaded when it is first needed."""
    retrievers = open_retrievers(config.index, config, cache, corpus)
    reformulators = open_reformulators(config, strategies, cache, corpus)
    if REWRITE_RETRIEVE_READ in reformulators and not any(parts.has_dense for parts in retrievers.values()):
        raise ConfigError(f"{REWRITE_RETRIEVE_READ} compares cosines; give a dense index, alone or in a hybrid.")
    return StudyComponents(
        reformulators=reformulators,
        retrievers=retrievers,
        fusions={name: fusion_named(name.removesuffix(RERANKED)) for name in config.fusion},
        corpus=corpus,
        qrels=qrels,
        metadata=metadata,
        measures=config.measures,
        batch_size=config.batch_size,
        rounds=config.rounds,
        similarity_threshold=strategies.similarity_threshold,
        reformulate_below=strategies.reformulate_below,
        steps=open_steps(config, strategies, cache, corpus, retrievers) if config.pipeline else {},
        reranker=open_reranker(config.reranker, cache) if config.reranker else None,
        rerank_depth=config.rerank_depth,
    )


def open_reranker(name: str, cache: Cache) -> CachedReranker:
    """The reranker; it is loaded when it is first needed."""
    from acqo_rl.retrieval.rerankers import CROSS_ENCODER, load_reranker

    def load() -> Reranker:
        reranker = load_reranker(name)
        reranker.score([(_WARM_UP, _WARM_UP)])
        return reranker

    cache_key = f"{name} {fingerprint(name.removeprefix(CROSS_ENCODER))}".rstrip()
    return CachedReranker(name, load, cache_key, cache)


def open_reformulators(
    config: EvaluateConfig, strategies: StrategySettings, cache: Cache, corpus: Mapping[str, Document]
) -> dict[str, CachedReformulator]:
    """Reformulators by name; strategies with the same language model share it."""

    @lru_cache
    def language_model(model: str, asked_as: str) -> LanguageModel:
        return load_strategy_model(asked_as, model, strategies)

    def load(name: str, model: str) -> Reformulator:
        if not prompts_model(name):
            return load_reformulator(name, model, strategies, lexicon=lexicon)
        shared = language_model(model, name if name == "prompted" else "")  # prompted has settings of its own
        return load_reformulator(name, model, strategies, language_model=shared)

    models = name_reformulators(config.reformulator, config.model)
    lexicon = lexicon_for(models, corpus.values())
    opened = {}
    for given, model in models.items():
        name = "rewrite" if given == REWRITE_RETRIEVE_READ else given
        opened[given] = CachedReformulator(
            given, partial(load, name, model), reformulator_key(name, model, strategies), cache
        )
    return opened


def open_retrievers(
    indexes: Sequence[str], settings: IndexSettings, cache: Cache, corpus: Mapping[str, Document]
) -> dict[str, IndexParts]:
    """Retrievers by name; every index is opened once.

    Args:
        indexes: the indexes, as ``--index`` of ``acqo evaluate`` takes them.
        settings: how they are opened.
        cache: keeps the rankings.
        corpus: which the indexes must hold.
    """
    given = name_indexes(indexes)
    names = {parts[0]: name for name, parts in reversed(given.items()) if len(parts) == 1}

    @lru_cache
    def open_one(place: str) -> CachedRetriever:
        info = describe(place)
        retriever = settings.open_index_of(place, corpus)
        retriever.search([_WARM_UP], 1)
        return CachedRetriever(names.get(place, place), retriever, info.fingerprint, cache, embeds=info.kind != "bm25")

    def open_part(part: str) -> CachedRetriever:
        one = part.removesuffix(ORIGINAL)
        return open_one(given[one][0] if one in given else one)

    return {
        name: IndexParts(
            tuple(open_part(part) for part in parts if not part.endswith(ORIGINAL)),
            tuple(open_part(part) for part in parts if part.endswith(ORIGINAL)),
        )
        for name, parts in given.items()
    }


def open_steps(
    config: EvaluateConfig,
    strategies: StrategySettings,
    cache: Cache,
    corpus: Mapping[str, Document],
    retrievers: Mapping[str, IndexParts],
) -> dict[System, CachedStep]:
    """The steps of the pipeline with each index that searches everything; concurrent calls are batched."""
    fusion = config.fusion[0]
    policy_model = name_reformulators(config.reformulator, config.model).get("policy", "")
    batcher = partial(Batcher, size=strategies.concurrency, wait=0.01 if strategies.concurrency > 1 else 0.0)

    @lru_cache
    def policy() -> Reformulator | None:
        if not policy_model:
            return None
        reformulator = load_reformulator("policy", policy_model)
        reformulator.reformulate([Query("warm up", _WARM_UP)])
        return BatchedReformulator(reformulator, batcher)

    @lru_cache
    def model() -> LanguageModel:
        return load_step_model(config.model or "", strategies, batcher)

    def load(step: str, retriever: str) -> Components:
        return Components(
            retriever=BatchedRetriever(retrievers[retriever].merged(retriever, cached=False), batcher),
            corpus=corpus,
            model=None if step in WITHOUT_MODEL else model(),
            fusion=fusion_named(fusion),
            policy=policy() if step == WHOLE else None,
            max_model_calls=config.max_model_calls,
            answer_style=config.answers,
        )

    def cache_key(step: str, parts: IndexParts) -> str:
        values: list[object] = [__version__, [part.fingerprint for part in parts.everything]]
        if step not in WITHOUT_MODEL:
            values += [config.model, fingerprint(config.model or ""), strategies.max_new_tokens]
            values += [config.max_model_calls, config.answers]
        if step == WHOLE:
            values += [policy_model, fingerprint(policy_model), fusion]
        return repr(values)

    return {
        System(step, name, fusion): CachedStep(
            step, partial(load, step, name), cache_key(step, parts), cache, strategies.concurrency
        )
        for name, parts in retrievers.items()
        if not parts.original
        for step in config.pipeline
    }


def load_step_model(name: str, strategies: StrategySettings, batcher: Any) -> LanguageModel:
    """The language model of the steps, greedy; a model server batches by itself."""
    from acqo_rl.language_models.load import load_language_model
    from acqo_rl.language_models.local import TransformersModel

    model = load_language_model(name, max_new_tokens=strategies.max_new_tokens, timeout=strategies.timeout)
    if not isinstance(model, TransformersModel):
        return model
    model.batch_size = max(model.batch_size, strategies.concurrency)
    model.generate([[{"role": "user", "content": _WARM_UP}]])
    return BatchedModel(model, batcher)
