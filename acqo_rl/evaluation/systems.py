"""The systems of a study: reformulators x retrievers x fusions, over sets of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache as once
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import (
    CachedReformulator,
    CachedReranker,
    CachedRetriever,
    fingerprint,
    reformulator_key,
)
from acqo_rl.evaluation.run import Evaluation, evaluate
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.load import (
    kind_of,
    lexicon_for,
    load_reformulator,
    load_strategy_model,
    prompts_model,
)
from acqo_rl.reformulation.settings import REWRITE_RETRIEVE_READ, StrategySettings
from acqo_rl.retrieval.composite import HybridRetriever
from acqo_rl.retrieval.load import describe
from acqo_rl.retrieval.rerankers import CROSS_ENCODER
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.roles import Fusion, LanguageModel, Reformulator, Reranker, Retriever
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.names import ORIGINAL, RERANKED, name_indexes
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.reranking import RERANK_DEPTH, Reranking
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.settings import Steps, StepSettings, words_of
from acqo_rl.searching.sub_queries import RawQueryOnly, Retrievers, searched_text
from acqo_rl.types import Document, Qrels, Query

_WARM_UP = "The first call of a process is slow and is not measured."


@dataclass(frozen=True, slots=True)
class System:
    """Names of a reformulator, a retriever and a fusion."""

    reformulator: str
    retriever: str
    fusion: str

    @property
    def name(self) -> str:
        """All three names."""
        return f"{self.reformulator} / {self.retriever} / {self.fusion}"


Evaluations = dict[System, Evaluation]


@dataclass(frozen=True, slots=True)
class IndexParts:
    """The indexes of a retriever.

    Attributes:
        everything: search every sub-query. Several form a hybrid, which merges their rankings of each text by RSF.
        original: search only the raw query; each adds one ranking to the fusion.
    """

    everything: tuple[CachedRetriever, ...]
    original: tuple[CachedRetriever, ...] = ()

    @property
    def has_dense(self) -> bool:
        """Whether the scores of an index for sub-queries are cosines."""
        return any(part.cosine for part in self.everything)

    def merged(self, name: str) -> Retriever:
        """One retriever over the indexes for sub-queries."""
        if len(self.everything) == 1:
            return self.everything[0]
        return HybridRetriever(list(self.everything), RankScoreFusion(), name=name)

    def all(self, name: str) -> Retrievers:
        """The retrievers of a search path."""
        merged = self.merged(name)
        return [merged, *map(RawQueryOnly, self.original)] if self.original else merged


def evaluate_systems(
    queries: Sequence[Query],
    *,
    reformulators: Mapping[str, CachedReformulator],
    retrievers: Mapping[str, IndexParts],
    fusions: Mapping[str, Fusion],
    corpus: Mapping[str, Document],
    qrels: Qrels,
    kinds: Mapping[str, str],
    measures: Sequence[str],
    batch_size: int = 64,
    steps: Mapping[str, Steps] | None = None,
    reranker: CachedReranker | None = None,
    rerank_depth: int = RERANK_DEPTH,
) -> Evaluations:
    """Evaluates all reformulators with each retriever and fusion; what the caches hold is not computed again.

    Args:
        queries: see :func:`acqo_rl.evaluation.run.evaluate`, also for ``kinds``.
        reformulators: by name; those with ``retry_below`` need a dense index.
        retrievers: by name.
        fusions: by name; those whose name ends with ``+reranker`` are followed by the reranker.
        corpus: document id -> document, for feedback.
        qrels: judgements.
        kinds: query id -> kind.
        measures: see ``acqo_rl.measures``.
        batch_size: number of queries reformulated and searched together.
        steps: reformulator -> its steps that read results.
        reranker: scores the documents of the reranked systems.
        rerank_depth: number of documents per query that are reranked.

    Raises:
        ConfigError: a reformulator has ``retry_below``, and no retriever has a dense index.
    """
    retried = [name for name, one in reformulators.items() if one.retry_below is not None]
    if retried and not any(parts.has_dense for parts in retrievers.values()):
        raise ConfigError(f"{retried[0]} compares cosines; give a dense index, alone or in a hybrid.")
    evaluations: Evaluations = {}
    for retriever, fusion, name in product(retrievers, fusions, reformulators):
        parts, reformulator = retrievers[retriever], reformulators[name]
        if reformulator.retry_below is not None and not parts.has_dense:
            continue
        read = (steps or {}).get(name, Steps())
        reranking = Reranking(reranker, corpus, rerank_depth) if reranker and fusion.endswith(RERANKED) else None
        searched = parts.all(retriever)
        path = SearchPath(reformulator, searched, fusions[fusion], corpus, reranking=reranking, **read._asdict())
        system = System(name, retriever, fusion)
        evaluations[system] = evaluate(
            path,
            queries,
            qrels,
            name=system.name,
            measures=measures,
            batch_size=batch_size,
            kinds=kinds,
            costs=partial(_costs, reformulator, parts, reranking, reranker, read.choice),
        )
    return evaluations


def _costs(
    reformulator: CachedReformulator,
    parts: IndexParts,
    reranking: Reranking | None,
    reranker: CachedReranker | None,
    choice: Choice | None,
    result: SearchResult,
) -> dict[str, Any]:
    """The costs at the time when the answers were computed; the searches of several indexes add up."""
    made = result.reformulation
    texts = dict.fromkeys(searched_text(s) for one in result.searched for s in one.sub_queries)
    searches = [(part, text) for part in parts.everything for text in texts]
    searches += [(part, made.query.text) for part in parts.original]
    always = choice is None and reformulator.retry_below is None
    asked = {one.query for one in result.searched} if always or made.calls else ()
    pairs = reranking.pairs([made], [result.fused])[0] if reranking else []
    return {
        "searches": len(searches),
        "embedded": sum(part.embeds for part, _ in searches),
        "reformulation_ms": sum(map(reformulator.ms, asked)),
        "retrieval_ms": sum(part.ms(text) for part, text in searches),
        "reranked": len(pairs),
        "reranking_ms": sum(map(reranker.ms, pairs)) if reranker else 0.0,
    }


def open_reranker(reranker: Reranker, file: Path) -> CachedReranker:
    """The reranker with the scores of earlier runs; it is warmed up when it is first needed."""

    def load() -> Reranker:
        reranker.score([(_WARM_UP, _WARM_UP)])
        return reranker

    cache_key = f"{reranker.name} {fingerprint(reranker.name.removeprefix(CROSS_ENCODER))}".rstrip()
    return CachedReranker(reranker.name, load, cache_key, file)


def open_reformulators(
    models: Mapping[str, str],
    strategy: StrategySettings,
    settings: StepSettings,
    corpus: Mapping[str, Document],
    file: Path,
) -> tuple[dict[str, CachedReformulator], dict[str, Steps]]:
    """Opens reformulators; strategies share their language models.

    Args:
        models: name -> model, as :func:`~acqo_rl.searching.names.name_reformulators` returns them.
        strategy: settings of the reformulators.
        settings: of the steps that read results.
        corpus: document id -> document.
        file: keeps the reformulations.

    Returns:
        Reformulators by name, and the steps of each that read results.
    """

    @lru_cache
    def language_model(model: str) -> LanguageModel:
        return load_strategy_model(model, strategy)

    def load(kind: str, model: str) -> Reformulator:
        shared = language_model(model) if prompts_model(kind) else None
        return load_reformulator(kind, model, strategy, language_model=shared, lexicon=lexicon)

    kinds = {name: kind_of(name, model) for name, model in models.items()}
    lexicon = lexicon_for((kind for kind, _ in kinds.values()), corpus.values())
    opened: dict[str, CachedReformulator] = {}
    steps: dict[str, Steps] = {}
    words = once(partial(words_of, corpus))
    for name, (kind, model) in kinds.items():
        cache_key = reformulator_key(kind, model, strategy)
        opened[name] = CachedReformulator(name, partial(load, kind, model), cache_key, file)
        if kind == REWRITE_RETRIEVE_READ:
            opened[name].retry_below = strategy.similarity_threshold
        steps[name] = settings.networks(kind).steps(corpus, words, asks=bool(model))
    return opened, steps


def open_retrievers(
    indexes: Sequence[str], settings: IndexSettings, corpus: Mapping[str, Document], file: Path
) -> dict[str, IndexParts]:
    """Retrievers by name; every index is opened once.

    Args:
        indexes: the indexes, as ``--index`` of ``acqo evaluate`` takes them.
        settings: how they are opened.
        corpus: which the indexes must hold.
        file: keeps the rankings.
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
