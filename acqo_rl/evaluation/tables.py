"""The tables of a report. Those of groups and routes compare systems that share the first retriever and fusion."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import Difference
from acqo_rl.evaluation.summary import TIMED, Comparison, Part, Study, Summary, compare, summarise
from acqo_rl.evaluation.systems import System
from acqo_rl.text import one_line
from acqo_rl.types import Route

_STAR = "A star marks an interval without zero; with many rows, some intervals are without zero by chance."
FITTING: dict[str, Route] = {"simple": "pass", "ambiguous": "disambiguate", "compound": "decompose"}
"""Kind of query -> the route that it needs."""
ROUTES = ("pass", "disambiguate", "decompose", "expand")
_MARKDOWN = re.compile(r"([\\`|<]|\*(?=\S)|(?<!\w)_(?=\w)|\](?=[(\[]))")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text. The first ``labels`` columns name the row, and ``note`` explains the others."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1


def aligned(table: Table) -> str:
    """The table in Markdown, with aligned columns."""
    lines = [[*map(escaped, row)] for row in (table.header, *table.rows)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust if position < table.labels else str.rjust for position in range(len(widths))]
    lines.insert(1, ["-" * (width - 1) + ("-" if i < table.labels else ":") for i, width in enumerate(widths)])
    padded = ([pad(cell, width) for pad, cell, width in zip(sides, line, widths, strict=True)] for line in lines)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)


def escaped(text: str) -> str:
    """The text on one line, without characters that Markdown would interpret."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def interval(difference: Difference, *, starred: bool = True) -> str:
    """Mean difference and 95 % confidence interval, with a star if it is significant and ``starred``."""
    star = "*" if starred and difference.significant else ""
    return f"{difference.mean:+.3f}{star} [{difference.low:+.3f}, {difference.high:+.3f}]"


def proportion(share: Difference) -> str:
    """A share of the queries and its 95 % confidence interval."""
    return f"{share.mean:.1%} [{share.low:.1%}, {share.high:.1%}]"


def results_table(study: Study, gains: Mapping[System, Comparison]) -> Table:
    """One row per system: means of the measures, mean number of sub-queries, difference to the baseline.

    Args:
        study: all evaluations.
        gains: the systems compared to the baseline with the same retriever and fusion.
    """
    measure = study.measures[0]
    rows = []
    for system, evaluation in study.evaluations.items():
        overall = summarise(evaluation).overall
        means = [f"{overall.measures[m]:.3f}" for m in study.measures]
        difference = interval(gains[system].differences[measure]) if system in gains else "-"
        rows.append((*_label(study, system), *means, f"{overall.quantities['sub_queries']:.2f}", difference))
    first = study.evaluations[study.reference]
    left_out = f" {first.unmeasured} queries without a relevant document are left out." if first.unmeasured else ""
    note = (
        f"Means over {len(first.results)} queries.{left_out} The difference is the mean paired difference to "
        f"{study.baseline}{'' if study.one_path else ' with the same retriever and fusion'}, with a 95 % confidence "
        f"interval (paired bootstrap over queries). {_STAR}"
    )
    header = (*_names(study), *study.measures, "sub-queries", f"{measure}: difference to {study.baseline} [95 % CI]")
    return Table("Results", note, header, tuple(rows), len(_names(study)))


def study_tables(study: Study, gains: Mapping[System, Comparison]) -> Iterator[Table]:
    """All tables that have rows; ``gains`` as in :func:`results_table`."""
    measure = study.measures[0]
    yield results_table(study, gains)
    for part in get_args(Part):
        if compared := gains if part == "reformulator" else study.comparisons(part):
            yield _comparisons(study, compared, part)
    yield _costs(study)
    if study.variants:
        yield _robustness(study)

    group = study.with_same_retrieval()
    kinds = {result.kind for result in group[0].results}
    if any(kinds):
        yield groups_table(group, measure, f"Differences are to {study.baseline}. {_STAR}")
    summaries = {evaluation.name: summarise(evaluation) for evaluation in group}
    yield by_route(summaries, measure)
    if kinds & FITTING.keys():
        yield _routes(summaries)


def groups_table(group: Sequence[Evaluation], measure: str, note: str = "") -> Table:
    """One row per kind of query and system; differences are to the first system."""
    summaries = {evaluation.name: summarise(evaluation) for evaluation in group}
    differences = {e.name: compare(e, group[0], [measure]).by_kind for e in group[1:]}
    rows = tuple(
        (
            kind,
            name,
            str(means.queries),
            f"{means.quantities['sub_queries']:.2f}",
            f"{means.measures[measure]:.3f}",
            interval(differences[name][kind]) if name in differences else "-",
        )
        for kind in summaries[group[0].name].by_kind
        for name, summary in summaries.items()
        for means in [summary.by_kind[kind]]
    )
    header = ("", "", "queries", "sub-queries", measure, f"{measure}: difference")
    return Table("By kind of query", note, header, rows, labels=2)


