"""The report of a study: Markdown, and the same text as HTML in one file that needs no network.

It opens with the result in one sentence and the plot of quality against cost, followed by the table of results. The
settings come last.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from acqo_rl.evaluation.files import write_files
from acqo_rl.evaluation.plots import Point, draw_costs, draw_gains
from acqo_rl.evaluation.run import QueryResult
from acqo_rl.evaluation.significance import paired_bootstrap
from acqo_rl.evaluation.study import Study
from acqo_rl.evaluation.summary import EQUAL, TIMED, Change, changes_of, summarise
from acqo_rl.evaluation.tables import Table, aligned, escaped, interval, study_tables
from acqo_rl.files import write_atomic
from acqo_rl.text import one_line

_EXAMPLES = 5
_LONGEST = 300
"""Maximum length of a query or sub-query in the report, in characters."""
_RECALL = "R@10"
_STYLE = (
    "body{font:16px/1.55 system-ui,sans-serif;max-width:72rem;margin:2.5rem auto;padding:0 1.25rem;color:#1d2127;"
    "background:#fff;overflow-wrap:anywhere}h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.4rem}"
    "table{display:block;overflow-x:auto;border-collapse:collapse;font-size:.88rem;white-space:nowrap}"
    "th,td{padding:.35rem .75rem;border-bottom:1px solid #d9dee5}img{max-width:100%}"
)


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
    tables, answer, plots = list(study_tables(study, gains)), answer_of(study), _plots(study)
    write_files(folder, study, gains, {"answer": answer, "settings": settings, **content})
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    for old in (folder / "plots").glob("*.png"):
        old.unlink()
    for name, picture in plots.items():
        (folder / "plots" / name).write_bytes(picture)
    first, *others = [f"![{Path(name).stem.replace('_', ' ').capitalize()}](plots/{name})" for name in plots]
    names = dict.fromkeys(system.reformulator for system in study.evaluations)
    title = f"Evaluation of {', '.join(names)}"
    lines = [f"# {escaped(title)}", "", escaped(answer), "", first, ""]
    for table in tables:
        lines += [f"## {escaped(table.title)}", "", escaped(table.note), "", aligned(table), ""]
    lines += [line for plot in others for line in (plot, "")]
    lines += _examples(study)
    lines += ["## Settings", ""]
    lines += [f"- {k}: {_literal(v if isinstance(v, str) else json.dumps(v))}" for k, v in settings.items()]
    write_atomic(folder / "report.md", lines)
    write_atomic(folder / "report.html", [_html(title, "\n".join(lines), plots)])
    return answer, tables


def answer_of(study: Study) -> str:
    """The result in two sentences: the best system against the baseline, and its cost."""
    measure, reference = study.measures[0], study.reference
    baseline = study.evaluations[reference]
    before, seconds_before = summarise(baseline).overall, _seconds(study, reference)
    count = f"over {len(baseline.results)} queries"
    others = study.against_reference()
    if not others:
        return (
            f"{study.name(reference)} has {measure} {before.measures[measure]:.3f} {count}, with "
            f"{before.quantities['searches']:.1f} searches and {seconds_before:.2g} s per query."
        )
    best = max(others, key=lambda gain: gain.comparison.differences[measure].mean)
    difference, after = best.comparison.differences[measure], summarise(study.evaluations[best.system]).overall
    name, against = study.name(best.system), study.name(reference)
    equal = [g.system for g in others if g is not best and g.comparison.differences[measure].mean == difference.mean]
    if difference.mean <= 0:
        lead = f"No system is better than {against}: the best other one, {name}, has {measure}"
    elif len(others) > 1:
        names = " and ".join([name, *map(study.name, equal)])
        lead = f"{names} {'have' if equal else 'has'} the highest {measure} of {len(study.evaluations)} systems,"
    else:
        lead = f"{name} has {measure}"
    chance = "" if best.significant(measure) or not difference.mean else "; the difference may be due to chance"
    searches = after.quantities["searches"] - before.quantities["searches"]
    more = f"{abs(searches):.1f} {'more' if searches > 0 else 'fewer'} searches"
    if abs(searches) < 0.05:
        more = "no more searches"
    found = ""
    if _RECALL in study.measures:
        found = (
            f", and finds {100 * after.measures[_RECALL]:.1f} % of the relevant documents among its first 10 results "
            f"({against}: {100 * before.measures[_RECALL]:.1f} %)"
        )
    return (
        f"{lead} {after.measures[measure]:.3f} against {before.measures[measure]:.3f} of {against}, "
        f"{interval(difference, starred=False)}, {count}{chance}. {name} uses {more}, takes "
        f"{_seconds(study, best.system):.2g} s per query{found}."
    )


def relative_to(folder: str | Path, place: str) -> str:
    """A path relative to a folder; names that are not existing paths, such as URLs, are returned unchanged."""
    return os.path.relpath(place, folder) if place and Path(place).exists() else place


def _seconds(study: Study, system: Any) -> float:
    quantities = summarise(study.evaluations[system]).overall.quantities
    return sum(quantities[f"{step}_ms"] for step in TIMED) / 1000


def _plots(study: Study) -> dict[str, bytes]:
    """File name -> PNG; the first one follows the answer."""
    measure = study.measures[0]
    points = []
    for system, evaluation in study.evaluations.items():
        scores = evaluation.scores(measure)
        mean = paired_bootstrap(np.zeros_like(scores), scores)
        place = (1000 * _seconds(study, system), mean.mean, mean.low, mean.high)
        points.append(Point(study.name(system), system.reformulator, *place))
    drawn = {"quality_against_cost.png": draw_costs(points, "milliseconds per query", measure)}
    if len(group := study.with_same_retrieval()) > 1:
        drawn["gain_by_kind.png"] = draw_gains(group, measure)
    return drawn


def _examples(study: Study) -> Iterator[str]:
    """The biggest gains and losses of each system that shares retriever and fusion with the reference."""
    baseline, *others = study.with_same_retrieval()
    measure = study.measures[0]
    for evaluation in others:
        changes = sorted(changes_of(evaluation, baseline, measure), key=lambda change: -change.gain)
        gains = [change for change in changes[:_EXAMPLES] if change.gain > EQUAL]
        losses = [change for change in changes[: -_EXAMPLES - 1 : -1] if change.gain < -EQUAL]
        for title, some in (("biggest gains", gains), ("biggest losses", losses)):
            if some:
                yield from (f"## {escaped(evaluation.name)}: {title}", "")
                yield from (line for change in some for line in (*_example(change, measure), ""))


def _example(change: Change, measure: str) -> Iterator[str]:
    before, after = change.before, change.after
    made = after.reformulation
    kind = f", {_short(after.kind)}" if after.kind else ""
    values = f"{before.measures[measure]:.3f} → {after.measures[measure]:.3f}"
    yield f"- {_short(made.query.text)}: {measure} {values}{kind}"
    yield from (f"  - earlier: {_short(str(turn))}" for turn in made.query.history)
    yield f"  - {made.route}: {' · '.join(_short(sub_query.text) for sub_query in made.sub_queries)}"
    if made.problem:
        yield f"  - problem: {_short(made.problem)}"
    ranks = [f"{_short(doc_id)} {_rank(before, doc_id)} → {_rank(after, doc_id)}" for doc_id in after.gold_ranks]
    yield f"  - rank of the relevant documents: {', '.join(ranks)}"


def _rank(result: QueryResult, doc_id: str) -> str:
    rank = result.gold_ranks[doc_id]
    return "not found" if rank is None else str(rank)


def _literal(text: str) -> str:
    """A code span, in which Markdown interprets nothing."""
    line = one_line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line or ' '}{fence}"


def _short(text: str) -> str:
    """A code span of at most 300 characters."""
    line = one_line(text[: 4 * _LONGEST])
    return _literal(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…")


def _html(title: str, text: str, plots: Mapping[str, bytes]) -> str:
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table").render(text)
    for name, picture in plots.items():
        body = body.replace(f'src="plots/{name}"', f'src="data:image/png;base64,{base64.b64encode(picture).decode()}"')
    safe = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{safe}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>"
    )
