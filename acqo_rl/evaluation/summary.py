"""Means and costs of one evaluation, and paired differences of two."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from acqo_rl.errors import DataError
from acqo_rl.evaluation.run import Evaluation, QueryResult, searched_texts
from acqo_rl.evaluation.significance import Difference, NonInferiority, non_inferiority, paired_bootstrap
from acqo_rl.reformulation.word_statistics import WordStatistics
from acqo_rl.text import distinct, normalised
from acqo_rl.types import Reformulation

_EQUAL = 1e-9
"""Differences of a measure below this count as zero."""
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


@dataclass(frozen=True, slots=True)
class Group:
    """Means over a group of queries."""

    queries: int
    measures: dict[str, float]
    sub_queries: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Means and shares over the queries of one evaluation.

    Attributes:
        name: of the system.
        unmeasured: number of queries left out because they have no relevant document.
        overall: all queries.
        by_kind: queries by kind.
        by_route: queries by the route that the reformulator chose.
        confusion: route -> kind -> number of queries.
        copy_rate: share of queries whose raw text is searched, alone or beside other sub-queries.
        pass_rate: share of queries on the route ``pass``.
        problem_rate: share of queries whose completion could not be used, so that the raw query was searched.
        searches: mean number of distinct texts searched, including the first search for feedback.
        tokens: mean number of tokens that a language model generated.
        reformulation_ms: mean milliseconds of the reformulation, in batches.
        retrieval_ms: mean milliseconds of the searches, in batches.
        leak_rate: share of the queries with a known answer that are searched with the answer, although the
            reformulator was not shown it; ``None`` if no answer is known.
        without_leaks: means over the other queries.
        word_statistics: number of words written and repeated.
    """

    name: str
    unmeasured: int
    overall: Group
    by_kind: dict[str, Group]
    by_route: dict[str, Group]
    confusion: dict[str, dict[str, int]]
    copy_rate: float
    pass_rate: float
    problem_rate: float
    searches: float
    tokens: float
    reformulation_ms: float
    retrieval_ms: float
    leak_rate: float | None
    without_leaks: Group
    word_statistics: WordStatistics


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost per query.

    Attributes:
        calls: mean number of calls of a language model.
        tokens: mean number of tokens that it generated.
        embedded: mean number of texts embedded.
        searches: mean number of searches, including the first search for feedback; those of several indexes add up.
        reranked: mean number of pairs of text and document that a reranker read.
        ms: mean milliseconds of reformulation, retrieval and reranking together.
        ms_p95: their 95th percentile.
        reformulation_p50: median milliseconds of the reformulation.
        reformulation_p95: their 95th percentile.
        retrieval_p50: median milliseconds of the retrieval.
        retrieval_p95: their 95th percentile.
        reranking_p50: median milliseconds of the reranker.
        reranking_p95: their 95th percentile.
        problems: share of queries whose completion could not be used, so that the raw query was searched.
    """

    calls: float
    tokens: float
    embedded: float
    searches: float
    reranked: float
    ms: float
    ms_p95: float
    reformulation_p50: float
    reformulation_p95: float
    retrieval_p50: float
    retrieval_p95: float
    reranking_p50: float
    reranking_p95: float
    problems: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A system and a baseline on the same queries.

    Attributes:
        system: name of the system.
        baseline: name of the baseline.
        differences: measure -> mean paired difference.
        by_kind: kind -> mean paired difference of the first measure.
        helped: share of queries whose first measure is higher.
        hurt: share of queries whose first measure is lower.
    """

    system: str
    baseline: str
    differences: dict[str, Difference]
    by_kind: dict[str, Difference]
    helped: float
    hurt: float


@dataclass(frozen=True, slots=True)
class Change:
    """One query with the baseline and with the system, and the gain in one measure."""

    before: QueryResult
    after: QueryResult
    gain: float


