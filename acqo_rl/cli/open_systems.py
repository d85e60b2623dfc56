"""Opens the indexes and models of the systems that ``acqo evaluate`` is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import (
    CachedReformulator,
    CachedReranker,
    CachedRetriever,
    fingerprint,
    reformulator_key,
)
from acqo_rl.evaluation.systems import Evaluations, IndexParts, evaluate_systems
from acqo_rl.fusion import fusion_named
from acqo_rl.reformulation.load import (
    REWRITE_RETRIEVE_READ,
    lexicon_for,
    load_reformulator,
    load_strategy_model,
    prompts_model,
)
from acqo_rl.retrieval.load import describe
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.roles import LanguageModel, Reformulator, Reranker
from acqo_rl.searching.names import ORIGINAL, RERANKED, name_indexes
from acqo_rl.searching.settings import Steps, words_of
from acqo_rl.types import Document, Qrels, Query

if TYPE_CHECKING:
    from acqo_rl.cli.evaluate import EvaluateConfig

_WARM_UP = "The first call of a process is slow and is not measured."


def open_systems(
    config: EvaluateConfig,
    models: Mapping[str, str],
    corpus: Mapping[str, Document],
    qrels: Qrels,
    metadata: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[str, IndexParts], Callable[[Sequence[Query]], Evaluations]]:
    """Opens the parts of all systems; a model is loaded when it is first needed.

    Returns:
        The indexes by name, and a function that evaluates all systems.
    """
    file = Path(config.output, "cache.sqlite")
    retrievers = open_retrievers(config.index, config, file, corpus)
    reformulators, steps = open_reformulators(config, models, file, corpus)
    if REWRITE_RETRIEVE_READ in reformulators and not any(parts.has_dense for parts in retrievers.values()):
        raise ConfigError(f"{REWRITE_RETRIEVE_READ} compares cosines; give a dense index, alone or in a hybrid.")
    return retrievers, partial(
        evaluate_systems,
        reformulators=reformulators,
        retrievers=retrievers,
        fusions={name: fusion_named(name.removesuffix(RERANKED)) for name in config.fusion},
        corpus=corpus,
        qrels=qrels,
        metadata=metadata,
        measures=config.measures,
        batch_size=config.batch_size,
        steps=steps,
        reranker=open_reranker(config.reranker, file) if config.reranker else None,
        rerank_depth=config.rerank_depth,
    )


def open_reranker(name: str, file: Path) -> CachedReranker:
    """The reranker; it is loaded when it is first needed."""
    from acqo_rl.retrieval.rerankers import CROSS_ENCODER, load_reranker

    def load() -> Reranker:
        reranker = load_reranker(name)
        reranker.score([(_WARM_UP, _WARM_UP)])
        return reranker

    cache_key = f"{name} {fingerprint(name.removeprefix(CROSS_ENCODER))}".rstrip()
    return CachedReranker(name, load, cache_key, file)


def open_reformulators(
    config: EvaluateConfig, models: Mapping[str, str], file: Path, corpus: Mapping[str, Document]
) -> tuple[dict[str, CachedReformulator], dict[str, Steps]]:
    """Reformulators by name, and the steps of each that read results; strategies share their language models."""

    @lru_cache
    def language_model(model: str) -> LanguageModel:
        return load_strategy_model(model, config.strategy)

    def load(name: str, model: str) -> Reformulator:
        shared = language_model(model) if prompts_model(name) else None
        return load_reformulator(name, model, config.strategy, language_model=shared, lexicon=lexicon)

    lexicon = lexicon_for(models, corpus.values())
    opened: dict[str, CachedReformulator] = {}
    steps: dict[str, Steps] = {}
    words = once(partial(words_of, corpus))
    for name, model in models.items():
        cache_key = reformulator_key(name, model, config.strategy)
        opened[name] = CachedReformulator(name, partial(load, name, model), cache_key, file)
        if name == REWRITE_RETRIEVE_READ:
            opened[name].retry_below = config.strategy.similarity_threshold
        steps[name] = config.open_steps(name, corpus, words, asks=bool(model))
    return opened, steps


def open_retrievers(
    indexes: Sequence[str], settings: IndexSettings, file: Path, corpus: Mapping[str, Document]
) -> dict[str, IndexParts]:
    """Retrievers by name; every index is opened once.

    Args:
        indexes: the indexes, as ``--index`` of ``acqo evaluate`` takes them.
        settings: how they are opened.
        file: keeps the rankings.
        corpus: which the indexes must hold.
    """
    given = name_indexes(indexes)
    names = {parts[0]: name for name, parts in reversed(given.items()) if len(parts) == 1}

    @lru_cache
    def open_one(place: str) -> CachedRetriever:
        info = describe(place)
        retriever = settings.open_index_of(place, corpus)
        retriever.search([_WARM_UP], 1)
        return CachedRetriever(names.get(place, place), retriever, info.fingerprint, file, embeds=info.kind != "bm25")

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
