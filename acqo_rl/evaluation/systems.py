"""The systems of a study: reformulators x retrievers x fusions, over sets of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from acqo_rl.evaluation.cache import CachedReformulator, CachedReranker, CachedRetriever
from acqo_rl.evaluation.run import Evaluation, QueryResult, evaluate, searched_texts
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.roles import Fusion, Reformulator, Retriever
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.hop import Hops
from acqo_rl.searching.names import RERANKED
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.reranking import DEPTH, Reranking
from acqo_rl.searching.sub_queries import RawQueryOnly, Retrievers, normalise_sub_queries
from acqo_rl.types import Document, Qrels, Query, Reformulation


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


@dataclass(frozen=True, slots=True)
class StudyComponents:
    """The components of all systems.

    Attributes:
        reformulators: by name; those with ``retry_below`` need a dense index.
        retrievers: by name.
        fusions: by name; those whose name ends with ``+reranker`` are followed by the reranker.
        corpus: document id -> document, for feedback.
        qrels: judgements.
        metadata: query id -> metadata; see :func:`acqo_rl.evaluation.run.evaluate`.
        measures: see ``acqo_rl.measures``.
        batch_size: number of queries reformulated and searched together.
        hops: see :class:`~acqo_rl.searching.path.SearchPath`.
        choices: reformulator -> choice of its searches; see :class:`~acqo_rl.searching.path.SearchPath`.
        reranker: scores the documents of the reranked systems.
        rerank_depth: number of documents per query that are reranked.
    """

    reformulators: Mapping[str, CachedReformulator]
    retrievers: Mapping[str, IndexParts]
    fusions: Mapping[str, Fusion]
    corpus: Mapping[str, Document]
    qrels: Qrels
    metadata: Mapping[str, Mapping[str, Any]]
    measures: Sequence[str]
    batch_size: int = 64
    hops: Hops | None = None
    choices: Mapping[str, Choice] = field(default_factory=dict)
    reranker: CachedReranker | None = None
    rerank_depth: int = DEPTH

    def reranking(self, system: System) -> Reranking | None:
        """The step after the fusion of a system."""
        if self.reranker is None or not system.fusion.endswith(RERANKED):
            return None
        return Reranking(self.reranker, self.corpus, self.rerank_depth)

    def systems(self) -> list[System]:
        """All systems: for each retriever and fusion all reformulators."""
        return [
            System(r, s, f)
            for s, f, r in product(self.retrievers, self.fusions, self.reformulators)
            if self.reformulators[r].retry_below is None or self.retrievers[s].has_dense
        ]


def evaluate_systems(components: StudyComponents, queries: Sequence[Query]) -> Evaluations:
    """Evaluates every system; what the caches hold is not computed again."""
    return {system: _evaluate(components, system, queries) for system in components.systems()}


class _Recorded(Reformulator):
    """Records what a reformulator returns for each query id, and how long it takes."""

    def __init__(self, reformulator: CachedReformulator) -> None:
        self.name = reformulator.name
        self.feedback = reformulator.feedback
        self.retry_below = reformulator.retry_below
        self.made: dict[str, list[Reformulation]] = defaultdict(list)
        self.ms: dict[str, float] = defaultdict(float)
        self._reformulator = reformulator

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        made = self._reformulator.reformulate(queries)
        for query, one in zip(queries, made, strict=True):
            self.made[query.id].append(one)
            self.ms[query.id] += self._reformulator.ms(query)
        return made


def _evaluate(components: StudyComponents, system: System, queries: Sequence[Query]) -> Evaluation:
    parts, fusion = components.retrievers[system.retriever], components.fusions[system.fusion]
    recorded = _Recorded(components.reformulators[system.reformulator])
    choice, reranking = components.choices.get(system.reformulator), components.reranking(system)
    path = SearchPath(
        recorded,
        parts.all(system.retriever),
        fusion,
        components.corpus,
        hops=components.hops,
        reranking=reranking,
        choice=choice,
    )
    evaluation = evaluate(
        path,
        queries,
        components.qrels,
        name=system.name,
        measures=components.measures,
        batch_size=components.batch_size,
        metadata=components.metadata,
    )
    results = (_with_costs(r, recorded, parts, choice) for r in evaluation.results)
    return replace(evaluation, results=tuple(_with_reranking(result, reranking) for result in results))


def _with_costs(result: QueryResult, recorded: _Recorded, parts: IndexParts, choice: Choice | None) -> QueryResult:
    """Adds the costs at the time when the answers were computed; the searches of several indexes add up."""
    query = result.reformulation.query
    retried = recorded.retry_below is not None
    without_model = [made for one in choice.reformulators for made in one.reformulate([query])] if choice else []
    asked = recorded.made[query.id] if retried or choice else []
    tried = normalise_sub_queries([*without_model, *asked], parts.everything)
    raw = [query.text] if retried else []
    texts = dict.fromkeys([*raw, *(text for made in (*tried, result.reformulation) for text in searched_texts(made))])
    searches = [(part, text) for part in parts.everything for text in texts]
    searches += [(part, query.text) for part in parts.original]
    return replace(
        result,
        searches=len(searches),
        embedded=sum(part.embeds for part, _ in searches),
        reformulation_ms=recorded.ms[query.id],
        retrieval_ms=sum(part.ms(text) for part, text in searches),
    )


def _with_reranking(result: QueryResult, reranking: Reranking | None) -> QueryResult:
    """Adds the costs of the reranker; it has read the first documents, whose order it changed."""
    if reranking is None:
        return result
    assert isinstance(reranking.reranker, CachedReranker)
    [pairs] = reranking.pairs([result.reformulation], [result.ranking])
    return replace(result, reranked=len(pairs), reranking_ms=sum(map(reranking.reranker.ms, pairs)))