def summarise(evaluation: Evaluation) -> Summary:
    """Means and shares of one evaluation."""
    results = evaluation.results
    with_answer = [result for result in results if result.leaks is not None]
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        confusion[result.reformulation.route][result.kind] += 1
    return Summary(
        name=evaluation.name,
        unmeasured=evaluation.unmeasured,
        overall=_group(results),
        by_kind={kind: _group(group) for kind, group in group_by_kind(results).items()},
        by_route={
            route: _group([result for result in results if result.reformulation.route == route])
            for route in sorted(confusion)
        },
        confusion={route: dict(sorted(kinds.items())) for route, kinds in sorted(confusion.items())},
        copy_rate=_mean(_searches_raw_text(result) for result in results),
        pass_rate=_mean(result.reformulation.route == "pass" for result in results),
        problem_rate=_mean(fell_back(result.reformulation) for result in results),
        searches=_mean(_texts(result) for result in results),
        tokens=_mean(result.reformulation.tokens for result in results),
        reformulation_ms=_mean(result.reformulation_ms for result in results),
        retrieval_ms=_mean(result.retrieval_ms for result in results),
        leak_rate=_mean(bool(result.leaks) for result in with_answer) if with_answer else None,
        without_leaks=_group([result for result in results if not result.leaks] or results),
        word_statistics=WordStatistics.of([result.reformulation for result in results]),
    )


def cost_of(evaluation: Evaluation) -> Cost:
    """Means and percentiles of the costs of one evaluation."""
    results = evaluation.results
    reformulation = np.array([result.reformulation_ms for result in results])
    retrieval = np.array([result.retrieval_ms for result in results])
    reranking = np.array([result.reranking_ms for result in results])
    total = reformulation + retrieval + reranking
    return Cost(
        calls=_mean(result.reformulation.calls for result in results),
        tokens=_mean(result.reformulation.tokens for result in results),
        embedded=_mean(result.embedded for result in results),
        searches=_mean(result.searches for result in results),
        reranked=_mean(result.reranked for result in results),
        ms=float(np.mean(total)),
        ms_p95=float(np.percentile(total, 95)),
        reformulation_p50=float(np.percentile(reformulation, 50)),
        reformulation_p95=float(np.percentile(reformulation, 95)),
        retrieval_p50=float(np.percentile(retrieval, 50)),
        retrieval_p95=float(np.percentile(retrieval, 95)),
        reranking_p50=float(np.percentile(reranking, 50)),
        reranking_p95=float(np.percentile(reranking, 95)),
        problems=_mean(fell_back(result.reformulation) for result in results),
    )


def compare(system: Evaluation, baseline: Evaluation, measures: Sequence[str]) -> Comparison:
    """Paired differences of a system and a baseline; for the first measure also by kind.

    Raises:
        DataError: the two were evaluated on different queries.
    """
    changes = _pair(system, baseline, measures[0])
    before = dict(zip(map(_id, baseline.results), baseline.results, strict=True))
    return Comparison(
        system=system.name,
        baseline=baseline.name,
        differences={m: paired_bootstrap(baseline.scores(m), system.scores(m)) for m in measures},
        by_kind={
            kind: paired_bootstrap(
                [before[_id(result)].measures[measures[0]] for result in group],
                [result.measures[measures[0]] for result in group],
            )
            for kind, group in group_by_kind(system.results).items()
        },
        helped=_mean(change.gain > _EQUAL for change in changes),
        hurt=_mean(change.gain < -_EQUAL for change in changes),
    )


@dataclass(frozen=True, slots=True)
class NonInferiorityResult:
    """Whether a system can replace another one, such as a model with 8-bit weights the original.

    Attributes:
        system: name of the system.
        baseline: name of the system that it replaces.
        measure: of the test.
        test: paired test of non-inferiority.
        unchanged: share of queries with the same searches.
    """

    system: str
    baseline: str
    measure: str
    test: NonInferiority
    unchanged: float

    def __str__(self) -> str:
        verdict = "is excluded" if self.test.shown else "is not excluded"
        return (
            f"{self.system} against {self.baseline}, {self.measure}: the mean difference is {self.test.mean:+.4f} over"
            f" {self.test.queries} queries, and above {self.test.bound:+.4f} with 95 % confidence. A loss of more than"
            f" {self.test.margin:g} {verdict}. The searches of {self.unchanged:.1%} of the queries are the same."
        )


