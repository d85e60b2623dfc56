"""What one evaluation says by itself, and what two say of each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acqo_rl.errors import DataError
from acqo_rl.evaluation.cost import fell_back
from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.evaluation.significance import Difference, NonInferiority, non_inferiority, paired_bootstrap
from acqo_rl.reformulation.wording import Wording
from acqo_rl.text import distinct, normalised

_SAME = 1e-9
"""Differences of a measure below this are none."""


@dataclass(frozen=True, slots=True)
class Group:
    """Means over some of the queries."""

    queries: int
    measures: dict[str, float]
    sub_queries: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Means and shares over the queries of one evaluation.

    Attributes:
        name: of the reformulator.
        unmeasured: queries left out because they have no relevant document.
        overall: all queries.
        by_kind: queries by the kind that the data set gives them; empty where it gives none.
        by_route: queries by the route that the reformulator chose.
        confusion: route -> kind -> number of queries.
        copy_rate: share of queries that are searched as they stand, alone or beside sub-queries.
        pass_rate: share of queries on the route ``pass``.
        problem_rate: share of queries whose completion could not be used, so that the raw query was searched.
        searches: mean number of searches, a first search for feedback included.
        tokens: mean number of tokens that a language model wrote.
        reformulation_ms: mean milliseconds of the reformulation a query, in batches.
        retrieval_ms: mean milliseconds of retrieval and fusion a query, in batches.
        leak_rate: share of the queries with a known answer whose searches hold it though nobody told the reformulator;
            ``None`` where no query has one.
        without_leaks: means over all other queries.
        wording: how many words are written, and how many are repeated.
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
    wording: Wording


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against a baseline on the same queries.

    Attributes:
        system: name of the evaluated reformulator.
        baseline: name of the one it is compared to.
        differences: measure -> mean paired difference.
        by_kind: kind -> mean paired difference of the first measure.
        helped: share of queries whose first measure rose.
        hurt: share of queries whose first measure fell.
    """

    system: str
    baseline: str
    differences: dict[str, Difference]
    by_kind: dict[str, Difference]
    helped: float
    hurt: float


@dataclass(frozen=True, slots=True)
class Change:
    """One query under the baseline and under the system, and the gain in one measure."""

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
        copy_rate=_mean(_copies_query(result) for result in results),
        pass_rate=_mean(result.reformulation.route == "pass" for result in results),
        problem_rate=_mean(fell_back(result.reformulation) for result in results),
        searches=_mean(result.searches for result in results),
        tokens=_mean(result.reformulation.tokens for result in results),
        reformulation_ms=_mean(result.reformulation_ms for result in results),
        retrieval_ms=_mean(result.retrieval_ms for result in results),
        leak_rate=_mean(bool(result.leaks) for result in with_answer) if with_answer else None,
        without_leaks=_group([result for result in results if not result.leaks] or results),
        wording=Wording.of([result.reformulation for result in results]),
    )


def compare(system: Evaluation, baseline: Evaluation, measures: Sequence[str]) -> Comparison:
    """Paired differences of a system to a baseline; the first measure also by kind.

    Raises:
        DataError: the two are not of the same queries.
    """
    changes = _pair(system, baseline, measures[0])
    kinds = group_by_kind(system.results)
    before = dict(zip([_id(result) for result in baseline.results], baseline.results, strict=True))
    return Comparison(
        system=system.name,
        baseline=baseline.name,
        differences={m: paired_bootstrap(baseline.scores(m), system.scores(m)) for m in measures},
        by_kind={
            kind: paired_bootstrap(
                [before[_id(result)].measures[measures[0]] for result in group],
                [result.measures[measures[0]] for result in group],
            )
            for kind, group in kinds.items()
        },
        helped=_mean(change.gain > _SAME for change in changes),
        hurt=_mean(change.gain < -_SAME for change in changes),
    )


@dataclass(frozen=True, slots=True)
class StandIn:
    """Whether one system may stand in for another, such as a model with smaller weights for the original.

    Attributes:
        system: name of the evaluated reformulator.
        baseline: name of the one that it stands in for.
        measure: the measure of the test.
        test: paired test on it.
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


def stands_in(system: Evaluation, baseline: Evaluation, measure: str, margin: float) -> StandIn:
    """Tests whether a system loses at most ``margin`` of a measure against the one that it stands in for.

    Raises:
        DataError: the two are not of the same queries.
    """
    changes = _pair(system, baseline, measure)
    test = non_inferiority(baseline.scores(measure), system.scores(measure), margin)
    unchanged = _mean(c.before.reformulation.sub_queries == c.after.reformulation.sub_queries for c in changes)
    return StandIn(system.name, baseline.name, measure, test, unchanged)


def biggest_changes(
    system: Evaluation, baseline: Evaluation, measure: str, count: int
) -> tuple[list[Change], list[Change]]:
    """The queries that gained most and those that lost most, at most ``count`` of either, biggest first."""
    changes = sorted(_pair(system, baseline, measure), key=lambda change: change.gain)
    gains = [change for change in reversed(changes[-count:]) if change.gain > _SAME]
    losses = [change for change in changes[:count] if change.gain < -_SAME]
    return gains, losses


def group_by_kind(results: Iterable[QueryResult]) -> dict[str, list[QueryResult]]:
    """Results by kind of query, kinds in alphabetical order; queries without a kind are in no group."""
    groups: dict[str, list[QueryResult]] = defaultdict(list)
    for result in results:
        if result.kind:
            groups[result.kind].append(result)
    return dict(sorted(groups.items()))


def _pair(system: Evaluation, baseline: Evaluation, measure: str) -> list[Change]:
    if [_id(result) for result in system.results] != [_id(result) for result in baseline.results]:
        raise DataError(
            f"{system.name} ({len(system.results)} queries) and {baseline.name} ({len(baseline.results)} queries) "
            "were not evaluated on the same queries in the same order, so they cannot be compared in pairs."
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


def _copies_query(result: QueryResult) -> bool:
    raw = normalised(result.reformulation.query.text)
    return any(normalised(sub_query.text) == raw for sub_query in result.reformulation.sub_queries)


def _id(result: QueryResult) -> str:
    return result.reformulation.query.id


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
