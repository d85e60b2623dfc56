"""The report of a study: Markdown, and HTML in one file that needs no network.

It opens with the result in one sentence and the plot of quality against cost, followed by the table of results. The
settings come last.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from acqo_rl.data.beir import write_atomic
from acqo_rl.evaluation.answers import summarise_answers
from acqo_rl.evaluation.detail_tables import detail_tables
from acqo_rl.evaluation.files import write_files
from acqo_rl.evaluation.plots import Point, draw_costs, draw_gains, draw_reliability
from acqo_rl.evaluation.run import QueryResult
from acqo_rl.evaluation.significance import paired_bootstrap
from acqo_rl.evaluation.study import Study
from acqo_rl.evaluation.summary import Change, biggest_changes, cost_of
from acqo_rl.evaluation.tables import Table, aligned, interval, main_tables
from acqo_rl.text import one_line

_EXAMPLES = 5
_LONGEST = 300
"""Maximum length of a query or sub-query in the report, in characters."""
_RECALL = "R@10"


@dataclass(frozen=True, slots=True)
class Example:
    """One query in the report; every text is short and on one line."""

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
    """The contents of a report.

    Attributes:
        title: heading of the page.
        answer: the result in one sentence.
        plots: file name -> (PNG for a light page, PNG for a dark page); the first one follows the answer.
        tables: in order; the first one follows the first plot.
        examples: heading -> queries below it.
        measure: of the examples.
        settings: name -> value, at the end.
    """

    title: str
    answer: str
    plots: Mapping[str, tuple[bytes, bytes]]
    tables: Sequence[Table]
    examples: Mapping[str, Sequence[Example]]
    measure: str
    settings: Mapping[str, str]


def write_report(folder: Path, study: Study, settings: Mapping[str, Any], **content: Any) -> tuple[str, list[Table]]:
    """Writes ``report.html``, ``report.md`` with ``plots/``, and the files of :mod:`acqo_rl.evaluation.files`.

    Args:
        folder: the output folder; files of an earlier report are replaced.
        study: all evaluations.
        settings: of the study, JSON-serialisable; paths should be relative to the folder.
        content: further entries of ``summary.json``.

    Returns:
        The result in one sentence, and the tables of the report.
    """
    gains = study.comparisons()
    tables = [*main_tables(study, gains), *detail_tables(study)]
    names = dict.fromkeys(system.reformulator for system in study.evaluations)
    report = Report(
        title=f"Evaluation of {', '.join(names)}",
        answer=answer_of(study),
        plots=_plots(study),
        tables=tables,
        examples=_examples(study),
        measure=study.measures[0],
        settings={key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()},
    )
    write_files(folder, study, gains, {"answer": report.answer, "settings": settings, **content})
    _write_pages(folder, report)
    return report.answer, tables


def answer_of(study: Study) -> str:
    """The result in two sentences: the best system against the baseline, and its cost."""
    measure, reference = study.measures[0], study.reference
    baseline = study.evaluations[reference]
    count = f"over {len(baseline.results)} queries"
    others = study.against_reference()
    if not others:
        cost = cost_of(baseline)
        return (
            f"{study.name(reference)} has {measure} {baseline.scores(measure).mean():.3f} {count}, with "
            f"{cost.searches:.1f} searches and {cost.ms / 1000:.2g} s per query."
        )
    best = max(others, key=lambda gain: gain.comparison.differences[measure].mean)
    evaluation, difference = study.evaluations[best.system], best.comparison.differences[measure]
    name, against = study.name(best.system), study.name(reference)
    score, score_before = (e.scores(measure).mean() for e in (evaluation, baseline))
    equal = [g.system for g in others if g is not best and g.comparison.differences[measure].mean == difference.mean]
    if difference.mean <= 0:
        lead = f"No system is better than {against}: the best other one, {name}, has {measure}"
    elif len(others) > 1:
        names = " and ".join([name, *map(study.name, equal)])
        lead = f"{names} {'have' if equal else 'has'} the highest {measure} of {len(study.evaluations)} systems,"
    else:
        lead = f"{name} has {measure}"
    chance = "" if best.significant(measure) or not difference.mean else "; the difference may be due to chance"
    cost, before = cost_of(evaluation), cost_of(baseline)
    searches = cost.searches - before.searches
    more = f"{abs(searches):.1f} {'more' if searches > 0 else 'fewer'} searches"
    if abs(searches) < 0.05:
        more = "no more searches"
    found = ""
    if _RECALL in study.measures:
        share, share_before = (e.scores(_RECALL).mean() for e in (evaluation, baseline))
        found = (
            f", and finds {100 * share:.1f} % of the relevant documents among its first 10 results "
            f"({against}: {100 * share_before:.1f} %)"
        )
    return (
        f"{lead} {score:.3f} against {score_before:.3f} of {against}, {interval(difference, starred=False)}, {count}"
        f"{chance}. {name} uses {more}, takes {cost.ms / 1000:.2g} s per query{found}."
    )


def relative_to(folder: str | Path, place: str) -> str:
    """A path relative to a folder; names that are not existing paths, such as URLs, are returned unchanged."""
    return os.path.relpath(place, folder) if place and Path(place).exists() else place


def _plots(study: Study) -> dict[str, tuple[bytes, bytes]]:
    measure = study.measures[0]
    points = []
    for system, evaluation in study.evaluations.items():
        scores = evaluation.scores(measure)
        mean = paired_bootstrap(np.zeros_like(scores), scores)
        name = study.name(system)
        points.append(Point(name, system.reformulator, cost_of(evaluation).ms, mean.mean, mean.low, mean.high))
    group = study.with_same_retrieval()
    answers = {
        study.name(system): found
        for system, evaluation in study.evaluations.items()
        if (found := summarise_answers(evaluation, study.gold))
    }

    def draw(dark: bool) -> dict[str, bytes]:
        drawn = {"quality_against_cost.png": draw_costs(points, "milliseconds per query", measure, dark=dark)}
        if len(group) > 1:
            drawn["gain_by_kind.png"] = draw_gains(group, measure, dark=dark)
        if answers:
            drawn["reliability.png"] = draw_reliability(answers, dark=dark)
        return drawn

    light, dark = draw(False), draw(True)
    return {name: (light[name], dark[name]) for name in light}


def _examples(study: Study) -> dict[str, list[Example]]:
    """The biggest gains and losses of each system that shares retriever and fusion with the reference."""
    baseline, *others = study.with_same_retrieval()
    measure = study.measures[0]
    return {
        f"{evaluation.name}: {title}": [_example(change, measure) for change in changes]
        for evaluation in others
        for title, changes in zip(
            ("biggest gains", "biggest losses"),
            biggest_changes(evaluation, baseline, measure, _EXAMPLES),
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


def _write_pages(folder: Path, report: Report) -> None:
    plots = folder / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    for old in plots.glob("*.png"):
        old.unlink()
    for name, (light, _) in report.plots.items():
        (plots / name).write_bytes(light)
    write_atomic(folder / "report.md", _markdown(report))
    write_atomic(folder / "report.html", [_html(report)])


def _markdown(report: Report) -> list[str]:
    first, *others = [f"![{_caption(name)}](plots/{name})" for name in report.plots]
    lines = [f"# {report.title}", "", report.answer, "", first, ""]
    for table in report.tables:
        lines += [f"## {table.title}", "", table.note, "", aligned(table), ""]
    for plot in others:
        lines += [plot, ""]
    for heading, group in report.examples.items():
        lines += [f"## {heading}", ""]
        for example in group:
            lines += [*_markdown_example(example, report.measure), ""]
    return [*lines, "## Settings", "", *(f"- {key}: {_literal(value)}" for key, value in report.settings.items())]


def _markdown_example(example: Example, measure: str) -> list[str]:
    kind = f", {_literal(example.kind)}" if example.kind else ""
    lines = [f"- {_literal(example.query)}: {measure} {example.before:.3f} → {example.after:.3f}{kind}"]
    lines += [f"  - earlier: {_literal(turn)}" for turn in example.history]
    lines += [f"  - {example.route}: {' · '.join(_literal(text) for text in example.sub_queries)}"]
    lines += [f"  - problem: {_literal(example.problem)}"] if example.problem else []
    ranks = [f"{_literal(doc_id)} {before} → {after}" for doc_id, before, after in example.gold]
    return [*lines, f"  - rank of the relevant documents: {', '.join(ranks)}"]


def _literal(text: str) -> str:
    """A code span, in which Markdown interprets nothing."""
    text = one_line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text or ' '}{fence}"


def _html(report: Report) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("acqo_rl.evaluation"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    plots = [(_caption(name), *map(_data_url, pair)) for name, pair in report.plots.items()]
    return environment.get_template("report.html").render(report=report, plots=plots)


def _caption(name: str) -> str:
    return Path(name).stem.replace("_", " ").capitalize()


def _data_url(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