def non_inferiority_of(system: Evaluation, baseline: Evaluation, measure: str, margin: float) -> NonInferiorityResult:
    """Tests whether a system loses at most ``margin`` of a measure against the system that it replaces.

    Raises:
        DataError: the two were evaluated on different queries.
    """
    changes = _pair(system, baseline, measure)
    test = non_inferiority(baseline.scores(measure), system.scores(measure), margin)
    unchanged = _mean(c.before.reformulation.sub_queries == c.after.reformulation.sub_queries for c in changes)
    return NonInferiorityResult(system.name, baseline.name, measure, test, unchanged)


def biggest_changes(
    system: Evaluation, baseline: Evaluation, measure: str, count: int
) -> tuple[list[Change], list[Change]]:
    """The queries with the biggest gains and those with the biggest losses, at most ``count`` each, biggest first."""
    changes = sorted(_pair(system, baseline, measure), key=lambda change: change.gain)
    gains = [change for change in reversed(changes[-count:]) if change.gain > _EQUAL]
    losses = [change for change in changes[:count] if change.gain < -_EQUAL]
    return gains, losses


def group_by_kind(results: Iterable[QueryResult]) -> dict[str, list[QueryResult]]:
    """Kind -> results, kinds in alphabetical order. Queries without a kind are left out."""
    groups: dict[str, list[QueryResult]] = defaultdict(list)
    for result in results:
        if result.kind:
            groups[result.kind].append(result)
    return dict(sorted(groups.items()))


def fell_back(reformulation: Reformulation) -> bool:
    """Whether the raw query was searched because the completion could not be used."""
    return reformulation.problem is not None and reformulation.route == "pass"


def failed_queries(evaluation: Evaluation) -> int:
    """Number of queries with a failed model call; a retry may succeed."""
    return sum(result.reformulation.failed_calls > 0 for result in evaluation.results)


def commonest_problems(evaluation: Evaluation, most: int = 3) -> list[tuple[str, int]]:
    """The most frequent problems, with the number of queries."""
    found = Counter(_reason(r.reformulation) for r in evaluation.results if r.reformulation.problem is not None)
    return found.most_common(most)


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Positions of the points (cost, quality) on the Pareto front, by rising cost.

    A point is not on the front if another one costs no more and is no worse, and is cheaper or better.
    """
    front: list[int] = []
    best = -np.inf
    for position in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        quality = points[position][1]
        if quality > best or (front and points[front[-1]] == points[position]):
            front.append(position)
            best = quality
    return front


def _reason(reformulation: Reformulation) -> str:
    """The problem, without quoted completions, which differ from query to query."""
    problem = reformulation.problem or ""
    return problem if reformulation.failed_calls else _QUOTED.sub("…", problem)


def _pair(system: Evaluation, baseline: Evaluation, measure: str) -> list[Change]:
    if [*map(_id, system.results)] != [*map(_id, baseline.results)]:
        raise DataError(
            f"{system.name} ({len(system.results)} queries) and {baseline.name} ({len(baseline.results)} queries) "
            "cannot be compared in pairs: evaluate both on the same queries, in the same order."
        )
    return [
        Change(before, after, after.measures[measure] - before.measures[measure])
        for before, after in zip(baseline.results, system.results, strict=True)
    ]


def _group(results: Sequence[QueryResult]) -> Group:
    return Group(
        queries=len(results),
        measures={m: _mean(result.measures[m] for result in results) for m in results[0].measures},
        sub_queries=_mean(len(distinct(result.reformulation.sub_queries)) for result in results),
    )


def _texts(result: QueryResult) -> int:
    return len(result.outcome.searched if result.outcome else searched_texts(result.reformulation))


def _searches_raw_text(result: QueryResult) -> bool:
    raw = normalised(result.reformulation.query.text)
    return any(normalised(sub_query.text) == raw for sub_query in result.reformulation.sub_queries)


def _id(result: QueryResult) -> str:
    return result.reformulation.query.id


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
