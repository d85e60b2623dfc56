"""Reformulators x retrievers x fusions over sets of queries, each on the one path, with what is known already kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from acqo_rl.evaluation.cache import CachedReformulator, CachedRetriever
from acqo_rl.evaluation.run import Evaluation, QueryResult, evaluate, searched_texts
from acqo_rl.measures import judged
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.search import add_feedback
from acqo_rl.types import Document, Fusion, Qrels, Query, Retriever


@dataclass(frozen=True, slots=True)
class System:
    """What is compared: names of a reformulator, a retriever and a fusion."""

    reformulator: str
    retriever: str
    fusion: str

    @property
    def name(self) -> str:
        """All three, as files and tables name them."""
        return f"{self.reformulator} / {self.retriever} / {self.fusion}"


Evaluations = dict[System, Evaluation]


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that systems are made of.

    Attributes:
        reformulators: by name.
        retrievers: name -> its parts; several are searched alike and merged by the system's fusion.
        fusions: by name.
        corpus: document id -> document, for a first search's feedback.
        qrels: judgements.
        metadata: query id -> metadata, of which ``kind`` groups the results.
        measures: see ``acqo_rl.measures``.
        batch_size: queries reformulated and searched together.
    """

    reformulators: Mapping[str, CachedReformulator]
    retrievers: Mapping[str, Sequence[CachedRetriever]]
    fusions: Mapping[str, Fusion]
    corpus: Mapping[str, Document]
    qrels: Qrels
    metadata: Mapping[str, Mapping[str, Any]]
    measures: Sequence[str]
    batch_size: int = 64

    def systems(self) -> list[System]:
        """Every combination, reformulators in the innermost place."""
        return [System(r, s, f) for s, f, r in product(self.retrievers, self.fusions, self.reformulators)]


def reformulate_missing(bench: Bench, query_sets: Mapping[str, Sequence[Query]]) -> None:
    """Asks every reformulator for what it has not answered yet: the part that takes long, under one progress bar."""
    from tqdm import tqdm

    relevant = judged(bench.qrels)
    asked = [query for queries in query_sets.values() for query in queries if query.id in relevant]
    missing = {name: bench.reformulators[name].missing(_as_read(bench, name, asked)) for name in bench.reformulators}
    total = sum(map(len, missing.values()))
    with tqdm(total=total, desc="reformulate", unit="query", disable=not total) as bar:
        for name, queries in missing.items():
            bar.set_description(f"reformulate by {name}")
            for start in range(0, len(queries), bench.batch_size):
                batch = queries[start : start + bench.batch_size]
                bench.reformulators[name].reformulate(batch)
                bar.update(len(batch))


def evaluate_systems(bench: Bench, query_sets: Mapping[str, Sequence[Query]]) -> dict[str, Evaluations]:
    """The evaluation of every system on every set of queries."""
    from tqdm import tqdm

    systems = bench.systems()
    evaluations: dict[str, Evaluations] = {name: {} for name in query_sets}
    with tqdm(total=len(systems) * len(query_sets), desc="search and measure", unit="system") as bar:
        for set_name, queries in query_sets.items():
            for system in systems:
                evaluations[set_name][system] = _evaluate(bench, system, queries)
                bar.update()
    return evaluations


def _as_read(bench: Bench, name: str, queries: Sequence[Query]) -> list[Query]:
    """The queries as a reformulator reads them: as they are, or with the feedback of every retriever."""
    results, words = bench.reformulators[name].feedback()
    if results == 0:
        return list(queries)
    retrievers = [_retriever(bench, System(name, *pair)) for pair in product(bench.retrievers, bench.fusions)]
    filled = (add_feedback(queries, retriever, bench.corpus, results, words) for retriever in retrievers)
    return list(dict.fromkeys(query for batch in filled for query in batch))


def _evaluate(bench: Bench, system: System, queries: Sequence[Query]) -> Evaluation:
    reformulator, parts = bench.reformulators[system.reformulator], bench.retrievers[system.retriever]
    retriever = _retriever(bench, system)
    results, words = reformulator.feedback()
    evaluation = evaluate(
        reformulator,
        queries,
        bench.qrels,
        retriever,
        bench.fusions[system.fusion],
        measures=bench.measures,
        batch_size=bench.batch_size,
        metadata=bench.metadata,
        add_feedback=partial(add_feedback, retriever=retriever, corpus=bench.corpus, results=results, words=words)
        if results
        else None,
        name=system.name,
        progress=False,
    )
    return replace(evaluation, results=tuple(_with_costs(result, reformulator, parts) for result in evaluation.results))


def _retriever(bench: Bench, system: System) -> Retriever:
    parts = bench.retrievers[system.retriever]
    return parts[0] if len(parts) == 1 else HybridRetriever(parts, bench.fusions[system.fusion], name=system.retriever)


def _with_costs(result: QueryResult, reformulator: CachedReformulator, parts: Sequence[CachedRetriever]) -> QueryResult:
    """The result with what its answers cost when they were computed; a hybrid's parts add up, fusion is left out."""
    texts = searched_texts(result.reformulation)
    return replace(
        result,
        searches=len(texts) * len(parts),
        embedded=len(texts) * sum(part.embeds for part in parts),
        reformulation_ms=reformulator.ms(result.reformulation.query),
        retrieval_ms=sum(part.ms(text) for part in parts for text in texts),
    )
