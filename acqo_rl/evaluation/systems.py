"""The systems of a study: reformulators x retrievers x fusions, over sets of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import CachedReformulator, CachedReranker, reformulator_key
from acqo_rl.evaluation.indexes import has_dense
from acqo_rl.evaluation.run import Evaluation, evaluate
from acqo_rl.fusion import fusion_named
from acqo_rl.measures import check_measures
from acqo_rl.reformulation.load import lexicon_for, load_strategy_model, model_settings_of
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.searching.assemble import check_path, open_path, open_reformulator, words_of
from acqo_rl.searching.concurrent import flatten
from acqo_rl.searching.description import PathSpec
from acqo_rl.searching.names import RERANKED, name_indexes
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.reranking import Reranking
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.sub_queries import DEPTH, Retrievers, searched_text, split_retrievers
from acqo_rl.types import Corpus, Qrels, Query


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


def evaluate_systems(
    systems: Mapping[System, SearchPath],
    queries: Sequence[Query],
    qrels: Qrels,
    *,
    kinds: Mapping[str, str],
    measures: Sequence[str],
    batch_size: int = 64,
) -> Evaluations:
    """Evaluates the systems of :func:`open_systems`; what the caches hold is not computed again.

    Arguments as of :func:`acqo_rl.evaluation.run.evaluate`.
    """
    return {
        system: evaluate(
            path,
            queries,
            qrels,
            name=system.name,
            measures=measures,
            batch_size=batch_size,
            kinds=kinds,
            costs=partial(_costs, path),
        )
        for system, path in systems.items()
    }


def _costs(path: SearchPath, result: SearchResult) -> dict[str, Any]:
    """The costs at the time when the answers were computed; the searches of several indexes add up."""
    reformulator: Any = path.reformulator
    asked, originals = split_retrievers(path.retrievers)
    made = result.reformulation
    texts = dict.fromkeys(searched_text(s) for one in result.searched for s in one.sub_queries)
    searches: list[tuple[Any, str]] = [(index, text) for index in flatten(asked) for text in texts]
    searches += [(index, made.query.text) for index in flatten(originals)]
    always = path.choice is None and path.retry_below is None
    queries = {one.query for one in result.searched} if always or made.calls else ()
    costs = {
        "searches": len(searches),
        "embedded": sum(index.embeds for index, _ in searches),
        "reformulation_ms": sum(map(reformulator.ms, queries)),
        "retrieval_ms": sum(index.ms(text) for index, text in searches),
    }
    if path.reranking:
        reranker: Any = path.reranking.reranker
        [pairs] = path.reranking.pairs([made], [result.fused])
        costs |= {"reranked": len(pairs), "reranking_ms": sum(map(reranker.ms, pairs))}
    return costs


def check_systems(
    paths: Mapping[str, PathSpec],
    indexes: Sequence[str],
    fusions: Sequence[str],
    measures: Sequence[str],
    reranker: str | None,
) -> None:
    """Checks what would otherwise fail late; arguments as ``acqo evaluate`` takes them.

    Raises:
        ConfigError: a name is unknown, missing or given twice.
        GrammarError: a model is not a policy of this version.
    """
    for spec in paths.values():
        check_path(spec)
    if all(spec.retry_below is not None for spec in paths.values()):
        raise ConfigError(f"{', '.join(paths)} needs a reformulator to be compared to; add raw.")
    name_indexes(indexes)
    for name in fusions:
        fusion_named(name.removesuffix(RERANKED))
    reranked = [name for name in fusions if name.endswith(RERANKED)]
    if reranked and not reranker:
        raise ConfigError(f"The fusion {reranked[0]!r} needs a reranker: give --reranker.")
    if reranker and not reranked:
        raise ConfigError(f"No fusion uses the reranker; add {fusions[0]}{RERANKED} to --fusion.")
    check_measures(measures, DEPTH)


def open_systems(
    paths: Mapping[str, PathSpec],
    retrievers: Mapping[str, Retrievers],
    fusions: Sequence[str],
    corpus: Corpus,
    file: Path,
    reranker: CachedReranker | None = None,
) -> dict[System, SearchPath]:
    """Opens the search path of each reformulator with each retriever and fusion; strategies share language models.

    Args:
        paths: reformulators by name. Those that retry get only retrievers with a dense index.
        retrievers: as :func:`open_retrievers` returns them.
        fusions: names of fusions; those with the suffix ``+reranker`` are followed by the reranker.
        corpus: document id -> document.
        file: keeps the reformulations.
        reranker: scores the documents of the reranked systems.

    Raises:
        ConfigError: a reformulator retries, and no retriever has a dense index.
    """
    models: dict[tuple[object, ...], LanguageModel] = {}

    def load(spec: PathSpec) -> Reformulator:
        key = (spec.model, *model_settings_of(spec.strategy).values())
        if spec.prompts and key not in models:
            models[key] = load_strategy_model(spec.model, spec.strategy)
        return open_reformulator(spec, lexicon=lexicon, language_model=models.get(key))

    lexicon = lexicon_for((spec.reformulator for spec in paths.values()), [corpus])
    words = once(partial(words_of, corpus))
    opened: dict[str, SearchPath] = {}
    systems: dict[System, SearchPath] = {}
    for retriever, fusion, name in product(retrievers, fusions, paths):
        spec = paths[name]
        searched = retrievers[retriever]
        if spec.retry_below is not None and not has_dense(searched):
            continue
        if name not in opened:
            key = reformulator_key(spec.reformulator, spec.model, spec.strategy)
            cached = CachedReformulator(name, partial(load, spec), key, file)
            opened[name] = open_path(spec, corpus, searched, reformulator=cached, words=words)
        systems[System(name, retriever, fusion)] = replace(
            opened[name],
            retrievers=searched,
            fusion=fusion_named(fusion.removesuffix(RERANKED)),
            reranking=Reranking(reranker, corpus, spec.rerank_depth)
            if reranker and fusion.endswith(RERANKED)
            else None,
        )
    if missing := [name for name in paths if name not in opened]:
        raise ConfigError(f"{missing[0]} compares cosines; give a dense index, alone or in a hybrid.")
    return systems
