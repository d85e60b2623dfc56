"""A report for people: Markdown, and HTML in one file that needs no network."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acqo_rl.data.beir import write_atomic
from acqo_rl.evaluation.compare import Change, biggest_changes
from acqo_rl.evaluation.plots import draw_plots
from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.evaluation.tables import Table, aligned, build_tables
from acqo_rl.text import one_line

EXAMPLES = 5
_LONGEST = 300
"""Characters of a query or sub-query that a report shows."""


@dataclass(frozen=True, slots=True)
class Example:
    """One query as a report shows it, every text short and on one line."""

    query: str
    history: tuple[str, ...]
    kind: str
    route: str
    sub_queries: tuple[str, ...]
    problem: str
    before: float
    after: float
    gold: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What a report shows.

    Attributes:
        title: at its top.
        settings: what was evaluated, by name of the setting.
        tables: in their order.
        draw: file name -> PNG of every picture, for a light or (``True``) a dark page.
        examples: heading -> queries under it.
        measure: of the examples.
    """

    title: str
    settings: Mapping[str, str]
    tables: Sequence[Table]
    draw: Callable[[bool], dict[str, bytes]]
    examples: Mapping[str, Sequence[Example]]
    measure: str


def write_report(
    folder: Path, evaluations: Sequence[Evaluation], measures: Sequence[str], settings: Mapping[str, str]
) -> None:
    """Writes the report on reformulators that share everything else; see ``write_pages``.

    Args:
        folder: where it goes.
        evaluations: of the same queries; the first one is the baseline.
        measures: the first one decides what a gain is.
        settings: what was evaluated, shown at the top.
    """
    report = Report(
        title=f"Evaluation: {', '.join(evaluation.name for evaluation in evaluations)}",
        settings=settings,
        tables=build_tables(evaluations, measures),
        draw=lambda dark: draw_plots(evaluations, measures[0], dark=dark),
        examples=examples_of(evaluations, measures[0]),
        measure=measures[0],
    )
    write_pages(folder, report)


def write_pages(folder: Path, report: Report) -> None:
    """Writes ``report.md``, ``report.html`` and ``plots/*.png``; files of the same names are replaced."""
    light, dark = report.draw(False), report.draw(True)
    plots = folder / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    for name, picture in light.items():
        (plots / name).write_bytes(picture)
    write_atomic(folder / "report.md", _markdown(report, list(light)))
    pictures = [(_caption(name), _data_url(light[name]), _data_url(dark[name])) for name in light]
    write_atomic(folder / "report.html", [_html(report, pictures)])


def examples_of(evaluations: Sequence[Evaluation], measure: str) -> dict[str, list[Example]]:
    """The biggest gains and losses of each evaluation against the first one, under their headings."""
    return {
        f"{evaluation.name}: {title}": [_example(change, measure) for change in changes]
        for evaluation in evaluations[1:]
        for title, changes in zip(
            ("biggest gains", "biggest losses"),
            biggest_changes(evaluation, evaluations[0], measure, EXAMPLES),
            strict=True,
        )
        if changes
    }


def _example(change: Change, measure: str) -> Example:
    after = change.after.reformulation
    return Example(
        query=_short(after.query.text),
        history=tuple(_short(str(turn)) for turn in after.query.history),
        kind=_short(change.after.kind),
        route=after.route,
        sub_queries=tuple(_short(sub_query.text) for sub_query in after.sub_queries),
        problem=_short(after.problem or ""),
        before=change.before.measures[measure],
        after=change.after.measures[measure],
        gold=tuple(
            (_short(doc_id), _rank(change.before, doc_id), _rank(change.after, doc_id))
            for doc_id in change.after.gold_ranks
        ),
    )


def _rank(result: QueryResult, doc_id: str) -> str:
    rank = result.gold_ranks[doc_id]
    return "not found" if rank is None else str(rank)


def _short(text: str) -> str:
    line = one_line(text[: 4 * _LONGEST])
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _markdown(report: Report, plots: Sequence[str]) -> list[str]:
    lines = [f"# {report.title}", "", *(f"- {key}: {_literal(value)}" for key, value in report.settings.items()), ""]
    for table in report.tables:
        lines += [f"## {table.title}", "", table.note, "", aligned(table), ""]
    for name in plots:
        lines += [f"![{_caption(name)}](plots/{name})", ""]
    for heading, group in report.examples.items():
        lines += [f"## {heading}", ""]
        for example in group:
            lines += [*_markdown_example(example, report.measure), ""]
    return lines


def _markdown_example(example: Example, measure: str) -> list[str]:
    kind = f", {_literal(example.kind)}" if example.kind else ""
    lines = [f"- {_literal(example.query)}: {measure} {example.before:.3f} → {example.after:.3f}{kind}"]
    lines += [f"  - earlier: {_literal(turn)}" for turn in example.history]
    lines += [f"  - {example.route}: {' · '.join(_literal(text) for text in example.sub_queries)}"]
    lines += [f"  - problem: {_literal(example.problem)}"] if example.problem else []
    ranks = [f"{_literal(doc_id)} {before} → {after}" for doc_id, before, after in example.gold]
    return [*lines, f"  - rank of the relevant: {', '.join(ranks)}"]


def _literal(text: str) -> str:
    """A code span: nothing in it is interpreted, whatever somebody wrote into a query or a document id."""
    text = one_line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text or ' '}{fence}"


def _html(report: Report, pictures: Sequence[tuple[str, str, str]]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("acqo_rl.evaluation"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("report.html").render(
        title=report.title,
        settings=report.settings,
        tables=report.tables,
        pictures=pictures,
        examples=report.examples,
        measure=report.measure,
    )


def _caption(name: str) -> str:
    return Path(name).stem.replace("_", " ").capitalize()


def _data_url(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