def _names(study: Study) -> tuple[str, ...]:
    """The header of the columns that name a system."""
    return ("",) if study.one_path else ("reformulator", "retriever", "fusion")


def _label(study: Study, system: System) -> tuple[str, ...]:
    return (system.reformulator,) if study.one_path else (system.reformulator, system.retriever, system.fusion)


def _comparisons(study: Study, gains: Mapping[System, Comparison], part: Part) -> Table:
    rows = tuple(
        (
            *_label(study, system),
            *(interval(gain.differences[measure]) for measure in study.measures),
            proportion(gain.helped),
            f"{1 - gain.helped.mean - gain.hurt.mean:.1%}",
            proportion(gain.hurt),
        )
        for system, gain in gains.items()
    )
    note = (
        f"Mean paired differences with 95 % confidence intervals; only the {part} differs. {_STAR} Helped, "
        f"same, hurt: share of queries whose {study.measures[0]} is higher, equal or lower."
    )
    header = (*_names(study), *study.measures, "helped", "same", "hurt")
    return Table(f"Against {getattr(study.reference, part)}", note, header, rows, len(_names(study)))


def _costs(study: Study) -> Table:
    summaries = {system: summarise(evaluation) for system, evaluation in study.evaluations.items()}
    steps = [step for step in TIMED if step != "reranking" or any(s.ms[step][1] for s in summaries.values())]
    means = ("calls", "tokens", "embedded", "searches", *(["reranked"] if "reranking" in steps else []))
    rows = tuple(
        (
            *_label(study, system),
            *(f"{summary.overall.quantities[name]:.2f}" for name in means),
            *(f"{summary.ms[step][0]:.1f} / {summary.ms[step][1]:.1f}" for step in steps),
            f"{summary.overall.quantities['problems']:.1%}",
        )
        for system, summary in summaries.items()
    )
    note = (
        "Means per query. Calls: calls of a language model. Embedded: number of embedded texts. Searches include the "
        "first search for feedback, and are counted for each index. Milliseconds are p50 / p95; acqo evaluate "
        "measures batches, without fusion, and single queries with --batch_size 1 in a new folder. Problems: queries "
        "whose completion could not be used, so the raw query was searched; queries.jsonl has each reason."
    )
    header = (*_names(study), *means, *(f"{step} ms" for step in steps), "problems")
    return Table("Cost", note, header, rows, len(_names(study)))


def _robustness(study: Study) -> Table:
    measure = study.measures[0]
    rows = tuple(
        (
            *_label(study, system),
            name,
            f"{study.evaluations[system].scores(measure).mean():.3f}",
            f"{changed.scores(measure).mean():.3f}",
            interval(compare(changed, study.evaluations[system], [measure]).differences[measure]),
        )
        for name, variant in study.variants.items()
        for system, changed in variant.items()
    )
    note = (
        f"{measure} on the queries as they are and on queries changed by rules, with the same judgements. The change "
        f"has a 95 % confidence interval. {_STAR}"
    )
    header = (*_names(study), "queries", measure, "changed queries", "change")
    return Table("Robustness", note, header, rows, len(_names(study)) + 1)


def by_route(summaries: Mapping[str, Summary], measure: str) -> Table:
    """One row per system and route."""
    rows = tuple(
        (
            name,
            route,
            f"{means.queries / summary.overall.queries:.1%}",
            str(means.queries),
            f"{means.quantities['sub_queries']:.2f}",
            f"{means.measures[measure]:.3f}",
        )
        for name, summary in summaries.items()
        for route in ROUTES
        if (means := summary.by_route.get(route))
    )
    header = ("", "route", "share", "queries", "sub-queries", measure)
    return Table("By route", "The route that the reformulator chose.", header, rows, labels=2)


def _routes(summaries: Mapping[str, Summary]) -> Table:
    rows = tuple(
        (
            name,
            kind,
            *(str(routes.get(route, 0)) for route in ROUTES),
            f"{routes.get(FITTING[kind], 0) / sum(routes.values()):.1%}",
        )
        for name, summary in summaries.items()
        for kind, routes in summary.confusion.items()
        if kind in FITTING
    )
    note = (
        "Number of queries by kind (rows) and route (columns), and the share with the route that fits their kind: pass "
        "for simple queries, disambiguate for ambiguous ones, decompose for compound ones. A simple query on another "
        "route costs searches; an ambiguous or compound query that passes is answered in part."
    )
    return Table("Routes", note, ("", "kind", *ROUTES, "fitting"), rows, labels=2)
