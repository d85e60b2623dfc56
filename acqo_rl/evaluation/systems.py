"""Reformulators x retrievers x fusions over sets of queries, each on the one path, with what is known already kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

from acqo_rl.evaluation.cache import CachedReformulator, CachedRetriever
from acqo_rl.evaluation.run import Evaluation, QueryResult, Searcher, evaluate, searched_texts
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.measures import judged
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.searching.lists import OriginalOnly, Retrievers, searched_text
from acqo_rl.searching.path import SearchPath, add_feedback
from acqo_rl.text import within_limits
from acqo_rl.types import Document, Fusion, Qrels, Query, Reformulator, Retriever, has_cosines


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
MakeSearcher = Callable[[Reformulator, Retriever, Fusion], Searcher]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a retriever is made of.

    Attributes:
        everything: those that search every sub-query; several are a hybrid, whose lists of a text are merged by RSF.
        original: those that search the raw query only; each is a path of its own.
    """

    everything: tuple[CachedRetriever, ...]
    original: tuple[CachedRetriever, ...] = ()

    @property
    def is_dense(self) -> bool:
        """Whether its scores are cosines."""
        return len(self.everything) == 1 and has_cosines(self.everything[0]) and not self.original

    def all(self, name: str) -> Retrievers:
        """What searches a reformulation, as every other way in searches the same indexes."""
        parts = self.everything
        merged = parts[0] if len(parts) == 1 else HybridRetriever(parts, RankScoreFusion(), name=name)
        return [merged, *map(OriginalOnly, self.original)] if self.original else merged


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that systems are made of.

    Attributes:
        reformulators: by name.
        retrievers: by name.
        fusions: by name.
        corpus: document id -> document, for a first search's feedback.
        qrels: judgements.
        metadata: query id -> metadata, of which ``kind`` groups the results.
        measures: see ``acqo_rl.measures``.
        batch_size: queries reformulated and searched together.
        searchers: name of a reformulator that is asked only after a look at what a first search found -> what looks
            and asks it. It judges by cosines, so that it is no system with other retrievers.
    """

    reformulators: Mapping[str, CachedReformulator]
    retrievers: Mapping[str, Parts]
    fusions: Mapping[str, Fusion]
    corpus: Mapping[str, Document]
    qrels: Qrels
    metadata: Mapping[str, Mapping[str, Any]]
    measures: Sequence[str]
    batch_size: int = 64
    searchers: Mapping[str, MakeSearcher] = field(default_factory=dict)

    def systems(self) -> list[System]:
        """Every combination, reformulators in the innermost place."""
        return [
            System(r, s, f)
            for s, f, r in product(self.retrievers, self.fusions, self.reformulators)
            if r not in self.searchers or self.retrievers[s].is_dense
        ]


def reformulate_missing(bench: Bench, query_sets: Mapping[str, Sequence[Query]]) -> None:
    """Asks the reformulators for what they have not answered yet: the part that takes long, under one progress bar.

    Those that wait for a look at the first results are asked when their systems are evaluated.
    """
    from tqdm import tqdm

    relevant = judged(bench.qrels)
    asked = [within_limits(query) for queries in query_sets.values() for query in queries if query.id in relevant]
    at_once = [name for name in bench.reformulators if name not in bench.searchers]
    missing = {name: bench.reformulators[name].missing(_as_read(bench, name, asked)) for name in at_once}
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
    feedback = bench.reformulators[name].feedback
    if not feedback.results:
        return list(queries)
    retrievers = [
        (parts.all(s), fusion) for (s, parts), fusion in product(bench.retrievers.items(), bench.fusions.values())
    ]
    filled = (add_feedback(queries, *searched, bench.corpus, feedback) for searched in retrievers)
    return list(dict.fromkeys(query for batch in filled for query in batch))


def _evaluate(bench: Bench, system: System, queries: Sequence[Query]) -> Evaluation:
    reformulator, parts = bench.reformulators[system.reformulator], bench.retrievers[system.retriever]
    fusion = bench.fusions[system.fusion]
    searcher: Searcher
    if system.reformulator in bench.searchers:
        searcher = bench.searchers[system.reformulator](reformulator, parts.everything[0], fusion)
        asked = partial(_asked_after_a_look, reformulator)
    else:
        searcher = SearchPath(reformulator, parts.all(system.retriever), fusion, bench.corpus)
        asked = partial(_asked, reformulator)
    evaluation = evaluate(
        searcher,
        queries,
        bench.qrels,
        name=system.name,
        measures=bench.measures,
        batch_size=bench.batch_size,
        metadata=bench.metadata,
        progress=False,
    )
    return replace(
        evaluation, results=tuple(_with_costs(result, *asked(result), parts) for result in evaluation.results)
    )


def _asked(reformulator: CachedReformulator, result: QueryResult) -> tuple[list[str], float]:
    """Texts that were searched, and milliseconds of the reformulation."""
    return searched_texts(result.reformulation), reformulator.ms(result.reformulation.query)


def _asked_after_a_look(reformulator: CachedReformulator, result: QueryResult) -> tuple[list[str], float]:
    """The same where the raw query was searched first; what was not kept has been searched too."""
    query = result.reformulation.query
    if not result.reformulation.calls:
        return [query.text], 0.0
    [written] = reformulator.reformulate([query])
    return list(dict.fromkeys([query.text, *map(searched_text, written.sub_queries)])), reformulator.ms(query)


def _with_costs(result: QueryResult, texts: Sequence[str], reformulation_ms: float, parts: Parts) -> QueryResult:
    """The result with what its answers cost when they were computed; several parts add up, fusion is left out."""
    searches = [(part, text) for part in parts.everything for text in texts]
    searches += [(part, result.reformulation.query.text) for part in parts.original]
    return replace(
        result,
        searches=len(searches),
        embedded=sum(part.embeds for part, _ in searches),
        reformulation_ms=reformulation_ms,
        retrieval_ms=sum(part.ms(text) for part, text in searches),
    )
