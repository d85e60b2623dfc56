"""The further tables of a report: groups of queries, routes, wording, problems and every pair of systems.

They compare the systems that share the first retriever and the first fusion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.study import Routing, Study, difficulties, routing_of, with_kinds
from acqo_rl.evaluation.summary import Summary, commonest_problems, compare, summarise
from acqo_rl.evaluation.tables import Table, interval

ROUTES = ("pass", "disambiguate", "decompose", "expand")
_MOST_PAIRED = 8
"""Largest number of systems of which every pair is shown."""


def detail_tables(study: Study) -> Iterator[Table]:
    """All tables of this module that have rows."""
    group = study.with_same_retrieval()
    measure = study.measures[0]
    if 2 < len(group) <= _MOST_PAIRED:
        yield _pairs(group, measure)
    yield from _by_group(study, group)
    reformulators = [evaluation for evaluation in group if evaluation.results[0].outcome is None]
    summaries = [summarise(evaluation) for evaluation in reformulators]
    if summaries:
        yield _by_route(summaries, measure)
        yield from _routes(reformulators, summaries, study)
    if any(summary.word_statistics.searches for summary in summaries):
        yield _word_statistics(summaries)
    if any(summary.leak_rate for summary in summaries):
        yield _leaks(summaries, study.measures)
    if any(commonest_problems(evaluation) for evaluation in group):
        yield _problems(group)


def _pairs(group: Sequence[Evaluation], measure: str) -> Table:
    rows = []
    for system in group:
        cells = []
        for other in group:
            difference = compare(system, other, [measure]).differences[measure] if system is not other else None
            cells.append(f"{interval(difference)}, p={difference.p:.4f}" if difference else "-")
        rows.append((system.name, *cells))
    note = (
        f"{measure}, row minus column, with a 95 % confidence interval and the two-sided p of the paired bootstrap; "
        "not corrected for the number of pairs."
    )
    return Table("Every pair", note, ("", *(e.name for e in group)), tuple(rows))


def _by_group(study: Study, group: Sequence[Evaluation]) -> Iterator[Table]:
    measure = study.measures[0]
    if not any(result.kind for result in group[0].results):
        return
    note = f"Differences are to {study.baseline}; a star marks an interval without zero, not corrected."
    yield groups_table(group, measure, note=note)
    thirds = difficulties(group[0], measure)
    if len(set(thirds.values())) > 1:
        warning = (
            f"{note} The queries are divided into thirds by the {measure} of {study.baseline}. This selection makes "
            "every other system look better on hard queries and worse on easy ones, so compare only within a third."
        )
        yield groups_table([with_kinds(evaluation, thirds) for evaluation in group], measure, "By difficulty", warning)


def groups_table(group: Sequence[Evaluation], measure: str, title: str = "By kind of query", note: str = "") -> Table:
    """One row per kind of query and system; differences are to the first system."""
    summaries = [summarise(evaluation) for evaluation in group]
    differences = {e.name: compare(e, group[0], [measure]).by_kind for e in group[1:]}
    rows = []
    for kind in summaries[0].by_kind:
        for summary in summaries:
            means = summary.by_kind[kind]
            difference = differences.get(summary.name, {}).get(kind)
            cells = (str(means.queries), f"{means.sub_queries:.2f}", f"{means.measures[measure]:.3f}")
            rows.append((kind, summary.name, *cells, interval(difference) if difference else "-"))
    header = ("", "", "queries", "sub-queries", measure, f"{measure}: difference")
    return Table(title, note, header, tuple(rows), labels=2)


def _by_route(summaries: Sequence[Summary], measure: str) -> Table:
    rows = tuple(
        (
            summary.name,
            route,
            f"{means.queries / summary.overall.queries:.1%}",
            str(means.queries),
            f"{means.sub_queries:.2f}",
            f"{means.measures[measure]:.3f}",
        )
        for summary in summaries
        for route in ROUTES
        if (means := summary.by_route.get(route))
    )
    header = ("", "route", "share", "queries", "sub-queries", measure)
    return Table("By route", "The route that the reformulator chose.", header, rows, labels=2)


def _routes(group: Sequence[Evaluation], summaries: Sequence[Summary], study: Study) -> Iterator[Table]:
    routings = {e.name: routing_of(e, group, study.measures[0]) for e in group}
    judged = {name: routing for name, routing in routings.items() if routing is not None}
    if judged:
        yield _accuracies(judged)
        yield _confusions(judged, study.measures[0])
        yield from map(_kinds_by_route, summaries)


def _accuracies(routings: Mapping[str, Routing]) -> Table:
    rows = tuple((name, str(r.queries), f"{r.accuracy:.1%}") for name, r in routings.items())
    note = (
        "Share of queries with the route that fits their kind: pass for simple queries, disambiguate for ambiguous "
        "ones, decompose for compound ones."
    )
    return Table("Accuracy of the route", note, ("", "queries", "accuracy"), rows)


def _confusions(routings: Mapping[str, Routing], measure: str) -> Table:
    rows = tuple(
        (
            name,
            confusion.kind,
            confusion.route,
            str(confusion.queries),
            str(confusion.compared),
            "-" if confusion.lost is None else f"{confusion.lost:+.3f}",
            "-" if confusion.wasted is None else f"{confusion.wasted:+.2f}",
        )
        for name, routing in routings.items()
        for confusion in routing.confusions
    )
    note = (
        "Compared: queries for which another system chose the fitting route. Lost: mean "
        f"{measure} of those systems minus that of this one. Wasted: searches of this one minus theirs."
    )
    header = ("", "kind", "route", "queries", "compared", f"{measure} lost", "searches wasted")
    return Table("What a wrong route costs", note, header, rows, labels=3)


def _kinds_by_route(summary: Summary) -> Table:
    kinds = list(summary.by_kind)
    routes = [route for route in ROUTES if route != "expand" or route in summary.confusion]
    rows = tuple((route, *(str(summary.confusion.get(route, {}).get(kind, 0)) for kind in kinds)) for route in routes)
    note = "Number of queries by route (rows) and kind (columns)."
    return Table(f"Route against kind: {summary.name}", note, ("", *kinds), rows)


def _word_statistics(summaries: Sequence[Summary]) -> Table:
    header = ("", "sub-queries", "words", "2 repetitions", "3 repetitions", "repetitions removed")
    rows = tuple(
        (
            s.name,
            str(s.word_statistics.searches),
            f"{s.word_statistics.words:.1f}",
            f"{s.word_statistics.repeated_twice:.1%}",
            f"{s.word_statistics.repeated_3_times:.1%}",
            f"{s.word_statistics.repetitions_removed:.1%}",
        )
        for s in summaries
    )
    note = (
        "Number of sub-queries other than the raw query, and their mean number of words. 2 repetitions, 3 repetitions: "
        "share of sub-queries in which a word of at least four letters occurs at least two, or three, times more than "
        "in the query. Repetitions removed: share of queries whose completion repeats words, which were removed."
    )
    return Table("Words of the sub-queries", note, header, rows)


def _leaks(summaries: Sequence[Summary], measures: Sequence[str]) -> Table:
    rows = tuple(
        (s.name, f"{s.leak_rate or 0:.1%}", *(f"{s.without_leaks.measures[m]:.3f}" for m in measures))
        for s in summaries
    )
    note = (
        "Leaks: share of queries for which a sub-query contains an answer that the reformulator was not shown, among "
        "the queries for which this can be detected. The means are over all other queries."
    )
    return Table("Answers from memory", note, ("", "leaks", *measures), rows)


def _problems(group: Sequence[Evaluation]) -> Table:
    rows = tuple(
        (evaluation.name, str(queries), problem)
        for evaluation in group
        for problem, queries in commonest_problems(evaluation)
    )
    note = (
        "The three most frequent reasons why a completion could not be used, completely or in part. queries.csv has "
        "the problem of each query."
    )
    return Table("Problems", note, ("", "queries", "problem"), rows)
