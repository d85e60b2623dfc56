"""The tables of a report, made once and shown in a terminal, in Markdown and in HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from acqo_rl.evaluation.compare import Comparison, Group, Summary, compare, summarise
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import Difference
from acqo_rl.text import one_line

TABLE_MEASURES = ("nDCG@10", "R@10", "AllGold@10", "RR@10")
ROUTES = ("pass", "disambiguate", "decompose", "expand")
_MARKDOWN = re.compile(r"([\\`|<]|\](?=[(\[]))")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a header; the first ``labels`` columns name the row, ``note`` says how to read the rest."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1


def format_table(
    evaluations: Sequence[Evaluation], baseline: Evaluation, measures: Sequence[str] = TABLE_MEASURES
) -> str:
    """One aligned row a reformulator, readable in a terminal and as Markdown.

    Columns are the mean of each measure, the mean number of sub-queries, and the mean difference of the first measure
    to the baseline with its 95 % confidence interval (paired bootstrap over queries).

    Args:
        evaluations: of the same queries.
        baseline: what the others are compared to; usually one of ``evaluations``.
        measures: the columns.
    """
    rows = []
    for evaluation in evaluations:
        summary = summarise(evaluation)
        difference = "-"
        if evaluation.name != baseline.name:
            difference = interval(compare(evaluation, baseline, measures[:1]).differences[measures[0]])
        means = [f"{summary.overall.measures[m]:.3f}" for m in measures]
        rows.append((evaluation.name, *means, f"{summary.overall.sub_queries:.2f}", difference))
    header = ("", *measures, "sub-queries", f"{measures[0]}: difference to {baseline.name} [95 % CI]")
    return aligned(Table("", "", header, tuple(rows)))


def aligned(table: Table) -> str:
    """The table as Markdown with columns of equal width; text that Markdown would interpret is escaped."""
    lines = [[_MARKDOWN.sub(r"\\\1", one_line(cell)) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(3, *(len(cell) for cell in column)) for column in zip(*lines, strict=True)]
    left = [position < table.labels for position in range(len(widths))]
    rule = ["-" * width if label else f"{'-' * (width - 1)}:" for width, label in zip(widths, left, strict=True)]
    padded = [
        [
            cell.ljust(width) if label else cell.rjust(width)
            for cell, width, label in zip(line, widths, left, strict=True)
        ]
        for line in (lines[0], rule, *lines[1:])
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def interval(difference: Difference, *, starred: bool | None = None) -> str:
    """Mean difference and 95 % confidence interval; a star where the interval excludes zero, or as told."""
    star = "*" if (difference.significant if starred is None else starred) else ""
    return f"{difference.mean:+.3f}{star} [{difference.low:+.3f}, {difference.high:+.3f}]"


def build_tables(evaluations: Sequence[Evaluation], measures: Sequence[str]) -> list[Table]:
    """Every table of the report; the first evaluation is the baseline."""
    summaries = [summarise(evaluation) for evaluation in evaluations]
    comparisons = [compare(evaluation, evaluations[0], measures) for evaluation in evaluations[1:]]
    tables = [_quality(summaries, measures)]
    if comparisons:
        tables += [_gains(comparisons, measures), _changes(comparisons, measures[0])]
    if len(evaluations) > 2:
        tables.append(_pairs(evaluations, measures[0]))
    tables.append(_effort(summaries))
    if any(summary.wording.searches for summary in summaries):
        tables.append(_wording(summaries))
    if any(summary.by_kind for summary in summaries):
        tables.append(kinds_table(summaries, comparisons, measures))
    tables.append(routes_table(summaries, measures))
    if any(summary.leak_rate for summary in summaries):
        tables.append(_leaks(summaries, measures))
    tables += [confusion_table(summary) for summary in summaries if summary.by_kind]
    return tables


def kinds_table(summaries: Sequence[Summary], comparisons: Sequence[Comparison], measures: Sequence[str]) -> Table:
    """Each kind under each reformulator; differences are to the first one."""
    differences = {c.system: c.by_kind for c in comparisons}
    rows = []
    for kind in summaries[0].by_kind:
        for summary in summaries:
            group = summary.by_kind[kind]
            difference = differences.get(summary.name, {}).get(kind)
            rows.append((kind, summary.name, *_cells(group, measures), interval(difference) if difference else "-"))
    header = ("kind", "", "queries", "sub-queries", *measures, f"{measures[0]}: difference")
    return Table("By kind of query", f"Differences are to {summaries[0].name}.", header, tuple(rows), labels=2)


def routes_table(summaries: Sequence[Summary], measures: Sequence[str]) -> Table:
    """Share and means of the queries on each route."""
    rows = []
    for summary in summaries:
        for route in ROUTES:
            group = summary.by_route.get(route)
            if group:
                share = f"{group.queries / summary.overall.queries:.1%}"
                rows.append((summary.name, route, share, *_cells(group, measures)))
    header = ("", "route", "share", "queries", "sub-queries", *measures)
    return Table("By route", "The route that the reformulator chose.", header, tuple(rows), labels=2)


def confusion_table(summary: Summary) -> Table:
    """How many queries of each kind went on each route."""
    kinds = list(summary.by_kind)
    routes = [route for route in ROUTES if route != "expand" or route in summary.confusion]
    rows = tuple((route, *(str(summary.confusion.get(route, {}).get(kind, 0)) for kind in kinds)) for route in routes)
    note = (
        "Number of queries by route (rows) and kind (columns). A simple query that is not passed costs needless "
        "searches; a compound one that is passed may be answered in part only."
    )
    return Table(f"Route against kind: {summary.name}", note, ("", *kinds), rows)


def _quality(summaries: Sequence[Summary], measures: Sequence[str]) -> Table:
    rows = tuple((s.name, *(f"{s.overall.measures[m]:.3f}" for m in measures)) for s in summaries)
    left_out = summaries[0].unmeasured
    note = f"Means over {summaries[0].overall.queries} queries." + (
        f" Left out because they have no relevant document: {left_out}." if left_out else ""
    )
    return Table("Retrieval quality", note, ("", *measures), rows)


def _gains(comparisons: Sequence[Comparison], measures: Sequence[str]) -> Table:
    rows = tuple((c.system, *(interval(c.differences[m]) for m in measures)) for c in comparisons)
    note = (
        "Mean paired difference with its 95 % confidence interval (paired bootstrap over queries), starred where the "
        "interval excludes zero."
    )
    return Table(f"Difference to {comparisons[0].baseline}", note, ("", *measures), rows)


def _effort(summaries: Sequence[Summary]) -> Table:
    header = ("", "sub-queries", "searches", "tokens", "reformulation ms", "retrieval ms", "copies", "problems")
    rows = tuple(
        (
            s.name,
            f"{s.overall.sub_queries:.2f}",
            f"{s.searches:.2f}",
            f"{s.tokens:.1f}",
            f"{s.reformulation_ms:.1f}",
            f"{s.retrieval_ms:.1f}",
            f"{s.copy_rate:.1%}",
            f"{s.problem_rate:.1%}",
        )
        for s in summaries
    )
    note = (
        "Means a query; milliseconds are a batch's, divided by its queries. Searches count a first search for "
        "feedback. Copies: queries that are searched as they stand, alone or beside sub-queries. Problems: "
        "completions that could not be used, so that the raw query was searched."
    )
    return Table("Effort", note, header, rows)


def _wording(summaries: Sequence[Summary]) -> Table:
    header = ("", "searches written", "words", "repeating", "stuffed", "repetitions dropped")
    rows = tuple(
        (
            s.name,
            str(s.wording.searches),
            f"{s.wording.words:.1f}",
            f"{s.wording.repeating:.1%}",
            f"{s.wording.stuffed:.1%}",
            f"{s.wording.dropped:.1%}",
        )
        for s in summaries
    )
    note = (
        "Searches beside the raw query, and the mean number of words written for each. Repeating: searches that hold "
        "a word of four letters or more twice beyond its occurrences in the query; stuffed: three times or more. "
        "Repetitions dropped: queries whose completion repeated words, which are read once."
    )
    return Table("Wording", note, header, rows)


def _leaks(summaries: Sequence[Summary], measures: Sequence[str]) -> Table:
    rows = tuple(
        (s.name, f"{s.leak_rate or 0:.1%}", *(f"{s.without_leaks.measures[m]:.3f}" for m in measures))
        for s in summaries
    )
    note = (
        "Share of queries whose searches hold an answer that stood nowhere in what the reformulator read, of those "
        "where that can be told, and means over all other queries."
    )
    return Table("Answers from memory", note, ("", "leaks", *measures), rows)


def _changes(comparisons: Sequence[Comparison], measure: str) -> Table:
    rows = tuple((c.system, f"{c.helped:.1%}", f"{1 - c.helped - c.hurt:.1%}", f"{c.hurt:.1%}") for c in comparisons)
    note = f"Share of queries whose {measure} is above, equal to and below that of {comparisons[0].baseline}."
    return Table("Helped and hurt", note, ("", "helped", "same", "hurt"), rows)


def _pairs(evaluations: Sequence[Evaluation], measure: str) -> Table:
    rows = []
    for system in evaluations:
        cells = []
        for other in evaluations:
            difference = compare(system, other, [measure]).differences[measure] if system is not other else None
            cells.append(f"{interval(difference)}, p={difference.p:.4f}" if difference else "-")
        rows.append((system.name, *cells))
    note = f"{measure}: row minus column, with 95 % confidence interval and two-sided p of the paired bootstrap."
    return Table("Every pair", note, ("", *(e.name for e in evaluations)), tuple(rows))


def _cells(group: Group, measures: Sequence[str]) -> list[str]:
    return [str(group.queries), f"{group.sub_queries:.2f}", *(f"{group.measures[m]:.3f}" for m in measures)]
